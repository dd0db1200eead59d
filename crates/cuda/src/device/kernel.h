// What kernels are given, and how they begin.

typedef decltype(sizeof(0)) size_type;
#define size_t size_type

struct Arguments {
    int samples, steps;
    double share; // of a sample in the mean
    T limit;      // of adjoints that are carried on; negative if there is none
    const T *params, *fixed, *states, *sequences;
    const double *weights;
    const T *tables;
    const int *indices;
    T *memory, *history, *store;
    double *terms;
    T *records, *ends;
    T *dparams, *dfixed, *dstates, *dsequences;
    long long *clocks; // of every timed call
};

INLINE T limited(T x, T limit) {
    if (limit < T(0)) return x;
    return x > limit ? limit : x < -limit ? -limit : x;
}

#ifdef __CUDACC__
#if CLUSTER > 1
#define ENTRY extern "C" __global__ void __launch_bounds__(THREADS, BESIDE) __cluster_dims__(CLUSTER, 1, 1)
#else
#define ENTRY extern "C" __global__ void __launch_bounds__(THREADS, BESIDE)
#endif
#define BEGIN                                                                                                          \
    extern __shared__ __align__(16) unsigned char shared_bytes[];                                                      \
    T *const near = reinterpret_cast<T *>(shared_bytes), *const local = near;                                          \
    const int team = blockIdx.x / CLUSTER, teams = gridDim.x / CLUSTER;                                                \
    const int rank = blockIdx.x % CLUSTER;                                                                             \
    const bool leader = rank == 0;                                                                                     \
    T *const far = a.memory + size_t(team) * MEMORY;                                                                   \
    (void)near, (void)far, (void)leader, (void)local;                                                                               \
    CLOCK
// what calls of the first team take
#ifdef TIMED_CALLS
#define CLOCK long long then = clock64();
#define TIMED(k)                                                                                                       \
    if (blockIdx.x == 0 && threadIdx.x == 0) {                                                                         \
        const long long now = clock64();                                                                               \
        a.clocks[k] += now - then;                                                                                     \
        then = clock64();                                                                                              \
    }
#else
#define CLOCK
#endif
#define TEAMS                                                                                                          \
    const Team all = {rank * THREADS + int(threadIdx.x), CLUSTER * THREADS, true, nullptr, rank};                               \
    const Team one = {int(threadIdx.x), THREADS, false, nullptr, rank};                                                         \
    (void)one;
#define END meet(all);
#define ROWS(at, whole, slab) {near + at - rank * slab}
#define COLUMNS(at, whole) {near + at, rank}
#define MATRIX_NEAR(name, at, from, n)                                                                                 \
    const T *const name = near + at;                                                                                   \
    (void)name;                                                                                                        \
    fill<n, WRITE, 4>(one, near + at, [&](int i) { return (from)[i]; });
#define TURNS(parts)                                                                                                   \
    int turn = 0;                                                                                                      \
    T *const boxes = local, *const room_of_parts = local + parts;                                                      \
    (void)turn, (void)room_of_parts;                                                                                   \
    begin_turns(boxes);
// the sum over the steps of the term with the number of this thread
#define SUMS_OF_TERMS double sum_of_term = 0;
#define SUM_OF_TERM(k) sum_of_term
#else
// on the host a team is the one thread that calls; the work is cut by `team` and `teams`
#define ENTRY extern "C" void
#define BEGIN                                                                                                          \
    const int team = 0, teams = 1;                                                                                     \
    const bool leader = true;                                                                                          \
    T *const far = a.memory, *const near = a.memory + MEMORY, *const local = near;                                                          \
    (void)near, (void)far, (void)leader, (void)local;
#define TEAMS                                                                                                          \
    const Team all = {0, 1, true, nullptr, 0}, one = {0, 1, false, nullptr, 0};                                                    \
    (void)one;
#define END
#define ROWS(at, whole, slab) {far + whole}
#define COLUMNS(at, whole) {far + whole, 0}
#define MATRIX_NEAR(name, at, from, n) MATRIX_FAR(name, from)
#define TURNS(parts)                                                                                                   \
    int turn = 0;                                                                                                      \
    T *const boxes = far, *const room_of_parts = local + parts;                                                        \
    (void)turn, (void)boxes, (void)room_of_parts;
#define SUMS_OF_TERMS double sums_of_terms[TERMS + 1] = {};
#define SUM_OF_TERM(k) sums_of_terms[k]
#endif

#define MATRIX_FAR(name, from)                                                                                         \
    const T *const name = from;                                                                                        \
    (void)name;
