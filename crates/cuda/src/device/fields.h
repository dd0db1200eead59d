// Fields of which every block of a cluster has a part: some rows, or some columns.
//
// A product along both axes is done in two halves. In the first a block multiplies along the axis that it has all
// numbers of, and sends each result to the block that needs it. Then it multiplies what it got along the other axis. A
// field in rows becomes one in columns, and the other way round.

// For the part of this block; on the host one thread goes through all of them.
#ifdef __CUDACC__
#define EACH_PART(s, team) for (int s = team.rank, once = 1; once; once = 0)
#else
#define EACH_PART(s, team) for (int s = team.rank; s < CLUSTER; s++)
#endif

// What is done to all indices below N, SLAB of them by each block.
template <int N, int SLAB, class Body> INLINE void each_in_rows(const Team &block, Body body) {
    EACH_PART(s, block) {
        const int end = (s + 1) * SLAB < N ? (s + 1) * SLAB : N;
        ROLLED for (int i = s * SLAB + block.me; i < end; i += block.size) body(i);
    }
}

// The same for rows of NY numbers, W of every row by each block.
template <int N, int NY, int W, class Body> INLINE void each_in_columns(const Team &block, Body body) {
    EACH_PART(s, block) {
        ROLLED for (int j = block.me; j < N / NY * W; j += block.size) {
            const int y = s * W + j % W;
            if (y < NY) body(j / W * NY + y);
        }
    }
}

// Fields that lie in the shared memory of all blocks. A block has only its own numbers at hand, under the indices that
// they have in the field. On the host all are there.
template <int SLAB> struct Rows {
    T *first; // where number 0 would lie
    MEMBER T *operator+(int i) const { return first + i; }
    MEMBER T &operator[](int i) const { return first[i]; }
};

template <int NY, int W> struct Columns {
    T *own;
    int rank;
#ifdef __CUDACC__
    MEMBER T *operator+(int i) const { return own + i / NY * W + i % NY - rank * W; }
#else
    MEMBER T *operator+(int i) const { return own + i; }
#endif
    MEMBER T &operator[](int i) const { return *(*this + i); }
};

// Where the numbers of block s begin, if they are `apart` from those of the next block in the field. And how far
// rows are apart that are NY numbers apart in the field.
INLINE T *start(T *field, int s, int apart) { return field + s * apart; }
template <int SLAB> INLINE T *start(const Rows<SLAB> &field, int s, int apart) { return field.first + s * apart; }
template <int NY, int W> INLINE T *start(const Columns<NY, W> &field, int s, int apart) {
#ifdef __CUDACC__
    return field.own;
#else
    return field.own + s * apart;
#endif
}
template <class Field, int NY> struct RowsApart {
    static constexpr int value = NY;
};
#ifdef __CUDACC__
template <int ALL, int W, int NY> struct RowsApart<Columns<ALL, W>, NY> {
    static constexpr int value = W;
};
#endif

// Numbers between the rows of a matrix, with room for whole tiles of 16. Lanes that read four rows and neighbouring
// pairs of columns meet different banks of shared memory.
INLINE constexpr int spaced(int n) { return (n + 15) / 16 * 16 + 8; }

// What blocks send each other arrives in turns: there are two boxes, and a barrier for each, before them.
#define BARRIERS 4
#ifdef __CUDACC__
INLINE T *box_of(T *boxes, int, int turn) { return boxes + BARRIERS + (turn & 1) * BOX; }
#else
INLINE T *box_of(T *boxes, int s, int) { return boxes + s * BOX; }
#endif

#if defined(__CUDACC__) && CLUSTER > 1
INLINE unsigned near_address(const void *at) { return unsigned(__cvta_generic_to_shared(at)); }

// The address of another block for what this block has at `own`.
INLINE unsigned address_of(unsigned own, int rank) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
    return there;
}

// Sends a number to the memory of another block, where a barrier counts its bytes.
INLINE void push(unsigned to, unsigned barrier, T x) {
#ifdef SINGLE
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];"
                 :
                 : "r"(to), "f"(x), "r"(barrier)
                 : "memory");
#else
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f64 [%0], %1, [%2];"
                 :
                 : "r"(to), "d"(x), "r"(barrier)
                 : "memory");
#endif
}

// Each barrier waits for the warps of its block, and for bytes.
INLINE void begin_turns(T *boxes) {
    if (threadIdx.x < 2) {
        const unsigned barrier = near_address(boxes) + 8 * threadIdx.x;
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(THREADS / 32) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
}

INLINE void arrive(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

INLINE void wait_for(unsigned barrier, int parity) {
    int done = 0;
    while (!done) {
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.s32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    }
}
#else
INLINE void begin_turns(T *) {}
#endif

// The sums of ROUNDS times 8 terms of a tile of 16 x 8 numbers, of which `count` terms and `cols` columns exist. A is
// [k][m], its rows AK apart, those of B `bk`. The units cut off when they add, always toward zero. A field goes through
// thousands of such sums, one after the other, and would shrink; so the units add 8 large terms only, and their sums are
// added with rounding (Ootomo and Yokota, 2022).
template <int ROUNDS, int AK, int BN>
INLINE void small_tile(int lane, const T *a, const T *b, int bk, int count, int cols, T (&sum)[2][2]) {
#ifdef MATRIX_UNITS
    const int g = lane / 4, t = lane % 4;
    T left[ROUNDS][2][2], right[ROUNDS][2], low[2][4] = {}, high[4] = {};
    UNROLL for (int r = 0; r < ROUNDS; r++) {
        UNROLL for (int u = 0; u < 2; u++) {
            const int k = r * 8 + t + 4 * u;
            const bool exists = k < count;
            const Pack<2> pair = exists ? *reinterpret_cast<const Pack<2> *>(a + k * AK + g * 2) : Pack<2>{};
            left[r][0][u] = pair.at[0], left[r][1][u] = pair.at[1];
            right[r][u] = exists && g < cols ? b[k * bk + g * BN] : T(0);
        }
    }
    UNROLL for (int r = 0; r < ROUNDS; r++) {
        unsigned a_high[4], a_low[4], b_high[2], b_low[2];
        UNROLL for (int u = 0; u < 4; u++) split(left[r][u % 2][u / 2], a_high[u], a_low[u]);
        UNROLL for (int u = 0; u < 2; u++) split(right[r][u], b_high[u], b_low[u]);
        tile_product(a_low, b_high, low[0][0], low[0][1], low[0][2], low[0][3]);
        tile_product(a_high, b_low, low[1][0], low[1][1], low[1][2], low[1][3]);
        T eight[4] = {};
        tile_product(a_high, b_high, eight[0], eight[1], eight[2], eight[3]);
        UNROLL for (int u = 0; u < 4; u++) high[u] += eight[u];
    }
    // columns 2 t and 2 t + 1 of the rows g and g + 8 of the tile, which are rows 2 g and 2 g + 1 of A
    UNROLL for (int u = 0; u < 4; u++) sum[u / 2][u % 2] = low[0][u] + low[1][u] + high[u];
#else
    UNROLL for (int u = 0; u < 4; u++) {
        const int m = lane / 4 * 2 + u / 2, n = lane % 4 * 2 + u % 2;
        const int all = n >= cols ? 0 : count < ROUNDS * 8 ? count : ROUNDS * 8;
        T total = 0;
#ifdef LIKE_UNITS
        total = rounded_sum_by_units(all, a + m, AK, b + n * BN, bk);
#else
        for (int k = 0; k < all; k++) total += a[k * AK + m] * b[k * bk + n * BN];
#endif
        sum[u / 2][u % 2] = total;
    }
#endif
}

// Factors of a product: A is [k][m], B has its rows `bk` apart.
struct Factors {
    const T *a, *b;
    int bk;
};

// C[m][n] = sum over k of A[k][m] B[k][n] by one block, of one or two products with few n and few terms. Warps share
// the terms, and their parts are added. Only `cols` columns exist. Calls take(which, m, n, value) for all numbers.
template <int M, int N, int K, int BN, int COUNT, class Take>
INLINE void narrow_products(const Team &block, const Factors &one, const Factors &other, int cols, T *parts,
                            Take take) {
    constexpr int warps = THREADS / 32, wide = (N + 7) / 8 * 8, all = (K + 7) / 8, tiles = (M + 15) / 16 * (wide / 8);
    constexpr int some = (all * tiles * COUNT + warps - 1) / warps, rounds = some < all ? some : all;
    constexpr int shares = (all + rounds - 1) / rounds;
    constexpr int across = (M + 15) / 16 * 16 + 4; // lanes that write pairs to four rows meet different banks
    constexpr int size = shares * wide * across;
    ROLLED for (int item = block.me; item < COUNT * tiles * shares * 32; item += block.size) {
        const int lane = item % 32, tile = item / 32 % tiles, p = item / 32 / tiles % shares;
        const bool second = COUNT > 1 && item / 32 / tiles / shares > 0;
        const int m0 = tile / (wide / 8) * 16, n0 = tile % (wide / 8) * 8, k0 = p * rounds * 8;
        const int bk = second ? other.bk : one.bk;
        const T *const a = second ? other.a : one.a, *const b = second ? other.b : one.b;
        T sum[2][2];
        small_tile<rounds, spaced(M), BN>(lane, a + k0 * spaced(M) + m0, b + k0 * bk + n0 * BN, bk, K - k0,
                                          cols - n0, sum);
        UNROLL for (int j = 0; j < 2; j++) {
            const int at = (p * wide + n0 + lane % 4 * 2 + j) * across + m0 + lane / 4 * 2;
            *reinterpret_cast<Pack<2> *>(parts + (second ? size : 0) + at) = {sum[0][j], sum[1][j]};
        }
    }
    meet(block);
    each<N * M>(block, [&](int i) {
        const int n = i / M, m = i % M;
        if (n >= cols) return;
        UNROLL for (int which = 0; which < COUNT; which++) {
            T sum = 0;
            UNROLL for (int p = 0; p < shares; p++) sum += parts[which * size + (p * wide + n) * across + m];
            take(which, m, n, sum);
        }
    });
}

// The first half of one or two products along both axes, for the N columns or rows of this block, of ALL. Number m of
// each goes to block m / SHARE, to its box [ALL][wide].
template <int M, int N, int K, int BN, int ALL, int SHARE, int COUNT>
CALLED void first_half(Team block, int s, int turn, Factors one, Factors other, T *boxes, T *parts) {
    constexpr int wide = (SHARE + 7) / 8 * 8;
    const int cols = ALL - s * N < N ? ALL - s * N : N;
#if defined(__CUDACC__) && CLUSTER > 1
    const unsigned box = near_address(box_of(boxes, 0, turn)), barrier = near_address(boxes) + 8 * (turn & 1);
    narrow_products<M, N, K, BN, COUNT>(block, one, other, cols, parts, [&](int which, int m, int n, T x) {
        const int to = m / SHARE, at = (which * ALL + s * N + n) * wide + m % SHARE;
        push(address_of(box + at * sizeof(T), to), address_of(barrier, to), x);
    });
    // all numbers of its share of m, from all blocks
    const int mine = M - s * SHARE < SHARE ? M - s * SHARE : SHARE;
    __syncwarp();
    if (block.me % 32 == 0) arrive(barrier, block.me == 0 && mine > 0 ? COUNT * mine * ALL * int(sizeof(T)) : 0);
    wait_for(barrier, turn >> 1 & 1);
#else
    narrow_products<M, N, K, BN, COUNT>(block, one, other, cols, parts, [&](int which, int m, int n, T x) {
        box_of(boxes, m / SHARE, turn)[(which * ALL + s * N + n) * wide + m % SHARE] = x;
    });
    meet(block);
#endif
}

// Where results go: number m of a row or column is `om` from number m + 1.
struct Target {
    T *to;
    int om;
};

// The second half: all numbers m of the N rows or columns of this block, of ALL, which are ON apart.
template <int M, int N, int K, int ALL, int ON, int MODE, int OTHER_MODE, int COUNT>
CALLED void second_half(Team block, int s, int turn, const T *a, const T *other_a, T *boxes, T *parts, Target one,
                          Target other) {
    constexpr int wide = (N + 7) / 8 * 8;
    const int cols = ALL - s * N < N ? ALL - s * N : N;
    const T *const box = box_of(boxes, s, turn);
    narrow_products<M, N, K, 1, COUNT>(block, {a, box, wide}, {other_a, box + K * wide, wide}, cols, parts,
                                       [&](int which, int m, int n, T x) {
                                           if (which == 0)
                                               put<MODE>(one.to + m * one.om + n * ON, x);
                                           else
                                               put<OTHER_MODE>(other.to + m * other.om + n * ON, x);
                                       });
}

// The part of block s of a field that a half reads or writes, whose rows are NY numbers apart in the whole field.
template <int NY, class Field> INLINE Factors factors(const T *a, const Field &field, int s, int apart) {
    return {a, start(field, s, apart), RowsApart<Field, NY>::value};
}
template <int NY, class Field> INLINE Target target(const Field &field, int s, int apart) {
    return {start(field, s, apart), RowsApart<Field, NY>::value};
}
