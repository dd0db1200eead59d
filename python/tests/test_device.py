"""Where to compute. Machines without a GPU test the names and the errors."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import SMALL

import cinoc
from cinoc.gym import FieldEnv

NO_GPU = r"no CUDA device: .+; leave out --device cuda"
SHORT = {"time.steps": 5}


def train(device: str) -> bytes:
    return cinoc.train("heat1d", config=SMALL, device=device).policy.to_bytes()


def resume(device: str) -> int:
    run = cinoc.train("heat1d", config=SMALL)
    return len(cinoc.resume(run.path, updates=8, device=device).metrics["loss"])


def evaluate(device: str) -> float:
    found: float = cinoc.evaluate("heat1d", 2, config=SHORT, device=device)["controlled"]["final"]["mean"]
    return found


def sweep(device: str) -> Any:
    return cinoc.sweep("agents", "heat1d", [8], cases=1, device=device)["tables"]


def rollout(device: str) -> bytes:
    return cinoc.Policy("heat1d").rollout(1, config=SHORT, device=device).z.tobytes()


def gradients(device: str) -> float:
    found: float = cinoc.check_gradients("heat1d", device=device)["max_rel_error"]
    return found


def physics(device: str) -> bytes:
    physics = cinoc.Physics("heat1d", device=device)
    z, _ = physics.step(np.ones(100), physics.start, np.ones(8), np.zeros(8))
    return z.tobytes()


def environment(device: str) -> bytes:
    env = FieldEnv("heat1d", device=device)
    env.reset(seed=1)
    seen: bytes = env.step(np.zeros(env.action_space.shape or (), np.float32))[0].tobytes()
    return seen


WORK = [environment, train, resume, evaluate, sweep, rollout, gradients, physics]


@pytest.mark.parametrize("work", WORK)
def test_wrong_names_are_refused_as_on_the_command_line(work: Callable[[str], Any]) -> None:
    for name in ["gpu", "cuda:x", "CPU", ""]:
        with pytest.raises(cinoc.ConfigError, match=f"there is no device {name}; take cpu, cuda or cuda:N"):
            work(name)


@pytest.mark.parametrize("work", WORK)
def test_a_gpu_that_is_not_there_is_told(work: Callable[[str], Any]) -> None:
    # no machine has so many
    with pytest.raises(cinoc.ConfigError, match=NO_GPU):
        work("cuda:4096")


def test_nothing_is_begun_on_a_gpu_that_is_not_there(folder: Any) -> None:
    with pytest.raises(ValueError, match=NO_GPU):
        cinoc.train("heat1d", config=SMALL, cases={"z0": np.zeros((2, 100))}, device="cuda:4096")
    assert not list(folder.iterdir())


def test_the_first_gpu_is_used_or_its_absence_told() -> None:
    try:
        assert len(rollout("cuda")) == len(rollout("cpu"))
    except cinoc.ConfigError as error:
        assert "no CUDA device: " in str(error)


@pytest.mark.parametrize("work", [train, evaluate, rollout, physics])
def test_the_cpu_has_a_name(work: Callable[[str], Any]) -> None:
    assert work("cpu") == work("cpu")


def test_the_cpu_is_what_is_used_otherwise() -> None:
    functions: list[Callable[..., Any]] = [cinoc.train, cinoc.resume, cinoc.evaluate, cinoc.sweep]
    functions += [cinoc.check_gradients, cinoc.Policy.rollout, cinoc.Physics]
    for function in functions:
        device = inspect.signature(function).parameters["device"]
        assert (device.default, device.kind) == ("cpu", inspect.Parameter.KEYWORD_ONLY)
