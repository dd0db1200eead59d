// 3 x 3 convolutions with a rectifier: of patches [(i * PY + j) * channels][agents], zero outside, and of whole
// fields [channels * NX][NY], wrapped or with repeated ends. Weights are [(a * 3 + c) * IN + k][OUT], of patches with their
// rows APART.

template <int PX, int PY, int IN, int OUT, int AGENTS, int APART, int TM, int TN>
CALLED void conv_patch(Team team, const T *x, const T *w, const T *b, T *y) {
    constexpr int across = (AGENTS + 4 * TN - 1) / (4 * TN), tiles = (OUT + 8 * TM - 1) / (8 * TM) * across;
    constexpr bool m_edge = OUT % (8 * TM) != 0, n_edge = AGENTS % (4 * TN) != 0, k_edge = IN % 8 != 0;
    ROLLED for (int item = team.me; item < PX * PY * tiles * 32; item += team.size) {
        const int lane = item % 32, tile = item / 32 % tiles, p = item / 32 / tiles;
        const int m0 = tile / across * 8 * TM, n0 = tile % across * 4 * TN, i = p / PY, j = p % PY;
        T sum[TM][TN] = {};
        const int left = j > 0 ? 0 : 1, right = j < PY - 1 ? 3 : 2;
        ROLLED for (int a = 0; a < 3; a++) {
            if (i + a < 1 || i + a > PX) continue;
            // the taps of one line and their channels follow each other
            const T *const from = x + ((i + a - 1) * PY + j + left - 1) * IN * AGENTS + n0;
            accumulate_by_warp<TM, TN, 2, (TN > 4 ? 2 : 4), 1, APART, AGENTS, 1, m_edge || k_edge, n_edge || k_edge>(
                lane, w + (a * 3 + left) * IN * APART + m0, from, OUT - m0, AGENTS - n0, (right - left) * IN, sum);
        }
        UNROLL for (int r = 0; r < TM; r++) {
            const int m = m0 + lane / 4 * TM + r;
            const T bias = !m_edge || m < OUT ? b[m] : T(0);
            UNROLL for (int c = 0; c < TN; c++) sum[r][c] = larger(sum[r][c] + bias, T(0));
        }
        T *const to = y + (p * OUT + m0) * AGENTS + n0;
        put_tile<WRITE, AGENTS, TM, TN, m_edge || n_edge>(lane, to, OUT - m0, AGENTS - n0, sum);
    }
}

// Before the other rules: no adjoint passes where the rectifier has cut.
template <int N> CALLED void rectified(Team team, const T *y, T *dy) {
    if constexpr (N % RUN == 0) {
        fill_runs<N, WRITE>(team, dy, [&](int i, T (&to)[RUN]) {
            T value[1][RUN], adjoint[1][RUN];
            read_block<1, RUN, RUN, 1>(y + i, value);
            read_block<1, RUN, RUN, 1>(dy + i, adjoint);
            UNROLL for (int u = 0; u < RUN; u++) to[u] = value[0][u] > T(0) ? adjoint[0][u] : T(0);
        });
    } else {
        fill<N, WRITE, 4>(team, dy, [&](int i) { return y[i] > T(0) ? dy[i] : T(0); });
    }
}

template <int PX, int PY, int IN, int OUT, int AGENTS, int MODE, int APART, int TM, int TN>
CALLED void conv_patch_reverse_x(Team team, const T *w, const T *dy, T *dx, const T *seen) {
    constexpr int across = (AGENTS + 4 * TN - 1) / (4 * TN), tiles = (IN + 8 * TM - 1) / (8 * TM) * across;
    constexpr bool m_edge = IN % (8 * TM) != 0, n_edge = AGENTS % (4 * TN) != 0, k_edge = OUT % 16 != 0;
    ROLLED for (int item = team.me; item < PX * PY * tiles * 32; item += team.size) {
        const int lane = item % 32, tile = item / 32 % tiles, p = item / 32 / tiles;
        const int m0 = tile / across * 8 * TM, n0 = tile % across * 4 * TN, i = p / PY, j = p % PY;
        T sum[TM][TN] = {};
        ROLLED for (int tap = 0; tap < 9; tap++) {
            const int qi = i - tap / 3 + 1, qj = j - tap % 3 + 1;
            if (qi < 0 || qj < 0 || qi >= PX || qj >= PY) continue;
            accumulate_by_warp<TM, TN, 4, (TN > 4 ? 1 : 2), APART, 1, AGENTS, 1, m_edge || k_edge, n_edge || k_edge>(
                lane, w + (tap * IN + m0) * APART, dy + (qi * PY + qj) * OUT * AGENTS + n0, IN - m0, AGENTS - n0, OUT, sum);
        }
        const int at = (p * IN + m0) * AGENTS + n0;
        put_tile<MODE, AGENTS, TM, TN, m_edge || n_edge>(lane, dx + at, IN - m0, AGENTS - n0, sum, seen ? seen + at : seen);
    }
}

// The same for few channels, which would leave most of a tile empty: first what every point passes on through its taps,
// for all taps and channels at once, then what each point gets.
template <int PX, int PY, int IN, int OUT, int AGENTS, int MODE, int APART, int TM, int TN>
CALLED void conv_patch_reverse_few(Team team, const T *w, const T *dy, T *dx) {
    constexpr int ROWS_OF_TAPS = 9 * IN, across = (AGENTS + 4 * TN - 1) / (4 * TN);
    constexpr int tiles = (ROWS_OF_TAPS + 8 * TM - 1) / (8 * TM) * across;
    constexpr bool m_edge = ROWS_OF_TAPS % (8 * TM) != 0, n_edge = AGENTS % (4 * TN) != 0, k_edge = OUT % 16 != 0;
    ROLLED for (int item = team.me; item < PX * PY * tiles * 32; item += team.size) {
        const int lane = item % 32, tile = item / 32 % tiles, p = item / 32 / tiles;
        const int m0 = tile / across * 8 * TM, n0 = tile % across * 4 * TN;
        T sum[TM][TN] = {};
        accumulate_by_warp<TM, TN, 4, 2, APART, 1, AGENTS, 1, m_edge || k_edge, n_edge || k_edge>(
            lane, w + m0 * APART, dy + p * OUT * AGENTS + n0, ROWS_OF_TAPS - m0, AGENTS - n0, OUT, sum);
        T *const to = team.room + (p * ROWS_OF_TAPS + m0) * AGENTS + n0;
        put_tile<WRITE, AGENTS, TM, TN, m_edge || n_edge>(lane, to, ROWS_OF_TAPS - m0, AGENTS - n0, sum);
    }
    meet(team);
    fill<PX * PY * IN * AGENTS, MODE, 2>(team, dx, [&](int at) {
        const int agent = at % AGENTS, k = at / AGENTS % IN, p = at / AGENTS / IN, i = p / PY, j = p % PY;
        T sum = 0;
        UNROLL for (int tap = 0; tap < 9; tap++) {
            const int qi = i - tap / 3 + 1, qj = j - tap % 3 + 1;
            const bool inside = unsigned(qi) < PX && unsigned(qj) < PY;
            if (inside) sum += team.room[((qi * PY + qj) * ROWS_OF_TAPS + tap * IN + k) * AGENTS + agent];
        }
        return sum;
    });
}

// Adjoints of weights and bias. Of those of the weights, transposed, rows are outputs, columns taps and channels, and
// terms points and agents. Points are shared out to S parts; the parts are added in order.
template <int PX, int PY, int IN, int OUT, int AGENTS, int W_MODE, int B_MODE, int TM, int TN, int S>
CALLED void conv_patch_reverse_w(Team team, const T *x, const T *dy, T *dw, T *db) {
    constexpr int COLS = 9 * IN, across = (COLS + 4 * TN - 1) / (4 * TN), tiles = (OUT + 8 * TM - 1) / (8 * TM) * across;
    const Team sums_of_dy = with_room(team, team.room + S * COLS * OUT);
    ROLLED for (int item = team.me; item < tiles * S * 32; item += team.size) {
        const int lane = item % 32, tile = item / 32 % tiles, s = item / 32 / tiles;
        const int m0 = tile / across * 8 * TM, n0 = tile % across * 4 * TN, g = lane / 4, t = lane % 4;
        const int first = s * PX * PY / S, end = (s + 1) * PX * PY / S;
        const bool also_bias = n0 == 0;
        T sum[TM][TN] = {}, of_dy[TM] = {};
#ifdef MATRIX_UNITS
        constexpr int KV = AGENTS > 8 ? 4 : 2, NT = TN / 2;
        constexpr bool m_edge = OUT % (8 * TM) != 0, k_edge = AGENTS % (4 * KV) != 0;
        int down[NT], beside[NT], shift[NT];
        UNROLL for (int c = 0; c < NT; c++) {
            const int n = n0 + g * NT + c, tap = n / IN;
            down[c] = n < COLS ? tap / 3 - 1 : PX; // one that does not exist is never inside
            beside[c] = tap % 3 - 1;
            shift[c] = (((tap / 3 - 1) * PY + beside[c]) * IN + n % IN) * AGENTS + t * KV;
        }
        // two rounds at a time: the numbers of the next are asked for before those of this one are multiplied
        constexpr int rounds = (AGENTS + 4 * KV - 1) / (4 * KV);
        UNROLL_BY(rounds > 1 && TN > 6 ? 1 : 2) for (int p = first; p < end; p++) {
            const int i = p / PY, j = p % PY;
            UNROLL_BY(2) for (int k = 0; k < AGENTS; k += 4 * KV) {
                T left[TM][KV], right[KV][NT];
                const int exist = AGENTS - k - t * KV;
                read_part<TM, KV, AGENTS, 1, m_edge || k_edge>(dy + (p * OUT + m0 + g * TM) * AGENTS + k + t * KV,
                                                               OUT - m0 - g * TM, exist, left);
                UNROLL for (int c = 0; c < NT; c++) {
                    const bool inside = unsigned(i + down[c]) < PX && unsigned(j + beside[c]) < PY;
                    T column[1][KV] = {};
                    if (inside) read_part<1, KV, KV, 1, k_edge>(x + p * IN * AGENTS + shift[c] + k, 1, exist, column);
                    UNROLL for (int u = 0; u < KV; u++) right[u][c] = column[0][u];
                }
                add_products<TM, TN, KV>(left, right, sum);
                if (also_bias) {
                    UNROLL for (int r = 0; r < TM; r++) {
                        UNROLL for (int u = 0; u < KV; u++) of_dy[r] += left[r][u];
                    }
                }
            }
        }
        UNROLL for (int r = 0; r < TM; r++) {
            of_dy[r] += __shfl_xor_sync(0xffffffffu, of_dy[r], 1);
            of_dy[r] += __shfl_xor_sync(0xffffffffu, of_dy[r], 2);
        }
#else
        for (int p = first; p < end; p++) {
            for (int r = 0; r < TM && m0 + g * TM + r < OUT; r++) {
                const T *const with = dy + (p * OUT + m0 + g * TM + r) * AGENTS;
                for (int c = 0; c < TN; c++) {
                    const int n = n0 + t * TN + c, tap = n / IN, i = p / PY + tap / 3 - 1, j = p % PY + tap % 3 - 1;
                    if (n >= COLS || i < 0 || j < 0 || i >= PX || j >= PY) continue;
                    const T *const from = x + ((i * PY + j) * IN + n % IN) * AGENTS;
#ifdef LIKE_UNITS
                    sum[r][c] = sum_by_units(sum[r][c], AGENTS, from, 1, with, 1);
#else
                    for (int k = 0; k < AGENTS; k++) sum[r][c] += from[k] * with[k];
#endif
                }
                for (int k = 0; k < AGENTS && also_bias; k++) of_dy[r] += with[k];
            }
        }
#endif
        each_of_lane<TM, TN>(lane, OUT - m0, COLS - n0, sum, [&](int m, int n, T value) {
            team.room[s * COLS * OUT + (n0 + n) * OUT + m0 + m] = value;
        });
        UNROLL for (int r = 0; r < TM; r++) {
            const int m = m0 + g * TM + r;
            if (also_bias && t == 0 && m < OUT) sums_of_dy.room[s * OUT + m] = of_dy[r];
        }
    }
    meet(team);
    add_parts<COLS * OUT, S, W_MODE>(team, dw, [&](int) { return T(0); });
    add_parts<OUT, S, B_MODE>(sums_of_dy, db, [&](int) { return T(0); });
}

// What the taps of all points of a field read, [(a * 3 + c) * IN + k][NX * NY]: a convolution of it is a product.
template <int NX, int NY, int IN, bool PERIODIC> CALLED void neighbours(Team team, const T *x, T *to) {
    fill<9 * IN * NX * NY, WRITE, 8>(team, to, [&](int at) {
        const int j = at % NY, i = at / NY % NX, k = at / NY / NX % IN, tap = at / NY / NX / IN;
        return x[(k * NX + point<NX, PERIODIC>(i + tap / 3 - 1)) * NY + point<NY, PERIODIC>(j + tap % 3 - 1)];
    });
}

// The reverse: every point gets what all the taps have that read it, also through the ends.
template <int NX, int NY, int IN, bool PERIODIC, int MODE>
CALLED void neighbours_reverse(Team team, const T *d, T *to) {
    each<IN * NX * NY>(team, [&](int at) {
        const int j = at % NY, i = at / NY % NX, k = at / NY / NX;
        T sum = 0;
        UNROLL for (int tap = 0; tap < 9; tap++) {
            const T *const of_tap = d + (tap * IN + k) * NX * NY;
            if constexpr (PERIODIC) {
                sum += of_tap[point<NX, true>(i - tap / 3 + 1) * NY + point<NY, true>(j - tap % 3 + 1)];
            } else {
                for (int p = (i > 0 ? i - 1 : 0); p <= i + 1 && p < NX; p++) {
                    if (point<NX, false>(p + tap / 3 - 1) != i) continue;
                    for (int q = (j > 0 ? j - 1 : 0); q <= j + 1 && q < NY; q++) {
                        if (point<NY, false>(q + tap % 3 - 1) == j) sum += of_tap[p * NY + q];
                    }
                }
            }
        }
        put<MODE>(to + at, sum);
    });
}

// After a convolution: the rectifier.
template <int N> CALLED void rectify(Team team, T *y) {
    fill<N, WRITE, 4>(team, y, [&](int i) { return larger(y[i], T(0)); });
}
