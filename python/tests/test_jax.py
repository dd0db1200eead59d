"""The physics in JAX: derivatives against central differences, transformations, wrong input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cinoc

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

import cinoc.jax  # noqa: E402

jax.config.update("jax_enable_x64", True)


def drawn(physics: cinoc.Physics, samples: int, steps: int) -> tuple[Any, Any, Any, Any]:
    """Fields of the task, positions near the start, and random actions within their bounds."""
    rng = np.random.default_rng(3)
    z = physics.cases(samples, pool="validation")[0]
    xi = physics.start + 0.01 * rng.standard_normal((samples, *physics.place_shape))
    shapes = [(samples, steps, physics.agents), (samples, steps, *physics.place_shape)]
    u, v = (
        None if bound is None else bound * rng.uniform(-0.5, 0.5, shape)
        for bound, shape in zip((physics.u_max, physics.v_max), shapes)
    )
    return z, xi, u, v


def moved(given: Any, by: Any, h: float) -> Any:
    return jax.tree.map(lambda x, d: x + h * d, given, by)


# mobile and static agents, one and two dimensions, agents that stir; the last one is only smooth within cells
# of the grid, so that a difference must be small
TASKS = [
    ("heat1d", {}, 1e-5),
    ("ks1d", {"data.spin_up": 20.0}, 1e-5),
    ("heat2d", {}, 1e-5),
    ("density2d", {}, 1e-7),
]


@pytest.mark.parametrize(("task", "settings", "h"), TASKS)
def test_the_pullback_agrees_with_central_differences(
    task: str, settings: dict[str, float], h: float
) -> None:
    physics = cinoc.Physics(task, config=settings)
    given, rng = drawn(physics, 2, 4), np.random.default_rng(4)
    value, pull_back = jax.vjp(lambda *given: cinoc.jax.rollout(physics, *given), *given)
    adjoint = jax.tree.map(lambda x: jnp.asarray(rng.standard_normal(x.shape)), value)
    slopes = pull_back(adjoint)
    # every input by itself: a large derivative must not hide a wrong small one
    for i, name in enumerate(("z", "xi", "u", "v")):
        if given[i] is None:
            assert slopes[i] is None
            continue
        direction = [None if x is None else np.zeros_like(x) for x in given]
        size = (1.0, 1.0, physics.u_max, physics.v_max)[i]
        direction[i] = size * rng.standard_normal(given[i].shape)
        up, down = (cinoc.jax.rollout(physics, *moved(given, tuple(direction), s * h)) for s in (1, -1))
        difference = sum(float(jnp.sum(w * (a - b))) for w, a, b in zip(adjoint, up, down)) / (2 * h)
        assert float(jnp.sum(slopes[i] * direction[i])) == pytest.approx(difference, rel=1e-6), name


def test_steps_make_a_rollout_under_jit_and_scan() -> None:
    physics = cinoc.Physics("heat1d")
    z, xi, u, v = drawn(physics, 3, 5)

    def by_steps(z: Any, xi: Any, u: Any, v: Any) -> Any:
        def one(state: Any, action: Any) -> Any:
            state = cinoc.jax.step(physics, *state, *action)
            return state, state

        in_time = (jnp.swapaxes(u, 0, 1), jnp.swapaxes(v, 0, 1))
        return jax.lax.scan(one, (z, xi), in_time)[0]

    def loss(run: Any, *given: Any) -> Any:
        z, xi = run(*given)
        return jnp.sum(z**2) + jnp.sum(jnp.sin(xi))

    def at_once(*given: Any) -> Any:
        z, xi = cinoc.jax.rollout(physics, *given)
        return z[:, -1], xi[:, -1]

    slopes = [
        jax.jit(jax.grad(lambda *given, run=run: loss(run, *given), argnums=(0, 1, 2, 3)))(z, xi, u, v)
        for run in (by_steps, at_once)
    ]
    for stepped, whole in zip(*slopes):
        np.testing.assert_allclose(stepped, whole, rtol=1e-12, atol=1e-14)


def test_vmap_and_a_batch_axis_are_the_same() -> None:
    physics = cinoc.Physics("heat2d")
    z, xi, u, v = drawn(physics, 2, 1)
    together = cinoc.jax.step(physics, z, xi, u[:, 0], v[:, 0])
    mapped = jax.vmap(lambda *given: cinoc.jax.step(physics, *given))(z, xi, u[:, 0], v[:, 0])
    one = cinoc.jax.step(physics, z[1], xi[1], u[1, 0], v[1, 0])
    for a, b, c in zip(together, mapped, one):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a[1], c, rtol=1e-12, atol=1e-14)


def test_positions_that_all_samples_share_get_the_sum_of_their_derivatives() -> None:
    physics = cinoc.Physics("heat1d")
    z, _, u, v = drawn(physics, 3, 2)

    def loss(xi: Any) -> Any:
        return jnp.sum(cinoc.jax.rollout(physics, z, xi, u, v)[0] ** 2)

    shared = jax.grad(loss)(jnp.asarray(physics.start))
    each = jax.grad(loss)(jnp.broadcast_to(physics.start, (3, 8)))
    np.testing.assert_allclose(shared, each.sum(0), rtol=1e-12)


def test_single_precision_stays_single() -> None:
    physics = cinoc.Physics("heat1d")
    given = [jnp.asarray(x, jnp.float32) for x in drawn(physics, 2, 3)]
    z, xi = cinoc.jax.rollout(physics, *given)
    assert z.dtype == xi.dtype == jnp.float32
    double = cinoc.jax.rollout(physics, *drawn(physics, 2, 3))[0]
    np.testing.assert_allclose(z, double, atol=1e-4)


def test_numpy_gives_the_same_numbers() -> None:
    physics = cinoc.Physics("heat2d", threads=1)
    given = drawn(physics, 2, 2)
    for a, b in zip(physics.rollout(*given), cinoc.jax.rollout(physics, *given)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"z": np.zeros(99)}, r"z has shape \(99,\), must be \(..., 100\)"),
        ({"u": np.zeros(8)}, r"u has shape \(8,\), must be \(..., steps, 8\)"),
        ({"u": None}, "u is missing: agents of heat1d need it"),
        ({"v": np.zeros((3, 8))}, "u has 2 steps and v 3"),
        ({"z": np.zeros((4, 100)), "xi": np.zeros((3, 8))}, "z, xi, u and v have different samples"),
    ],
)
def test_wrong_arrays_are_named(change: dict[str, Any], message: str) -> None:
    physics = cinoc.Physics("heat1d")
    given = {"z": np.zeros(100), "xi": physics.start, "u": np.zeros((2, 8)), "v": np.zeros((2, 8))}
    with pytest.raises(cinoc.ConfigError, match=message):
        physics.rollout(**{**given, **change})


def test_what_agents_do_not_have_is_refused() -> None:
    physics = cinoc.Physics("ks1d", config={"data.spin_up": 1.0})
    zeros = np.zeros((1, physics.agents))
    with pytest.raises(cinoc.ConfigError, match="v was given, but agents of ks1d have none"):
        physics.rollout(np.zeros(physics.state_shape), physics.start, zeros, zeros)
