"""Symbolic values: arithmetic on them computes nothing, it writes a step down for the engine.

A `Value` behaves like a NumPy array of one or two axes, as far as the engine can run and differentiate what
is asked of it. Everything else raises a `TraceError` that names the line of the user's file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from .errors import ConfigError
from .matrix import Matrix, Tridiagonal

#: one operation: its name, the numbers of the values it reads, and what else it needs
Operation = tuple[str, list[int], Any]

_HERE = os.path.dirname(os.path.abspath(__file__))
_LIBRARIES = (
    _HERE + os.sep,
    os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
    f"{os.sep}scipy{os.sep}",
)


class TraceError(ConfigError):
    """A step does something that cannot be traced."""


def place() -> str:
    """The line of the user's code that is being run."""
    frame = sys._getframe(1)
    while frame.f_back is not None and any(part in frame.f_code.co_filename for part in _LIBRARIES):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


def refused(message: str) -> TraceError:
    """The error of something that cannot be traced, with the line of the user's code."""
    return TraceError(f"{place()}: {message}")


Recorded = TypeVar("Recorded", bound="Symbol")


class Recorder:
    """The list of operations of a step. Values 0 and 1 are the state and the forcing."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def add(self, name: str, inputs: Sequence[Symbol], data: Any = None) -> int:
        """Appends an operation; returns the number of its value."""
        for value in inputs:
            self.own(value)
        self.operations.append((name, [value._id for value in inputs], data))
        return len(self.operations) + 1

    def own(self, value: Recorded) -> Recorded:
        """The value, if it is one of this step."""
        if value._recorder is not self:
            raise refused("a value of another step is used; keep no values between calls of step")
        return value

    def constant(self, data: NDArray[np.float64]) -> Value:
        """A table of numbers."""
        if not np.all(np.isfinite(data)):
            raise refused("a constant is infinite or NaN")
        rows, cols = _extents(data.shape)
        return Value(self, self.add("constant", [], (rows, cols, np.ravel(data))), data.shape)


def _extents(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns in the engine: a field of one axis is a column."""
    return {0: (1, 1), 1: (*shape, 1), 2: shape}[len(shape)]  # type: ignore[return-value]


def number_of(value: Any) -> float | None:
    """A real number, if it is one."""
    if isinstance(value, (bool, int, float, np.integer, np.floating, np.bool_)):
        number = float(value)
    elif isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biuf":
        number = float(value)
    else:
        return None
    if not np.isfinite(number):
        raise refused(f"the number {number} is infinite or NaN")
    return number


#: what NumPy's functions do with values; `numpy_functions.py` fills it
UFUNCS: dict[str, Callable[..., Any]] = {}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
_KNOWN = (
    "+ - * / ** @, slices, np.sin cos tanh exp sqrt square abs clip maximum minimum roll concatenate "
    "sum mean, np.fft.rfft and irfft, constant matrices, Tridiagonal.solve"
)
_WORDS = {"add": "a sum", "subtract": "a difference", "multiply": "a product", "divide": "a quotient"}


class Symbol:
    """What values and spectra have in common: all that cannot be traced."""

    __slots__ = ("_recorder", "_id", "shape")

    def __init__(self, recorder: Recorder, number: int, shape: tuple[int, ...]) -> None:
        self._recorder = recorder
        self._id = number
        self.shape = shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of shape {self.shape} in a traced step>"

    def _no_branch(self, *_: Any) -> bool:
        raise refused(
            "a branch on a value: a step is traced once, before there are numbers; "
            "use np.clip, np.maximum, np.minimum or np.abs"
        )

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _no_branch
    __eq__ = __ne__ = _no_branch
    __hash__ = None  # type: ignore[assignment]

    def _no_number(self) -> Any:
        raise refused("a traced value has no number yet; use NumPy's functions (np.sin, not math.sin)")

    __float__ = __int__ = __complex__ = __index__ = _no_number

    def __iter__(self) -> Any:
        raise refused("a loop over the points of a value; use slices such as z[1:] - z[:-1], or a matrix")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise refused("a value cannot be changed in place; multiply by a mask, or use np.concatenate")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        function = UFUNCS.get(ufunc.__name__)
        if method != "__call__" or options or function is None:
            what = f"np.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
            raise refused(f"{what}{' with options' if options else ''} cannot be traced; there are {_KNOWN}")
        return function(*inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        known = FUNCTIONS.get(function)
        if known is None:
            module = "np.fft" if "fft" in function.__module__ else "np"
            raise refused(f"{module}.{function.__name__} cannot be traced; there are {_KNOWN}")
        try:
            return known(*inputs, **options)
        except TypeError as error:
            if isinstance(error, ConfigError):
                raise
            raise refused(f"np.{function.__name__} with these arguments cannot be traced") from None


class Value(Symbol):
    """A symbolic field, or anything computed from one."""

    __slots__ = ()

    @property
    def T(self) -> Value:
        """Rows and columns exchanged."""
        if self.ndim < 2:
            return self
        return Value(self._recorder, self._recorder.add("transpose", [self]), self.shape[::-1])

    def _unary(self, name: str, data: Any = None) -> Value:
        return Value(self._recorder, self._recorder.add(name, [self], data), self.shape)

    def _affine(self, a: float, b: float) -> Value:
        return self._unary("affine", (a, b))

    def _other(self, other: Any, what: str) -> Value:
        """The other operand as a value."""
        if isinstance(other, Value):
            return self._recorder.own(other)
        if isinstance(other, Spectrum):
            raise refused(f"{what} of a value and a spectrum; go back with np.fft.irfft first")
        if isinstance(other, (np.ndarray, list, tuple)):
            array = np.asarray(other)
            if array.dtype.kind in "biuf" and array.ndim <= 2:
                return self._recorder.constant(array.astype(np.float64))
            raise refused(f"{what} of a value and an array of type {array.dtype} with {array.ndim} axes")
        raise refused(f"{what} of a value and {type(other).__name__}")

    def _binary(self, other: Any, name: str) -> Value:
        what = _WORDS[name]
        other = self._other(other, what)
        try:
            shape = np.broadcast_shapes(self.shape, other.shape)
        except ValueError:
            raise refused(
                f"{what} of shapes {self.shape} and {other.shape}, which do not fit together"
            ) from None
        pair = [value._in_axes(len(shape)) for value in (self, other)]
        return Value(self._recorder, self._recorder.add(name, pair), shape)

    def _in_axes(self, axes: int) -> Value:
        """A line of numbers among values of two axes is a row, as in NumPy."""
        return self.reshape(1, -1) if (self.ndim, axes) == (1, 2) else self

    def __add__(self, other: Any) -> Value:
        number = number_of(other)
        return self._binary(other, "add") if number is None else self._affine(1.0, number)

    def __radd__(self, other: Any) -> Value:
        number = number_of(other)
        return (
            self._other(other, "a sum")._binary(self, "add") if number is None else self._affine(1.0, number)
        )

    def __sub__(self, other: Any) -> Value:
        number = number_of(other)
        return self._binary(other, "subtract") if number is None else self._affine(1.0, -number)

    def __rsub__(self, other: Any) -> Value:
        number = number_of(other)
        if number is None:
            return self._other(other, "a difference")._binary(self, "subtract")
        return self._affine(-1.0, number)

    def __mul__(self, other: Any) -> Value:
        number = number_of(other)
        return self._binary(other, "multiply") if number is None else self._affine(number, 0.0)

    def __rmul__(self, other: Any) -> Value:
        number = number_of(other)
        return (
            self._other(other, "a product")._binary(self, "multiply")
            if number is None
            else self._affine(number, 0.0)
        )

    def __truediv__(self, other: Any) -> Value:
        number = number_of(other)
        if number is None:
            return self._binary(other, "divide")
        if number == 0.0:
            raise refused("a division by 0")
        return self._affine(1.0 / number, 0.0)

    def __rtruediv__(self, other: Any) -> Value:
        number = number_of(other)
        if number is None:
            return self._other(other, "a quotient")._binary(self, "divide")
        return self._unary("reciprocal")._affine(number, 0.0)

    def __neg__(self) -> Value:
        return self._affine(-1.0, 0.0)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return self._unary("abs")

    def __pow__(self, exponent: Any) -> Value:
        number = number_of(exponent)
        if number == 0.5:
            return self._unary("sqrt")
        if number is None or number != int(number) or not 1 <= abs(number) <= 8:
            raise refused(f"a power of {exponent!r}; there are whole powers up to 8 and 0.5")
        base = self if number > 0 else self._unary("reciprocal")
        # by squares: z**3 is z * z**2
        result, square, left = None, base, abs(int(number))
        while True:
            if left % 2:
                result = square if result is None else result * square
            left //= 2
            if left == 0:
                assert result is not None
                return result
            square = square._unary("square")

    def __rpow__(self, base: Any) -> Value:
        raise refused("a power with a value as exponent; use np.exp")

    def __matmul__(self, other: Any) -> Value:
        matrix = Matrix.of(other)
        if matrix is None or self.ndim != 2:
            raise refused("value @ ... needs a value of two axes and a constant matrix")
        product: Value = matrix.T @ self.T
        return product.T

    def __rmatmul__(self, other: Any) -> Value:
        matrix = Matrix.of(other)
        if matrix is None:
            raise refused(f"{type(other).__name__} @ value: the matrix must be constant, of SciPy or NumPy")
        if not self.shape or matrix.shape[1] != self.shape[0]:
            hint = "; flatten the field with z.ravel() first" if matrix.shape[1] == self.size else ""
            raise refused(f"a matrix of shape {matrix.shape} times a value of shape {self.shape}{hint}")
        if not np.all(np.isfinite(matrix.data)):
            raise refused("the matrix has entries that are infinite or NaN")
        data = (matrix.shape[1], matrix.indptr, matrix.indices, matrix.data)
        shape = (matrix.shape[0], *self.shape[1:])
        return Value(self._recorder, self._recorder.add("linear", [self], data), shape)

    def reshape(self, *shape: Any) -> Value:
        """The same numbers with other axes."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        try:
            found = np.empty(self.shape, np.bool_).reshape(tuple(wanted)).shape
        except (TypeError, ValueError):
            raise refused(f"a value of shape {self.shape} as {tuple(wanted)}") from None
        if len(found) > 2:
            raise refused(f"a value of shape {found}: there are at most two axes")
        return Value(self._recorder, self._recorder.add("reshape", [self], _extents(found)), found)

    def ravel(self) -> Value:
        """All numbers as one line."""
        return self.reshape(-1)

    flatten = ravel

    def copy(self) -> Value:
        return self

    def clip(self, low: float, high: float) -> Value:
        """Limited to a range."""
        limits = [
            -np.finfo(np.float64).max if low is None else low,
            np.finfo(np.float64).max if high is None else high,
        ]
        numbers = [number_of(limit) for limit in limits]
        if None in numbers:
            raise refused("np.clip with limits that are no numbers; use np.maximum and np.minimum")
        return self._unary("clamp", tuple(numbers))

    def sum(self, axis: None = None) -> Value:
        """The sum of all numbers."""
        if axis is not None:
            raise refused("a sum along an axis; multiply by a matrix of ones")
        return Value(self._recorder, self._recorder.add("sum", [self]), ())

    def mean(self, axis: None = None) -> Value:
        """The mean of all numbers."""
        return self.sum(axis)._affine(1.0 / self.size, 0.0)

    def _solve(self, system: Tridiagonal) -> Value:
        n = len(system.diagonal)
        if not self.shape or self.shape[0] != n:
            raise refused(f"a tridiagonal system of {n} rows for a value of shape {self.shape}")
        return self._unary("solve", (system.lower, system.diagonal, system.upper))

    def dot(self, other: Any) -> Value:
        raise refused("a product of two values by dot; use np.sum(a * b)")

    def __getitem__(self, key: Any) -> Value:
        keys = key if isinstance(key, tuple) else (key,)
        keys = tuple(k for k in keys if k is not Ellipsis)
        if len(keys) > self.ndim or not all(isinstance(k, (int, np.integer, slice)) for k in keys):
            raise refused(f"the index {key!r} of a value of shape {self.shape}; there are numbers and slices")
        result = self
        for axis, k in enumerate(keys):
            try:
                rows = (
                    range(self.shape[axis])[k] if isinstance(k, slice) else [range(self.shape[axis])[int(k)]]
                )
            except IndexError:
                raise refused(f"the index {k} of an axis of {self.shape[axis]} points") from None
            if len(rows) == 0:
                raise refused(f"the index {key!r} of a value of shape {self.shape} leaves nothing")
            result = result._rows(rows) if axis == 0 else result.T._rows(rows).T
        kept = tuple(n for n, k in zip(result.shape, (*keys, *[slice(None)] * 2)) if isinstance(k, slice))
        return result if kept == result.shape else result.reshape(kept)

    def _rows(self, rows: Sequence[int]) -> Value:
        """Some of the rows."""
        rows = list(rows)
        if rows == list(range(rows[0], rows[0] + len(rows))):
            if len(rows) == self.shape[0]:
                return self
            data = (rows[0], rows[0] + len(rows))
            shape = (len(rows), *self.shape[1:])
            return Value(self._recorder, self._recorder.add("slice", [self], data), shape)
        selected: Value = Matrix.selection(rows, self.shape[0]) @ self
        return selected


class Spectrum(Symbol):
    """The Fourier coefficients of a symbolic field: complex numbers, one per mode."""

    __slots__ = ()

    def _new(self, name: str, inputs: list[Symbol], data: Any = None) -> Spectrum:
        return Spectrum(self._recorder, self._recorder.add(name, inputs, data), self.shape)

    def __mul__(self, other: Any) -> Spectrum:
        number = number_of(other)
        if number is not None:
            return self._new("affine", [self], (number, 0.0))
        if isinstance(other, Symbol):
            raise refused(
                "a product of spectra; form products of fields, between np.fft.irfft and np.fft.rfft"
            )
        symbol = np.broadcast_to(np.asarray(other, np.complex128), self.shape)
        if not np.all(np.isfinite(symbol)):
            raise refused("a symbol is infinite or NaN")
        pairs = np.stack([symbol.real, symbol.imag], -1).ravel()
        return self._new("symbol", [self], pairs)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Spectrum:
        with np.errstate(divide="ignore", invalid="ignore"):
            return self * (1.0 / np.asarray(other))

    def __neg__(self) -> Spectrum:
        return self * -1.0

    def __add__(self, other: Any) -> Spectrum:
        if not isinstance(other, Spectrum) or other.shape != self.shape:
            raise refused("a spectrum can only be added to another of the same modes")
        return self._new("add", [self, other])

    __radd__ = __add__

    def __sub__(self, other: Any) -> Spectrum:
        if not isinstance(other, Spectrum) or other.shape != self.shape:
            raise refused("only a spectrum of the same modes can be subtracted from a spectrum")
        return self._new("subtract", [self, other])

    def field(self, points: int | None = None) -> Value:
        """The real field that has these coefficients."""
        n = 2 * (self.shape[0] - 1) if points is None else points
        if n // 2 + 1 != self.shape[0]:
            raise refused(
                f"np.fft.irfft to {n} points from {self.shape[0]} modes; "
                f"they belong to {2 * self.shape[0] - 2}"
            )
        return Value(self._recorder, self._recorder.add("irfft", [self], n), (n,))


Traced = Union[Value, tuple[Value, ...]]
