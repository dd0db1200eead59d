// What agents see of fields: windows in 1D, patches in 2D, around the cell of their position.

// Where an agent looks along one axis of N points: the first point, before it is clamped or wrapped, and the
// position inside the cell.
template <int N, int WIDTH, bool PERIODIC> INLINE int look(T xi, double density, T &offset) {
    // in double precision, like the CPU: agents that start on the edge of a cell must see the same cell everywhere
    const double at = rounded(double(xi), density), floor_of_it = floor(at);
    const T c = T(floor_of_it), part = T(at - floor_of_it);
    T cell = PERIODIC ? c - T(N) * below(c / T(N)) : c;
    cell = cell < T(0) ? T(0) : cell > T(N - 1) ? T(N - 1) : cell;
    offset = PERIODIC ? part : part + (c - cell);
    return int(cell) - WIDTH / 2;
}

template <int N, bool PERIODIC> INLINE int point(int j) {
    if (PERIODIC) return (j % N + N) % N;
    return clamped(j, 0, N - 1);
}

// The k in 0 .. COUNT - 1 for which point first + k is p: low .. high, STEP apart.
template <int N, int COUNT, bool PERIODIC> INLINE void hits(int first, int p, int &low, int &high) {
    if (PERIODIC) {
        low = ((p - first) % N + N) % N;
        high = COUNT - 1; // N apart
        return;
    }
    low = high = p - first;
    if (p == 0) low = 0;
    if (p == N - 1) high = COUNT - 1;
    if (low < 0) low = 0;
    if (high > COUNT - 1) high = COUNT - 1;
}

// A window of F fields: y[f * WIDTH + k][agent]
template <int N, int WIDTH, int F, int AGENTS, bool PERIODIC, bool LINEAR>
FUNCTION void window(Team team, double density, const T *xi, const T *const (&fields)[F], T *y) {
    each<WIDTH * AGENTS>(team, [&](int i) {
        const int k = i / AGENTS, agent = i % AGENTS;
        T offset;
        const int first = look<N, WIDTH, PERIODIC>(xi[agent], density, offset);
        const int here = point<N, PERIODIC>(first + k), next = point<N, PERIODIC>(first + k + 1);
        for (int f = 0; f < F; f++) {
            const T w = fields[f][here];
            y[f * WIDTH * AGENTS + i] = LINEAR ? w + offset * (fields[f][next] - w) : w;
        }
    });
}

template <int N, int WIDTH, int AGENTS, bool PERIODIC, bool LINEAR, int SHARES, int MODE>
FUNCTION void window_reverse_field(Team team, double density, const T *xi, const T *dy, T *dfield) {
    column_sums<AGENTS, N, SHARES>(
        team, team.room,
        [&](int agent, int p) {
            const int count = LINEAR ? WIDTH + 1 : WIDTH;
            T offset, sum = 0;
            const int first = look<N, WIDTH, PERIODIC>(xi[agent], density, offset);
            int low, high;
            hits<N, count, PERIODIC>(first, p, low, high);
            ROLLED for (int k = low; k <= high; k += PERIODIC ? N : 1) {
                if (!LINEAR) sum += dy[k * AGENTS + agent];
                if (LINEAR && k < WIDTH) sum += (T(1) - offset) * dy[k * AGENTS + agent];
                if (LINEAR && k > 0) sum += offset * dy[(k - 1) * AGENTS + agent];
            }
            return sum;
        },
        [&](int p, T s) { put<MODE>(dfield + p, s); });
}

template <int N, int WIDTH, int F, int AGENTS, bool PERIODIC, int SHARES, int MODE>
FUNCTION void window_reverse_xi(Team team, double density, const T *xi, const T *const (&fields)[F], const T *dy,
                                T *dxi) {
    column_sums<F * WIDTH, AGENTS, SHARES>(
        team, team.room,
        [&](int r, int agent) {
            const int f = r / WIDTH, k = r % WIDTH;
            T offset;
            const int first = look<N, WIDTH, PERIODIC>(xi[agent], density, offset);
            const int here = point<N, PERIODIC>(first + k), next = point<N, PERIODIC>(first + k + 1);
            return dy[r * AGENTS + agent] * (fields[f][next] - fields[f][here]);
        },
        [&](int agent, T s) { put<MODE>(dxi + agent, s * T(density)); });
}

// A patch of CH fields [CH * NX][NY]: y[(i * P + j) * CH + channel][agent]
template <int NX, int NY, int P, int CH, int AGENTS, bool PERIODIC, bool LINEAR>
CALLED void patches(Team team, double dx, double dy, const T *xi, const T *fields, T *y) {
    each<P * P * CH * AGENTS>(team, [&](int at) {
        const int agent = at % AGENTS, channel = at / AGENTS % CH, j = at / AGENTS / CH % P, i = at / AGENTS / CH / P;
        T ax, ay;
        const int x0 = look<NX, P, PERIODIC>(xi[agent], dx, ax) + i;
        const int y0 = look<NY, P, PERIODIC>(xi[AGENTS + agent], dy, ay) + j;
        const T *field = fields + channel * NX * NY;
        const int px = point<NX, PERIODIC>(x0), py = point<NY, PERIODIC>(y0);
        if (!LINEAR) {
            y[at] = field[px * NY + py];
            return;
        }
        const int qx = point<NX, PERIODIC>(x0 + 1), qy = point<NY, PERIODIC>(y0 + 1);
        const T above = field[px * NY + py] + ay * (field[px * NY + qy] - field[px * NY + py]);
        const T here = field[qx * NY + py] + ay * (field[qx * NY + qy] - field[qx * NY + py]);
        y[at] = above + ax * (here - above);
    });
}

// The adjoint that point (i, j) of the (P + 1)² points of a patch gets.
template <int P, int CH, int AGENTS> INLINE T of_patch(const T *dy, int i, int j, int channel, int agent) {
    if (i < 0 || j < 0 || i >= P || j >= P) return 0;
    return dy[((i * P + j) * CH + channel) * AGENTS + agent];
}

template <int NX, int NY, int P, int CH, int AGENTS, bool PERIODIC, bool LINEAR, int MODE>
CALLED void patches_reverse_fields(Team team, double dx, double dy, const T *xi, const T *d, T *to) {
    // where every agent looks
    int *first = reinterpret_cast<int *>(team.room);
    T *offset = team.room + 2 * AGENTS;
    each<AGENTS>(team, [&](int agent) {
        first[agent] = look<NX, P, PERIODIC>(xi[agent], dx, offset[agent]);
        first[AGENTS + agent] = look<NY, P, PERIODIC>(xi[AGENTS + agent], dy, offset[AGENTS + agent]);
    });
    meet(team);
    each<CH * NX * NY>(team, [&](int at) {
        const int y = at % NY, x = at / NY % NX, channel = at / NY / NX;
        constexpr int count = LINEAR ? P + 1 : P, across = PERIODIC ? NX : 1, along = PERIODIC ? NY : 1;
        const auto seen = [&](int agent, int i, int j) {
            if (!LINEAR) return of_patch<P, CH, AGENTS>(d, i, j, channel, agent);
            const T ax = offset[agent], ay = offset[AGENTS + agent];
            const T here = (T(1) - ay) * of_patch<P, CH, AGENTS>(d, i, j, channel, agent) +
                           ay * of_patch<P, CH, AGENTS>(d, i, j - 1, channel, agent);
            const T before = (T(1) - ay) * of_patch<P, CH, AGENTS>(d, i - 1, j, channel, agent) +
                             ay * of_patch<P, CH, AGENTS>(d, i - 1, j - 1, channel, agent);
            return (T(1) - ax) * here + ax * before;
        };
        // Most agents see the point once or not at all: what these have is asked for together.
        T sum = 0;
        bool often = false;
        UNROLL_BY(8) for (int agent = 0; agent < AGENTS; agent++) {
            int low, high, left, right;
            hits<NX, count, PERIODIC>(first[agent], x, low, high);
            hits<NY, count, PERIODIC>(first[AGENTS + agent], y, left, right);
            const bool once = low <= high && left <= right;
            sum += once ? seen(agent, low, left) : T(0);
            often |= once && (low + across <= high || left + along <= right);
        }
        ROLLED for (int agent = 0; often && agent < AGENTS; agent++) {
            int low, high, left, right;
            hits<NX, count, PERIODIC>(first[agent], x, low, high);
            hits<NY, count, PERIODIC>(first[AGENTS + agent], y, left, right);
            for (int i = low; i <= high; i += across) {
                for (int j = i == low ? left + along : left; j <= right; j += along) sum += seen(agent, i, j);
            }
        }
        put<MODE>(to + at, sum);
    });
}

template <int NX, int NY, int P, int CH, int AGENTS, bool PERIODIC, int SHARES, int MODE>
CALLED void patches_reverse_xi(Team team, double dx, double dy, const T *xi, const T *fields, const T *d, T *dxi) {
    column_sums<P * P * CH, 2 * AGENTS, SHARES>(
        team, team.room,
        [&](int r, int c) {
            const int agent = c % AGENTS, axis = c / AGENTS, channel = r % CH, j = r / CH % P, i = r / CH / P;
            T ax, ay;
            const int x0 = look<NX, P, PERIODIC>(xi[agent], dx, ax) + i;
            const int y0 = look<NY, P, PERIODIC>(xi[AGENTS + agent], dy, ay) + j;
            const T *field = fields + channel * NX * NY;
            const int px = point<NX, PERIODIC>(x0), py = point<NY, PERIODIC>(y0);
            const int qx = point<NX, PERIODIC>(x0 + 1), qy = point<NY, PERIODIC>(y0 + 1);
            const T w00 = field[px * NY + py], w01 = field[px * NY + qy];
            const T w10 = field[qx * NY + py], w11 = field[qx * NY + qy];
            const T slope = axis == 0 ? (T(1) - ay) * (w10 - w00) + ay * (w11 - w01)
                                      : (T(1) - ax) * (w01 - w00) + ax * (w11 - w10);
            return d[r * AGENTS + agent] * slope;
        },
        [&](int c, T s) { put<MODE>(dxi + c, s * T(c < AGENTS ? dx : dy)); });
}

// Where all agents look, along x, then along y: first points, in the room. The team has met.
template <int NX, int NY, int P, int AGENTS, bool PERIODIC>
INLINE const int *looked(const Team &team, double dx, double dy, const T *xi) {
    int *const first = reinterpret_cast<int *>(team.room);
    each<AGENTS>(team, [&](int agent) {
        T offset;
        first[agent] = look<NX, P, PERIODIC>(xi[agent], dx, offset);
        first[AGENTS + agent] = look<NY, P, PERIODIC>(xi[AGENTS + agent], dy, offset);
    });
    meet(team);
    return first;
}

// Patches of cells whose channels lie together: y[agent][i][j][channel]. A thread takes GROUP channels of a point.
template <int NX, int NY, int P, int CH, int AGENTS, bool PERIODIC, int GROUP>
CALLED void channels(Team team, double dx, double dy, const T *xi, const T *maps, T *y) {
    constexpr int W = GROUP % 4 == 0 ? 4 : 1;
    each<CH / GROUP * AGENTS * P * P>(team, [&](int at) {
        const int j = at % P, i = at / P % P, agent = at / P / P % AGENTS, channel = at / P / P / AGENTS * GROUP;
        T offset;
        const int px = point<NX, PERIODIC>(look<NX, P, PERIODIC>(xi[agent], dx, offset) + i);
        const int py = point<NY, PERIODIC>(look<NY, P, PERIODIC>(xi[AGENTS + agent], dy, offset) + j);
        const T *const from = maps + (channel * NX + px) * NY + py;
        T *const to = y + at % (AGENTS * P * P) * CH + channel;
        Pack<W> seen[GROUP / W];
        UNROLL for (int c = 0; c < GROUP; c++) seen[c / W].at[c % W] = from[c * NX * NY];
        UNROLL for (int c = 0; c < GROUP; c += W) *reinterpret_cast<Pack<W> *>(to + c) = seen[c / W];
    });
}

template <int NX, int NY, int P, int CH, int AGENTS, bool PERIODIC, int GROUP, int MODE>
CALLED void channels_reverse(Team team, double dx, double dy, const T *xi, const T *d, T *to) {
    constexpr int W = GROUP % 4 == 0 ? 4 : 1;
    const int *const first = looked<NX, NY, P, AGENTS, PERIODIC>(team, dx, dy, xi);
    each<CH / GROUP * NX * NY>(team, [&](int at) {
        const int y = at % NY, x = at / NY % NX, channel = at / NY / NX * GROUP;
        T sum[GROUP] = {};
        UNROLL_FEW for (int agent = 0; agent < AGENTS; agent++) {
            int low, high, left, right;
            hits<NX, P, PERIODIC>(first[agent], x, low, high);
            hits<NY, P, PERIODIC>(first[AGENTS + agent], y, left, right);
            for (int i = low; i <= high; i += PERIODIC ? NX : 1) {
                for (int j = left; j <= right; j += PERIODIC ? NY : 1) {
                    const T *const from = d + ((agent * P + i) * P + j) * CH + channel;
                    UNROLL for (int c = 0; c < GROUP; c += W) {
                        const Pack<W> part = *reinterpret_cast<const Pack<W> *>(from + c);
                        UNROLL for (int u = 0; u < W; u++) sum[c + u] += part.at[u];
                    }
                }
            }
        }
        UNROLL for (int c = 0; c < GROUP; c++) put<MODE>(to + ((channel + c) * NX + x) * NY + y, sum[c]);
    });
}

// The sum of squares of the patch that each agent sees of feature maps.
template <int NX, int NY, int P, int CH, int AGENTS, bool PERIODIC, int SHARES>
CALLED void patch_squares(Team team, double dx, double dy, const T *xi, const T *maps, T *y) {
    column_sums<P * P * CH, AGENTS, SHARES>(
        team, team.room,
        [&](int r, int agent) {
            const int channel = r % CH, j = r / CH % P, i = r / CH / P;
            T offset;
            const int px = point<NX, PERIODIC>(look<NX, P, PERIODIC>(xi[agent], dx, offset) + i);
            const int py = point<NY, PERIODIC>(look<NY, P, PERIODIC>(xi[AGENTS + agent], dy, offset) + j);
            const T v = maps[(channel * NX + px) * NY + py];
            return v * v;
        },
        [&](int agent, T s) { y[agent] = s; });
}

template <int NX, int NY, int P, int CH, int AGENTS, bool PERIODIC, int MODE>
CALLED void patch_squares_reverse(Team team, double dx, double dy, const T *xi, const T *maps, const T *d, T *to) {
    const int *const first = looked<NX, NY, P, AGENTS, PERIODIC>(team, dx, dy, xi);
    each<NX * NY>(team, [&](int at) {
        T sum = 0; // how much the points of all channels count
        UNROLL_FEW for (int agent = 0; agent < AGENTS; agent++) {
            int low, high, left, right, times_x = 0, times_y = 0;
            hits<NX, P, PERIODIC>(first[agent], at / NY, low, high);
            hits<NY, P, PERIODIC>(first[AGENTS + agent], at % NY, left, right);
            for (int i = low; i <= high; i += PERIODIC ? NX : 1) times_x++;
            for (int j = left; j <= right; j += PERIODIC ? NY : 1) times_y++;
            sum += T(2 * times_x * times_y) * d[agent];
        }
        ROLLED for (int channel = 0; channel < CH; channel++) {
            const int k = channel * NX * NY + at;
            put<MODE>(to + k, sum * maps[k]);
        }
    });
}
