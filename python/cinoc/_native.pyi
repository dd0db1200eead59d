from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

class Task:
    @property
    def name(self) -> str: ...

def tasks() -> list[str]: ...

class Physics:
    def __init__(self, task: Any, settings: dict[str, Any] | None, preset: str, threads: int | None) -> None: ...
    def facts(self) -> dict[str, Any]: ...
    def cases(self, count: int, seed: int, pool: str) -> list[NDArray[Any]]: ...
    def run(self, samples: int, steps: int, z: Any, xi: Any, u: Any, v: Any) -> list[NDArray[Any]]: ...
    def pull_back(
        self, samples: int, steps: int, z: Any, xi: Any, u: Any, v: Any, z_adjoint: Any, xi_adjoint: Any
    ) -> list[NDArray[Any]]: ...

class Recording:
    def __init__(
        self,
        axes: list[tuple[int, float]],
        boundary: str,
        dt: float,
        fields: int,
        operations: list[tuple[str, list[int], Any]],
        result: int,
    ) -> None: ...
    def evolve(self, state: NDArray[Any], forcing: NDArray[Any] | None, steps: int) -> NDArray[Any]: ...

def pde_task(
    cls: type,
    name: str,
    title: str,
    dims: int,
    boundary: str,
    fields: list[tuple[str, bool, bool, bool]],
    mobile: bool,
    tracks: bool,
    preset: str,
    keys: list[tuple[str, str, Any, str]],
    version: str,
) -> Task: ...
def pde_facts(task: Any, settings: dict[str, Any] | None) -> str: ...
def listing(task: Any, settings: Mapping[str, Any]) -> str: ...
