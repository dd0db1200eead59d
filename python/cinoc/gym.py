"""Tasks as Gymnasium environments, one at a time or many stepped together.

    import gymnasium, cinoc
    env = gymnasium.make("cinoc/ks1d-v0", agents=8)
    envs = gymnasium.make_vec("cinoc/ks1d-v0", num_envs=32, agents=8)

Spaces, rewards and seeds are described in docs/python-environments.md.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import render
from ._native import Environments
from .errors import ConfigError

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError("cinoc.gym needs Gymnasium; install it with: pip install 'cinoc[gym]'") from error

Numbers = NDArray[np.float32]

LARGEST = float(np.finfo(np.float32).max)
"""Bound of observations that have no natural one. Observations are always finite."""


def observation_space(environments: Environments) -> spaces.Box[np.float32]:
    """The space of the observation of one copy: positions have bounds, fields have not."""
    shape = environments.observation_shape
    high = np.full(shape, LARGEST, np.float32)
    low = -high
    if len(shape) == 1 and environments.mobile:
        ends = np.repeat(np.asarray(environments.lengths, np.float32), environments.agents)
        low[-len(ends) :], high[-len(ends) :] = 0.0, ends
    return spaces.Box(low, high, dtype=np.float32)


def action_space(environments: Environments) -> spaces.Box[np.float32]:
    """The space of the action of one copy."""
    rows = np.asarray(environments.action_bounds, np.float32)
    bounds = np.repeat(rows, environments.agents).reshape(environments.action_shape)
    return spaces.Box(-bounds, bounds, dtype=np.float32)


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """The value, if it is one of the choices."""
    if value not in choices:
        raise ConfigError(f"{name} = {value!r} is not known; use one of {', '.join(choices)}")
    return value


def seed_of(seed: object) -> int:
    """A seed, checked."""
    try:
        number = operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        raise ConfigError(f"seed = {seed!r}; a seed is an integer from 0 to 2**64 - 1") from None
    if not 0 <= number < 2**64:
        raise ConfigError(f"seed = {number}; a seed is an integer from 0 to 2**64 - 1")
    return number


def count_of(name: str, value: object) -> int:
    """A count, checked."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ConfigError(f"{name} = {value!r} is no integer; use 1 or more") from None
    if number < 1:
        raise ConfigError(f"{name} = {number}; use 1 or more")
    return number


def make_environments(
    task: Any,
    copies: int,
    *,
    agents: int | None,
    hold: int,
    preset: str,
    config: Mapping[str, Any] | None,
    local: bool,
    action_units: str,
    steps: int | None,
    threads: int | None,
    device: str,
    autoreset: str = "Disabled",
) -> Environments:
    """The native environments, with arguments checked as far as Python can."""
    one_of("action_units", action_units, ["physical", "normalized"])
    return Environments(
        task,
        count_of("num_envs", copies),
        agents=None if agents is None else count_of("agents", agents),
        hold=count_of("hold", hold),
        steps=None if steps is None else count_of("max_episode_steps", steps),
        preset=preset,
        config=None if config is None else dict(config),
        autoreset=autoreset,
        local=local,
        normalized=action_units == "normalized",
        threads=None if threads is None else count_of("threads", threads),
        device=device,
    )


class FieldEnv(gymnasium.Env[Numbers, Numbers]):
    """One copy of a task.

    Args:
        task: name of a task, or a PDE.
        agents: number of actuators; that of the preset if left out.
        hold: control steps for which an action is held.
        preset: "default" or "paper".
        config: settings that differ from the preset, such as `{"noise.sensor": 0.02}`.
        obs_mode: "state" for the whole state, "local" for what each agent sees.
        action_units: "physical", shape `(actions, agents)`, or "normalized", flat and from -1 to 1.
        max_episode_steps: decisions in an episode; those of the preset if left out.
        threads: threads; as many as are worth it if left out.
        device: where the physics is computed: "cpu", "cuda", or "cuda:N" for the GPU number N.
        render_mode: "rgb_array" or "human".
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"], "render_fps": 20}

    def __init__(
        self,
        task: Any,
        agents: int | None = None,
        *,
        hold: int = 1,
        preset: str = "default",
        config: Mapping[str, Any] | None = None,
        obs_mode: str = "state",
        action_units: str = "physical",
        max_episode_steps: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render.checked(render_mode)
        self._environments = make_environments(
            task,
            1,
            agents=agents,
            hold=hold,
            preset=preset,
            config=config,
            local=one_of("obs_mode", obs_mode, ["state", "local"]) == "local",
            action_units=action_units,
            steps=max_episode_steps,
            threads=threads,
            device=device,
        )
        self.observation_space = observation_space(self._environments)
        self.action_space = action_space(self._environments)
        self._seeded = False

    @property
    def settings(self) -> str:
        """All settings, as a TOML text."""
        return self._environments.settings

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begins an episode: the first of the seed, or the next one."""
        first = None if seed is None else seed_of(seed)
        super().reset(seed=first)
        if first is None and not self._seeded:
            first = int(self.np_random.integers(2**63))
        observations, info = self._environments.reset([first], [True])
        self._seeded = True
        if self.render_mode == "human":
            self.render()
        return observations[0], _single(info)

    def step(self, action: Numbers) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        """One decision."""
        observations, rewards, terminated, truncated, info = self._environments.step(_batched(action))
        if self.render_mode == "human":
            self.render()
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), _single(info)

    def render(self) -> NDArray[np.uint8] | None:
        """A picture of the field, its target and the agents."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() needs a render_mode; make the environment with "rgb_array"')
            return None
        return render.shown(self.render_mode, render.frames(self._environments)[0])

    def close(self) -> None:
        """Frees its memory."""
        self._environments.close()


def _batched(action: Any) -> Any:
    """The action of one copy as those of all."""
    try:
        return np.asarray(action)[np.newaxis]
    except ValueError as error:
        raise ConfigError(f"the action is no array of numbers ({error}); use an array of float32") from None


def _single(info: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The info of the only copy."""
    return {"error": float(info["error"][0]), "effort": float(info["effort"][0])}


class FieldVectorEnv(gymnasium.vector.VectorEnv[Numbers, Numbers, NDArray[Any]]):
    """Copies of a task, stepped together. Copy `i` of seed `s` is a `FieldEnv` of seed `s + i`,
    up to rounding.

    Args:
        num_envs: number of copies.
        autoreset_mode: what happens after the end of an episode, one of Gymnasium's `AutoresetMode`.

    The other arguments are those of `FieldEnv`.
    """

    def __init__(
        self,
        task: Any,
        num_envs: int = 1,
        agents: int | None = None,
        *,
        hold: int = 1,
        preset: str = "default",
        config: Mapping[str, Any] | None = None,
        obs_mode: str = "state",
        action_units: str = "physical",
        max_episode_steps: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render.checked(render_mode)
        modes = [mode.value for mode in AutoresetMode]
        mode = autoreset_mode.value if isinstance(autoreset_mode, AutoresetMode) else autoreset_mode
        self.autoreset_mode = AutoresetMode(one_of("autoreset_mode", mode, modes))
        self.metadata = {**FieldEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self._environments = make_environments(
            task,
            num_envs,
            agents=agents,
            hold=hold,
            preset=preset,
            config=config,
            local=one_of("obs_mode", obs_mode, ["state", "local"]) == "local",
            action_units=action_units,
            steps=max_episode_steps,
            threads=threads,
            device=device,
            autoreset=mode,
        )
        self.num_envs = num_envs
        self.single_observation_space = observation_space(self._environments)
        self.single_action_space = action_space(self._environments)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeded = np.zeros(num_envs, bool)

    @property
    def settings(self) -> str:
        """All settings, as a TOML text."""
        return self._environments.settings

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begins episodes in all copies, or in those of `options["reset_mask"]`.

        A seed `s` is `s + i` for copy `i`; a sequence has one seed, or None, per copy. A copy without a new
        seed goes on with its next episode.
        """
        mask = self._mask(options)
        seeds = self._seeds(seed)
        if isinstance(seed, int):
            super().reset(seed=seed)
        for copy in np.flatnonzero(mask & ~self._seeded):
            if seeds[copy] is None:
                seeds[copy] = int(self.np_random.integers(2**63))
        observations, info = self._environments.reset(seeds, mask.tolist())
        self._seeded |= mask
        self._show()
        return observations, info

    def step(
        self, actions: Numbers
    ) -> tuple[Numbers, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """One decision in all copies."""
        result = self._environments.step(actions)
        if self.render_mode == "human":
            self._show()
        return result

    def render(self) -> tuple[NDArray[np.uint8] | None, ...] | None:  # type: ignore[override]
        """A picture of every copy."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() needs a render_mode; make the environment with "rgb_array"')
            return None
        mode = self.render_mode
        return tuple(render.shown(mode, frame) for frame in render.frames(self._environments))

    def close_extras(self, **_: Any) -> None:
        """Frees its memory."""
        self._environments.close()

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str):
            if len(seed) != self.num_envs:
                raise ConfigError(f"{len(seed)} seeds for {self.num_envs} copies; give one per copy")
            return [None if one is None else seed_of(one) for one in seed]
        return [seed_of(seed_of(seed) + copy) for copy in range(self.num_envs)]

    def _mask(self, options: dict[str, Any] | None) -> NDArray[np.bool_]:
        if options is None or "reset_mask" not in options:
            return np.ones(self.num_envs, bool)
        mask = options["reset_mask"]
        if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (self.num_envs,):
            raise ConfigError(f'options["reset_mask"] must be an array of {self.num_envs} bools')
        if not mask.any():
            raise ConfigError('options["reset_mask"] chooses no copy; set an entry to True')
        return mask
