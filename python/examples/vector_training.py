"""Trains a linear policy on the vector environment, with NumPy alone.

Every agent uses the same weights on what it sees. An evolution strategy (antithetic, rank-based) tries one
perturbation of the weights per copy and moves towards those that earned more.

    python vector_training.py --task ks1d --generations 60
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
from numpy.typing import NDArray

import cinoc  # noqa: F401, registers the environments


def returns(envs: gymnasium.vector.VectorEnv, weights: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Mean reward of one episode per copy. All copies begin with the same case, so that luck decides nothing."""
    observations, _ = envs.reset(seed=[seed] * envs.num_envs)
    total, steps = np.zeros(envs.num_envs), 0
    running = np.ones(envs.num_envs, bool)
    while running.any():
        # observations are (copies, agents, view), weights (copies, view, actions)
        acted = np.tanh(observations @ weights)
        actions = acted.transpose(0, 2, 1).reshape(envs.action_space.shape).astype(np.float32)
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        total += np.where(running, rewards, 0.0)
        steps += 1
        running &= ~(terminated | truncated)
    return total / steps


def train(
    task: str = "ks1d",
    copies: int = 32,
    generations: int = 60,
    hold: int = 10,
    noise: float = 0.05,
    rate: float = 0.05,
    config: dict[str, object] | None = None,
    seed: int = 0,
) -> list[float]:
    """Mean reward of the weights themselves, before training and after every generation."""
    envs = gymnasium.make_vec(
        f"cinoc/{task}-v0",
        num_envs=copies,
        hold=hold,
        config=config,
        obs_mode="local",
        action_units="normalized",
    )
    assert envs.single_observation_space.shape is not None and envs.single_action_space.shape is not None
    agents, view = envs.single_observation_space.shape
    actions = envs.single_action_space.shape[0] // agents
    rng = np.random.default_rng(seed)
    weights = np.zeros((view, actions))
    history = []
    for generation in range(generations + 1):
        half = rng.normal(size=(copies // 2, view, actions))
        tried = np.concatenate([half, -half])
        history.append(float(returns(envs, np.repeat(weights[np.newaxis], copies, 0), 10**6).mean()))
        if generation % 10 == 0 or generation == generations:
            print(f"generation {generation}: mean reward {history[-1]:.3f}")
        earned = returns(envs, weights + noise * tried, generation)
        ranks = earned.argsort().argsort() / (copies - 1) - 0.5
        weights = weights + rate / (copies * noise) * np.tensordot(ranks, tried, 1)
    envs.close()
    return history


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="ks1d")
    parser.add_argument("--copies", type=int, default=32)
    parser.add_argument("--generations", type=int, default=60)
    arguments = parser.parse_args()
    train(arguments.task, arguments.copies, arguments.generations)
