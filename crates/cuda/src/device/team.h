// Who computes, in the common subset of CUDA C++ and C++.
//
// A sample is computed by a *team*: the threads of one block, or of all blocks of a cluster. On the host a team
// is one thread. Every function below is called by all threads of a team; each does its share. There are no
// atomics: every number has one thread that computes it, so results are the same bits in every run.

#ifdef __CUDACC__
#define INLINE static __device__ __forceinline__
#define FUNCTION static __device__ __noinline__ // compiled once for all calls and kernels
#ifdef LARGE_PROGRAM
#define HOT FUNCTION
#else
#define HOT INLINE // so that the compiler knows what lies in shared memory
#endif
#define UNROLL _Pragma("unroll")
// trip counts are constants: without a word the compiler would unroll everything, and compile for minutes
#define UNROLL_FEW _Pragma("unroll 4")
#define ROLLED _Pragma("unroll 1")
#else
#include <cmath>
#define INLINE static inline
#define FUNCTION static inline
#define HOT FUNCTION
#define UNROLL
#define UNROLL_FEW
#define ROLLED
#endif

typedef REAL T;

struct Team {
    int me;     // this thread
    int size;   // threads of the team
    bool whole; // all blocks of the cluster, or the first one alone
    T *room;    // memory that a function may use
};

INLINE Team with_room(const Team &team, T *room) { return {team.me, team.size, team.whole, room}; }

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

enum Mode { WRITE, ADD };

template <int MODE> INLINE void put(T *to, T value) {
    if (MODE == ADD)
        *to += value;
    else
        *to = value;
}

// What is done to all indices below N, each by one thread: index i by thread i modulo the size of the team.
template <int N, class Body> INLINE void each(const Team &team, Body body) {
    ROLLED for (int i = team.me; i < N; i += team.size) body(i);
}

// A copy, number i by thread i modulo the size of the team; several are on their way at a time.
template <int N> INLINE void copy(const Team &team, T *to, const T *from) {
    int i = team.me;
    ROLLED for (; i + 3 * team.size < N; i += 4 * team.size) {
        const T a = from[i], b = from[i + team.size], c = from[i + 2 * team.size], d = from[i + 3 * team.size];
        to[i] = a;
        to[i + team.size] = b;
        to[i + 2 * team.size] = c;
        to[i + 3 * team.size] = d;
    }
    ROLLED for (; i < N; i += team.size) to[i] = from[i];
}

// Asks for numbers in global memory that will be needed soon.
template <int N> INLINE void expect(const Team &team, const T *from) {
#ifdef __CUDACC__
    const int line = 128 / sizeof(T);
    ROLLED for (int i = team.me * line; i < N; i += team.size * line) asm volatile("prefetch.global.L1 [%0];" ::"l"(from + i));
#else
    (void)team, (void)from;
#endif
}

#ifdef SINGLE
INLINE T tanh_of(T x) { return tanhf(x); }
INLINE T sine(T x) { return sinf(x); }
INLINE T cosine(T x) { return cosf(x); }
INLINE T exponential(T x) { return expf(x); }
INLINE T root(T x) { return sqrtf(x); }
INLINE T magnitude(T x) { return fabsf(x); }
INLINE T nearest(T x) { return rintf(x); }
#else
INLINE T tanh_of(T x) { return tanh(x); }
INLINE T sine(T x) { return sin(x); }
INLINE T cosine(T x) { return cos(x); }
INLINE T exponential(T x) { return exp(x); }
INLINE T root(T x) { return sqrt(x); }
INLINE T magnitude(T x) { return fabs(x); }
INLINE T nearest(T x) { return rint(x); }
#endif
INLINE T larger(T a, T b) { return a > b ? a : b; }
INLINE T smaller(T a, T b) { return a < b ? a : b; }
INLINE int clamped(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

// Several numbers that are read or written at once.
template <int W> struct alignas(W * sizeof(T) > 16 ? 16 : W * sizeof(T)) Pack {
    T at[W];
};
