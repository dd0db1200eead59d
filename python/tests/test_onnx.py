"""Exported policies in onnxruntime decide as the engine does, with any number of agents and fields."""

import json
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest

import cinoc
from conftest import SMALL

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "docs"), str(ROOT / "python" / "examples")]

Array = npt.NDArray[Any]
TOLERANCE = 1e-5
"""Largest difference of an action, in units of its bound."""


@cache
def policy_of(name: str) -> cinoc.Policy:
    """The shipped policy of a task, or that of the preset `paper` after one short update."""
    task = name.removesuffix("-paper")
    if task == name:
        return cinoc.Policy(task)
    config: dict[str, Any] = {"train.updates": 1, "train.batch": 2, "time.steps": 2, "data.pool": 2}
    config |= {"train.validate_every": 0, "train.warmup": 0}
    if task in ("ks1d", "ks2d", "turb2d"):
        config["data.spin_up"] = 0.1
    return cinoc.train(task, preset="paper", config=config, out="run").policy


def waves(rng: np.random.Generator, extents: list[int]) -> Array:
    """A field of a few waves, above 0."""
    turns = [rng.uniform(0.5, 3) * np.arange(n) / n + rng.uniform() for n in extents]
    along = [1.2 + np.sin(2 * np.pi * turn) for turn in turns]
    return along[0] if len(along) == 1 else np.outer(*along)


def situation(policy: cinoc.Policy, agents: int, batch: int = 2, n: int | None = None) -> dict[str, Array]:
    """Fields, targets, positions: at both ends, two at one place, where cells meet, others anywhere."""
    grid = policy.config["grid"]
    dims = policy.start_positions(1).ndim
    extents = [n or grid["n"], n or grid.get("n_y", grid["n"])][:dims]
    lengths = [grid["length"], grid.get("length_y", grid["length"])][:dims]
    rng = np.random.default_rng(agents)
    z, target = (np.array([waves(rng, extents) for _ in range(batch)]) for _ in range(2))
    if policy.config["observe"].get("target") is None:  # driven to rest
        z, target = 0.3 * (z - z.mean()), 0 * target
    xi = rng.uniform(size=(batch, agents, dims)) * lengths
    if agents >= 4:
        xi[:, 0], xi[:, 1], xi[:, 3] = 0, lengths, xi[:, 2]
        xi[-1] = policy.start_positions(agents).reshape(agents, dims)
    given = {"z": z, "target": target, "xi": xi if dims == 2 else xi[..., 0]}
    return {name: array.astype(np.float32) for name, array in given.items()}


def model(policy: cinoc.Policy, **how: Any) -> onnxruntime.InferenceSession:
    """An exported policy in onnxruntime, after the checks of the package onnx."""
    policy.export_onnx("policy.onnx", **how)
    exported = onnx.load("policy.onnx")
    onnx.checker.check_model(exported, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(exported, strict_mode=True, data_prop=True)
    assert [o.type for o in inferred.graph.output] == [o.type for o in exported.graph.output]
    return onnxruntime.InferenceSession("policy.onnx")


def decide(session: onnxruntime.InferenceSession, given: dict[str, Array]) -> dict[str, Array]:
    """Outputs by name; all agents are alive unless it is said."""
    wanted = {port.name for port in session.get_inputs()}
    if "alive" in wanted and "alive" not in given:
        given = given | {"alive": np.ones(given["xi"].shape[:2], bool)}
    outputs = [port.name for port in session.get_outputs()]
    return dict(zip(outputs, session.run(outputs, {name: given[name] for name in wanted})))


def error(policy: cinoc.Policy, found: dict[str, Array], expected: dict[str, Array | None]) -> float:
    """The largest difference, in units of the bounds."""
    bounds = {name: policy.config["actuation"].get(f"{name}_max") for name in ("u", "v")}
    there = {name: array for name, array in expected.items() if array is not None}
    assert found.keys() == there.keys()
    assert all(found[name].shape == there[name].shape for name in found)
    return max(float(abs(found[name] - there[name]).max() / bounds[name]) for name in found)


@pytest.mark.parametrize("name", cinoc.tasks() + [f"{task}-paper" for task in cinoc.tasks()])
def test_onnxruntime_decides_as_the_engine(name: str) -> None:
    policy = policy_of(name)
    session = model(policy)
    assert Path("policy.onnx").stat().st_size <= 1.11 * len(policy.to_bytes())
    for agents in (1, policy.agents, 5 * policy.agents):
        given = situation(policy, agents)
        found = decide(session, given)
        assert error(policy, found, policy.act(**given)._asdict()) <= TOLERANCE, agents


@pytest.mark.parametrize("task", ["fkpp1d", "ks1d", "heat2d", "turb2d", "density2d"])
def test_failed_agents_are_not_there_wherever_they_are(task: str) -> None:
    policy = cinoc.Policy(task)
    given = situation(policy, 12, batch=1)
    alive = np.arange(12)[None] % 3 != 1
    expected = policy.act(given["z"][0], given["xi"][alive], given["target"][0])
    given["xi"][~alive] = np.nan
    found = decide(model(policy), given | {"alive": alive})
    assert all((values[~alive] == 0).all() for values in found.values())
    living = {name: values[alive] for name, values in found.items()}
    assert error(policy, living, expected._asdict()) <= TOLERANCE


@pytest.mark.parametrize("task", ["heat1d", "ks1d", "turb2d"])
@pytest.mark.parametrize("cells", [1.5, 2])
def test_a_finer_grid_is_a_setting(task: str, cells: float) -> None:
    policy = cinoc.Policy(task)
    ends = int(task == "heat1d")
    fine = round(cells * (policy.config["grid"]["n"] - ends)) + ends
    given = situation(policy, 5, n=fine)
    found = decide(model(policy, config={"grid.n": fine}), given)
    assert error(policy, found, policy.act(**given)._asdict()) <= TOLERANCE


def test_a_state_of_two_fields() -> None:
    small = SMALL | {"train.updates": 1, "train.batch": 2, "data.pool": 2, "data.spin_up": 2.0}
    task = import_module("gray_scott").GrayScott
    policy = cinoc.train(task, config=small, out="run").policy
    rng = np.random.default_rng(0)
    z = rng.uniform(size=(2, 2, 32, 32)).astype(np.float32)
    target = rng.uniform(size=(2, 1, 32, 32)).astype(np.float32)
    given = {"z": z, "target": target, "xi": rng.uniform(size=(2, 7, 2)).astype(np.float32)}
    found = decide(model(policy), given)
    assert error(policy, found, policy.act(**given)._asdict()) <= TOLERANCE


def observations(policy: cinoc.Policy, given: dict[str, Array]) -> dict[str, Array]:
    """What the network alone is given, by the functions of docs/policy_network_*.py."""
    config, field = policy.config, {name: array[0].astype(float) for name, array in given.items()}
    see, grid = config["observe"], config["grid"]
    z, target, xi = field["z"], field["target"], field["xi"]
    ring, linear = config["task"] in ("ks1d", "turb2d"), see["sampling"] == "linear"
    cells = see["n_ref"] - (not ring)
    density = cells / grid["length"]
    script = import_module(f"policy_network_{z.ndim}d")
    for axis in range(z.ndim):
        z, target = (script.on_lattice(values, cells, ring, axis) for values in (z, target))
    slopes = script.differences(z - target, ring)
    fields = [z - target] + (list(slopes) if z.ndim == 2 else [slopes]) * see["gradient"]
    fields += [target] * bool(see.get("target"))
    lengths, found = grid["length"] * np.ones(2), {}
    if z.ndim == 1:
        matrix = script.resampling(see["window"], see["points"]).T
        cut = (xi, see["window"], density, ring, linear)
        found["observation"] = np.hstack([script.windows(f, *cut) @ matrix for f in fields])
    elif config["policy"]["padding"] == "zero":
        maps = np.stack(fields, -1)
        found["observation"] = script.patches(maps, xi, see["patch"], density * np.ones(2), ring, linear)
    else:
        found["channels"] = np.stack(fields, -1)
        found["xi"] = xi
    where = grid["length"] if z.ndim == 1 else lengths
    sigma, limit = config["actuation"]["sigma"], see["crowd_limit"] or np.inf
    (rho, near), (wide, far) = (script.crowd(xi, width, where, ring) for width in (sigma, 2 * sigma))
    told = [1 / np.minimum(rho, limit), 1 / np.minimum(wide, 2**z.ndim * limit), near, far]
    found |= {"features": np.hstack(told), "share": see["crowd_ref"] / rho[:, 0]}
    return {name: array[None].astype(np.float32) for name, array in found.items()}


@pytest.mark.parametrize("task", ["fkpp1d", "ks1d", "heat2d", "turb2d"])
def test_the_network_alone_decides_about_observations(task: str) -> None:
    policy = cinoc.Policy(task)
    given = situation(policy, 9, batch=1)
    found = decide(model(policy, inner=True), observations(policy, given))
    assert error(policy, found, policy.act(**given)._asdict()) <= TOLERANCE


def test_the_file_says_what_it_is() -> None:
    policy = cinoc.Policy("heat2d")
    about = model(policy).get_modelmeta().custom_metadata_map
    assert about["task"] == "heat2d" and about["trained_agents"] == "16"
    assert json.loads(about["units"]) == {"z": "Z", "xi": "L", "u": "Z/T", "v": "L/T"}
    assert json.loads(about["bounds"]) == {"u": 40.0, "v": 5.0}
    assert f'"checksum":"{about["policy_checksum"]}"'.encode() in policy.to_bytes()


def test_what_cannot_be_exported_is_refused() -> None:
    baseline = cinoc.train("heat1d", method="dpc", config=SMALL | {"train.updates": 1}, out="run").policy
    with pytest.raises(cinoc.ConfigError, match="method dpc cannot be exported"):
        baseline.export_onnx("policy.onnx")
    assert not Path("policy.onnx").exists()
    policy = cinoc.Policy("heat1d")
    with pytest.raises(cinoc.ConfigError, match="grid.n"):
        policy.export_onnx("policy.onnx", config={"grid.n": 30})
    with pytest.raises(cinoc.RunError, match="its directory does not exist"):
        policy.export_onnx("nowhere/policy.onnx")


def test_the_code_of_the_page_runs() -> None:
    page = (ROOT / "docs" / "onnx.md").read_text()
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "docs/onnx.md", "exec"), names)
