// Gaussian bumps around positions, height exp(-d² / (2 sigma²)); distances to the nearest image if there is a period.

template <bool PERIODIC> INLINE T distance(T x, T xi, T period) {
    const T d = x - xi;
    return PERIODIC ? d - nearest(d / period) * period : d;
}

struct Bump {
    const T *points;
    T inverse_variance, height, period;
};

template <bool PERIODIC> INLINE T bump(const Bump &b, T d) {
    return b.height * exponential(T(-0.5) * b.inverse_variance * d * d);
}

// y[r][i]
template <int R, int C, bool PERIODIC> FUNCTION void gaussian(Team team, Bump b, const T *xi, T *y) {
    each<R * C>(team, [&](int i) { y[i] = bump<PERIODIC>(b, distance<PERIODIC>(b.points[i / C], xi[i % C], b.period)); });
}

template <int R, int C, bool PERIODIC, int SHARES, int MODE>
FUNCTION void gaussian_reverse(Team team, Bump b, const T *xi, const T *y, const T *dy, T *dxi) {
    column_sums<R, C, SHARES>(
        team, team.room,
        [&](int r, int c) {
            const int i = r * C + c;
            return dy[i] * y[i] * distance<PERIODIC>(b.points[r], xi[c], b.period);
        },
        [&](int c, T s) { put<MODE>(dxi + c, s * b.inverse_variance); });
}

// y[r] = sum over i of w[i] bump(r, i)
template <int R, int C, bool PERIODIC, int SHARES>
FUNCTION void gaussian_sum(Team team, Bump b, const T *xi, const T *w, T *y) {
    column_sums<C, R, SHARES>(
        team, team.room,
        [&](int i, int r) { return w[i] * bump<PERIODIC>(b, distance<PERIODIC>(b.points[r], xi[i], b.period)); },
        [&](int r, T s) { y[r] = s; });
}

template <int R, int C, bool PERIODIC, int SHARES, int MODE>
FUNCTION void gaussian_sum_reverse_w(Team team, Bump b, const T *xi, const T *dy, T *dw) {
    column_sums<R, C, SHARES>(
        team, team.room,
        [&](int r, int i) { return dy[r] * bump<PERIODIC>(b, distance<PERIODIC>(b.points[r], xi[i], b.period)); },
        [&](int i, T s) { put<MODE>(dw + i, s); });
}

template <int R, int C, bool PERIODIC, int SHARES, int MODE>
FUNCTION void gaussian_sum_reverse_xi(Team team, Bump b, const T *xi, const T *w, const T *dy, T *dxi) {
    column_sums<R, C, SHARES>(
        team, team.room,
        [&](int r, int i) {
            const T d = distance<PERIODIC>(b.points[r], xi[i], b.period);
            return dy[r] * bump<PERIODIC>(b, d) * d;
        },
        [&](int i, T s) { put<MODE>(dxi + i, s * b.inverse_variance * w[i]); });
}
