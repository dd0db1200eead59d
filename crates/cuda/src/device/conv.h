// 3 x 3 convolutions with a rectifier: of patches [(i * PY + j) * channels][agents], zero outside, and of whole
// fields [channels * NX][NY], wrapped or with repeated ends. Weights are [(a * 3 + c) * IN + k][OUT].

template <int PX, int PY, int IN, int OUT, int AGENTS, int TM, int TN>
FUNCTION void conv_patch(Team team, const T *x, const T *w, const T *b, T *y) {
    const int across = AGENTS / TN, high = OUT / TM;
    ROLLED for (int item = team.me; item < PX * PY * high * across; item += team.size) {
        const int n0 = item % across * TN, m0 = item / across % high * TM, p = item / across / high;
        const int i = p / PY, j = p % PY;
        T sum[TM][TN];
        UNROLL for (int m = 0; m < TM; m++) {
            UNROLL for (int n = 0; n < TN; n++) sum[m][n] = b[m0 + m];
        }
        const int left = j > 0 ? 0 : 1, right = j < PY - 1 ? 3 : 2;
        ROLLED for (int a = 0; a < 3; a++) {
            if (i + a < 1 || i + a > PX) continue;
            // the taps of one line and their channels follow each other
            const T *from = x + ((i + a - 1) * PY + j + left - 1) * IN * AGENTS + n0;
            accumulate<TM, TN, 1, 1, 4, 1, OUT, AGENTS, 1>(w + (a * 3 + left) * IN * OUT + m0, from, (right - left) * IN, sum);
        }
        UNROLL for (int m = 0; m < TM; m++) {
            UNROLL for (int n = 0; n < TN; n++) {
                y[(p * OUT + m0 + m) * AGENTS + n0 + n] = sum[m][n] > T(0) ? sum[m][n] : T(0);
            }
        }
    }
}

// Before the other rules: no adjoint passes where the rectifier has cut.
template <int N, int BATCH> FUNCTION void rectified(Team team, const T *y, T *dy) {
    fill<N, WRITE, BATCH>(team, dy, [&](int i) { return y[i] > T(0) ? dy[i] : T(0); });
}

template <int PX, int PY, int IN, int OUT, int AGENTS, int MODE, int TM, int TN, int KU>
FUNCTION void conv_patch_reverse_x(Team team, const T *w, const T *dy, T *dx) {
    const int across = AGENTS / TN, high = IN / TM;
    ROLLED for (int item = team.me; item < PX * PY * high * across; item += team.size) {
        const int n0 = item % across * TN, m0 = item / across % high * TM, p = item / across / high;
        const int i = p / PY, j = p % PY;
        T sum[TM][TN] = {};
        ROLLED for (int a = 0; a < 3; a++) {
            ROLLED for (int c = 0; c < 3; c++) {
                const int qi = i - a + 1, qj = j - c + 1;
                if (qi < 0 || qj < 0 || qi >= PX || qj >= PY) continue;
                accumulate<TM, TN, KU, KU, 2, OUT, 1, AGENTS, 1>(w + ((a * 3 + c) * IN + m0) * OUT,
                                                          dy + (qi * PY + qj) * OUT * AGENTS + n0, OUT, sum);
            }
        }
        UNROLL for (int m = 0; m < TM; m++) {
            UNROLL for (int n = 0; n < TN; n++) put<MODE>(dx + (p * IN + m0 + m) * AGENTS + n0 + n, sum[m][n]);
        }
    }
}

// Points are shared out to S parts; the parts are added in order.
template <int PX, int PY, int IN, int OUT, int AGENTS, int MODE, int TM, int TN, int KU, int S>
FUNCTION void conv_patch_reverse_w(Team team, const T *x, const T *dy, T *dw) {
    const int across = OUT / TN, high = IN / TM, tiles = 9 * high * across, size = 9 * IN * OUT;
    ROLLED for (int item = team.me; item < tiles * S; item += team.size) {
        const int s = item / tiles, tile = item % tiles;
        const int n0 = tile % across * TN, m0 = tile / across % high * TM, tap = tile / across / high;
        const int a = tap / 3 - 1, c = tap % 3 - 1;
        T sum[TM][TN] = {};
        ROLLED for (int p = s * PX * PY / S; p < (s + 1) * PX * PY / S; p++) {
            const int i = p / PY + a, j = p % PY + c;
            if (i < 0 || j < 0 || i >= PX || j >= PY) continue;
            accumulate<TM, TN, KU, KU, 2, AGENTS, 1, 1, AGENTS>(x + ((i * PY + j) * IN + m0) * AGENTS,
                                                         dy + (p * OUT + n0) * AGENTS, AGENTS, sum);
        }
        UNROLL for (int m = 0; m < TM; m++) {
            UNROLL for (int n = 0; n < TN; n++) team.room[s * size + (tap * IN + m0 + m) * OUT + n0 + n] = sum[m][n];
        }
    }
    meet(team);
    each<size>(team, [&](int i) {
        T sum = 0;
        for (int s = 0; s < S; s++) sum += team.room[s * size + i];
        put<MODE>(dw + i, sum);
    });
}

template <int POINTS, int OUT, int AGENTS, int SHARES, int MODE>
FUNCTION void conv_patch_reverse_b(Team team, const T *dy, T *db) {
    column_sums<POINTS * AGENTS, OUT, SHARES>(
        team, team.room, [&](int r, int o) { return dy[(r / AGENTS * OUT + o) * AGENTS + r % AGENTS]; },
        [&](int o, T s) { put<MODE>(db + o, s); });
}

template <int NX, int NY, int IN, int OUT, bool PERIODIC>
FUNCTION void conv_field(Team team, const T *x, const T *w, const T *b, T *y) {
    each<OUT * NX * NY>(team, [&](int at) {
        const int j = at % NY, i = at / NY % NX, o = at / NY / NX;
        T sum = b[o];
        ROLLED for (int tap = 0; tap < 9; tap++) {
            const int p = point<NX, PERIODIC>(i + tap / 3 - 1), q = point<NY, PERIODIC>(j + tap % 3 - 1);
            UNROLL_FEW for (int k = 0; k < IN; k++) sum += w[(tap * IN + k) * OUT + o] * x[(k * NX + p) * NY + q];
        }
        y[at] = sum > T(0) ? sum : T(0);
    });
}

template <int NX, int NY, int IN, int OUT, bool PERIODIC, int MODE>
FUNCTION void conv_field_reverse_x(Team team, const T *w, const T *dy, T *dx) {
    each<IN * NX * NY>(team, [&](int at) {
        const int j = at % NY, i = at / NY % NX, k = at / NY / NX;
        T sum = 0;
        // every output that reads this point, also through the ends
        for (int a = -1; a <= 1; a++) {
            for (int c = -1; c <= 1; c++) {
                const int p = PERIODIC ? point<NX, true>(i + a) : i + a, q = PERIODIC ? point<NY, true>(j + c) : j + c;
                if (p < 0 || q < 0 || p >= NX || q >= NY) continue;
                ROLLED for (int tap = 0; tap < 9; tap++) {
                    if (PERIODIC ? tap != (1 - a) * 3 + 1 - c
                                 : point<NX, false>(p + tap / 3 - 1) != i || point<NY, false>(q + tap % 3 - 1) != j)
                        continue;
                    UNROLL_FEW for (int o = 0; o < OUT; o++) sum += w[(tap * IN + k) * OUT + o] * dy[(o * NX + p) * NY + q];
                }
            }
        }
        put<MODE>(dx + at, sum);
    });
}

template <int NX, int NY, int IN, int OUT, bool PERIODIC, int SHARES, int MODE>
FUNCTION void conv_field_reverse_w(Team team, const T *x, const T *dy, T *dw) {
    column_sums<NX * NY, 9 * IN * OUT, SHARES>(
        team, team.room,
        [&](int r, int at) {
            const int o = at % OUT, k = at / OUT % IN, tap = at / OUT / IN, i = r / NY, j = r % NY;
            const int p = point<NX, PERIODIC>(i + tap / 3 - 1), q = point<NY, PERIODIC>(j + tap % 3 - 1);
            return x[(k * NX + p) * NY + q] * dy[o * NX * NY + r];
        },
        [&](int at, T s) { put<MODE>(dw + at, s); });
}
