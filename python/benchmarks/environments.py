"""Steps per second of environments, from Python, all on this machine and in one run.

    export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
    python environments.py [--cinoc PATH_OF_THE_COMMAND] [--rounds 5] [--tasks ks1d,heat1d]

1. The vector environment of every task with 32 copies, against `env_steps_per_s` of `cinoc bench`, which drives
   the same copies from Rust.
2. Kuramoto-Sivashinsky against other packages, if they are installed: controlgym (its own environment), exponax
   (forward steps under `jit` and `vmap`, without reward or reset), Gymnasium's SyncVectorEnv around NumPy.

Sides take turns, round by round; the tables show medians and the best round. Other packages solve the equation on their own grids and
with their own time steps: their settings are chosen here to be those of ks1d (128 points, length 22, step 0.05).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import cinoc

COPIES = 32
POINTS, LENGTH, STEP = 128, 22.0, 0.05
SPIN_UP = {"ks1d": 20.0, "ks2d": 20.0, "turb2d": 0.2}


def rate(step: Callable[[], object], steps: int, seconds: float = 0.5) -> float:
    """Steps per second of something that does so many steps in one call."""
    step()
    begin, done = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - begin) < seconds:
        step()
        done += steps
    return done / elapsed


def ours(task: str) -> Callable[[], float]:
    """The vector environment. States are spun up for a short time: their history does not matter for speed."""
    quick = {"data.pool": COPIES, **({"data.spin_up": SPIN_UP[task]} if task in SPIN_UP else {})}
    envs = gymnasium.make_vec(f"cinoc/{task}-v0", num_envs=COPIES, config=quick)
    envs.reset(seed=0)
    actions = (0.1 * envs.action_space.high).astype(np.float32)
    return lambda: rate(lambda: envs.step(actions), COPIES)


def command(task: str, cinoc_command: str) -> Callable[[], float]:
    """`env_steps_per_s` of `cinoc bench`."""

    def measured() -> float:
        asked = [cinoc_command, "bench", task, "--json", "--repeat", "1", "--set", "train.batch=1"]
        found = subprocess.run(asked, check=True, capture_output=True, text=True)
        return float(json.loads(found.stdout)["env_steps_per_s"])

    return measured


class NumpyEnv(gymnasium.Env[NDArray[np.float64], NDArray[np.float64]]):
    """ETDRK4 of the same equation in NumPy, one copy: what a user would write in an hour."""

    def __init__(self) -> None:
        k = 2.0 * np.pi / LENGTH * np.arange(POINTS // 2 + 1)
        linear, h = k**2 - k**4, STEP
        circle = np.exp(1j * np.pi * (np.arange(32) + 0.5) / 32)
        r = h * linear[:, np.newaxis] + circle
        mean = lambda values: values.mean(1).real  # noqa: E731
        self.e, self.e2 = np.exp(h * linear), np.exp(0.5 * h * linear)
        self.q = h * mean((np.exp(r / 2) - 1) / r)
        self.f1 = h * mean((-4 - r + np.exp(r) * (4 - 3 * r + r**2)) / r**3)
        self.f2 = h * mean((2 + r + np.exp(r) * (-2 + r)) / r**3)
        self.f3 = h * mean((-4 - 3 * r - r**2 + np.exp(r) * (4 - r)) / r**3)
        self.g = -0.5j * k
        x = LENGTH * np.arange(POINTS) / POINTS
        away = (x[:, np.newaxis] - LENGTH * (np.arange(8) + 0.5) / 8 + LENGTH / 2) % LENGTH - LENGTH / 2
        self.actuators = np.exp(-0.5 * away**2)
        self.x = x
        self.observation_space = gymnasium.spaces.Box(-1e3, 1e3, (POINTS,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (8,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.z = np.cos(2 * np.pi * self.x / LENGTH) * (1 + 0.1 * self.np_random.random())
        self.steps = 0
        return self.z, {}

    def step(self, action: NDArray[np.float64]) -> Any:
        force = np.fft.rfft(self.actuators @ action)
        slope = lambda v: self.g * np.fft.rfft(np.fft.irfft(v) ** 2) + force  # noqa: E731
        v = np.fft.rfft(self.z)
        n = slope(v)
        a = self.e2 * v + self.q * n
        na = slope(a)
        b = self.e2 * v + self.q * na
        nb = slope(b)
        c = self.e2 * a + self.q * (2 * nb - n)
        self.z = np.fft.irfft(self.e * v + self.f1 * n + 2 * self.f2 * (na + nb) + self.f3 * slope(c))
        self.steps += 1
        reward = -float(np.mean(self.z**2)) - 1e-3 * float(np.mean(action**2))
        return self.z, reward, False, self.steps >= 200, {}


def in_numpy() -> Callable[[], float]:
    """Gymnasium's SyncVectorEnv around it."""
    envs = gymnasium.vector.SyncVectorEnv([NumpyEnv] * COPIES)
    envs.reset(seed=0)
    actions = np.full((COPIES, 8), 0.1)
    return lambda: rate(lambda: envs.step(actions), COPIES)


def controlgym() -> Callable[[], float]:
    """controlgym's environment, one copy: it has no vector environment."""
    import controlgym as gym_of_pdes  # type: ignore[import-not-found]

    env = gym_of_pdes.make(
        "kuramoto_sivashinsky",
        n_state=POINTS,
        domain_length=LENGTH,
        integration_time=STEP,
        sample_time=STEP,
        n_action=8,
        n_steps=200,
    )
    env.reset(seed=0)
    action, done = np.full(8, 0.1), [0]

    def step() -> None:
        env.step(action)
        done[0] += 1
        if done[0] % 200 == 0:
            env.reset()

    return lambda: rate(step, 1)


def exponax() -> Callable[[], float]:
    """exponax, all copies at once, compiled: forward steps only, no actions, no reward, no reset."""
    import exponax as ex  # type: ignore[import-not-found]
    import jax  # type: ignore[import-not-found]

    stepper = ex.stepper.KuramotoSivashinskyConservative(1, LENGTH, POINTS, STEP)
    step = jax.jit(jax.vmap(stepper))
    fields = [jax.random.normal(jax.random.PRNGKey(0), (COPIES, 1, POINTS))]

    def advance() -> None:
        # an agent has to read the state of every step
        fields[0] = step(fields[0])
        np.asarray(fields[0])

    return lambda: rate(advance, COPIES)


def turns(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, tuple[float, float]]:
    """Median and highest rate of sides that take turns. On a machine with other load the highest means more."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            found[name].append(side())
    return {name: (statistics.median(rates), max(rates)) for name, rates in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cinoc", default="cinoc", help="the command")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", default=",".join(cinoc.tasks()))
    arguments = parser.parse_args()

    print("| task | Rust | Python | share | Rust, best | Python, best | share |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for task in filter(None, arguments.tasks.split(",")):
        sides = {"Rust": command(task, arguments.cinoc), "Python": ours(task)}
        found = turns(sides, arguments.rounds)
        cells = [
            f"{rust:.0f} | {python:.0f} | {100 * python / rust:.0f} %"
            for rust, python in zip(found["Rust"], found["Python"], strict=True)
        ]
        print(f"| {task} | {' | '.join(cells)} |", flush=True)

    sides = {"cinoc, vector environment": ours("ks1d")}
    for name, make in {
        "exponax, forward steps": exponax,
        "NumPy in SyncVectorEnv": in_numpy,
        "controlgym": controlgym,
    }.items():
        try:
            sides[name] = make()
        except ImportError as error:
            print(f"{name} is left out: {error}")
    print("\n| Kuramoto-Sivashinsky | steps per second | ours is faster by | best | ours is faster by |")
    print("|---|---|---|---|---|")
    found = turns(sides, arguments.rounds)
    median, best = next(iter(found.values()))
    for name, (middle, highest) in found.items():
        print(f"| {name} | {middle:.0f} | {median / middle:.1f} | {highest:.0f} | {best / highest:.1f} |")


if __name__ == "__main__":
    main()
