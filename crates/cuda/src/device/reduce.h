// Sums over rows, columns or all numbers of a sample, and values scaled by them. Values are [ROWS][COLS].

// Sums over the rows of every column: SHARES threads add parts, one adds the parts, in order.
template <int ROWS, int COLS, int SHARES, class Term, class Take>
INLINE void column_sums(const Team &team, T *room, Term term, Take take) {
    each<COLS * SHARES>(team, [&](int i) {
        const int c = i % COLS, share = i / COLS;
        T sum = 0;
        UNROLL_FEW for (int r = share; r < ROWS; r += SHARES) sum += term(r, c);
        room[i] = sum;
    });
    meet(team);
    each<COLS>(team, [&](int c) {
        T sum = 0;
        UNROLL_FEW for (int share = 0; share < SHARES; share++) sum += room[share * COLS + c];
        take(c, sum);
    });
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

template <int ROWS, int COLS, int MODE>
FUNCTION void length_reverse(Team team, const T *x, const T *y, const T *dy, T *dx) {
    each<ROWS * COLS>(team, [&](int i) {
        const int c = i % COLS;
        put<MODE>(dx + i, y[c] > T(0) ? x[i] * (dy[c] / y[c]) : T(0));
    });
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

template <int ROWS, int COLS, int SHARES> FUNCTION void softnorm_tanh(Team team, const T *x, T *y) {
    T *scale = team.room + COLS * SHARES;
    column_sums<ROWS, COLS, SHARES>(
        team, team.room,
        [&](int r, int c) {
            const T v = x[r * COLS + c];
            return v * v;
        },
        [&](int c, T s) { scale[c] = T(1) / (root(s + TINY) + T(1)); });
    meet(team);
    each<ROWS * COLS>(team, [&](int i) { y[i] = tanh_of(x[i] * scale[i % COLS]); });
}

template <int ROWS, int COLS, int SHARES, int MODE>
FUNCTION void softnorm_tanh_reverse(Team team, const T *x, const T *y, const T *dy, T *dx) {
    T *parts = team.room, *scale = parts + 2 * COLS * SHARES, *pull = scale + COLS;
    each<COLS * SHARES>(team, [&](int i) {
        const int c = i % COLS, share = i / COLS;
        T square = 0, dot = 0;
        UNROLL_FEW for (int r = share; r < ROWS; r += SHARES) {
            const T v = x[r * COLS + c], t = y[r * COLS + c], d = dy[r * COLS + c];
            square += v * v;
            dot += v * (d - t * t * d);
        }
        parts[i] = square;
        parts[COLS * SHARES + i] = dot;
    });
    meet(team);
    each<COLS>(team, [&](int c) {
        T square = TINY, dot = 0;
        UNROLL_FEW for (int share = 0; share < SHARES; share++) {
            square += parts[share * COLS + c];
            dot += parts[COLS * SHARES + share * COLS + c];
        }
        const T norm = root(square), s = T(1) / (norm + T(1));
        scale[c] = s;
        pull[c] = dot * s * s / norm;
    });
    meet(team);
    each<ROWS * COLS>(team, [&](int i) {
        const int c = i % COLS;
        const T s = (dy[i] - y[i] * y[i] * dy[i]) * scale[c];
        put<MODE>(dx + i, s - x[i] * pull[c]);
    });
}

// y[r] = sum over i of k[r][i] w[i]
template <int ROWS, int COLS> FUNCTION void contract(Team team, const T *k, const T *w, T *y) {
    each<ROWS>(team, [&](int r) {
        T sum = 0;
        UNROLL_FEW for (int c = 0; c < COLS; c++) sum += k[r * COLS + c] * w[c];
        y[r] = sum;
    });
}

template <int ROWS, int COLS, int MODE> FUNCTION void contract_reverse_k(Team team, const T *w, const T *dy, T *dk) {
    each<ROWS * COLS>(team, [&](int i) { put<MODE>(dk + i, dy[i / COLS] * w[i % COLS]); });
}

template <int ROWS, int COLS, int SHARES, int MODE>
FUNCTION void contract_reverse_w(Team team, const T *k, const T *dy, T *dw) {
    column_sums<ROWS, COLS, SHARES>(
        team, team.room, [&](int r, int c) { return k[r * COLS + c] * dy[r]; },
        [&](int c, T s) { put<MODE>(dw + c, s); });
}
