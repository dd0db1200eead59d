// Products by the matrix units of the device.
//
// A warp computes a tile of C with 8 TM rows and 4 TN columns. A lane ends up with TM x TN neighbouring numbers of it,
// as a thread does elsewhere. The units multiply numbers of 11 significant bits (TF32) and add in single precision. So
// every factor is split into two such numbers, and a b = ah bh + ah bl + al bh: what is left out is below 2^-24 of the
// product, the rounding of single precision. In double precision, and on the host, a lane computes its numbers one by
// one.

#if defined(__CUDACC__) && defined(SINGLE)
#define MATRIX_UNITS
#endif

// Reads a block [P][Q] of which only the first `rows` and `cols` exist; the others are 0.
template <int P, int Q, int SP, int SQ, bool EDGE>
INLINE void read_part(const T *from, int rows, int cols, T (&to)[P][Q]) {
    if constexpr (EDGE) {
        UNROLL for (int p = 0; p < P; p++) {
            UNROLL for (int q = 0; q < Q; q++) to[p][q] = p < rows && q < cols ? from[p * SP + q * SQ] : T(0);
        }
    } else {
        read_block<P, Q, SP, SQ>(from, to);
    }
}

#ifdef MATRIX_UNITS
// C += A B for a tile of 16 x 8 numbers and 8 terms. With g = lane / 4 and t = lane % 4, a lane gives the rows g and
// g + 8 of the columns t and t + 4 of A, the column g of the rows t and t + 4 of B, and has the columns 2 t and 2 t + 1
// of the rows g and g + 8 of C.
INLINE void tile_product(const unsigned (&a)[4], const unsigned (&b)[2], T &c0, T &c1, T &c2, T &c3) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// x = high + low, exactly: high is rounded to 11 bits, so low may have either sign, and what the units ignore of it too. A
// NaN stays one in low. The compiler must not know the mask (threadIdx.y is 0): it would give x itself to the units, which
// ignore its last bits too, and move it next to its neighbours for that.
INLINE void split(T x, unsigned &high, unsigned &low) {
    high = (__float_as_uint(x) + 0x1000u) & (0xffffe000u | threadIdx.y);
    low = __float_as_uint(x - __uint_as_float(high));
}
#endif

// Adds to the numbers of a lane what its warp has of A [8 TM][4 KV] and B [4 KV][4 TN]. Rows and columns are dealt out so
// that the factors and the sums of a lane are neighbours: row g of the tile number i of C is row g TM + 2 i, row g + 8
// the one after it, and column c of the tile number j is column c TN / 2 + j. Which terms a lane has does not matter, if
// both factors have the same ones.
template <int TM, int TN, int KV>
INLINE void add_products(const T (&left)[TM][KV], const T (&right)[KV][TN / 2], T (&sum)[TM][TN]) {
#ifdef MATRIX_UNITS
    constexpr int NT = TN / 2;
    UNROLL for (int s = 0; s < KV; s += 2) {
        unsigned b[NT][2], b_low[NT][2];
        UNROLL for (int j = 0; j < NT; j++) {
            UNROLL for (int u = 0; u < 2; u++) split(right[s + u][j], b[j][u], b_low[j][u]);
        }
        UNROLL for (int i = 0; i < TM; i += 2) {
            unsigned a[4], a_low[4];
            UNROLL for (int u = 0; u < 4; u++) split(left[i + u % 2][s + u / 2], a[u], a_low[u]);
            UNROLL for (int j = 0; j < NT; j++) {
                T &c0 = sum[i][j], &c1 = sum[i][NT + j], &c2 = sum[i + 1][j], &c3 = sum[i + 1][NT + j];
                tile_product(a_low, b[j], c0, c1, c2, c3);
                tile_product(a, b_low[j], c0, c1, c2, c3);
                tile_product(a, b[j], c0, c1, c2, c3);
            }
        }
    }
#else
    (void)left, (void)right, (void)sum;
#endif
}

// Adds the products of `count` terms to the numbers of a lane. A and B are given where the tile of the warp begins;
// of its rows and columns the first ones exist. The numbers of AHEAD rounds are asked for at once. Where a factor lies
// along k, the KV terms of a lane are neighbours; elsewhere they are 4 apart, so that the lanes of a warp read whole
// lines of memory.
template <int TM, int TN, int KV, int AHEAD, int AM, int AK, int BK, int BN, bool A_EDGE, bool B_EDGE>
INLINE void accumulate_by_warp(int lane, const T *a, const T *b, int rows, int cols, int count, T (&sum)[TM][TN]) {
    const int g = lane / 4, t = lane % 4;
#ifdef MATRIX_UNITS
    constexpr int NT = TN / 2, apart = AK == 1 || BK == 1 ? 1 : 4, own = apart == 1 ? KV : 1;
    // rows that do not begin at multiples of what is read at once are read number by number
    constexpr bool a_single = A_EDGE || (AM == 1 && AK % TM != 0), b_single = B_EDGE || (BN == 1 && BK % NT != 0);
    a += g * TM * AM + t * own * AK;
    b += t * own * BK + g * NT * BN;
    UNROLL_BY(AHEAD) for (int k = 0; k < count; k += 4 * KV) {
        const int exist = (count - k - t * own + apart - 1) / apart;
        T left[TM][KV], right[KV][NT];
        read_part<TM, KV, AM, apart * AK, a_single>(a + k * AK, rows - g * TM, exist, left);
        read_part<KV, NT, apart * BK, BN, b_single>(b + k * BK, exist, cols - g * NT, right);
        add_products<TM, TN, KV>(left, right, sum);
    }
#else
    const int down = !A_EDGE || rows - g * TM > TM ? TM : rows - g * TM;
    const int across = !B_EDGE || cols - t * TN > TN ? TN : cols - t * TN;
    const T *const left = a + g * TM * AM, *const right = b + t * TN * BN;
#ifdef LIKE_UNITS
    for (int i = 0; i < down && i < TM; i++) {
        for (int j = 0; j < across && j < TN; j++) {
            sum[i][j] = sum_by_units(sum[i][j], count, left + i * AM, AK, right + j * BN, BK);
        }
    }
#else
    const auto add = [&](int height, int width) {
        for (int k = 0; k < count; k++) {
            for (int i = 0; i < height; i++) {
                for (int j = 0; j < width; j++) sum[i][j] += left[i * AM + k * AK] * right[k * BK + j * BN];
            }
        }
    };
    // with whole tiles the compiler knows the loops
    if (down == TM && across == TN)
        add(TM, TN);
    else
        add(down, across);
#endif
#endif
}

// Calls take(m, n, value) for the numbers of a lane that exist.
template <int TM, int TN, class Take>
INLINE void each_of_lane(int lane, int rows, int cols, const T (&sum)[TM][TN], Take take) {
    UNROLL for (int i = 0; i < TM; i++) {
        UNROLL for (int j = 0; j < TN; j++) {
            const int m = lane / 4 * TM + i, n = lane % 4 * TN + j;
            if (m < rows && n < cols) take(m, n, sum[i][j]);
        }
    }
}

// No values that a rectifier saw: nothing is cut.
#define NOT_CUT nullptr

// A number for a place with `old` in it, or 0 where the rectifier has cut.
template <int MODE> INLINE T cut_to(T old, T x, bool passes) { return !passes ? T(0) : MODE == ADD ? old + x : x; }

// Puts the numbers of a lane into a matrix whose rows are N apart. Where a rectifier saw nothing above 0, it is `seen` at
// the same places, they become 0.
template <int MODE, int N, int TM, int TN, bool EDGE>
INLINE void put_tile(int lane, T *to, int rows, int cols, const T (&sum)[TM][TN], const T *seen = NOT_CUT) {
    if constexpr (!EDGE && N % TN == 0 && (TN == 2 || TN % 4 == 0)) {
        constexpr int W = TN == 2 ? 2 : 4;
        UNROLL for (int i = 0; i < TM; i++) {
            UNROLL for (int from = 0; from < TN; from += W) {
                T *const there = to + (lane / 4 * TM + i) * N + lane % 4 * TN + from;
                Pack<W> *const at = reinterpret_cast<Pack<W> *>(there);
                Pack<W> run = {}, of_seen = {};
                if (MODE == ADD) run = *at;
                if (seen) of_seen = *reinterpret_cast<const Pack<W> *>(seen + (there - to));
                UNROLL for (int j = 0; j < W; j++) {
                    run.at[j] = cut_to<MODE>(run.at[j], sum[i][from + j], !seen || of_seen.at[j] > T(0));
                }
                *at = run;
            }
        }
    } else {
        each_of_lane<TM, TN>(lane, rows, cols, sum, [&](int m, int n, T x) {
            const int at = m * N + n;
            to[at] = cut_to<MODE>(to[at], x, !seen || seen[at] > T(0));
        });
    }
}

// What parts of a sum have left in the room: to[i] (+)= start(i) + room[i] + room[SIZE + i] + ... As many lanes share a sum
// as there are threads for.
template <int SIZE, int PARTS, int MODE, class Begin> INLINE void add_parts(const Team &team, T *to, Begin begin) {
    constexpr int free = CLUSTER * THREADS / SIZE, most = free < PARTS ? free : PARTS;
    constexpr int shares = most >= 16 ? 16 : most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : 1;
    column_sums<PARTS, SIZE, shares>(
        team, nullptr, [&](int part, int i) { return team.room[part * SIZE + i]; },
        [&](int i, T sum) { put<MODE>(to + i, begin(i) + sum); });
}

// C[m][n] (+)= start + sum over k of A[m][k] B[k][n] by warps; PARTS of them share the terms of a tile.
template <int M, int N, int K, int AM, int AK, int BK, int BN, int MODE, int START, int TM, int TN, int KV, int PARTS>
CALLED void product_by_warps(Team team, const T *a, const T *b, const T *start, T *c, const T *seen = NOT_CUT) {
    constexpr int round = 4 * KV, part = (K + PARTS * round - 1) / (PARTS * round) * round;
    constexpr int across = (N + 4 * TN - 1) / (4 * TN), tiles = (M + 8 * TM - 1) / (8 * TM) * across;
    constexpr bool m_edge = M % (8 * TM) != 0, n_edge = N % (4 * TN) != 0, k_edge = K % round != 0;
    constexpr int ahead = CLUSTER > 1 ? 4 : 2;
    ROLLED for (int item = team.me; item < tiles * PARTS * 32; item += team.size) {
        const int lane = item % 32, tile = item / 32 % tiles, p = item / 32 / tiles;
        const int m0 = tile / across * 8 * TM, n0 = tile % across * 4 * TN, k0 = p * part;
        const int count = K - k0 < part ? K - k0 : part;
        T sum[TM][TN] = {};
        accumulate_by_warp<TM, TN, KV, ahead, AM, AK, BK, BN, m_edge || k_edge, n_edge || k_edge>(
            lane, a + m0 * AM + k0 * AK, b + k0 * BK + n0 * BN, M - m0, N - n0, count, sum);
        if constexpr (PARTS > 1) {
            put_tile<WRITE, N, TM, TN, m_edge || n_edge>(lane, team.room + (p * M + m0) * N + n0, M - m0, N - n0, sum);
        } else if constexpr (START == ZERO) {
            const int at = m0 * N + n0;
            put_tile<MODE, N, TM, TN, m_edge || n_edge>(lane, c + at, M - m0, N - n0, sum, seen ? seen + at : seen);
        } else {
            each_of_lane<TM, TN>(lane, M - m0, N - n0, sum, [&](int m, int n, T x) {
                const int at = (m0 + m) * N + n0 + n;
                put<MODE>(c + at, x + start[START == PER_ROW ? m0 + m : at]);
            });
        }
    }
    if constexpr (PARTS > 1) {
        meet(team);
        add_parts<M * N, PARTS, MODE>(team, c, [&](int i) {
            return START == ZERO ? T(0) : start[START == PER_ROW ? i / N : i];
        });
    }
}
