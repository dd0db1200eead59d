"""Rollouts, evaluations, sweeps."""

import json
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import cinoc

from test_training import binary


def test_a_rollout_has_everything_that_happened() -> None:
    rollout = cinoc.Policy("heat2d").rollout(2, agents=9, config={"time.steps": 4})
    assert rollout.z.shape == rollout.uncontrolled_z.shape == (2, 4, 32, 32)
    assert rollout.xi is not None and rollout.u is not None and rollout.v is not None
    assert rollout.xi.shape == rollout.v.shape == (2, 4, 9, 2) and rollout.u.shape == (2, 4, 9)
    assert rollout.error.shape == rollout.uncontrolled_error.shape == (2, 4)
    assert rollout.z0.shape == rollout.target.shape == (2, 32, 32)
    assert [len(axis) for axis in rollout.axes] == [32, 32] and len(rollout.time) == 4
    error = ((rollout.z - rollout.target[:, None]) ** 2).mean(axis=(2, 3))
    np.testing.assert_allclose(error, rollout.error, rtol=1e-3, atol=1e-7)
    dt = rollout.time[0]
    np.testing.assert_allclose(rollout.xi[:, 1], rollout.xi[:, 0] + dt * rollout.v[:, 1], atol=1e-4)
    assert rollout.agents == rollout.config["agents"] == 9 and rollout.task == "heat2d"


def test_many_cases_are_rolled_out_in_parts() -> None:
    policy = cinoc.Policy("heat1d")
    many, few = policy.rollout(300), policy.rollout(32)
    assert many.z.shape == (300, 300, 100) and many.xi is not None and many.xi.shape == (300, 300, 8)
    np.testing.assert_array_equal(many.z[:32], few.z)
    found = cinoc.evaluate(policy, 300)
    np.testing.assert_allclose(many.error[:, -1], found["per_case"], rtol=1e-6)


def test_own_cases_noise_and_failures() -> None:
    policy = cinoc.Policy("heat1d")
    few = {"time.steps": 6}
    drawn = policy.rollout(3, config=few)
    again = policy.rollout({"z0": drawn.z0, "zt": drawn.target}, config=few)
    np.testing.assert_allclose(again.z, drawn.z, atol=1e-5)
    assert again.cases_from == "3 given cases"
    starts = np.full((3, 8), 0.5)
    placed = policy.rollout({"z0": drawn.z0, "zt": drawn.target, "xi0": starts}, config=few)
    assert placed.xi is not None and drawn.xi is not None
    assert np.ptp(placed.xi[:, 0]) < np.ptp(drawn.xi[:, 0])
    failed = policy.rollout(3, config=few, fail=(0.5, 2))
    np.testing.assert_array_equal(failed.z, policy.rollout(3, config=few, fail="0.5@2").z)
    np.testing.assert_array_equal(failed.z[:, :2], drawn.z[:, :2])
    assert (failed.z[:, 3:] != drawn.z[:, 3:]).any()
    noisy = [policy.rollout(3, config={"noise.sensor": 0.1, **few}, seed=seed).z for seed in (0, 0, 1)]
    np.testing.assert_array_equal(noisy[0], noisy[1])
    assert (noisy[0] != noisy[2]).any()


def test_an_evaluation_is_that_of_the_command_line(folder: Path) -> None:
    policy = cinoc.Policy("fkpp1d")
    policy.save("fkpp1d.safetensors")
    found = cinoc.evaluate(policy, 5, agents=12, fail="0.25@3", seed=1, config={"time.steps": 8}, threads=1)
    command = [binary(), "eval", "fkpp1d.safetensors", "--cases", "5", "--agents", "12", "--fail", "0.25@3"]
    command += ["--seed", "1", "--set", "time.steps=8", "--threads", "1", "--json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    del found["seconds"], told["seconds"]
    assert found == told
    assert cinoc.evaluate("fkpp1d.safetensors", 5, config={"time.steps": 8})["agents"] == 20


def test_a_sweep_and_a_check_of_gradients(folder: Path) -> None:
    found = cinoc.sweep("agents", "heat1d", [8, "x2"], cases=2, out="sweep")
    assert [row[0] for row in found["tables"][0]["rows"]] and (folder / "sweep" / "sweep-agents.md").exists()
    with pytest.raises(cinoc.ConfigError, match="axis|agents"):
        cinoc.sweep("colour", "heat1d")
    checked = cinoc.check_gradients("heat1d", config={"agents": 3})
    assert checked["max_rel_error"] < 1e-6 and {d["moves"] for d in checked["directions"]} >= {"params", "z0"}


@pytest.mark.parametrize("task", ["fkpp1d", "heat2d", "ks1d"])
def test_pictures(task: str) -> None:
    pytest.importorskip("matplotlib")
    rollout = cinoc.Policy(task).rollout(2, config={"time.steps": 5})
    assert len(rollout.plot(1).axes) == (6 if task.endswith("1d") else 8)
    html = rollout._repr_html_()
    assert html.startswith("<table>") and "data:image/png" in html and task in html
    with pytest.raises(cinoc.ConfigError, match="there are 2 cases"):
        rollout.plot(2)


def test_other_threads_go_on_during_work() -> None:
    policy, beats, done = cinoc.Policy("heat1d"), [0], threading.Event()

    def beat() -> None:
        while not done.wait(0.001):
            beats[0] += 1

    thread = threading.Thread(target=beat)
    thread.start()
    before = beats[0]
    policy.rollout(40, threads=1)
    during = beats[0] - before
    done.set()
    thread.join()
    # with the interpreter held all the time there is at most one
    assert during > 3


def test_a_rollout_outlives_its_policy() -> None:
    policy = cinoc.Policy("heat1d")
    rollout = policy.rollout(1, config={"time.steps": 2})
    z, last = rollout.z, rollout.error[0, -1]
    del policy, rollout
    assert np.isfinite(z).all() and last > 0
