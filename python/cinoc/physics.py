"""The physics of a task as a function with derivatives, for policies and learners of your own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from .errors import ConfigError

Array = NDArray[Any]


class Physics:
    """One control step of a task, or many, from given actions: no policy, no noise, no failures.

    A field `z` has shape `state_shape`: `(n,)` or `(n_x, n_y)`, with an axis for the fields in front if the
    state has several. Positions `xi` and velocities `v` have `place_shape`: `(agents,)` or `(agents, 2)`.
    Intensities `u` have `(agents,)`. Any number of axes may stand in front of these: they are independent
    samples, which run on all threads.

    Actions are in their own units. They are not limited to `u_max` and `v_max`: that is the policy's part.
    """

    def __init__(
        self,
        task: Any,
        *,
        agents: int | None = None,
        config: Mapping[str, Any] | None = None,
        preset: str = "default",
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        """`task` is a name or a PDE of yours; `config` holds settings of the command line, such as
        `{"grid.n": 199}`. `device` is where to compute: `"cpu"`, `"cuda"`, or `"cuda:N"` for the GPU number N.
        """
        changed = dict(config or {})
        if agents is not None:
            changed["agents"] = agents
        self._native = _native.Physics(task, changed, preset, threads, device)
        facts = self._native.facts()
        self.task: str = facts["task"]
        self.agents: int = facts["agents"]
        self.dims: int = facts["dims"]
        #: bound of the intensities in the task; None where agents have none
        self.u_max: float | None = facts["u_max"]
        #: bound of the velocities in the task; None where agents do not move
        self.v_max: float | None = facts["v_max"]
        #: control steps of a rollout of the task
        self.steps: int = facts["steps"]
        #: duration of a control step
        self.dt: float = facts["dt"]
        #: lengths of the axes
        self.lengths: tuple[float, ...] = tuple(facts["lengths"])
        fields = (facts["fields"],) if facts["fields"] > 1 else ()
        self.state_shape: tuple[int, ...] = (*fields, *facts["grid"])
        self.place_shape: tuple[int, ...] = (self.agents,) if self.dims == 1 else (self.agents, self.dims)
        #: where the agents start
        self.start: NDArray[np.float64] = _agents_first(np.array(facts["start"]), self.dims, self.agents)

    def __repr__(self) -> str:
        return f"cinoc.Physics({self.task!r}, agents={self.agents})"

    def cases(
        self, count: int, *, seed: int = 0, pool: str = "training"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Fields to start from and targets, `(count, *state_shape)` each. The first ones do not depend on
        `count`.

        `pool` is `"training"`, `"validation"` or `"test"`; the three share no random numbers.
        """
        if count < 1 or seed < 0:
            raise ConfigError(f"count = {count}, seed = {seed}: must be at least 1, and at least 0")
        start, target = self._native.cases(count, seed, pool)
        shape = (count, *self.state_shape)
        return start.reshape(shape), target.reshape(shape)

    def step(
        self, z: ArrayLike, xi: ArrayLike, u: ArrayLike | None = None, v: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Field and positions after one control step."""
        z, xi = self.rollout(z, xi, _in_time(u, 1), _in_time(v, len(self.place_shape)))
        return z.squeeze(-1 - len(self.state_shape)), xi.squeeze(-1 - len(self.place_shape))

    def rollout(
        self, z: ArrayLike, xi: ArrayLike, u: ArrayLike | None = None, v: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Fields and positions after every step of a sequence of actions.

        `u` is `(..., steps, agents)` and `v` `(..., steps, *place_shape)`; the results have the same axis of
        steps.
        """
        return self._run(z, xi, u, v)

    def _shapes(self) -> list[tuple[int, ...]]:
        """Trailing axes of `z`, `xi`, `u`, `v`."""
        return [self.state_shape, self.place_shape, (self.agents,), self.place_shape]

    def _arranged(self, given: list[Any]) -> tuple[tuple[int, ...], int, list[Array | None]]:
        """Axes of the samples, number of steps, and flat arrays of one precision."""
        first = np.asarray(given[0])
        dtype = np.float32 if first.dtype == np.float32 else np.float64
        bounds = [0.0, 0.0, self.u_max, self.v_max]
        arrays: list[Array | None] = []
        batches: list[tuple[int, ...]] = []
        steps = None
        for name, value, shape, bound in zip(("z", "xi", "u", "v"), given, self._shapes(), bounds):
            if bound is None and value is not None:
                raise ConfigError(f"{name} was given, but agents of {self.task} have none; leave it out")
            if bound is not None and value is None:
                raise ConfigError(f"{name} is missing: agents of {self.task} need it")
            if value is None:
                arrays.append(None)
                continue
            array = np.asarray(value, dtype)
            in_time = name in ("u", "v")
            axes = len(shape) + in_time
            if array.ndim < axes or array.shape[array.ndim - len(shape) :] != shape:
                wanted = ("..., steps, " if in_time else "..., ") + ", ".join(map(str, shape))
                raise ConfigError(f"{name} has shape {array.shape}, must be ({wanted})")
            batches.append(array.shape[: array.ndim - axes])
            if in_time:
                count = array.shape[array.ndim - axes]
                if steps not in (None, count):
                    raise ConfigError(f"u has {steps} steps and v {count}; give both the same number")
                steps = count
            arrays.append(array)
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            raise ConfigError(f"z, xi, u and v have different samples: {batches}") from None
        for i, shape in enumerate(self._shapes()):
            value = arrays[i]
            if value is not None:
                own = value.shape[value.ndim - len(shape) - (i > 1) :]
                arrays[i] = self._flat(np.broadcast_to(value, (*batch, *own)), places=i in (1, 3))
        return batch, steps or 0, arrays

    def _flat(self, array: Array, *, places: bool) -> Array:
        """A contiguous line of numbers, as the engine has them: all first coordinates, then all second."""
        if places and self.dims > 1:
            array = np.swapaxes(array, -1, -2)
        return np.ascontiguousarray(array).reshape(-1)

    def _shaped(self, flat: Array, leading: tuple[int, ...], *, places: bool) -> Array:
        if places and self.dims > 1:
            return np.swapaxes(flat.reshape(*leading, self.dims, self.agents), -1, -2)
        return flat.reshape(*leading, *(self.place_shape if places else self.state_shape))

    def _run(self, z: Any, xi: Any, u: Any, v: Any) -> tuple[Array, Array]:
        batch, steps, arrays = self._arranged([z, xi, u, v])
        next_z, next_xi = self._native.run(int(np.prod(batch)), steps, *arrays)
        leading = (*batch, steps)
        return self._shaped(next_z, leading, places=False), self._shaped(next_xi, leading, places=True)

    def _pull_back(
        self, z: Any, xi: Any, u: Any, v: Any, dz: Any, dxi: Any
    ) -> tuple[Array, Array, Array | None, Array | None]:
        """Derivatives with respect to `z`, `xi`, `u`, `v`, from those with respect to the result of
        `rollout`.

        All arrays must have the same axes of samples.
        """
        batch, steps, arrays = self._arranged([z, xi, u, v])
        adjoints = [np.asarray(d, arrays[0].dtype) for d in (dz, dxi) if arrays[0] is not None]
        flat = [self._flat(d, places=i == 1) for i, d in enumerate(adjoints)]
        z_, xi_, u_, v_ = self._native.pull_back(int(np.prod(batch)), steps, *arrays, *flat)
        return (
            self._shaped(z_, batch, places=False),
            self._shaped(xi_, batch, places=True),
            None if u_ is None else u_.reshape(*batch, steps, self.agents),
            None if v_ is None else self._shaped(v_, (*batch, steps), places=True),
        )


def _in_time(value: ArrayLike | None, axes: int) -> Array | None:
    """One action as a sequence of one step."""
    return None if value is None else np.expand_dims(np.asarray(value), -1 - axes)


def _agents_first(places: Array, dims: int, agents: int) -> Array:
    return places if dims == 1 else np.ascontiguousarray(places.reshape(dims, agents).T)
