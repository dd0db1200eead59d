// Numbers that are repeated, cut, put together or exchanged.

// FR x FC becomes R x C, where FR is R or 1 and FC is C or 1.
template <int FR, int FC, int R, int C> FUNCTION void broadcast(Team team, const T *x, T *y) {
    fill<R * C, WRITE, 1>(team, y, [&](int i) { return x[(FR == 1 ? 0 : i / C) * FC + (FC == 1 ? 0 : i % C)]; });
}

template <int FR, int FC, int R, int C, int SHARES, int MODE>
FUNCTION void broadcast_reverse(Team team, const T *dy, T *dx) {
    const int rows = FR == 1 ? R : 1, cols = FC == 1 ? C : 1;
    column_sums<rows * cols, FR * FC, SHARES>(
        team, team.room,
        [&](int k, int i) {
            const int r = i / FC + k / cols, c = i % FC + k % cols;
            return dy[r * C + c];
        },
        [&](int i, T s) { put<MODE>(dx + i, s); });
}

// [R][C] becomes [C][R]
template <int R, int C, int MODE, int BATCH> FUNCTION void transpose(Team team, const T *x, T *y) {
    fill<R * C, MODE, BATCH>(team, y, [&](int i) { return x[i % R * C + i / R]; });
}

// The same in shared memory, where numbers of one column share a bank: neighbours take numbers along a diagonal.
template <int R, int C, int MODE> FUNCTION void transpose_near(Team team, const T *x, T *y) {
    static_assert(R % 32 == 0 && C % 32 == 0, "squares of 32 x 32");
    each<R * C>(team, [&](int i) {
        const unsigned lane = i % 32u, square = i / 1024u;
        const unsigned r = square / (C / 32) * 32 + lane, c = square % (C / 32) * 32 + (lane + i / 32u) % 32;
        put<MODE>(y + c * R + r, x[r * C + c]);
    });
}

// A sparse matrix whose rows have up to E entries, entry e of all rows after each other; lanes share those of a row.
template <int R, int C, int E, int SHARES, int MODE>
FUNCTION void stencil(Team team, const int *columns, const T *values, const T *x, T *y) {
    column_sums<E, R * C, SHARES>(
        team, nullptr,
        [&](int e, int i) {
            const int at = e * R + i / C;
            return constant(values + at) * x[constant(columns + at) * C + i % C];
        },
        [&](int i, T s) { put<MODE>(y + i, s); });
}

// A sparse matrix, row by row: entries first[r] .. first[r + 1], those of a row shared out to lanes.
template <int R, int C, int SHARES, int MODE>
FUNCTION void sparse(Team team, const int *first, const int *columns, const T *values, const T *x, T *y) {
    constexpr int lanes = LANES(SHARES);
    for_lanes<R * C, lanes>(team, [&](int i, int lane) {
        const int r = i / C, c = i % C;
        T sum = 0;
        if (r < R) {
            const int end = first[r + 1];
            ROLLED for (int e = first[r] + lane; e < end; e += lanes) sum += values[e] * x[columns[e] * C + c];
        }
        sum = over_lanes<lanes>(sum);
        if (r < R && lane == 0) put<MODE>(y + i, sum);
    });
}
