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

// Adds the products of COUNT indices k, KU at a time.
template <int TM, int TN, int KU, int AM, int AK, int BK, int BN>
INLINE void accumulate(const T *a, const T *b, int count, T (&sum)[TM][TN]) {
    UNROLL_FEW for (int k = 0; k < count; k += KU) {
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

// How the sum starts: from 0, from a number per row, or from a matrix like C.
enum Start { ZERO, PER_ROW, MATRIX };

template <int M, int N, int K, int AM, int AK, int BK, int BN, int MODE, int START, int TM, int TN, int KU>
HOT void product(Team team, const T *a, const T *b, const T *start, T *c) {
    const int across = N / TN;
    ROLLED for (int tile = team.me; tile < (M / TM) * across; tile += team.size) {
        const int m0 = tile / across * TM, n0 = tile % across * TN;
        T sum[TM][TN];
        UNROLL for (int m = 0; m < TM; m++) {
            UNROLL for (int n = 0; n < TN; n++) {
                sum[m][n] = START == ZERO ? T(0) : start[START == PER_ROW ? m0 + m : (m0 + m) * N + n0 + n];
            }
        }
        accumulate<TM, TN, KU, AM, AK, BK, BN>(a + m0 * AM, b + n0 * BN, K, sum);
        UNROLL for (int m = 0; m < TM; m++) {
            UNROLL for (int n = 0; n < TN; n++) put<MODE>(c + (m0 + m) * N + n0 + n, sum[m][n]);
        }
    }
}

// The same where K is long and C is small: S threads share the sum of a tile.
template <int M, int N, int K, int AM, int AK, int BK, int BN, int MODE, int START, int TM, int TN, int KU, int S>
HOT void product_split(Team team, const T *a, const T *b, const T *start, T *c) {
    const int across = N / TN, tiles = (M / TM) * across, part = K / S;
    ROLLED for (int item = team.me; item < tiles * S; item += team.size) {
        const int tile = item % tiles, s = item / tiles;
        const int m0 = tile / across * TM, n0 = tile % across * TN;
        T sum[TM][TN] = {};
        accumulate<TM, TN, KU, AM, AK, BK, BN>(a + m0 * AM + s * part * AK, b + n0 * BN + s * part * BK, part, sum);
        UNROLL for (int m = 0; m < TM; m++) {
            UNROLL for (int n = 0; n < TN; n++) team.room[(s * M + m0 + m) * N + n0 + n] = sum[m][n];
        }
    }
    meet(team);
    each<M * N>(team, [&](int i) {
        T sum = START == ZERO ? T(0) : start[START == PER_ROW ? i / N : i];
        UNROLL_FEW for (int s = 0; s < S; s++) sum += team.room[s * M * N + i];
        put<MODE>(c + i, sum);
    });
}
