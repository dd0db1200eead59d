// Small products by the matrix units, for one block whose factors lie in shared memory.
//
// A warp computes a tile of 16 rows and 8 WIDE columns with all its terms, and nobody waits for anybody. Wide tiles split
// the numbers of A for the units once for several products. Rows and columns that do not exist are copies of the last
// one, and are not written.

// The numbers of a lane in a tile: the rows g and g + 8, and in every eighth of it the columns 2 t and 2 t + 1.
struct InTile {
    int g, t;
};

// The two terms of a lane out of eight, NEXT apart.
template <int NEXT, bool TOGETHER> INLINE void two_terms(const T *from, T (&x)[2]) {
    if constexpr (TOGETHER) {
        const Pack<2> run = *reinterpret_cast<const Pack<2> *>(from);
        x[0] = run.at[0], x[1] = run.at[1];
    } else {
        x[0] = from[0], x[1] = from[NEXT];
    }
}

// The sums of a lane, [2][WIDE][2]. Where a factor lies along k, the terms of a lane are neighbours, which are read
// together; elsewhere they are 4 apart, so that lanes read whole lines.
template <int M, int N, int K, int AM, int AK, int BK, int BN, int WIDE>
INLINE void sums_of_lane(const InTile &lane, const T *a, const T *b, int m0, int n0, T (&sum)[2][WIDE][2]) {
    const T *rows[2], *cols[WIDE];
#ifdef MATRIX_UNITS
    constexpr int own = AK == 1 || BK == 1 ? 2 : 1, apart = own == 2 ? 1 : 4;
    UNROLL for (int i = 0; i < 2; i++) rows[i] = a + clamped(m0 + lane.g + 8 * i, 0, M - 1) * AM + own * lane.t * AK;
    UNROLL for (int j = 0; j < WIDE; j++) cols[j] = b + clamped(n0 + 8 * j + lane.g, 0, N - 1) * BN + own * lane.t * BK;
    // small terms have sums of their own: two chains of products instead of one
    T large[WIDE][4] = {}, small[WIDE][4] = {};
    const auto add = [&](const T (&left)[2][2], const T (&right)[WIDE][2]) {
        unsigned high[4], low[4];
        UNROLL for (int u = 0; u < 4; u++) split(left[u % 2][u / 2], high[u], low[u]);
        UNROLL for (int j = 0; j < WIDE; j++) {
            unsigned other[2], other_low[2];
            UNROLL for (int u = 0; u < 2; u++) split(right[j][u], other[u], other_low[u]);
            T(&l)[4] = large[j], (&s)[4] = small[j];
            tile_product(high, other, l[0], l[1], l[2], l[3]);
            tile_product(low, other, s[0], s[1], s[2], s[3]);
            tile_product(high, other_low, s[0], s[1], s[2], s[3]);
        }
    };
    UNROLL_BY(8) for (int k = 0; k + 8 <= K; k += 8) {
        T left[2][2], right[WIDE][2];
        UNROLL for (int i = 0; i < 2; i++) two_terms<apart * AK, AK == 1 && AM % 2 == 0>(rows[i] + k * AK, left[i]);
        UNROLL for (int j = 0; j < WIDE; j++) {
            two_terms<apart * BK, BK == 1 && BN % 2 == 0>(cols[j] + k * BK, right[j]);
        }
        add(left, right);
    }
    if constexpr (K % 8 != 0) {
        T left[2][2], right[WIDE][2];
        UNROLL for (int u = 0; u < 2; u++) {
            const int term = K / 8 * 8 + own * lane.t + apart * u, k = (term < K ? term : K - 1) - own * lane.t;
            UNROLL for (int i = 0; i < 2; i++) left[i][u] = term < K ? rows[i][k * AK] : T(0);
            UNROLL for (int j = 0; j < WIDE; j++) right[j][u] = cols[j][k * BK];
        }
        add(left, right);
    }
    UNROLL for (int i = 0; i < 4 * WIDE; i++) sum[i / 2 % 2][i / 4][i % 2] = large[i / 4][i % 4] + small[i / 4][i % 4];
#else
    (void)rows, (void)cols;
    for (int i = 0; i < 4 * WIDE; i++) {
        const int m = m0 + lane.g + 8 * (i / 2 % 2), n = n0 + 8 * (i / 4) + 2 * lane.t + i % 2;
        T &to = sum[i / 2 % 2][i / 4][i % 2];
        to = 0;
        for (int k = 0; k < K && m < M && n < N; k++) to += a[m * AM + k * AK] * b[k * BK + n * BN];
    }
#endif
}

// Turns the eighths of a tile: the first one of a lane is then number g modulo WIDE, and the next ones follow. So lanes
// write different columns of different rows at a time; where rows begin in the same bank, equal columns would wait.
template <int WIDE> INLINE void turn_eighths(int g, T (&sum)[2][WIDE][2]) {
    UNROLL for (int by = 1; by < WIDE; by *= 2) {
        T old[2][WIDE][2];
        UNROLL for (int i = 0; i < 4 * WIDE; i++) old[i / 2 % 2][i / 4][i % 2] = sum[i / 2 % 2][i / 4][i % 2];
        UNROLL for (int i = 0; i < 4 * WIDE; i++) {
            const int row = i / 2 % 2, j = i / 4, u = i % 2;
            sum[row][j][u] = g & by ? old[row][(j + by) % WIDE][u] : old[row][j][u];
        }
    }
}

// C[m][n] (+)= start + sum over k of A[m][k] B[k][n]
template <int M, int N, int K, int AM, int AK, int BK, int BN, int MODE, int START, int WIDE>
FUNCTION void small_product(Team team, const T *a, const T *b, const T *start, T *c) {
    constexpr unsigned across = (N + 8 * WIDE - 1) / (8 * WIDE), tiles = (M + 15) / 16 * across;
    ROLLED for (unsigned item = team.me; item < tiles * 32; item += team.size) {
        const InTile lane = {int(item % 32 / 4), int(item % 4)};
        const int m0 = item / 32 / across * 16, n0 = item / 32 % across * 8 * WIDE;
        T sum[2][WIDE][2];
        sums_of_lane<M, N, K, AM, AK, BK, BN, WIDE>(lane, a, b, m0, n0, sum);
        constexpr bool turned = N % 32 == 0 && (WIDE == 2 || WIDE == 4);
        if constexpr (turned) turn_eighths<WIDE>(lane.g, sum);
        UNROLL for (int i = 0; i < 2; i++) {
            const int m = m0 + lane.g + 8 * i;
            if (M % 16 != 0 && m >= M) continue;
            const T first = START == PER_ROW ? start[m] : T(0);
            UNROLL for (int j = 0; j < WIDE; j++) {
                const int n = n0 + 8 * (turned ? (j + lane.g) % WIDE : j) + 2 * lane.t, at = m * N + n;
                if (N % (8 * WIDE) != 0 && n >= N) continue;
                if constexpr (N % 2 == 0) {
                    Pack<2> run = {};
                    if (MODE == ADD) run = *reinterpret_cast<const Pack<2> *>(c + at);
                    UNROLL for (int u = 0; u < 2; u++) {
                        const T begun = START == MATRIX ? start[at + u] : first;
                        run.at[u] = (MODE == ADD ? run.at[u] : T(0)) + (sum[i][j][u] + begun);
                    }
                    *reinterpret_cast<Pack<2> *>(c + at) = run;
                } else {
                    UNROLL for (int u = 0; u < 2; u++) {
                        if (n + u < N) put<MODE>(c + at + u, sum[i][j][u] + (START == MATRIX ? start[at + u] : first));
                    }
                }
            }
        }
    }
}
