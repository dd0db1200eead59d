"""PDEs written in Python: one time step on symbolic values, traced once, run by the engine.

    class Burgers(cinoc.PDE):
        name = "burgers"
        preset = {"agents": 8, "physics": {"nu": 0.02}}

        def setup(self):
            self.advection = self.x.stencil({-1: 1.0, 1: -1.0}) * (self.dt / (4 * self.x.h))
            self.implicit = self.x.implicit_diffusion(self.dt * self.physics.nu)

        def step(self, z, f):
            return self.implicit.solve(self.x.interior * (z + self.advection @ z**2 + self.dt * f))

        def cases(self, rng):
            return self.field.bridged(rng), self.field.bridged(rng)

The class is a task: give it to everything that takes the name of one.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
import traceback
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from . import numpy_functions as numpy_functions  # NumPy's functions on traced values
from .errors import ConfigError
from .matrix import Matrix, Tridiagonal
from .tracing import _LIBRARIES, Recorder, TraceError, Traced, Value

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "PDE",
    "Axis",
    "Field",
    "Matrix",
    "RandomField",
    "TraceError",
    "Tridiagonal",
    "Value",
    "five_point",
    "listing",
]

Array = NDArray[np.float64]
Made = TypeVar("Made", bound="PDE")


@dataclass(frozen=True)
class Field:
    """One field of the state."""

    #: its symbol in figures
    name: str
    #: whether it is driven to a target
    tracked: bool = True
    #: whether agents see it
    observed: bool = True
    #: whether it is never negative
    positive: bool = False


@dataclass(frozen=True)
class Axis:
    """Grid points along one axis: both ends are points, unless the axis is periodic."""

    n: int
    length: float
    boundary: str

    @property
    def h(self) -> float:
        """Distance between neighbouring points."""
        return self.length / (self.n if self.boundary == "periodic" else self.n - 1)

    @property
    def points(self) -> Array:
        return np.arange(self.n) * self.length / (self.n if self.boundary == "periodic" else self.n - 1)

    @property
    def interior(self) -> Array:
        """1 at every point, but 0 at ends where the field is 0."""
        inside = np.ones(self.n)
        if self.boundary == "dirichlet":
            inside[[0, -1]] = 0.0
        return inside

    def stencil(self, weights: Mapping[int, float]) -> Matrix:
        """The sum of `weight` times the value `offset` points away.

        With Dirichlet ends the rows of the end points are 0. With zero flux a missing neighbour equals the
        end value.
        """
        rows: list[dict[int, float]] = []
        for j in range(self.n):
            row: dict[int, float] = {}
            if self.boundary != "dirichlet" or 0 < j < self.n - 1:
                for offset, weight in weights.items():
                    k = j + offset
                    k = k % self.n if self.boundary == "periodic" else min(max(k, 0), self.n - 1)
                    row[k] = row.get(k, 0.0) + float(weight)
            rows.append(row)
        return Matrix.from_rows(self.n, rows)

    def diffusion(self, weight: float) -> Matrix:
        """`weight` times the second derivative, by central differences."""
        d = weight * (1.0 / (self.h * self.h))
        return self.stencil({-1: d, 0: -2.0 * d, 1: d})

    def explicit_diffusion(self, weight: float) -> Matrix:
        """`I + weight D2`: the explicit part of a diffusion step."""
        d = weight * (1.0 / (self.h * self.h))
        return self.stencil({-1: d, 0: 1.0 - 2.0 * d, 1: d})

    def implicit_diffusion(self, weight: float) -> Tridiagonal:
        """`I - weight D2`, to be solved. With Dirichlet ends the right-hand side must be 0 there."""
        if self.boundary == "periodic":
            raise ConfigError("implicit_diffusion of a periodic axis is not tridiagonal; use np.fft.rfft")
        r = weight / (self.h * self.h)
        outside, own = (-r, 1.0 + r) if self.boundary == "zero-flux" else (0.0, 1.0)
        off, diagonal = np.full(self.n, -r), np.full(self.n, 1.0 + 2.0 * r)
        off[[0, -1]], diagonal[[0, -1]] = outside, own
        return Tridiagonal(off, diagonal, off)


def five_point(x: Axis, y: Axis, weight: float) -> Matrix:
    """`weight` times the sum of the differences to the neighbours of every point, with zero flux at the
    walls.

    It applies to a flattened field: `(matrix @ z.ravel()).reshape(z.shape)`.
    """
    rows: list[dict[int, float]] = [{k: 0.0} for k in range(x.n * y.n)]
    for k in range(x.n * y.n):
        i, j = divmod(k, y.n)
        neighbours = [(i + 1 < x.n, k + y.n), (j + 1 < y.n, k + 1)]
        for other in (other for inside, other in neighbours if inside):
            for a, b in ((k, other), (other, k)):
                rows[b][b] -= weight
                rows[b][a] = weight
    return Matrix.from_rows(x.n * y.n, rows)


class RandomField:
    """Smooth random fields on points: Gaussian, with a correlation length and a standard deviation."""

    def __init__(self, points: ArrayLike, length: float, std: float = 1.0) -> None:
        self.points: Array = np.asarray(points, np.float64)
        distance = self.points[:, None] - self.points
        values, vectors = np.linalg.eigh(std**2 * np.exp(-(distance**2) / (2.0 * length**2)))
        self._root: Array = vectors * np.sqrt(np.maximum(values, 0.0))

    def draw(self, rng: np.random.Generator) -> Array:
        """A field."""
        drawn: Array = self._root @ rng.standard_normal(len(self.points))
        return drawn

    def bridged(self, rng: np.random.Generator) -> Array:
        """A field that is 0 at both ends: the straight line through its end values is subtracted."""
        field, x = self.draw(rng), self.points
        s = (x - x[0]) / (x[-1] - x[0])
        field -= field[0] * (1.0 - s) + field[-1] * s
        field[[0, -1]] = 0.0
        return field


class PDE:
    """A PDE with its scheme, how its cases are drawn, and its preset. Subclasses are tasks.

    An instance is made for every configuration, with `dt`, `x` (and `y`), `physics` and `data` set; then
    `setup` is called, and `step` is traced.
    """

    #: the task, for everything that takes one
    task: ClassVar[_native.Task]
    #: its name; the class's, in small letters, if it is not given
    name: ClassVar[str] = ""
    #: what it is about, in one line
    title: ClassVar[str] = ""
    #: axes of the domain
    dims: ClassVar[int] = 1
    #: how the domain ends: "dirichlet" (the field is 0 there), "periodic" or "zero-flux"
    boundary: ClassVar[str] = "dirichlet"
    #: the fields of the state
    fields: ClassVar[Sequence[Field | str]] = ("z",)
    #: whether agents move
    mobile: ClassVar[bool] = True
    #: whether there are targets; if not, the field is driven to rest
    tracks: ClassVar[bool] = True
    #: what differs from the settings that tasks of this dimension have in common, and in `physics` and `data`
    #: the keys of this one
    preset: ClassVar[Mapping[str, Any]] = {}
    #: keys of this task: `{"physics.nu": ("L^2/T", "positive", "viscosity")}`: unit, range and meaning.
    #: Ranges are "any", "positive", "non-negative", a pair of numbers, or a whole number that is the least
    #: one.
    keys: ClassVar[Mapping[str, tuple[str, Any, str]]] = {}

    #: length of a time step
    dt: float
    #: the first axis
    x: Axis
    #: the second axis, in 2D
    y: Axis
    #: numbers of the section `physics`, by name
    physics: SimpleNamespace
    #: those of the section `data`
    data: SimpleNamespace
    _recording: _native.Recording

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.step is PDE.step:
            # a base class of others
            return
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()
        fields = [Field(field) if isinstance(field, str) else field for field in cls.fields]
        cls.task = _native.pde_task(
            cls,
            cls.name,
            cls.title or cls.name,
            cls.dims,
            cls.boundary,
            [(field.name, field.tracked, field.observed, field.positive) for field in fields],
            cls.mobile,
            cls.tracks,
            _toml(cls.preset),
            [(name, *key) for name, key in cls.keys.items()],
            _version(cls),
        )

    @classmethod
    def with_config(cls, config: Mapping[str, Any] | None = None) -> Self:
        """The equation with some settings, to try `evolve`, or `step` on NumPy arrays."""
        return _instance(cls, _native.pde_facts(cls, dict(config or {})))

    def setup(self) -> None:
        """Makes what `step` and `cases` need: matrices, tables."""

    def step(self, z: Any, f: Any) -> Any:
        """The state after one time step, from the state `z` and the forcing field `f`.

        With several fields, `z` is a tuple of them, and so is the result.
        """
        raise NotImplementedError

    def cases(self, rng: np.random.Generator) -> Any:
        """One case: the state to start from and the target, or without targets the state alone.

        A state of several fields is a tuple of arrays. A target holds the tracked fields only.
        """
        raise NotImplementedError

    def evolve(self, state: ArrayLike, steps: int, forcing: ArrayLike | None = None) -> Array:
        """The state after so many time steps without agents, by the engine, with a forcing that stays the
        same.
        """
        given = np.ascontiguousarray(np.stack(state) if isinstance(state, tuple) else state, np.float64)
        force = None if forcing is None else np.ascontiguousarray(forcing, np.float64).ravel()
        return self._recording.evolve(given.ravel(), force, steps).reshape(given.shape)

    def _shape(self) -> tuple[int, ...]:
        return (self.x.n,) if self.dims == 1 else (self.x.n, self.y.n)

    def _trace(self) -> _native.Recording:
        """Writes the step down."""
        recorder, shape, count = Recorder(), self._shape(), len(self.fields)
        state: Traced = Value(recorder, 0, (count * shape[0], *shape[1:]))
        if count > 1:
            assert isinstance(state, Value)
            state = tuple(state[i * shape[0] : (i + 1) * shape[0]] for i in range(count))
        result = self.step(state, Value(recorder, 1, shape))
        parts = result if isinstance(result, (tuple, list)) else (result,)
        where = f"{type(self).__name__}.step"
        if len(parts) != count or not all(isinstance(part, Value) for part in parts):
            found = ", ".join(type(part).__name__ for part in parts)
            raise TraceError(f"{where} returned {found or 'nothing'}; it must return {count} traced value(s)")
        for field, part in zip(self.fields, parts):
            if part.shape != shape:
                name = field if isinstance(field, str) else field.name
                raise TraceError(
                    f"{where} returned the field {name} with shape {part.shape}, must be {shape}"
                )
        whole = parts[0]
        for part in parts[1:]:
            whole = Value(
                recorder, recorder.add("stack", [whole, part]), (whole.shape[0] + shape[0], *shape[1:])
            )
        axes = [(axis.n, axis.length) for axis in ([self.x] if self.dims == 1 else [self.x, self.y])]
        return _native.Recording(axes, self.boundary, self.dt, count, recorder.operations, whole._id)


def listing(task: Any, config: Mapping[str, Any] | None = None) -> str:
    """The control step of a task as the list of primitives that the engine runs: `cinoc trace`."""
    return _native.listing(task, dict(config or {}))


def _instance(cls: type[Made], facts: str) -> Made:
    """Makes the equation of a configuration. Called by the engine."""
    given = json.loads(facts)
    made = object.__new__(cls)
    made.dt = given["dt"]
    axes = [Axis(n, length, cls.boundary) for n, length in given["axes"]]
    made.x = axes[0]
    if len(axes) > 1:
        made.y = axes[1]
    made.physics, made.data = SimpleNamespace(**given["physics"]), SimpleNamespace(**given["data"])
    made.setup()
    made._recording = made._trace()
    return made


def _case(made: PDE, seed: int) -> tuple[Array, Array]:
    """Draws a case, as flat arrays. Called by the engine."""
    drawn = made.cases(np.random.default_rng(seed))
    if made.tracks:
        if not isinstance(drawn, (tuple, list)) or len(drawn) != 2:
            raise ConfigError(f"cases of {made.name} must return a start and a target")
        start, target = drawn
    else:
        start, target = drawn, None
    fields = [Field(field) if isinstance(field, str) else field for field in made.fields]
    whole = _state(made, start, len(fields), "start")
    targets = np.zeros_like(whole)
    tracked = [i for i, field in enumerate(fields) if field.tracked]
    if target is not None:
        targets[tracked] = _state(made, target, len(tracked), "target")
    return whole.ravel(), targets.ravel()


def _state(made: PDE, given: Any, count: int, what: str) -> Array:
    array = np.asarray(given, np.float64)
    shape = made._shape()
    if array.shape not in ((count, *shape), *([shape] if count == 1 else [])):
        raise ConfigError(
            f"cases of {made.name}: the {what} has shape {array.shape}, must be {(count, *shape)}"
        )
    if not np.all(np.isfinite(array)):
        raise ConfigError(f"cases of {made.name}: the {what} has values that are infinite or NaN")
    return array.reshape(count, *shape)


def _described(error: BaseException) -> str:
    """An exception of the user's code in one line, with the place it came from. Called by the engine."""
    if isinstance(error, TraceError):
        return str(error)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(p in frame.filename for p in _LIBRARIES)
    ]
    where = f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""
    return f"{where}{type(error).__name__}: {error}"


def _toml(preset: Mapping[str, Any], section: str = "") -> str:
    """A preset as TOML, one line per key."""
    lines = []
    for key, value in preset.items():
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", str(key)):
            raise ConfigError(f"the preset has the key {key!r}; keys have letters, digits, _ and -")
        name = f"{section}{key}"
        lines.append(
            _toml(value, f"{name}.") if isinstance(value, Mapping) else f"{name} = {_toml_value(name, value)}"
        )
    return "\n".join(lines)


def _toml_value(name: str, value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if math.isfinite(value) else str(float(value))
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml_value(name, item) for item in value) + "]"
    raise ConfigError(
        f"the preset has {name} = {value!r}; there are numbers, words, true or false, and lists"
    )


def _version(cls: type) -> str:
    """Changes with the file of the class: cases that are kept on disk are those of this code."""
    try:
        source = inspect.getsourcefile(cls)
        with open(source or "", "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()[:16]
    except (OSError, TypeError):
        # defined at a prompt
        return uuid.uuid4().hex
