// Real Fourier transforms as sums over a table of one period, [point][cosine, sine]; tridiagonal inverses as bands.

// X_k = sum over j of x_j e^(-2 pi i j k / n), k = 0 .. n/2, real and imaginary parts in turn. As the adjoint of a
// synthesis, every mode counts as often as the synthesis counts it.
template <int N, int C, bool ADJOINT, int SHARES, int MODE>
FUNCTION void analysis(Team team, const T *period, const T *x, T *y) {
    const int rows = 2 * (N / 2 + 1);
    column_sums<N, rows * C, SHARES>(
        team, team.room,
        [&](int j, int i) {
            const int k = i / C / 2, part = i / C % 2;
            const T angle = period[2 * (j * k % N) + part];
            return x[j * C + i % C] * (part == 0 ? angle : -angle);
        },
        [&](int i, T s) {
            const int k = i / C / 2;
            const T count = k == 0 || 2 * k == N ? T(1) : T(2);
            put<MODE>(y + i, ADJOINT ? s * (count / T(N)) : s);
        });
}

// The inverse, or the adjoint of an analysis.
template <int N, int C, bool INVERSE, int SHARES, int MODE>
FUNCTION void synthesis(Team team, const T *period, const T *x, T *y) {
    column_sums<N / 2 + 1, N * C, SHARES>(
        team, team.room,
        [&](int k, int i) {
            const int at = 2 * (i / C * k % N), c = i % C;
            const T count = k == 0 || 2 * k == N ? T(1) : T(2);
            const T value = x[2 * k * C + c] * period[at] - x[(2 * k + 1) * C + c] * period[at + 1];
            return INVERSE ? value * (count / T(N)) : value;
        },
        [&](int i, T s) { put<MODE>(y + i, s); });
}

// y[r] = sum over k of band[k - r + W][r] x[k]
template <int N, int C, int W, int MODE> FUNCTION void banded(Team team, const T *band, const T *x, T *y) {
    each<N * C>(team, [&](int i) {
        const int r = i / C, c = i % C;
        const int low = r < W ? W - r : 0, high = r + W < N ? 2 * W : N - 1 - r + W;
        T sum = 0;
        UNROLL_FEW for (int k = low; k <= high; k++) sum += band[k * N + r] * x[(r + k - W) * C + c];
        put<MODE>(y + i, sum);
    });
}
