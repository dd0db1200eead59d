// Real Fourier transforms, in two stages, with a table of one period, [point][cosine, sine]; tridiagonal inverses as
// bands.

// X_k = sum over j of x_j e^(-2 pi i j k / N), k = 0 .. N/2, real and imaginary parts in turn. As the adjoint of a
// synthesis, every mode counts as often as the synthesis counts it.
//
// With N = A B, j = q + B p and k = a + A b the sum over p depends on a and q alone: it is left in the room.
template <int N, int A, int C, bool ADJOINT, int SHARES, int MODE>
FUNCTION void analysis(Team team, const T *period, const T *x, T *y) {
    constexpr int B = N / A, lanes = LANES(SHARES);
    T *const inner = team.room;
    each<N * C>(team, [&](int i) {
        const int c = i % C, q = i / C % B, a = i / C / B;
        T re = 0, im = 0;
        UNROLL_FEW for (int p = 0; p < A; p++) {
            const int at = 2 * (p * a % A * B);
            const T v = x[(q + B * p) * C + c];
            re += v * period[at];
            im -= v * period[at + 1];
        }
        const T cosine = period[2 * q * a], sine = period[2 * q * a + 1];
        inner[i] = re * cosine + im * sine;
        inner[N * C + i] = im * cosine - re * sine;
    });
    meet(team);
    for_lanes<(N / 2 + 1) * C, lanes>(team, [&](int i, int lane) {
        const int c = i % C, k = i / C, a = k % A, b = k / A;
        T re = 0, im = 0;
        if (k <= N / 2) {
            UNROLL_FEW for (int q = lane; q < B; q += lanes) {
                const int at = 2 * (q * b % B * A), from = (a * B + q) * C + c;
                const T cosine = period[at], sine = period[at + 1], r = inner[from], m = inner[N * C + from];
                re += r * cosine + m * sine;
                im += m * cosine - r * sine;
            }
        }
        re = over_lanes<lanes>(re);
        im = over_lanes<lanes>(im);
        if (k > N / 2 || lane > 0) return;
        const T count = ADJOINT ? (k == 0 || 2 * k == N ? T(1) : T(2)) / T(N) : T(1);
        put<MODE>(y + 2 * k * C + c, re * count);
        put<MODE>(y + (2 * k + 1) * C + c, im * count);
    });
}

// The inverse, or the adjoint of an analysis: x_j = sum over k of the real part of X_k e^(2 pi i j k / N). With
// k = a + A b the sum over b depends on a and on j modulo B alone.
template <int N, int A, int C, bool INVERSE, int SHARES, int MODE>
FUNCTION void synthesis(Team team, const T *period, const T *x, T *y) {
    constexpr int B = N / A;
    T *const inner = team.room;
    each<N * C>(team, [&](int i) {
        const int c = i % C, j = i / C % B, a = i / C / B;
        T re = 0, im = 0;
        UNROLL_FEW for (int k = a; k <= N / 2; k += A) {
            const int at = 2 * (j * (k / A) % B * A);
            const T count = INVERSE ? (k == 0 || 2 * k == N ? T(1) : T(2)) / T(N) : T(1);
            const T r = x[2 * k * C + c] * count, m = x[(2 * k + 1) * C + c] * count;
            re += r * period[at] - m * period[at + 1];
            im += r * period[at + 1] + m * period[at];
        }
        inner[i] = re;
        inner[N * C + i] = im;
    });
    meet(team);
    column_sums<A, N * C, SHARES>(
        team, nullptr,
        [&](int a, int i) {
            const int c = i % C, j = i / C, at = 2 * (j * a % N), from = (a * B + j % B) * C + c;
            return inner[from] * period[at] - inner[N * C + from] * period[at + 1];
        },
        [&](int i, T s) { put<MODE>(y + i, s); });
}

// y[r] = sum over k of band[k - r + W][r] x[k]; the band is 0 beyond the ends
template <int N, int C, int W, int SHARES, int MODE>
FUNCTION void banded(Team team, const T *band, const T *x, T *y) {
    column_sums<2 * W + 1, N * C, SHARES>(
        team, nullptr,
        [&](int k, int i) {
            const int r = i / C, c = i % C;
            return band[k * N + r] * x[clamped(r + k - W, 0, N - 1) * C + c];
        },
        [&](int i, T s) { put<MODE>(y + i, s); });
}
