"""Constant matrices for traced steps: sparse ones, and tridiagonal systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import ConfigError


class Matrix:
    """A constant sparse matrix, by rows: row `i` has the entries `indptr[i]` to `indptr[i + 1]`."""

    def __init__(
        self, shape: tuple[int, int], indptr: ArrayLike, indices: ArrayLike, data: ArrayLike
    ) -> None:
        self.shape = shape
        self.indptr: NDArray[np.int64] = np.ascontiguousarray(indptr, np.int64)
        self.indices: NDArray[np.int64] = np.ascontiguousarray(indices, np.int64)
        self.data: NDArray[np.float64] = np.ascontiguousarray(data, np.float64)
        inside = len(self.indices) == 0 or (0 <= self.indices.min() and self.indices.max() < shape[1])
        if len(self.indptr) != shape[0] + 1 or len(self.indices) != len(self.data) or not inside:
            raise ConfigError(f"the entries of a matrix do not fit its shape {shape}")

    @staticmethod
    def from_rows(columns: int, rows: Sequence[dict[int, float]]) -> Matrix:
        """A matrix of rows that map columns to entries."""
        counts = np.cumsum([0, *(len(row) for row in rows)])
        indices = [column for row in rows for column in row]
        return Matrix(
            (len(rows), columns), counts, indices, [value for row in rows for value in row.values()]
        )

    @staticmethod
    def selection(rows: Sequence[int], columns: int) -> Matrix:
        """Takes these rows of a value."""
        return Matrix.from_rows(columns, [{row: 1.0} for row in rows])

    @staticmethod
    def of(given: Any) -> Matrix | None:
        """A matrix of SciPy or NumPy, if it is one."""
        if isinstance(given, Matrix):
            return given
        if hasattr(given, "tocsr"):
            given = given.tocsr()
            return Matrix(given.shape, given.indptr, given.indices, given.data)
        if isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "biuf":
            kept = given != 0
            counts = np.concatenate([[0], np.cumsum(kept.sum(1))])
            return Matrix(given.shape, counts, np.nonzero(kept)[1], given[kept])
        return None

    @property
    def T(self) -> Matrix:
        """Rows and columns exchanged."""
        order = np.argsort(self.indices, kind="stable")
        counts = np.bincount(self.indices, minlength=self.shape[1])
        return Matrix(
            self.shape[::-1], np.concatenate([[0], np.cumsum(counts)]), self._rows()[order], self.data[order]
        )

    def _rows(self) -> NDArray[np.int64]:
        """The row of every entry."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def __mul__(self, factor: float) -> Matrix:
        return Matrix(self.shape, self.indptr, self.indices, factor * self.data)

    __rmul__ = __mul__

    def __matmul__(self, value: Any) -> Any:
        if hasattr(value, "__rmatmul__") and not isinstance(value, np.ndarray):
            return value.__rmatmul__(self)
        array = np.asarray(value, np.float64)
        if array.ndim == 0 or array.shape[0] != self.shape[1]:
            raise ConfigError(f"a matrix of shape {self.shape} times an array of shape {array.shape}")
        result = np.zeros((self.shape[0], *array.shape[1:]))
        entries = self.data.reshape(-1, *[1] * (array.ndim - 1))
        np.add.at(result, self._rows(), entries * array[self.indices])
        return result


class Tridiagonal:
    """A constant tridiagonal system `lower[i] y[i-1] + diagonal[i] y[i] + upper[i] y[i+1] = z[i]`, to be
    solved.

    The three bands have the same length; `lower[0]` and `upper[-1]` are not used. It must be diagonally
    dominant.
    """

    def __init__(self, lower: ArrayLike, diagonal: ArrayLike, upper: ArrayLike) -> None:
        self.diagonal: NDArray[np.float64] = np.array(diagonal, np.float64)
        n = len(self.diagonal)
        try:
            self.lower: NDArray[np.float64] = np.array(np.broadcast_to(np.asarray(lower, np.float64), n))
            self.upper: NDArray[np.float64] = np.array(np.broadcast_to(np.asarray(upper, np.float64), n))
        except ValueError:
            raise ConfigError("the bands of a tridiagonal system differ in length") from None
        self.lower[0] = self.upper[-1] = 0.0
        weak = ~(np.abs(self.diagonal) >= np.abs(self.lower) + np.abs(self.upper))
        if n == 0 or weak.any() or not self.diagonal.all():
            row = int(np.argmax(weak | (self.diagonal == 0)))
            raise ConfigError(f"row {row} of a tridiagonal system is not diagonally dominant")

    def solve(self, value: Any) -> Any:
        """The solution for a traced value, or for an array."""
        if hasattr(value, "_solve"):
            return value._solve(self)
        right = np.array(value, np.float64)
        n = len(self.diagonal)
        if right.ndim == 0 or len(right) != n:
            raise ConfigError(f"a tridiagonal system of {n} rows for an array of shape {right.shape}")
        pivot = self.diagonal.copy()
        for i in range(1, n):
            factor = self.lower[i] / pivot[i - 1]
            pivot[i] -= factor * self.upper[i - 1]
            right[i] -= factor * right[i - 1]
        right[n - 1] /= pivot[n - 1]
        for i in reversed(range(n - 1)):
            right[i] = (right[i] - self.upper[i] * right[i + 1]) / pivot[i]
        return right
