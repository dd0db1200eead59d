// Who computes, in the common subset of CUDA C++ and C++.
//
// A sample is computed by a *team*: the threads of one block, or of all blocks of a cluster. On the host a team
// is one thread. Every function below is called by all threads of a team; each does its share. There are no
// atomics: every number has one thread that computes it, so results are the same bits in every run.

#ifdef __CUDACC__
#define INLINE static __device__ __forceinline__
#define UNROLL _Pragma("unroll")
#ifdef LARGE_PROGRAM
#define FUNCTION static __device__ __noinline__ // called from many places: compiled once
#else
#define FUNCTION static __device__ __forceinline__ // so that the compiler knows what lies in shared memory
#endif
#else
#include <cmath>
#define INLINE static inline
#define FUNCTION static inline
#define UNROLL
#endif

typedef REAL T;

struct Team {
    int me;     // this thread
    int size;   // threads of the team
    bool whole; // all blocks of the cluster, or the first one alone
    T *room;    // memory that a function may use and leaves to the next one
};

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
    for (int i = team.me; i < N; i += team.size)
        body(i);
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
