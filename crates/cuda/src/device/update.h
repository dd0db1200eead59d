// The gradient of the parameters, and what an update does with it. `PLACES_OF_PARAMS` are the places of the
// parameters in a row.

// The numbers in the formula of an update.
struct FactorsOfAdam {
    float rate, mean[2], square[2], corrections[2], eps, tiny_gradient, tiny_mean;
};

// A parameter and its means, one update further.
INLINE void descend_one(const FactorsOfAdam &f, T g, T *param, T *mean, T *square) {
    if (magnitude(g) < T(f.tiny_gradient)) g = 0;
    T m = T(f.mean[0]) * *mean + T(f.mean[1]) * g, v = T(f.square[0]) * *square + T(f.square[1]) * g * g;
    if (magnitude(m) < T(f.tiny_mean)) m = 0;
    if (v < T(f.tiny_mean)) v = 0;
    *mean = m, *square = v;
    *param -= T(f.rate) * (m / T(f.corrections[0])) / (root(v / T(f.corrections[1])) + T(f.eps));
}

INLINE bool is_finite(double x) { return x - x == 0; }

// What a gradient with this norm is multiplied by.
INLINE T clipped(double norm, T clip) { return T(norm) > clip ? clip / T(norm) : T(1); }

// What rows contribute to a parameter, added in their order.
INLINE T sum_of_rows(const Arguments &a, int rows, int i) {
    const T *const parts = a.dparams + PLACES_OF_PARAMS[i];
    T total = 0;
    UNROLL_BY(16) for (int row = 0; row < rows; row++) total += parts[size_t(row) * ROW];
    return total;
}

#ifdef __CUDACC__
// The sum over a block of 256 threads, for all of them, in a fixed order.
INLINE double sum_of_block(double mine) {
    __shared__ double sums[256];
    __syncthreads();
    sums[threadIdx.x] = mine;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    __syncthreads();
    return sums[0];
}

// The gradient, and the sum of its squares in every block.
extern "C" __global__ void add_up(Arguments a, int rows, T *gradient, double *squares) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    T total = 0;
    if (i < PARAMS) gradient[i] = total = sum_of_rows(a, rows, i);
    const double sum = sum_of_block(double(total) * double(total));
    if (threadIdx.x == 0) squares[blockIdx.x] = sum;
}

// An update of parameters and means, which lie one behind the other in `kept`. The sums of the squares of the
// parameters in every block go behind those of the gradient. If a number is not finite, nothing is changed.
extern "C" __global__ void descend(Arguments a, FactorsOfAdam f, T clip, const T *gradient, double *squares, T *kept) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    double mine = 0;
    for (int k = threadIdx.x; k < int(gridDim.x); k += 256) mine += squares[k];
    const double norm = sqrt(sum_of_block(mine));
    bool finite = is_finite(T(norm));
    for (int k = threadIdx.x; k < a.samples * TERMS; k += 256) finite = finite && is_finite(a.terms[k]);
    finite = __syncthreads_and(finite);
    T param = 0;
    if (i < PARAMS) {
        T *const mean = kept + PARAMS + i;
        if (finite) descend_one(f, gradient[i] * clipped(norm, clip), kept + i, mean, mean + PARAMS);
        param = kept[i];
    }
    const double sum = sum_of_block(double(param) * double(param));
    if (threadIdx.x == 0) squares[gridDim.x + blockIdx.x] = sum;
}
#else
extern "C" void add_up(Arguments a, int rows, T *gradient, double *squares) {
    squares[0] = 0;
    for (int i = 0; i < PARAMS; i++) {
        gradient[i] = sum_of_rows(a, rows, i);
        squares[0] += double(gradient[i]) * double(gradient[i]);
    }
}

extern "C" void descend(Arguments a, FactorsOfAdam f, T clip, const T *gradient, double *squares, T *kept) {
    const double norm = __builtin_sqrt(squares[0]);
    bool finite = is_finite(T(norm));
    for (int k = 0; k < a.samples * TERMS; k++) finite = finite && is_finite(a.terms[k]);
    squares[1] = 0;
    for (int i = 0; i < PARAMS; i++) {
        T *const mean = kept + PARAMS + i;
        if (finite) descend_one(f, gradient[i] * clipped(norm, clip), kept + i, mean, mean + PARAMS);
        squares[1] += double(kept[i]) * double(kept[i]);
    }
}
#endif
