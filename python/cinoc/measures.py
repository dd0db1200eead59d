"""Measurements: how good a policy is, and whether gradients are right."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from .policy import Policy, as_cases, as_dict, failure, of
from .progress import Watch

if TYPE_CHECKING:
    from .policy import Cases


def evaluate(
    policy: Policy | str | os.PathLike[str],
    cases: Cases = 50,
    *,
    agents: int | None = None,
    fail: str | tuple[float, int] | None = None,
    seed: int = 0,
    config: Mapping[str, Any] | None = None,
    threads: int | None = None,
    device: str = "cpu",
    progress: bool | None = None,
) -> dict[str, Any]:
    """Evaluates a policy on cases it has never seen. The result has the fields of `cinoc eval --json`.

    `policy` is a policy, a file, a run directory, or the name of a shipped one. The other arguments are those
    of `Policy.rollout`.

    >>> import cinoc
    >>> found = cinoc.evaluate("heat1d", cases=4, agents=12, config={"time.steps": 50})
    >>> found["controlled"]["final"]["mean"] < 0.2 * found["uncontrolled"]["final"]["mean"]
    True
    """
    asked = (agents, failure(fail), seed, as_dict(config), threads, device, Watch(progress))
    found: dict[str, Any] = json.loads(_native.evaluate(of(policy), as_cases(cases), *asked))
    return found


def sweep(
    axis: str,
    policy: Policy | str | os.PathLike[str],
    values: Sequence[float | str] | None = None,
    *,
    cases: int = 50,
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    device: str = "cpu",
    progress: bool | None = None,
) -> dict[str, Any]:
    """Measures a policy along one axis: `"agents"`, `"noise"`, `"failure"`, `"grid"`, `"physics"` or
    `"physics.NAME"`.

    `values` are numbers, or multiples of the value in training such as `"x2"`. `out` is a folder for tables
    and figures. `device` is where to compute: `"cpu"`, `"cuda"`, or `"cuda:N"` for the GPU number N. The result
    has the fields of `cinoc sweep --json`.

    >>> import cinoc
    >>> found = cinoc.sweep("agents", "heat1d", [8, 16], cases=2)
    >>> [row[1] for row in found["tables"][0]["rows"]]
    [8.0, 16.0]
    """
    texts = None if values is None else [str(value) for value in values]
    watch = Watch(progress)
    found: dict[str, Any] = json.loads(
        _native.sweep_along(of(policy), axis, texts, cases, out, threads, device, watch)
    )
    return found


def check_gradients(
    task: object,
    *,
    preset: str = "default",
    config: Mapping[str, Any] | None = None,
    device: str = "cpu",
) -> dict[str, Any]:
    """Compares gradients of whole rollouts with central differences, in double precision.

    `device` is where to compute: `"cpu"`, `"cuda"`, or `"cuda:N"` for the GPU number N. Raises `cinoc.RunError` if
    they differ by more than 1e-6.

    >>> import cinoc
    >>> cinoc.check_gradients("heat1d")["max_rel_error"] < 1e-6
    True
    """
    found: dict[str, Any] = json.loads(_native.check_gradients(task, preset, as_dict(config), device))
    return found
