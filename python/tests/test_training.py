"""Trainings: bytes, callbacks, interruptions."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cinoc

from conftest import SMALL


def binary() -> str:
    """The command line of the same code."""
    built = Path(__file__).parents[2] / "target" / "release" / "cinoc"
    return os.environ.get("CINOC_BINARY", str(built))


def policy_bytes(run: cinoc.Run | Path) -> bytes:
    return ((run.path if isinstance(run, cinoc.Run) else run) / "policy.safetensors").read_bytes()


@pytest.mark.parametrize("method", ["cinoc", "dpc"])
def test_the_command_line_trains_the_same_policy(method: str, folder: Path) -> None:
    run = cinoc.train("heat1d", seed=3, method=method, config=SMALL, out="python")
    sets = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    command = [binary(), "train", "heat1d", "--seed", "3", "--method", method, "--out", "command", *sets]
    subprocess.run(command, check=True, capture_output=True)
    assert policy_bytes(run) == policy_bytes(Path("command"))
    assert (run.path / "config.toml").read_text() == Path("command/config.toml").read_text()


def test_a_run_tells_what_it_did(folder: Path) -> None:
    seen: list[tuple[int, dict[str, Any]]] = []
    run = cinoc.train(
        "fkpp1d",
        config={**SMALL, "train": {"validate_every": 3, "validation_cases": 2}},
        callback=lambda update, metrics: seen.append((update, metrics)),
    )
    assert run.path == Path("runs/fkpp1d-0") and run.finished and "finished" in repr(run)
    assert [update for update, _ in seen] == [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(run.metrics["loss"], [metrics["loss"] for _, metrics in seen])
    assert [update for update, metrics in seen if "validation" in metrics] == [3, 6]
    assert np.isnan(run.metrics["validation/loss"]).tolist() == [True, True, False, True, True, False]
    assert any(name.startswith("terms/") for name in run.metrics)
    assert run.policy.config["train"]["updates"] == 6
    assert run.best.parameters.shape == run.policy.parameters.shape
    # a second one does not disturb the first
    assert cinoc.train("fkpp1d", config=SMALL).path == Path("runs/fkpp1d-0-2")


def test_a_callback_stops_a_training_which_can_go_on(folder: Path) -> None:
    whole = cinoc.train("heat1d", config=SMALL, out="whole")
    stopped = cinoc.train("heat1d", config=SMALL, out="stopped", callback=lambda update, _: update < 3)
    assert not stopped.finished and len(stopped.metrics["loss"]) == 3
    with pytest.warns(cinoc.CinocWarning, match="not finished"):
        assert stopped.policy.agents == 8
    resumed = cinoc.resume("stopped")
    assert resumed.finished and policy_bytes(resumed) == policy_bytes(whole)
    longer = cinoc.resume("stopped", updates=8)
    assert len(longer.metrics["loss"]) == 8
    with pytest.raises(cinoc.ConfigError, match="give 8 or more"):
        cinoc.resume("stopped", updates=4)


def test_what_a_callback_raises_arrives(folder: Path) -> None:
    def callback(update: int, metrics: dict[str, Any]) -> None:
        if update == 2:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        cinoc.train("heat1d", config=SMALL, out="run", callback=callback)
    assert cinoc.resume("run").finished


def test_an_interrupted_training_leaves_its_checkpoint(folder: Path) -> None:
    def callback(update: int, metrics: dict[str, Any]) -> None:
        if update == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"3 of 6 updates; continue with cinoc.resume\(\"run\"\)"):
        cinoc.train("heat1d", config=SMALL, out="run", callback=callback)
    assert (folder / "run" / "checkpoint.safetensors").exists()
    assert policy_bytes(cinoc.resume("run")) == policy_bytes(cinoc.train("heat1d", config=SMALL, out="whole"))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer here")
def test_drawing_cases_can_be_interrupted(folder: Path) -> None:
    def ring(number: int, frame: object) -> None:
        raise TimeoutError("too long")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TimeoutError, match="too long"):
            cinoc.train("ks1d", config={**SMALL, "data.pool": 20000}, out="run")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not (folder / "run" / "metrics.jsonl").exists()


def test_an_interrupted_drawing_says_how_to_go_on(folder: Path) -> None:
    script = (
        "import cinoc, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "cinoc.train('ks1d', config={'data.pool': 20000}, out='run')"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    while not (folder / "run" / "config.toml").exists():
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=120)
    assert child.returncode != 0 and 'before the first update; continue with cinoc.resume("run")' in error


def test_own_cases_and_a_first_policy(folder: Path) -> None:
    some = cinoc.Policy("heat1d").rollout(4, config={"time.steps": 1})
    cases = {"z0": some.z0, "zt": some.target}
    cinoc.Policy("heat1d").save("first.safetensors")
    firsts: list[str | cinoc.Policy] = ["first.safetensors", "heat1d", cinoc.Policy("heat1d")]
    runs = [
        cinoc.train("heat1d", config=SMALL, out=f"run{i}", cases=cases, validation=cases, init=first)
        for i, first in enumerate(firsts)
    ]
    run = runs[0]
    assert policy_bytes(run) == policy_bytes(runs[1]) == policy_bytes(runs[2])
    assert (run.path / "cases.safetensors").exists() and (run.path / "inputs.json").exists()
    shift = abs(run.policy.parameters - cinoc.Policy("heat1d").parameters).max()
    assert 0 < shift < 0.1
    with pytest.raises(cinoc.ConfigError, match="holds a run already"):
        cinoc.train("heat1d", config=SMALL, out="run0", cases=cases)


def test_doubts_are_warnings(folder: Path) -> None:
    some = cinoc.Policy("heat1d").rollout(2, config={"time.steps": 1})
    cases = {"z0": some.z0, "zt": some.target}
    with pytest.warns(cinoc.CinocWarning, match="validated on cases that the task draws"):
        cinoc.train("heat1d", config=SMALL, out="run", cases=cases)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(cinoc.CinocWarning):
            cinoc.train("heat1d", config=SMALL, out="other", cases=cases)


def test_nothing_is_printed_where_nobody_looks(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cinoc.train("heat1d", config=SMALL, out="run")
    assert capfd.readouterr() == ("", "")
    cinoc.train("heat1d", config=SMALL, out="shown", progress=True)
    pytest.importorskip("tqdm")
    assert "training heat1d" in capfd.readouterr().err
