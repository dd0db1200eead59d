"""NumPy's functions on symbolic values. Importing this file makes them known to `tracing.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .tracing import FUNCTIONS, UFUNCS, Spectrum, Symbol, Value, number_of, refused


def _symbol(value: Any, cls: type[Symbol], what: str) -> Any:
    if not isinstance(value, cls):
        raise refused(f"{what} of {type(value).__name__}")
    return value


def _rfft(value: Any, n: int | None = None, axis: int = -1) -> Spectrum:
    field: Value = _symbol(value, Value, "np.fft.rfft")
    if field.ndim != 1 or n not in (None, field.size):
        raise refused("np.fft.rfft of a value with two axes, or of other points than it has")
    return Spectrum(field._recorder, field._recorder.add("rfft", [field]), (field.size // 2 + 1,))


def _irfft(value: Any, n: int | None = None, axis: int = -1) -> Value:
    spectrum: Spectrum = _symbol(value, Spectrum, "np.fft.irfft")
    return spectrum.field(n)


def _roll(value: Value, shift: int, axis: int | None = None) -> Value:
    if value.ndim == 2 and axis is None:
        raise refused("np.roll of a value with two axes needs axis=0 or axis=1")
    if axis is not None and axis % value.ndim == 1:
        return _roll(value.T, shift, 0).T
    n = value.shape[0]
    return value._rows([(j - shift) % n for j in range(n)]) if shift % n else value


def _concatenate(parts: Sequence[Any], axis: int = 0) -> Value:
    first = next(part for part in parts if isinstance(part, Value))
    values = [first._other(part, "np.concatenate") for part in parts]
    if any(value.ndim != first.ndim or value.ndim == 0 for value in values):
        raise refused("np.concatenate of values with different numbers of axes")
    if axis % first.ndim == 1:
        return _concatenate([value.T for value in values]).T
    result = values[0]
    for value in values[1:]:
        if value.shape[1:] != result.shape[1:]:
            raise refused(f"np.concatenate of shapes {result.shape} and {value.shape}")
        shape = (result.shape[0] + value.shape[0], *result.shape[1:])
        result = Value(first._recorder, first._recorder.add("stack", [result, value]), shape)
    return result


def _maximum(a: Any, b: Any) -> Value:
    if number_of(b) == 0.0:
        return a._unary("relu")  # type: ignore[no-any-return]
    return (a - b)._unary("relu") + b  # type: ignore[no-any-return]


def _map(name: str) -> Callable[[Any], Value]:
    def apply(value: Any) -> Value:
        field: Value = _symbol(value, Value, f"np.{name}")
        return field._unary(name)

    return apply


def _pair(left: str, right: str) -> Callable[[Any, Any], Any]:
    def apply(a: Any, b: Any) -> Any:
        return getattr(a, left)(b) if isinstance(a, Symbol) else getattr(b, right)(a)

    return apply


UFUNCS.update(
    {
        **{name: _map(name) for name in ("sin", "cos", "tanh", "exp", "sqrt", "square", "reciprocal")},
        "absolute": abs,
        "fabs": abs,
        "negative": lambda a: -a,
        "positive": lambda a: a,
        "add": _pair("__add__", "__radd__"),
        "subtract": _pair("__sub__", "__rsub__"),
        "multiply": _pair("__mul__", "__rmul__"),
        "divide": _pair("__truediv__", "__rtruediv__"),
        "true_divide": _pair("__truediv__", "__rtruediv__"),
        "power": _pair("__pow__", "__rpow__"),
        "float_power": _pair("__pow__", "__rpow__"),
        "matmul": _pair("__matmul__", "__rmatmul__"),
        "maximum": _maximum,
        "minimum": lambda a, b: -_maximum(-a, -b),
        **{
            name: lambda a, b: bool(a if isinstance(a, Symbol) else b)
            for name in ("less", "greater", "equal")
        },
    }
)
FUNCTIONS.update(
    {
        np.fft.rfft: _rfft,
        np.fft.irfft: _irfft,
        np.roll: _roll,
        np.concatenate: _concatenate,
        np.clip: lambda value, low=None, high=None, a_min=None, a_max=None: value.clip(
            a_min if low is None else low, a_max if high is None else high
        ),
        np.sum: lambda value, axis=None: value.sum(axis),
        np.mean: lambda value, axis=None: value.mean(axis),
        np.ravel: lambda value: value.ravel(),
        np.reshape: lambda value, shape: value.reshape(shape),
        np.transpose: lambda value: value.T,
        np.zeros_like: lambda value: np.zeros(value.shape),
        np.ones_like: lambda value: np.ones(value.shape),
        np.shape: lambda value: value.shape,
        np.ndim: lambda value: value.ndim,
        np.size: lambda value: value.size,
    }
)
