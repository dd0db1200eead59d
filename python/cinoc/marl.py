"""Tasks as PettingZoo environments: one agent per actuator, a shared reward.

    env = cinoc.parallel_env("turb2d", agents=64)

An agent observes what the policies of this package observe. An agent that fails is terminated and leaves
`agents`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import render as pictures
from .errors import ConfigError
from .gym import LARGEST, Numbers, make_environments, seed_of

try:
    from gymnasium import spaces
    from pettingzoo import AECEnv, ParallelEnv
    from pettingzoo.utils.conversions import parallel_to_aec
    from pettingzoo.utils.wrappers import (
        AssertOutOfBoundsWrapper,
        OrderEnforcingWrapper,
    )
except ImportError as error:
    raise ImportError(
        "cinoc.marl needs PettingZoo; install it with: pip install 'cinoc[pettingzoo]'"
    ) from error


class FieldParallelEnv(ParallelEnv[str, Numbers, Numbers]):  # type: ignore[misc]
    """One copy of a task, with an agent per actuator. The arguments are those of `parallel_env`."""

    def __init__(
        self,
        task: Any,
        agents: int | None = None,
        *,
        hold: int = 1,
        preset: str = "default",
        config: Mapping[str, Any] | None = None,
        action_units: str = "physical",
        max_cycles: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = pictures.checked(render_mode)
        self._environments = make_environments(
            task,
            1,
            agents=agents,
            hold=hold,
            preset=preset,
            config=config,
            local=True,
            action_units=action_units,
            steps=max_cycles,
            threads=threads,
            device=device,
        )
        self.metadata = {
            "name": f"cinoc_{self._environments.task}_v0",
            "render_modes": list(pictures.MODES),
            "render_fps": 20,
            "is_parallelizable": True,
        }
        count, size = self._environments.observation_shape
        bounds = np.asarray(self._environments.action_bounds, np.float32)
        self.possible_agents = [f"actuator_{agent}" for agent in range(count)]
        self.agents: list[str] = []
        self._numbers = {agent: number for number, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {
            agent: spaces.Box(-LARGEST, LARGEST, (size,), np.float32) for agent in self.possible_agents
        }
        self.action_spaces = {
            agent: spaces.Box(-bounds, bounds, dtype=np.float32) for agent in self.possible_agents
        }
        self._actions = (len(bounds), count)
        self._seeded = False

    def observation_space(self, agent: str) -> spaces.Space[Numbers]:
        """What an agent may observe."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Numbers]:
        """What an agent may do: its intensity, then the components of its velocity."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Numbers], dict[str, dict[str, Any]]]:
        """Begins an episode: the first of the seed, or the next one."""
        first = None if seed is None else seed_of(seed)
        if first is None and not self._seeded:
            first = int(np.random.default_rng().integers(2**63))
        observations, info = self._environments.reset([first], [True])
        self._seeded = True
        self.agents = self._working()
        self._show()
        return self._seen(observations, self.agents), self._infos(info, self.agents)

    def step(
        self, actions: dict[str, Numbers]
    ) -> tuple[
        dict[str, Numbers], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """One decision of all agents."""
        before = self.agents
        observations, rewards, terminated, truncated, info = self._environments.step(self._joint(actions))
        over = bool(terminated[0]) or bool(truncated[0])
        working = set(self._working())
        self.agents = [] if over else [agent for agent in before if agent in working]
        self._show()
        return (
            self._seen(observations, before),
            dict.fromkeys(before, float(rewards[0])),
            {agent: bool(terminated[0]) or agent not in working for agent in before},
            dict.fromkeys(before, bool(truncated[0])),
            self._infos(info, before),
        )

    def state(self) -> Numbers:
        """The whole state: the field, its target if it has one, the positions of mobile agents."""
        state: Numbers = self._environments.states()[0]
        return state

    def render(self) -> NDArray[np.uint8] | None:
        """A picture of the field, its target and the agents."""
        if self.render_mode is None:
            return None
        return pictures.shown(self.render_mode, pictures.frames(self._environments)[0])

    def close(self) -> None:
        """Frees its memory."""
        self._environments.close()

    def _working(self) -> list[str]:
        alive = self._environments.alive()[0]
        return [agent for agent, working in zip(self.possible_agents, alive, strict=True) if working]

    def _joint(self, actions: dict[str, Numbers]) -> Numbers:
        """The actions of all agents, 0 for those that have failed."""
        joint = np.zeros(self._actions, np.float32)
        unknown = sorted(set(actions) - set(self._numbers))
        if unknown:
            raise ConfigError(f"there is no agent {unknown[0]!r}; agents are actuator_0, actuator_1, ...")
        for agent in self.agents:
            if agent not in actions:
                raise ConfigError(f"{agent} has no action; give one for every agent in env.agents")
            action = np.asarray(actions[agent])
            if action.shape != self._actions[:1] or action.dtype.kind not in "fiu":
                raise ConfigError(
                    f"the action of {agent} has shape {action.shape} and dtype {action.dtype}; "
                    f"use shape {self._actions[:1]} and float32"
                )
            joint[:, self._numbers[agent]] = action
        return joint.reshape(1, *self._environments.action_shape)

    def _seen(self, observations: Numbers, agents: list[str]) -> dict[str, Numbers]:
        return {agent: observations[0, self._numbers[agent]].copy() for agent in agents}

    def _infos(self, info: dict[str, NDArray[Any]], agents: list[str]) -> dict[str, dict[str, Any]]:
        error, effort = float(info["error"][0]), float(info["effort"][0])
        return {agent: {"error": error, "effort": effort} for agent in agents}

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()


def parallel_env(task: Any, agents: int | None = None, **options: Any) -> FieldParallelEnv:
    """A task with one agent per actuator.

    Args:
        task: name of a task, or a PDE.
        agents: number of actuators; that of the preset if left out.
        hold: control steps for which an action is held.
        preset: "default" or "paper".
        config: settings that differ from the preset, such as `{"failure.share": 0.25, "failure.step": 50}`.
        action_units: "physical", or "normalized": from -1 to 1.
        max_cycles: decisions in an episode; those of the preset if left out.
        threads: threads; as many as are worth it if left out.
        device: where the physics is computed: "cpu", "cuda", or "cuda:N" for the GPU number N.
        render_mode: "rgb_array" or "human".
    """
    return FieldParallelEnv(task, agents, **options)


def env(task: Any, agents: int | None = None, **options: Any) -> AECEnv[str, Numbers, Numbers]:
    """The same as an environment whose agents act one after the other."""
    turns = parallel_to_aec(parallel_env(task, agents, **options))
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(turns))
