// Who computes, in the common subset of CUDA C++ and C++.
//
// A sample is computed by a *team*: the threads of one block, or of all blocks of a cluster. On the host a team
// is one thread. Every function below is called by all threads of a team; each does its share. There are no
// atomics: every number has one thread that computes it, so results are the same bits in every run.

#ifdef __CUDACC__
#define INLINE static __device__ __forceinline__
#define MEMBER __device__ __forceinline__
// Inlined, so that the compiler knows what lies in shared memory.
#ifdef LARGE_PROGRAM
#define FUNCTION static __device__ __noinline__
#else
#define FUNCTION INLINE
#endif
// Compiled once for all calls and kernels: long work of all blocks.
#if CLUSTER > 1
#define CALLED static __device__ __noinline__
#else
#define CALLED FUNCTION
#endif
#define UNROLL _Pragma("unroll")
// Trip counts are constants: without a word the compiler would unroll everything, and compile for minutes. One block
// alone works in shared memory, where few numbers in flight suffice; all its code should fit the instruction cache.
#if CLUSTER > 1
#define UNROLL_FEW _Pragma("unroll 4")
#define UNROLL_SUM _Pragma("unroll 8")
#else
#define UNROLL_FEW _Pragma("unroll 2")
#define UNROLL_SUM _Pragma("unroll 2")
#endif
#define ROLLED _Pragma("unroll 1")
#define PRAGMA(text) _Pragma(#text)
#define UNROLL_BY(n) PRAGMA(unroll n)
#else
#include <cmath>
#define INLINE static inline
#define MEMBER inline
#define FUNCTION static inline
#define CALLED FUNCTION
#define UNROLL
#define UNROLL_FEW
#define UNROLL_SUM
#define ROLLED
#define UNROLL_BY(n)
#endif

typedef REAL T;

struct Team {
    int me;     // this thread
    int size;   // threads of the team
    bool whole; // all blocks of the cluster, or the first one alone
    T *room;    // memory that a function may use
    int rank;   // of its block in the cluster
};

INLINE Team with_room(const Team &team, T *room) { return {team.me, team.size, team.whole, room, team.rank}; }

// The same team, counted from another thread: calls that do not need all threads run side by side.
INLINE Team from(const Team &team, int first) {
#ifdef __CUDACC__
    return {team.me < first ? team.me - first + team.size : team.me - first, team.size, team.whole, team.room, team.rank};
#else
    (void)first;
    return team;
#endif
}

// Waits for all threads of the team, and makes their writes visible to each other.
INLINE void meet(const Team &team) {
#ifdef __CUDACC__
#if CLUSTER > 1
    if (team.whole) {
        asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
        return;
    }
#endif
    __syncthreads();
#else
    (void)team;
#endif
}

// A number that never changes: it stays in the cache of its processor, also when other blocks have written something.
template <class Number> INLINE Number constant(const Number *at) {
#ifdef __CUDACC__
    return __ldg(at);
#else
    return *at;
#endif
}

enum Mode { WRITE, ADD };

template <int MODE> INLINE void put(T *to, T value) {
    if (MODE == ADD)
        *to += value;
    else
        *to = value;
}

// What is done to all indices below N, each by one thread: index i by thread i modulo the size of the team.
template <int N, class Body> INLINE void each(const Team &team, Body body) {
#ifdef __CUDACC__
    if constexpr (N <= THREADS) { // a team is never smaller
        if (team.me < N) body(team.me);
    } else
#endif
    {
        ROLLED for (int i = team.me; i < N; i += team.size) body(i);
    }
}

// Numbers to[i] = value(i), number i by thread i modulo the size of the team. A thread asks for the operands of BATCH
// numbers before it writes the first: it then waits for memory once, not BATCH times.
template <int N, int MODE, int BATCH, class Value> INLINE void fill(const Team &team, T *to, Value value) {
    int i = team.me;
    if constexpr (BATCH > 1) {
        ROLLED for (; i + (BATCH - 1) * team.size < N; i += BATCH * team.size) {
            T y[BATCH];
            UNROLL for (int u = 0; u < BATCH; u++) y[u] = value(i + u * team.size);
            if (MODE == ADD) {
                UNROLL for (int u = 0; u < BATCH; u++) y[u] += to[i + u * team.size];
            }
            UNROLL for (int u = 0; u < BATCH; u++) to[i + u * team.size] = y[u];
        }
    }
    ROLLED for (; i < N; i += team.size) put<MODE>(to + i, value(i));
}

// Numbers on their way from global to shared memory while the threads go on; both places begin and end at multiples
// of 16 bytes. They have arrived when all threads have called `arrived` and met.
template <int N> INLINE void send(const Team &team, T *to, const T *from) {
#ifdef __CUDACC__
    const int run = 16 / sizeof(T);
    ROLLED for (int i = team.me * run; i < N; i += team.size * run) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(unsigned(__cvta_generic_to_shared(to + i))),
                     "l"(from + i)
                     : "memory");
    }
#else
    each<N>(team, [&](int i) { to[i] = from[i]; });
#endif
}

INLINE void arrived() {
#ifdef __CUDACC__
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Threads that run in step, and may add up numbers without a barrier.
#ifdef __CUDACC__
#define WARP 32
#else
#define WARP 1
#endif

// How many of S threads share a sum. They are WARP / S apart, so that neighbours work on neighbouring sums.
#define LANES(S) (WARP == 1 ? 1 : S)

// The sum over the lanes of a sum, the same for all of them.
template <int LANES> INLINE T over_lanes(T x) {
#ifdef __CUDACC__
    UNROLL for (int apart = WARP / 2; apart >= WARP / LANES; apart /= 2) x += __shfl_xor_sync(0xffffffffu, x, apart);
#endif
    return x;
}

// Calls body(c, lane) for all c below COLS, by LANES threads of a warp for each. All threads of a warp call it; the last
// ones may have a c that does not exist.
template <int COLS, int LANES, class Body> INLINE void for_lanes(const Team &team, Body body) {
    const int across = WARP / LANES, items = (COLS + across - 1) / across * WARP;
    ROLLED for (int item = team.me; item < items; item += team.size) {
        body(item / WARP * across + item % across, item % WARP / across);
    }
}

#ifdef SINGLE
INLINE T tanh_of(T x) { return tanhf(x); }
INLINE T sine(T x) { return sinf(x); }
INLINE T cosine(T x) { return cosf(x); }
INLINE T exponential(T x) { return expf(x); }
INLINE T root(T x) { return sqrtf(x); }
INLINE T magnitude(T x) { return fabsf(x); }
INLINE T nearest(T x) { return rintf(x); }
INLINE T below(T x) { return floorf(x); }
#else
INLINE T tanh_of(T x) { return tanh(x); }
INLINE T sine(T x) { return sin(x); }
INLINE T cosine(T x) { return cos(x); }
INLINE T exponential(T x) { return exp(x); }
INLINE T root(T x) { return sqrt(x); }
INLINE T magnitude(T x) { return fabs(x); }
INLINE T nearest(T x) { return rint(x); }
INLINE T below(T x) { return floor(x); }
#endif
// A product that is rounded before anything else is done with it; compilers like to put a sum into it.
INLINE double rounded(double a, double b) {
#ifdef __CUDACC__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}
INLINE T larger(T a, T b) { return a > b ? a : b; }
INLINE T smaller(T a, T b) { return a < b ? a : b; }
INLINE int clamped(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

// Several numbers that are read or written at once.
template <int W> struct alignas(W * sizeof(T) > 16 ? 16 : W * sizeof(T)) Pack {
    T at[W];
};
