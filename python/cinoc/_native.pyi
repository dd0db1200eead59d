"""The native half of the package."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from .policy import Action, Cases
from .progress import Watch

@final
class Task:
    """A field with its equation, its cases, and its presets."""

    @property
    def name(self) -> str: ...

@disjoint_base
class Policy:
    def __new__(
        cls, source: str | os.PathLike[str] | bytes, *, task: object = None, best: bool = False
    ) -> Self: ...
    @property
    def task(self) -> Task: ...
    @property
    def path(self) -> os.PathLike[str] | None: ...
    @property
    def agents(self) -> int: ...
    @property
    def parameters(self) -> npt.NDArray[np.float32]: ...
    def _config(self) -> str: ...
    def to_bytes(self) -> bytes: ...
    def _export_onnx(
        self, path: str | os.PathLike[str], inner: bool, config: Mapping[str, Any] | None
    ) -> None: ...
    def start_positions(self, agents: int | None = None) -> npt.NDArray[np.float32]: ...
    def act(
        self,
        z: npt.ArrayLike,
        xi: npt.ArrayLike | None = None,
        target: npt.ArrayLike | None = None,
    ) -> Action: ...

@final
class Physics:
    def __new__(
        cls,
        task: object,
        settings: Mapping[str, Any] | None,
        preset: str,
        threads: int | None,
        device: str,
    ) -> Self: ...
    def facts(self) -> dict[str, Any]: ...
    def cases(self, count: int, seed: int, pool: str) -> list[npt.NDArray[np.float64]]: ...
    def run(
        self, samples: int, steps: int, z: Any, xi: Any, u: Any, v: Any
    ) -> list[npt.NDArray[Any]]: ...
    def pull_back(
        self, samples: int, steps: int, z: Any, xi: Any, u: Any, v: Any, z_adjoint: Any, xi_adjoint: Any
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None, npt.NDArray[Any] | None]: ...

@final
class Recording:
    def __new__(
        cls,
        axes: Sequence[tuple[int, float]],
        boundary: str,
        dt: float,
        fields: int,
        operations: Sequence[tuple[str, list[int], Any]],
        result: int,
    ) -> Self: ...
    def evolve(
        self, state: npt.NDArray[np.float64], forcing: npt.NDArray[np.float64] | None, steps: int
    ) -> npt.NDArray[np.float64]: ...

def pde_task(
    class_: type,
    name: str,
    title: str,
    dims: int,
    boundary: str,
    fields: Sequence[tuple[str, bool, bool, bool]],
    mobile: bool,
    tracks: bool,
    preset: str,
    keys: Sequence[tuple[str, str, Any, str]],
    version: str,
) -> Task: ...
def pde_facts(task: object, settings: Mapping[str, Any] | None) -> str: ...
def listing(task: object, settings: Mapping[str, Any] | None) -> str: ...
def tasks() -> list[str]: ...
def rollout(
    policy: Policy,
    cases: Cases,
    agents: int | None,
    fail: str | None,
    seed: int,
    config: Mapping[str, Any] | None,
    threads: int | None,
    device: str,
    watch: Watch | None,
) -> dict[str, Any]: ...
def evaluate(
    policy: Policy,
    cases: Cases,
    agents: int | None,
    fail: str | None,
    seed: int,
    config: Mapping[str, Any] | None,
    threads: int | None,
    device: str,
    watch: Watch | None,
) -> str: ...
def sweep_along(
    policy: Policy,
    axis: str,
    values: Sequence[str] | None,
    cases: int,
    out: str | os.PathLike[str] | None,
    threads: int | None,
    device: str,
    watch: Watch | None,
) -> str: ...
def check_gradients(
    task: object, preset: str, config: Mapping[str, Any] | None, device: str
) -> str: ...
def train(
    task: object,
    preset: str,
    method: str,
    seed: int | None,
    config: Mapping[str, Any] | None,
    out: str | os.PathLike[str] | None,
    init: Policy | str | os.PathLike[str] | None,
    cases: str | os.PathLike[str] | Mapping[str, npt.ArrayLike] | None,
    validation: str | os.PathLike[str] | Mapping[str, npt.ArrayLike] | None,
    threads: int | None,
    device: str,
    watch: Watch | None,
) -> tuple[os.PathLike[str], bool]: ...
def resume(
    folder: str | os.PathLike[str],
    updates: int | None,
    task: object,
    threads: int | None,
    device: str,
    watch: Watch | None,
) -> tuple[os.PathLike[str], bool]: ...
def serve(policies: Sequence[Policy], port: int, token: str | None) -> str: ...

@final
class Environments:
    """Copies of a task, stepped together. Every array it returns is new."""

    def __new__(
        cls,
        task: Any,
        copies: int,
        *,
        agents: int | None = None,
        hold: int = 1,
        steps: int | None = None,
        preset: str = "default",
        config: dict[str, Any] | None = None,
        autoreset: str = "Disabled",
        local: bool = False,
        normalized: bool = False,
        threads: int | None = None,
        device: str = "cpu",
    ) -> Self: ...
    def reset(
        self, seeds: list[int | None], mask: list[bool]
    ) -> tuple[npt.NDArray[np.float32], dict[str, npt.NDArray[Any]]]: ...
    def step(
        self, actions: npt.NDArray[np.float32]
    ) -> tuple[
        npt.NDArray[np.float32], npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
    ]: ...
    def states(self) -> npt.NDArray[np.float32]: ...
    def alive(self) -> npt.NDArray[np.bool_]: ...
    def start_positions(self) -> npt.NDArray[np.float32]: ...
    def close(self) -> None: ...
    @property
    def task(self) -> str: ...
    @property
    def settings(self) -> str: ...
    @property
    def agents(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def duration(self) -> float: ...
    @property
    def observation_shape(self) -> tuple[int, ...]: ...
    @property
    def action_shape(self) -> tuple[int, ...]: ...
    @property
    def action_bounds(self) -> list[float]: ...
    @property
    def lengths(self) -> list[float]: ...
    @property
    def field_shape(self) -> tuple[int, int, int]: ...
    @property
    def shown(self) -> int: ...
    @property
    def unit(self) -> float: ...
    @property
    def positive(self) -> bool: ...
    @property
    def tracks(self) -> bool: ...
    @property
    def mobile(self) -> bool: ...
