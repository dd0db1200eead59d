// A field carried by a flow for one step: y[i][j] = rho(i - a, j - b), |a|, |b| <= 1, read by bilinear
// interpolation; beyond the grid lie its end points.

// Value at column j and its slope in the displacement a across the rows.
template <int R, int C> INLINE T across_rows(const T *rho, int i, int j, T a, T &slope) {
    const int above = clamped(i - 1, 0, R - 1), below = clamped(i + 1, 0, R - 1);
    const T own = rho[i * C + j];
    slope = a < T(0) ? own - rho[below * C + j] : rho[above * C + j] - own;
    return a * slope + own;
}

template <int R, int C> CALLED void advect(Team team, const T *rho, const T *shift, T *y) {
    each<R * C>(team, [&](int at) {
        const int i = at / C, j = at % C;
        const T a = shift[at], b = shift[R * C + at];
        T slope;
        const T own = across_rows<R, C>(rho, i, j, a, slope);
        const int other = b < T(0) ? clamped(j + 1, 0, C - 1) : clamped(j - 1, 0, C - 1);
        const T there = across_rows<R, C>(rho, i, other, a, slope);
        y[at] = b * (b < T(0) ? own - there : there - own) + own;
    });
}

template <int R, int C, int MODE>
CALLED void advect_reverse_shift(Team team, const T *rho, const T *shift, const T *dy, T *to) {
    each<R * C>(team, [&](int at) {
        const int i = at / C, j = at % C;
        const T a = shift[at], b = shift[R * C + at];
        T own_slope, there_slope;
        const T own = across_rows<R, C>(rho, i, j, a, own_slope);
        const int other = b < T(0) ? clamped(j + 1, 0, C - 1) : clamped(j - 1, 0, C - 1);
        const T there = across_rows<R, C>(rho, i, other, a, there_slope);
        const T along = b < T(0) ? own - there : there - own;
        const T twist = b < T(0) ? own_slope - there_slope : there_slope - own_slope;
        put<MODE>(to + at, dy[at] * (b * twist + own_slope));
        put<MODE>(to + R * C + at, dy[at] * along);
    });
}

// Weight with which a point at `place` reads the point `from`, both on one axis of N points.
template <int N> INLINE T weight(int place, int from, T shift) {
    T sum = 0;
    if (clamped(place - 1, 0, N - 1) == from) sum += larger(shift, T(0));
    if (place == from) sum += T(1) - magnitude(shift);
    if (clamped(place + 1, 0, N - 1) == from) sum += larger(-shift, T(0));
    return sum;
}

template <int R, int C, int MODE> CALLED void advect_reverse_rho(Team team, const T *shift, const T *dy, T *to) {
    each<R * C>(team, [&](int at) {
        const int i = at / C, j = at % C;
        T sum = 0;
        for (int p = clamped(i - 1, 0, R - 1); p <= clamped(i + 1, 0, R - 1); p++) {
            for (int q = clamped(j - 1, 0, C - 1); q <= clamped(j + 1, 0, C - 1); q++) {
                const int k = p * C + q;
                sum += dy[k] * weight<R>(p, i, shift[k]) * weight<C>(q, j, shift[R * C + k]);
            }
        }
        put<MODE>(to + at, sum);
    });
}
