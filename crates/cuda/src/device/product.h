// Products of matrices: C[m][n] = start + sum over k of A[m][k] B[k][n], with any distances between neighbours.
//
// A thread computes a tile of TM x TN numbers in registers. Neighbouring threads take neighbouring n, so that
// they read one run of B and the same numbers of A. Numbers that lie together are read together.

// Reads a block of numbers [P][Q], P apart by SP and Q by SQ; `aligned` if runs of Q or P may be read at once.
template <int P, int Q, int SP, int SQ> INLINE void read_block(const T *from, T (&to)[P][Q]) {
    if constexpr (SQ == 1 && SP % Q == 0 && Q > 1 && (Q == 2 || Q == 4 || Q == 8)) {
        UNROLL for (int p = 0; p < P; p++) {
            const Pack<Q> run = *reinterpret_cast<const Pack<Q> *>(from + p * SP);
            UNROLL for (int q = 0; q < Q; q++) to[p][q] = run.at[q];
        }
    } else if constexpr (SP == 1 && SQ % P == 0 && P > 1 && (P == 2 || P == 4 || P == 8)) {
        UNROLL for (int q = 0; q < Q; q++) {
            const Pack<P> run = *reinterpret_cast<const Pack<P> *>(from + q * SQ);
            UNROLL for (int p = 0; p < P; p++) to[p][q] = run.at[p];
        }
    } else {
        UNROLL for (int p = 0; p < P; p++) {
            UNROLL for (int q = 0; q < Q; q++) to[p][q] = from[p * SP + q * SQ];
        }
    }
}

// Numbers that a thread reads or writes at once, where it has as many neighbours.
#define RUN 4

// Numbers of an array, RUN neighbours at a time: value(i, to) computes those from i on. A thread asks for the operands of
// several runs before it writes the first.
template <int N, int MODE, class Value> INLINE void fill_runs(const Team &team, T *to, Value value) {
    static_assert(N % RUN == 0, "whole runs");
    UNROLL_BY(4) for (int i = team.me * RUN; i < N; i += team.size * RUN) {
        T run[RUN];
        value(i, run);
        Pack<RUN> *const at = reinterpret_cast<Pack<RUN> *>(to + i);
        Pack<RUN> all;
        if (MODE == ADD) all = *at;
        UNROLL for (int u = 0; u < RUN; u++) all.at[u] = MODE == ADD ? all.at[u] + run[u] : run[u];
        *at = all;
    }
}

// Adds the products of the indices k below COUNT: KU at a time, those in between are left out if STEP is larger. The
// numbers of AHEAD rounds are asked for at once: more hide the memory, fewer keep the code short.
template <int TM, int TN, int KU, int STEP, int AHEAD, int AM, int AK, int BK, int BN>
INLINE void accumulate(const T *a, const T *b, int count, T (&sum)[TM][TN]) {
    UNROLL_BY(AHEAD) for (int k = 0; k < count; k += STEP) {
        T left[TM][KU], right[KU][TN];
        read_block<TM, KU, AM, AK>(a + k * AK, left);
        read_block<KU, TN, BK, BN>(b + k * BK, right);
        UNROLL for (int u = 0; u < KU; u++) {
            UNROLL for (int m = 0; m < TM; m++) {
                UNROLL for (int n = 0; n < TN; n++) sum[m][n] += left[m][u] * right[u][n];
            }
        }
    }
}

// Adds up over the lanes of a sum the COUNT numbers that each has. Lanes part the numbers among themselves: take(first,
// numbers) is called with the COUNT / LANES numbers that a lane has in the end. In every round a lane keeps half of its
// numbers and gives the others away; a last one is kept by both, and first is then negative for one of them.
template <int APART, int END, int COUNT, class Take>
INLINE void gather_lanes(const T (&x)[COUNT], int lane, int first, Take take) {
#ifdef __CUDACC__
    if constexpr (APART >= END) {
        const bool upper = lane & APART;
        if constexpr (COUNT % 2 == 0) {
            T kept[COUNT / 2];
            UNROLL for (int i = 0; i < COUNT / 2; i++) {
                const T mine = upper ? x[COUNT / 2 + i] : x[i], other = upper ? x[i] : x[COUNT / 2 + i];
                kept[i] = mine + __shfl_xor_sync(0xffffffffu, other, APART);
            }
            gather_lanes<APART / 2, END, COUNT / 2>(kept, lane, upper ? first + COUNT / 2 : first, take);
        } else {
            T all[COUNT];
            UNROLL for (int i = 0; i < COUNT; i++) all[i] = x[i] + __shfl_xor_sync(0xffffffffu, x[i], APART);
            gather_lanes<APART / 2, END, COUNT>(all, lane, upper ? -(1 << 20) : first, take);
        }
        return;
    }
#endif
    (void)lane;
    if (first >= 0) take(first, x);
}

// How the sum starts: from 0, from a number per row, or from a matrix like C.
enum Start { ZERO, PER_ROW, MATRIX };

// Where a tile of C goes. Called with COUNT numbers from number `first` of the tile on, which begin with a row or lie in
// one.
template <int MODE, int START, int N, int TN, int APART, bool LIMITED> struct Tile {
    T *c;
    const T *start;
    int rows, m0, n0;

    template <int COUNT> MEMBER void operator()(int first, const T (&x)[COUNT]) const {
        const int m = m0 + first / TN, n = n0 + first % TN * APART;
        T *const to = c + m * N + n;
        UNROLL for (int i = 0; i < COUNT; i++) {
            if (LIMITED && m + i / TN >= rows) continue;
            const int at = i / TN * N + i % TN * APART;
            const T begun = START == ZERO ? T(0) : START == PER_ROW ? start[m + i / TN] : start[m * N + n + at];
            put<MODE>(to + at, x[i] + begun);
        }
    }
};

// SHARES threads of a warp share the sums of a tile. If LIMITED, rows from `rows` on are left out.
template <int M, int N, int K, int AM, int AK, int BK, int BN, int MODE, int START, int TM, int TN, int KU, int SHARES,
          bool LIMITED>
INLINE void tiles_of(const Team &team, const T *a, const T *b, const T *start, T *c, int rows) {
    constexpr int across = N / TN, tiles = (M / TM) * across, lanes = LANES(SHARES);
    // Where B lies along k, the columns of a tile are apart: neighbouring threads then read neighbouring rows of memory,
    // which do not share a bank.
    constexpr int APART = BK == 1 && BN > 1 ? across : 1;
    for_lanes<tiles, lanes>(team, [&](int tile, int lane) {
        const int m0 = tile / across * TM, n0 = tile % across * (APART > 1 ? 1 : TN), k0 = lane * KU;
        T sum[TM][TN] = {};
        if (tile < tiles) {
            accumulate<TM, TN, KU, KU * lanes, (KU > 1 ? 1 : CLUSTER > 1 ? 4 : 2), AM, AK, BK, APART * BN>(a + m0 * AM + k0 * AK, b + n0 * BN + k0 * BK, K - k0, sum);
        }
        T flat[TM * TN];
        UNROLL for (int i = 0; i < TM * TN; i++) flat[i] = sum[i / TN][i % TN];
        const Tile<MODE, START, N, TN, APART, LIMITED> tile_of_c = {c, start, rows, m0, n0};
        gather_lanes<WARP / 2, WARP / lanes>(flat, lane * (WARP / lanes), tile < tiles ? 0 : -(1 << 20), tile_of_c);
    });
}

template <int M, int N, int K, int AM, int AK, int BK, int BN, int MODE, int START, int TM, int TN, int KU, int SHARES>
FUNCTION void product(Team team, const T *a, const T *b, const T *start, T *c) {
    tiles_of<M, N, K, AM, AK, BK, BN, MODE, START, TM, TN, KU, SHARES, false>(team, a, b, start, c, M);
}
