"""Trainings and their run directories."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from .errors import ConfigError
from .policy import Policy, as_cases, as_dict
from .progress import Callback, Watch

if TYPE_CHECKING:
    import numpy.typing as npt

    Files = str | os.PathLike[str] | Mapping[str, npt.ArrayLike]


class Run:
    """A training in its directory, finished or not.

    >>> import cinoc, tempfile
    >>> small = {"train": {"updates": 3, "batch": 2, "warmup": 1}, "time.steps": 5, "data.pool": 4}
    >>> folder = tempfile.mkdtemp()
    >>> run = cinoc.train("heat1d", config=small, out=folder)
    >>> run.finished, run.metrics["loss"].shape
    (True, (3,))
    """

    def __init__(self, path: str | os.PathLike[str], *, task: object = None) -> None:
        self.path = Path(path)
        """The directory."""
        self._task = task

    @property
    def finished(self) -> bool:
        """Whether all updates are done."""
        return (self.path / "policy.safetensors").exists()

    @cached_property
    def policy(self) -> Policy:
        """The policy; of a run that is not finished, with the parameters of its checkpoint."""
        return Policy(self.path, task=self._task)

    @property
    def best(self) -> Policy:
        """The policy with the lowest validation loss."""
        return Policy(self.path, task=self._task, best=True)

    @property
    def metrics(self) -> dict[str, npt.NDArray[np.float64]]:
        """What every update did, one number per update: `loss`, `gradient_norm`, `lr`, ..., the terms of the
        loss (`terms/NAME`) and validations (`validation/loss`, ...; NaN where there was none)."""
        path = self.path / "metrics.jsonl"
        try:
            lines = path.read_text().splitlines()
        except OSError as error:
            reason = f"{error.strerror}; is it the directory of a run?"
            raise ConfigError(f"cannot read {path}: {reason}") from None
        rows = [_flat(json.loads(line)) for line in lines]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([row.get(name, np.nan) for row in rows], dtype=float) for name in names}

    def __repr__(self) -> str:
        return f"cinoc.Run({str(self.path)!r}, {'finished' if self.finished else 'not finished'})"


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of a line by name; those in a section as `section/name`."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat.update({f"{name}/{inner}": number for inner, number in value.items()})
        else:
            flat[name] = value
    # what is not finite is null in JSON
    return {name: np.nan if value is None else value for name, value in flat.items()}


def train(
    task: object,
    *,
    seed: int | None = None,
    config: Mapping[str, Any] | None = None,
    preset: str = "default",
    method: str = "cinoc",
    out: str | os.PathLike[str] | None = None,
    init: Policy | str | os.PathLike[str] | None = None,
    cases: Files | None = None,
    validation: Files | None = None,
    threads: int | None = None,
    device: str = "cpu",
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Run:
    """Trains a policy through the physics. The policy has the same bytes as that of `cinoc train` with these
    settings.

    `task` is one of `cinoc.tasks()` or a PDE. `config` changes settings: `{"train.updates": 300}` or
    `{"train": {"updates": 300}}`. `preset` is `"default"` or `"paper"`, `method` is `"cinoc"` or a baseline
    (`"dpc"`, `"ppo"`, `"td3"`, `"mappo"`, `"matd3"`). `out` is the run directory; without it, a new folder in
    `runs`. `init` is a policy to start from, a file, or the name of a shipped policy. `cases` and
    `validation` are files, or dictionaries of the arrays `z0`, `zt` and optionally `xi0`. `device` is where to
    compute: `"cpu"`, `"cuda"`, or `"cuda:N"` for the GPU number N. `callback(update, metrics)` is called after
    every update; if it returns False the training stops and `run.finished` is False. Ctrl-C saves a checkpoint and
    raises KeyboardInterrupt; `cinoc.resume` goes on.

    >>> import cinoc, tempfile
    >>> small = {"train": {"updates": 3, "batch": 2, "warmup": 1}, "time.steps": 5, "data.pool": 4}
    >>> run = cinoc.train("heat1d", seed=1, config=small, out=tempfile.mkdtemp())
    >>> run.policy
    cinoc.Policy(heat1d, trained with 8 agents, 11170 parameters)
    """
    watch, given = Watch(progress, callback), (as_cases(cases), as_cases(validation))
    path, _ = _native.train(
        task, preset, method, seed, as_dict(config), out, init, *given, threads, device, watch
    )
    return Run(path, task=task)


def resume(
    path: str | os.PathLike[str],
    updates: int | None = None,
    *,
    task: object = None,
    threads: int | None = None,
    device: str = "cpu",
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Run:
    """Continues a run that was stopped, with its own settings; more `updates` extend a finished one.

    `task` is the PDE, if it is none of `cinoc.tasks()`. `device` may be another one than before.

    >>> import cinoc, tempfile
    >>> small = {"train": {"updates": 3, "batch": 2, "warmup": 1}, "time.steps": 5, "data.pool": 4}
    >>> run = cinoc.train("heat1d", config=small, out=tempfile.mkdtemp())
    >>> len(cinoc.resume(run.path, updates=5).metrics["loss"])
    5
    """
    path, _ = _native.resume(path, updates, task, threads, device, Watch(progress, callback))
    return Run(path, task=task)
