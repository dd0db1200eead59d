// Sums over rows, columns or all numbers of a sample, and values scaled by them. Values are [ROWS][COLS].

// Sums over the rows of every column. Up to a warp of threads adds what each of them has without a barrier; more
// than that leave their parts in the room.
template <int ROWS, int COLS, int SHARES, class Term, class Take>
INLINE void column_sums(const Team &team, T *room, Term term, Take take) {
    if constexpr (SHARES <= 32) {
        constexpr int lanes = LANES(SHARES);
        for_lanes<COLS, lanes>(team, [&](int c, int lane) {
            T sum = 0;
            if (c < COLS) {
                UNROLL_SUM for (int r = lane; r < ROWS; r += lanes) sum += term(r, c);
            }
            sum = over_lanes<lanes>(sum);
            if (c < COLS && lane == 0) take(c, sum);
        });
    } else {
        each<COLS * SHARES>(team, [&](int i) {
            const int c = i % COLS, share = i / COLS;
            T sum = 0;
            UNROLL_SUM for (int r = share; r < ROWS; r += SHARES) sum += term(r, c);
            room[i] = sum;
        });
        meet(team);
        // a warp for each of few sums, so that no thread waits for memory again and again
        constexpr int lanes = LANES(32);
        for_lanes<COLS, lanes>(team, [&](int c, int lane) {
            T sum = 0;
            if (c < COLS) {
                UNROLL_SUM for (int share = lane; share < SHARES; share += lanes) sum += room[share * COLS + c];
            }
            sum = over_lanes<lanes>(sum);
            if (c < COLS && lane == 0) take(c, sum);
        });
    }
}

template <int N, int SHARES> FUNCTION void sum(Team team, const T *x, T *y) {
    column_sums<N, 1, SHARES>(team, team.room, [&](int r, int) { return x[r]; }, [&](int, T s) { *y = s; });
}

template <int N, int SHARES> FUNCTION void sum_of_squares(Team team, const T *x, T *y) {
    column_sums<N, 1, SHARES>(team, team.room, [&](int r, int) { return x[r] * x[r]; }, [&](int, T s) { *y = s; });
}

template <int ROWS, int COLS, int SHARES> FUNCTION void length(Team team, const T *x, T *y) {
    column_sums<ROWS, COLS, SHARES>(
        team, team.room,
        [&](int r, int c) {
            const T v = x[r * COLS + c];
            return v * v;
        },
        [&](int c, T s) { y[c] = root(s); });
}

template <int ROWS, int COLS, int MODE, int BATCH>
FUNCTION void length_reverse(Team team, const T *x, const T *y, const T *dy, T *dx) {
    const auto scale = [&](int c) { return y[c] > T(0) ? dy[c] / y[c] : T(0); };
    if constexpr (WARP > 1 && THREADS * RUN % COLS == 0 && COLS % RUN == 0) {
        // a thread always has the same columns
        T same[RUN];
        UNROLL for (int u = 0; u < RUN; u++) same[u] = scale((team.me * RUN + u) % COLS);
        fill_runs<ROWS * COLS, MODE>(team, dx, [&](int i, T (&to)[RUN]) {
            T run[1][RUN];
            read_block<1, RUN, RUN, 1>(x + i, run);
            UNROLL for (int u = 0; u < RUN; u++) to[u] = run[0][u] * same[u];
        });
    } else {
        fill<ROWS * COLS, MODE, BATCH>(team, dx, [&](int i) { return x[i] * scale(i % COLS); });
    }
}

template <int ROWS, int COLS> FUNCTION void limit_length(Team team, T limit, const T *x, T *y) {
    each<COLS>(team, [&](int c) {
        T square = 0;
        UNROLL_FEW for (int r = 0; r < ROWS; r++) square += x[r * COLS + c] * x[r * COLS + c];
        const T scale = limit * limit < square ? limit / root(square) : T(1);
        UNROLL_FEW for (int r = 0; r < ROWS; r++) y[r * COLS + c] = x[r * COLS + c] * scale;
    });
}

template <int ROWS, int COLS, int MODE>
FUNCTION void limit_length_reverse(Team team, T limit, const T *x, const T *dy, T *dx) {
    each<COLS>(team, [&](int c) {
        T square = 0, dot = 0;
        UNROLL_FEW for (int r = 0; r < ROWS; r++) {
            square += x[r * COLS + c] * x[r * COLS + c];
            dot += x[r * COLS + c] * dy[r * COLS + c];
        }
        const bool acts = limit * limit < square;
        const T scale = acts ? limit / root(square) : T(1), pull = acts ? dot / square : T(0);
        UNROLL_FEW for (int r = 0; r < ROWS; r++) put<MODE>(dx + r * COLS + c, (dy[r * COLS + c] - x[r * COLS + c] * pull) * scale);
    });
}

template <int ROWS, int COLS> FUNCTION void peak_one(Team team, const T *x, T *y) {
    each<COLS>(team, [&](int c) {
        T peak = x[c];
        UNROLL_FEW for (int r = 1; r < ROWS; r++) peak = larger(peak, x[r * COLS + c]);
        UNROLL_FEW for (int r = 0; r < ROWS; r++) y[r * COLS + c] = x[r * COLS + c] / peak;
    });
}

template <int ROWS, int COLS, int MODE> FUNCTION void peak_one_reverse(Team team, const T *x, const T *dy, T *dx) {
    each<COLS>(team, [&](int c) {
        T peak = x[c], dot = 0;
        UNROLL_FEW for (int r = 1; r < ROWS; r++) peak = larger(peak, x[r * COLS + c]);
        UNROLL_FEW for (int r = 0; r < ROWS; r++) dot += x[r * COLS + c] * dy[r * COLS + c];
        const T scale = T(1) / peak;
        T pull = dot * scale; // for the first row at the peak
        UNROLL_FEW for (int r = 0; r < ROWS; r++) {
            const T here = x[r * COLS + c] < peak ? T(0) : pull;
            put<MODE>(dx + r * COLS + c, (dy[r * COLS + c] - here) * scale);
            pull -= here;
        }
    });
}

// keeps the derivative of the norm finite at 0
#define TINY T(1e-30)

// tanh of arguments below 1
INLINE T tanh_unit(T x) {
#ifdef SINGLE
    // a minimax fit of relative error 5e-8, below the rounding of single precision
    const T square = x * x;
    T p = T(0.0010410226316);
    p = p * square + T(-0.0062033790982);
    p = p * square + T(0.020289980416);
    p = p * square + T(-0.053457029564);
    p = p * square + T(0.13325204076);
    p = p * square + T(-0.33332839153);
    p = p * square + T(0.99999995024);
    return x * p;
#else
    return tanh_of(x);
#endif
}

// Calls body(i, r) for the rows of a lane, the i-th of them.
template <int ROWS, int LANES, class Body> INLINE void rows_of_lane(int lane, Body body) {
    UNROLL for (int i = 0; i < (ROWS + LANES - 1) / LANES; i++) {
        const int r = lane + i * LANES;
        if (ROWS % LANES == 0 || r < ROWS) body(i, r);
    }
}

template <int ROWS, int COLS, int SHARES> FUNCTION void softnorm_tanh(Team team, const T *x, T *y) {
    constexpr int lanes = LANES(SHARES);
    for_lanes<COLS, lanes>(team, [&](int c, int lane) {
        T square = 0, own[(ROWS + lanes - 1) / lanes];
        if (c < COLS) {
            rows_of_lane<ROWS, lanes>(lane, [&](int i, int r) {
                own[i] = x[r * COLS + c];
                square += own[i] * own[i];
            });
        }
        const T scale = T(1) / (root(over_lanes<lanes>(square) + TINY) + T(1));
        if (c < COLS) {
            rows_of_lane<ROWS, lanes>(lane, [&](int i, int r) { y[r * COLS + c] = tanh_unit(own[i] * scale); });
        }
    });
}

template <int ROWS, int COLS, int SHARES, int MODE>
FUNCTION void softnorm_tanh_reverse(Team team, const T *x, const T *y, const T *dy, T *dx) {
    constexpr int lanes = LANES(SHARES), most = (ROWS + lanes - 1) / lanes;
    for_lanes<COLS, lanes>(team, [&](int c, int lane) {
        T square = 0, dot = 0, own[most], d[most];
        if (c < COLS) {
            rows_of_lane<ROWS, lanes>(lane, [&](int i, int r) {
                const int at = r * COLS + c;
                own[i] = x[at];
                d[i] = dy[at] - y[at] * y[at] * dy[at];
                square += own[i] * own[i];
                dot += own[i] * d[i];
            });
        }
        const T norm = root(over_lanes<lanes>(square) + TINY), scale = T(1) / (norm + T(1));
        const T pull = over_lanes<lanes>(dot) * scale * scale / norm;
        if (c < COLS) {
            rows_of_lane<ROWS, lanes>(lane, [&](int i, int r) {
                put<MODE>(dx + r * COLS + c, d[i] * scale - own[i] * pull);
            });
        }
    });
}

// y[r] = sum over i of k[r][i] w[i]
template <int ROWS, int COLS, int SHARES> FUNCTION void contract(Team team, const T *k, const T *w, T *y) {
    column_sums<COLS, ROWS, SHARES>(
        team, team.room, [&](int c, int r) { return k[r * COLS + c] * w[c]; }, [&](int r, T s) { y[r] = s; });
}

template <int ROWS, int COLS, int MODE> FUNCTION void contract_reverse_k(Team team, const T *w, const T *dy, T *dk) {
    fill<ROWS * COLS, MODE, 1>(team, dk, [&](int i) { return dy[i / COLS] * w[i % COLS]; });
}

template <int ROWS, int COLS, int SHARES, int MODE>
FUNCTION void contract_reverse_w(Team team, const T *k, const T *dy, T *dw) {
    column_sums<ROWS, COLS, SHARES>(
        team, team.room, [&](int r, int c) { return k[r * COLS + c] * dy[r]; },
        [&](int c, T s) { put<MODE>(dw + c, s); });
}
