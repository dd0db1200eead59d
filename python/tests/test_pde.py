"""PDEs in Python: the same trace, numbers and gradients as in Rust; what cannot be traced names its line."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cinoc
from cinoc.pde import Field, RandomField, TraceError, Tridiagonal, listing

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
Burgers, GrayScott = import_module("burgers").Burgers, import_module("gray_scott").GrayScott

HERE = Path(__file__).name


class Rod(cinoc.PDE):
    """`heat1d`, written in Python, with its view and its network."""

    preset = {
        "physics": {"nu": 0.2},
        "data": {"length": 0.2},
        "observe": {"window": 20, "n_ref": 34},
        "policy": {"softnorm": False},
    }

    def setup(self) -> None:
        weight = self.dt * self.physics.nu / 2.0
        self.explicit, self.implicit = self.x.explicit_diffusion(weight), self.x.implicit_diffusion(weight)
        self.field = RandomField(self.x.points, self.data.length)

    def step(self, z: Any, f: Any) -> Any:
        return self.implicit.solve(self.explicit @ z + f * (self.dt * self.x.interior))

    def cases(self, rng: np.random.Generator) -> Any:
        return self.field.bridged(rng), self.field.bridged(rng)


def with_step(step: Callable[..., Any], **attributes: Any) -> type[cinoc.PDE]:
    """A PDE whose step is a function of `z` and `f`."""
    attributes.setdefault("cases", lambda self, rng: (np.zeros(self._shape()), np.zeros(self._shape())))
    return type("Made", (cinoc.PDE,), {"step": lambda self, z, f: step(z, f), **attributes})


def test_the_trace_is_that_of_the_same_equation_in_rust() -> None:
    assert listing(Rod) == listing("heat1d")
    settings = {"agents": 3, "grid.n": 199, "time.dt": 5e-4, "physics.nu": 0.1}
    assert listing(Rod, settings) == listing("heat1d", settings)
    assert listing(Rod, settings) != listing("heat1d")


def test_gradients_are_those_of_the_same_equation_in_rust() -> None:
    rust, python = cinoc.Physics("heat1d"), cinoc.Physics(Rod)
    rng = np.random.default_rng(1)
    z, xi = python.cases(3)[0], np.broadcast_to(python.start, (3, 8))
    u, v = rng.normal(size=(2, 3, 10, 8))
    adjoint = rng.normal(size=(3, 10, 100)), rng.normal(size=(3, 10, 8))
    for ours, theirs in zip(python._pull_back(z, xi, u, v, *adjoint), rust._pull_back(z, xi, u, v, *adjoint)):
        assert ours is not None and theirs is not None
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_the_engine_computes_what_numpy_computes_in_1d() -> None:
    matrix = np.random.default_rng(2).normal(size=(100, 100))
    k = 2j * np.pi * np.arange(51)
    system = Tridiagonal(-0.3, np.full(100, 2.0), np.linspace(0.1, 0.9, 100))
    table = np.linspace(1.0, 2.0, 100)
    steps: list[Callable[[Any, Any], Any]] = [
        lambda z, f: z + 2 - 3 * z / 4 + (-z) - f * f,
        lambda z, f: 1.5 - z - (2 / (3 + np.cos(z))) + z / (2 + f),
        lambda z, f: np.sin(z) * np.cos(f) + np.exp(-z) - np.tanh(z) + np.sqrt(z**2 + 1),
        lambda z, f: z**3 - z**2 + abs(z) ** 0.5 + (z + 3) ** -2 + np.square(f),
        lambda z, f: np.maximum(z, 0) - np.minimum(z, f) + np.maximum(f, z) + np.clip(z, -0.1, 0.2),
        lambda z, f: matrix @ z - np.roll(z, 3) + 0.5 * np.roll(f, -1),
        lambda z, f: np.concatenate([z[:1], (z[2:] - z[:-2]) / 2, np.zeros(1)]) + z[::-1],
        lambda z, f: z * table + table - z[3] + np.sum(z) + np.mean(f) + table / (z + 4),
        lambda z, f: np.fft.irfft(1j * np.fft.rfft(z) * k - np.fft.rfft(f) / (1 + abs(k)), 100) * 0.01,
        lambda z, f: system.solve(z + 1) + np.concatenate([z[50:], f[:50]]),
    ]
    rng = np.random.default_rng(3)
    z, f = rng.normal(size=(2, 100))
    for number, step in enumerate(steps):
        made = with_step(step).with_config()
        np.testing.assert_allclose(
            made.evolve(z, 1, f), step(z, f), rtol=1e-12, atol=1e-12, err_msg=str(number)
        )


def test_the_engine_computes_what_numpy_computes_in_2d() -> None:
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(32, 32)), rng.normal(size=(32, 32))
    steps: list[Callable[[Any, Any], Any]] = [
        lambda z, f: left @ z + z @ right - f,
        lambda z, f: z.T * np.linspace(0, 1, 32) + np.linspace(1, 2, 32)[:, None] - z[:, 1:2] + z[4],
        lambda z, f: np.roll(z, 1, axis=0) + np.roll(z, -2, axis=1) - 4 * z + f,
        lambda z, f: np.concatenate([z[:, 1:], z[:, :1]], axis=1) + (f.ravel() * 2).reshape(32, 32),
        lambda z, f: z[::2, 1:-1].mean() * z,
    ]
    z, f = rng.normal(size=(2, 32, 32))
    for number, step in enumerate(steps):
        made = with_step(step, dims=2, boundary="zero-flux").with_config()
        np.testing.assert_allclose(
            made.evolve(z, 1, f), step(z, f), rtol=1e-12, atol=1e-12, err_msg=str(number)
        )


@pytest.mark.parametrize("example", [Burgers, GrayScott])
def test_an_example_steps_as_in_numpy(example: Any) -> None:
    made = example.with_config({"data.spin_up": 10.0} if example is GrayScott else None)
    state = made.cases(np.random.default_rng(0))[0]
    f = np.random.default_rng(1).normal(size=made._shape())
    parts = tuple(state) if example is GrayScott else state
    np.testing.assert_allclose(
        made.evolve(state, 1, f), np.array(made.step(parts, f)), rtol=1e-12, atol=1e-13
    )


def test_sparse_matrices_of_scipy_are_taken() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.diags_array([np.ones(99), -np.ones(100)], offsets=[1, 0])
    z = np.random.default_rng(5).normal(size=100)
    for given in (matrix, matrix.tocsr(), sparse.csr_matrix(matrix)):
        made = with_step(lambda z, f, given=given: given @ z + f).with_config()
        np.testing.assert_allclose(made.evolve(z, 1), matrix @ z, rtol=1e-13, atol=1e-13)


def test_what_does_not_depend_on_the_state_is_traced_once_per_control_step() -> None:
    made = with_step(lambda z, f: z + np.sin(f), name="sines")
    count = listing(made, {"time.substeps": 5}).count("= sin(")
    assert count == 1
    physics = cinoc.Physics(made, config={"time.substeps": 5}, agents=1)
    at = physics.start[0]
    z, _ = physics.step(np.zeros(100), physics.start, [0.7], [0.0])
    bump = 0.7 * np.exp(-((np.linspace(0, 1, 100) - at) ** 2) / (2 * 0.1**2))
    np.testing.assert_allclose(z, 5 * np.sin(bump), atol=1e-12)


SMALL = {
    "train.updates": 3,
    "train.batch": 2,
    "train.warmup": 1,
    "time.steps": 4,
    "data.pool": 4,
    "train.validation_cases": 2,
}


@pytest.mark.parametrize(("example", "more"), [(Burgers, {}), (GrayScott, {"data.spin_up": 5.0})])
def test_an_example_is_a_full_task(example: Any, more: dict[str, float], folder: Path) -> None:
    run = cinoc.train(example, config={**SMALL, **more}, progress=False)
    assert np.isfinite(run.metrics["loss"]).all()
    # the directory is enough: the class is known by its name
    policy = cinoc.Policy(run.path)
    evaluated = cinoc.evaluate(policy, 2, agents=5)
    assert evaluated["agents"] == 5 and np.isfinite(evaluated["controlled"]["final"]["mean"])
    rollout = policy.rollout(1)
    assert np.isfinite(rollout.z).all()


def test_a_gradient_through_the_network_and_a_pde_in_python_is_exact() -> None:
    cinoc.check_gradients(Burgers, config={"time.steps": 5, "agents": 3})


def test_an_exception_while_cases_are_drawn_comes_out_of_a_training() -> None:
    def cases(self: Any, rng: np.random.Generator) -> Any:
        raise KeyError("no data")

    made = with_step(lambda z, f: z, cases=cases)
    with pytest.raises(KeyError, match="no data"):
        cinoc.train(made, config=SMALL, progress=False)


def test_a_field_that_becomes_infinite_is_an_error() -> None:
    def cases(self: Any, rng: np.random.Generator) -> Any:
        return np.full(100, 3.0), np.zeros(100)

    made = with_step(lambda z, f: z**8 + f, name="explosive", cases=cases)
    with pytest.raises(cinoc.RunError, match="infinite or NaN|no longer finite"):
        cinoc.train(made, config={**SMALL, "time.steps": 20}, progress=False)


def branch(z: Any, f: Any) -> Any:
    if z.mean() > 0:
        return z
    return f


def loop(z: Any, f: Any) -> Any:
    return [value + 1 for value in z]


def assign(z: Any, f: Any) -> Any:
    z[0] = 0.0
    return z


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (branch, "a branch on a value"),
        (loop, "a loop over the points"),
        (assign, "cannot be changed in place"),
        (lambda z, f: math.sin(z), "np.sin, not math.sin"),
        (lambda z, f: np.log(z), "np.log cannot be traced"),
        (lambda z, f: np.where(z, z, f), "np.where cannot be traced"),
        (lambda z, f: np.linalg.norm(z), "np.norm cannot be traced"),
        (lambda z, f: np.add.reduce(z), "np.add.reduce cannot be traced"),
        (lambda z, f: z[1:] + f, r"a sum of shapes \(99,\) and \(100,\)"),
        (lambda z, f: z * np.ones(7), r"a product of shapes \(100,\) and \(7,\)"),
        (lambda z, f: np.eye(7) @ z, r"a matrix of shape \(7, 7\) times a value of shape \(100,\)"),
        (lambda z, f: Tridiagonal(0, np.ones(7), 0).solve(z), "a tridiagonal system of 7 rows"),
        (lambda z, f: z * np.nan, "infinite or NaN"),
        (lambda z, f: z * np.full(100, np.inf), "infinite or NaN"),
        (lambda z, f: z / 0, "a division by 0"),
        (lambda z, f: z * 1j, "a product of a value and complex"),
        (lambda z, f: z**1.5, "a power of 1.5"),
        (lambda z, f: np.fft.rfft(z) * np.fft.rfft(f), "a product of spectra"),
        (lambda z, f: np.fft.fft(z), "np.fft.fft cannot be traced"),
        (lambda z, f: z["a"], "the index 'a'"),
        (lambda z, f: z + None, "a sum of a value and NoneType"),
    ],
)
def test_what_cannot_be_traced_names_the_line(step: Callable[..., Any], message: str) -> None:
    made = with_step(step)
    first = step.__code__.co_firstlineno
    with pytest.raises(cinoc.ConfigError, match=message) as raised:
        cinoc.Physics(made)
    text = str(raised.value)
    assert "the equation of made failed" in text
    assert any(f"{HERE}, line {line}:" in text for line in range(first, first + 3)), text
    # the exception of the user's code, with its traceback, is the cause
    assert isinstance(raised.value.__cause__, TraceError)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda z, f: None, "step returned NoneType; it must return 1 traced value"),
        (lambda z, f: np.zeros(100), "step returned ndarray"),
        (lambda z, f: (z, f), "step returned Value, Value"),
        (lambda z, f: z[1:], r"returned the field z with shape \(99,\), must be \(100,\)"),
    ],
)
def test_a_wrong_result_is_refused(step: Callable[..., Any], message: str) -> None:
    with pytest.raises(cinoc.ConfigError, match=message):
        cinoc.Physics(with_step(step))


def test_an_exception_in_setup_keeps_its_traceback() -> None:
    def setup(self: Any) -> None:
        self.nu = self.physics.nu

    made = with_step(lambda z, f: z, setup=setup)
    with pytest.raises(cinoc.ConfigError, match=f"{HERE}, line .*AttributeError.*'nu'") as raised:
        cinoc.Physics(made)
    assert isinstance(raised.value.__cause__, AttributeError)


def test_settings_that_do_not_fit_the_equation_are_refused_and_others_still_work() -> None:
    def setup(self: Any) -> None:
        if self.dt > 0.01:
            raise ValueError(f"time.dt = {self.dt} is not stable")

    made = with_step(lambda z, f: z + f, setup=setup)
    with pytest.raises(cinoc.ConfigError, match="time.dt = 0.1 is not stable"):
        cinoc.Physics(made, config={"time.dt": 0.1})
    assert cinoc.Physics(made, config={"grid.n": 199}).state_shape == (199,)


@pytest.mark.parametrize(
    ("cases", "error", "message"),
    [
        (lambda self, rng: 1 / 0, ZeroDivisionError, "division by zero"),
        (lambda self, rng: np.zeros(100), cinoc.ConfigError, "must return a start and a target"),
        (lambda self, rng: (np.zeros(99), np.zeros(100)), cinoc.ConfigError, r"the start has shape \(99,\)"),
        (lambda self, rng: (np.zeros(100), np.full(100, np.nan)), cinoc.ConfigError, "the target has values"),
    ],
)
def test_wrong_cases_are_exceptions(cases: Any, error: type[Exception], message: str) -> None:
    physics = cinoc.Physics(with_step(lambda z, f: z, cases=cases))
    with pytest.raises(error, match=message):
        physics.cases(2)


def test_cases_come_from_the_seed_alone() -> None:
    physics = cinoc.Physics(Burgers)
    few, many = physics.cases(2, seed=5), physics.cases(4, seed=5)
    np.testing.assert_array_equal(few[0], many[0][:2])
    np.testing.assert_array_equal(few[1], many[1][:2])
    assert not np.array_equal(few[0], physics.cases(2, seed=6)[0])
    assert not np.array_equal(few[0], physics.cases(2, seed=5, pool="test")[0])


def test_the_random_field_has_its_variance_and_correlation() -> None:
    field, rng = RandomField(np.linspace(0, 1, 11), 0.3, 2.0), np.random.default_rng(6)
    drawn = np.array([field.draw(rng) for _ in range(20000)])
    covariance = np.mean(drawn[:, 3] * drawn[:, 5])
    assert np.mean(drawn[:, 4] ** 2) == pytest.approx(4.0, rel=0.05)
    assert covariance == pytest.approx(4 * np.exp(-(0.2**2) / (2 * 0.3**2)), rel=0.05)


def test_fields_that_are_not_tracked_have_no_target() -> None:
    start, target = cinoc.Physics(GrayScott, config={"data.spin_up": 20.0}).cases(2)
    assert start.shape == target.shape == (2, 2, 32, 32)
    assert not target[:, 0].any() and target[:, 1].any()


def test_static_agents_and_fields_without_targets() -> None:
    made = with_step(
        lambda z, f: z + 0.01 * f,
        name="still",
        mobile=False,
        tracks=False,
        cases=lambda self, rng: rng.normal(size=100),
    )
    physics = cinoc.Physics(made)
    assert physics.v_max is None and physics.cases(1)[0].any() and not physics.cases(1)[1].any()
    z, xi = physics.step(np.zeros(100), physics.start, np.ones(8))
    assert z.max() > 0 and np.array_equal(xi, physics.start)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"name": "heat1d"}, "cinoc has a task of this name"),
        ({"name": "a b"}, "letters, digits"),
        ({"boundary": "open"}, 'boundary "open" is not known'),
        ({"dims": 3}, "dims = 3"),
        ({"fields": [Field("z", tracked=False)]}, "at least one"),
        ({"preset": {"physics": {"nu": object()}}}, "the preset has physics.nu"),
        ({"keys": {"physics.nu": ("", "large", "")}}, "the range large is not known"),
    ],
)
def test_a_wrong_class_is_refused_when_it_is_defined(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(cinoc.ConfigError, match=message):
        with_step(lambda z, f: z, **attributes)


def test_wrong_presets_and_values_are_refused() -> None:
    with pytest.raises(cinoc.ConfigError, match='unknown key "agent"'):
        cinoc.Physics(with_step(lambda z, f: z, preset={"agent": 3}))
    with pytest.raises(cinoc.ConfigError, match="data.length = -1"):
        cinoc.Physics(Burgers, config={"data.length": -1.0})


def test_a_task_is_found_by_its_name_and_can_be_defined_again() -> None:
    with_step(lambda z, f: z, name="again", preset={"agents": 2})
    with_step(lambda z, f: z, name="again", preset={"agents": 5})
    assert cinoc.Physics("again").agents == 5
    with pytest.raises(cinoc.ConfigError, match='unknown task "agian"; did you mean "again"'):
        cinoc.Physics("agian")


def test_a_value_of_another_step_is_refused() -> None:
    kept: list[Any] = []

    def step(z: Any, f: Any) -> Any:
        kept.append(z)
        return kept[0] + f

    made = with_step(step)
    cinoc.Physics(made)
    with pytest.raises(cinoc.ConfigError, match="a value of another step"):
        cinoc.Physics(made, config={"grid.n": 199})


FORK = """
import os
import cinoc
import numpy as np

physics = cinoc.Physics("heat1d", threads=2)
given = np.zeros((64, 100)), physics.start, np.ones((64, 8)), np.zeros((64, 8))
before = physics.step(*given)[0]
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(physics.step(*given)[0], before) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_physics_survive_a_fork() -> None:
    # in a process of its own: JAX, which other tests import, does not survive one
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=120)
