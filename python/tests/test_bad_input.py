"""Wrong arguments: an exception that names the thing and the remedy, never a crash."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cinoc

Z, XI, TARGET = np.zeros(100), np.linspace(0.1, 0.9, 20), np.full(100, 0.4)
NAN = np.where(np.arange(100) == 3, np.nan, 0.0)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((np.zeros(0), XI, TARGET), "grid.n"),
        ((np.zeros((2, 3, 100)), XI, TARGET), r"cannot use z: it has shape \[2, 3, 100\], must be \[n\]"),
        ((3.0, XI, TARGET), r"cannot use z: it has shape \[\], must be \[n\]"),
        ((np.zeros((0, 100)), XI, TARGET), "must hold at least one field"),
        ((Z, np.zeros((20, 2)), TARGET), r"cannot use xi: it has shape \[20, 2\], must be \[agents\]"),
        ((Z, np.zeros(0), TARGET), "xi"),
        ((Z, XI, np.zeros(99)), r"cannot use target: it has shape \[99\], must be \[100\]"),
        ((NAN, XI, TARGET), "cannot use z: the number at index 3 is NaN"),
        ((Z, XI, TARGET * np.inf), "cannot use target: the number at index 0 is inf"),
        ((Z + 1e30, XI, TARGET), "must be within"),
        ((Z, XI + 1, TARGET), r"agent 0 is outside of the domain: x = 1.1, must be in \[0, 1\]"),
        ((Z, XI), "tracks a target and there is none; give one"),
        ((Z.astype(complex), XI, TARGET), "z: it has dtype complex128, must be float32 or float64"),
        ((np.array(["a"] * 100), XI, TARGET), "dtype <U1"),
        (([[1.0], [1.0, 2.0]], XI, TARGET), "it is no array of numbers"),
        ((object(), XI, TARGET), "dtype object"),
        ((np.zeros((3, 100)), np.zeros((2, 20)), TARGET), "3 fields; give one per field, or one for all"),
    ],
)
def test_act_says_what_is_wrong(arguments: tuple[Any, ...], text: str) -> None:
    policy = cinoc.Policy("fkpp1d")
    with pytest.raises(cinoc.ConfigError, match=text):
        policy.act(*arguments)
    # and goes on as before
    assert policy.act(Z, XI, TARGET).u is not None


def test_a_density_needs_mass() -> None:
    with pytest.raises(cinoc.ConfigError, match="must be above 0"):
        cinoc.Policy("density2d").act(np.zeros((64, 80)), None, np.ones((64, 80)))


def test_policies_that_are_none(folder: Path) -> None:
    Path("text.safetensors").write_text("no policy")
    Path("empty").mkdir()
    for source, text in [
        ("heat3d", "no policy is called 'heat3d'|no policy is called \"heat3d\""),
        ("missing.safetensors", "not found; check the path"),
        ("text.safetensors", "cannot use text.safetensors"),
        ("empty", "holds no run"),
        (b"bytes", "cannot use the bytes"),
        (7, "a policy is given by"),
    ]:
        with pytest.raises(cinoc.ConfigError, match=text):
            cinoc.Policy(source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"cases": 0}, "cases=0: must be at least 1"),
        ({"cases": -3}, "cases=-3: must be at least 1"),
        ({"cases": "test:x"}, "must be test:N"),
        ({"cases": "missing.safetensors"}, "not found"),
        ({"cases": None}, "cases: give a number"),
        ({"cases": {"z0": np.zeros((2, 99)), "zt": np.zeros((2, 99))}}, r"must be \[cases, 100\]"),
        ({"cases": {"z0": np.zeros((2, 100))}}, "needs a target per case"),
        ({"cases": {"z": np.zeros((2, 100))}}, "cases have no array \"z\""),
        ({"agents": 0}, "agents"),
        ({"agents": -1}, "agents"),
        ({"fail": "half"}, "must be SHARE@STEP"),
        ({"fail": (1.5, 0)}, "failure.share"),
        ({"seed": -1}, "seed=-1"),
        ({"threads": 0}, "threads=0"),
        ({"config": {"noise.sensr": 1}}, "noise.sensr"),
        ({"config": {"train.lr": 1}}, "matters in training only"),
        ({"config": {"policy.fusion": "product"}}, "network of a trained policy is fixed"),
        ({"config": {"time.steps": 10**9}}, "of memory|steps"),
    ],
)
def test_circumstances_say_what_is_wrong(arguments: dict[str, Any], text: str) -> None:
    policy = cinoc.Policy("heat1d")
    given = {"cases": 1, **arguments}
    measures: list[Callable[..., object]] = [policy.rollout, lambda *a, **k: cinoc.evaluate(policy, *a, **k)]
    for measure in measures:
        with pytest.raises(cinoc.ConfigError, match=text):
            measure(given["cases"], **{name: value for name, value in given.items() if name != "cases"})


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"task": "heat3d"}, "heat3d"),
        ({"task": 3}, "is no task"),
        ({"preset": "published"}, "preset \"published\" is not known"),
        ({"method": "sarsa"}, "sarsa"),
        ({"seed": -1}, "seed=-1"),
        ({"threads": 0}, "threads=0"),
        ({"config": {"train.updates": "many"}}, "train.updates"),
        ({"init": "missing.safetensors"}, "not found"),
        ({"init": "heat2d.safetensors"}, "its network does not fit"),
        ({"init": cinoc.Policy("heat2d")}, "its network does not fit"),
        ({"init": 3}, "init: give a policy, a file"),
        ({"cases": {"z0": np.zeros((2, 3))}}, "must be"),
        ({"cases": 3}, "cases: give a file"),
        ({"out": "file"}, "file"),
    ],
)
def test_trainings_say_what_is_wrong(arguments: dict[str, Any], text: str, folder: Path) -> None:
    Path("file").write_text("a file, no folder")
    cinoc.Policy("heat2d").save("heat2d.safetensors")
    given = {"task": "heat1d", "out": "run", **arguments}
    with pytest.raises(cinoc.ConfigError, match=text):
        cinoc.train(given.pop("task"), **given)
    assert not (folder / "run").exists()


def test_runs_that_are_none(folder: Path) -> None:
    with pytest.raises(cinoc.ConfigError, match="holds no run to resume"):
        cinoc.resume("nowhere")
    run = cinoc.Run("nowhere")
    with pytest.raises(cinoc.ConfigError, match="cannot read nowhere"):
        run.metrics
    with pytest.raises(cinoc.ConfigError, match="no policy is called|nowhere"):
        run.policy
    assert not run.finished


def test_errors_are_value_errors_and_run_time_errors() -> None:
    assert issubclass(cinoc.ConfigError, ValueError) and issubclass(cinoc.RunError, RuntimeError)
    with pytest.raises(cinoc.RunError, match="diverged"):
        cinoc.Policy("ks1d").rollout({"z0": 1e9 * np.sin(np.arange(128))[None]}, config={"time.steps": 50})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_works() -> None:
    policy = cinoc.Policy("heat1d")
    small = {"time.steps": 5}
    target = np.full(100, 0.5)
    before = policy.act(np.zeros(100), None, target).u
    policy.rollout(4, config=small, threads=2)
    assert before is not None
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = policy.act(np.zeros(100), None, target).u
            policy.rollout(4, config=small, threads=2)
            settings = {"train.updates": 1, "train.batch": 2, "data.pool": 4, **small}
            cinoc.train("heat1d", config=settings, threads=2, out="forked")
            code = 0 if same is not None and (same == before).all() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
