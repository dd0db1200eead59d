"""A trained policy: what agents do about a field."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from .progress import Watch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .rollout import Rollout

    Cases = int | str | os.PathLike[str] | Mapping[str, npt.ArrayLike]
    """Where cases are from: a number, a name, a file, or arrays."""


class Action(NamedTuple):
    """What every agent does."""

    u: npt.NDArray[np.float32] | None
    """Intensities, `[agents]`; none where agents have none (density2d)."""
    v: npt.NDArray[np.float32] | None
    """Velocities, `[agents]` or `[agents, 2]`; none where agents do not move."""


class Policy(_native.Policy):
    """A trained policy. The number of agents is an argument of its use, not a part of it.

    `source` is the name of a policy that comes with the package, a policy file, a run directory, or the bytes
    of a file. `task` is the PDE that it controls, if that is none of `cinoc.tasks()`. `best` takes the
    parameters of a run with the lowest validation loss.

    One field, any number of agents:

    >>> import cinoc, numpy as np
    >>> policy = cinoc.Policy("fkpp1d")
    >>> z, target, xi = np.full(100, 0.1), np.full(100, 0.4), np.linspace(0.1, 0.9, 30)
    >>> action = policy.act(z, xi, target)
    >>> action.u.shape, action.v.shape
    ((30,), (30,))

    Arguments of `act`: the field `z` (`[n]` or `[n_x, n_y]`), where the agents are, `xi` (`[agents]` or
    `[agents, 2]`; left out, where they start), and the target. An additional first axis makes a batch, with
    one `xi` and one `target` for all fields or one for each. Decisions are made in single precision. An agent
    that has failed is left out of `xi`.
    """

    @property
    def config(self) -> dict[str, Any]:
        """All settings of its training, by section.

        >>> import cinoc
        >>> cinoc.Policy("heat1d").config["actuation"]["u_max"]
        40.0
        """
        config: dict[str, Any] = json.loads(self._config())
        return config

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a file, with all settings of its training."""
        Path(path).write_bytes(self.to_bytes())

    def export_onnx(
        self,
        path: str | os.PathLike[str],
        inner: bool = False,
        *,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes it into an ONNX file, for any number of agents and fields.

        Inputs are `z`, `target`, `xi` and, where agents know each other, `alive`, each with a first axis for the
        batch; outputs are `u` and `v`. `inner` writes the network alone, from observations. `config` changes
        settings: `{"grid.n": 199}`.

        >>> import cinoc, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cinoc.Policy("heat1d").export_onnx(folder + "/heat1d.onnx")
        """
        self._export_onnx(path, inner, as_dict(config))

    def rollout(
        self,
        cases: Cases = 10,
        *,
        agents: int | None = None,
        fail: str | tuple[float, int] | None = None,
        seed: int = 0,
        config: Mapping[str, Any] | None = None,
        threads: int | None = None,
        device: str = "cpu",
        progress: bool | None = None,
    ) -> Rollout:
        """Runs cases with and without control, and gives everything that happened.

        `cases` is a number of validation cases, `"test:N"`, `"paper"` (the published ones), a file, or a
        dictionary of the arrays `z0`, `zt` (targets) and optionally `xi0` (where agents start). `fail` is
        `"0.3@100"` or `(0.3, 100)`: 30 % of the agents fail from control step 100 on. `seed` decides on noise
        and failures. `config` changes settings: `{"noise.sensor": 0.02}`. `device` is where to compute: `"cpu"`,
        `"cuda"`, or `"cuda:N"` for the GPU number N.

        >>> import cinoc
        >>> rollout = cinoc.Policy("heat1d").rollout(2, agents=12, config={"time.steps": 20})
        >>> rollout.z.shape, rollout.xi.shape, rollout.error.shape
        ((2, 20, 100), (2, 20, 12), (2, 20))
        """
        from .rollout import Rollout

        watch = Watch(progress)
        found = _native.rollout(
            self, as_cases(cases), agents, failure(fail), seed, as_dict(config), threads, device, watch
        )
        return Rollout(found)

    def __reduce__(self) -> tuple[Any, ...]:
        return Policy, (self.to_bytes(),)


def of(policy: Policy | str | os.PathLike[str]) -> Policy:
    """The policy, or the one of a name or a path."""
    return policy if isinstance(policy, Policy) else Policy(policy)


def failure(fail: str | tuple[float, int] | None) -> str | None:
    """A failure as the command line has it."""
    return fail if fail is None or isinstance(fail, str) else "@".join(str(part) for part in fail)


def as_cases(cases: Any) -> Any:
    """Cases as the native half takes them."""
    return dict(cases) if isinstance(cases, Mapping) else cases


def as_dict(config: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Settings as the native half takes them."""
    return None if config is None else dict(config)
