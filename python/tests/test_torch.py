"""The physics in PyTorch: derivatives against central differences, batches, wrong input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cinoc

torch = pytest.importorskip("torch")

import cinoc.torch  # noqa: E402


def drawn(physics: cinoc.Physics, samples: int, steps: int) -> list[Any]:
    rng = np.random.default_rng(3)
    z = physics.cases(samples, pool="validation")[0]
    xi = physics.start + 0.01 * rng.standard_normal((samples, *physics.place_shape))
    shapes = [(samples, steps, physics.agents), (samples, steps, *physics.place_shape)]
    bounds = (physics.u_max, physics.v_max)
    actions = [None if b is None else b * rng.uniform(-0.5, 0.5, s) for b, s in zip(bounds, shapes)]
    return [None if x is None else torch.tensor(x, requires_grad=True) for x in (z, xi, *actions)]


@pytest.mark.parametrize(
    ("task", "settings"), [("heat1d", {}), ("ks1d", {"data.spin_up": 20.0}), ("heat2d", {})]
)
def test_the_gradient_agrees_with_central_differences(task: str, settings: dict[str, float]) -> None:
    physics = cinoc.Physics(task, config=settings)
    given = drawn(physics, 2, 4)
    weights = [
        torch.randn(2, 4, *shape, dtype=torch.float64) for shape in (physics.state_shape, physics.place_shape)
    ]

    def loss(*given: Any) -> Any:
        return sum((w * x).sum() for w, x in zip(weights, cinoc.torch.rollout(physics, *given)))

    loss(*given).backward()
    for i, size in enumerate((1.0, 1.0, physics.u_max, physics.v_max)):
        if given[i] is None:
            continue
        direction, h = size * torch.randn_like(given[i]), 1e-5
        ends = [[x + s * h * direction if j == i else x for j, x in enumerate(given)] for s in (1, -1)]
        with torch.no_grad():
            difference = float(loss(*ends[0]) - loss(*ends[1])) / (2 * h)
        assert float((given[i].grad * direction).sum()) == pytest.approx(difference, rel=1e-5, abs=1e-7)


def test_steps_make_a_rollout() -> None:
    physics = cinoc.Physics("heat1d")
    z, xi, u, v = drawn(physics, 3, 5)
    whole = cinoc.torch.rollout(physics, z, xi, u, v)[0][:, -1]
    state = (z, xi)
    for t in range(5):
        state = cinoc.torch.step(physics, *state, u[:, t], v[:, t])
    slopes = [torch.autograd.grad((end**2).sum(), (z, xi, u, v)) for end in (whole, state[0])]
    for a, b in zip(*slopes):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


def test_positions_that_all_samples_share_get_the_sum_of_their_derivatives() -> None:
    physics = cinoc.Physics("heat1d")
    z, _, u, v = drawn(physics, 3, 2)
    shared = torch.tensor(physics.start, requires_grad=True)
    each = torch.tensor(np.tile(physics.start, (3, 1)), requires_grad=True)
    for xi in (shared, each):
        (cinoc.torch.rollout(physics, z, xi, u, v)[0] ** 2).sum().backward()
    torch.testing.assert_close(shared.grad, each.grad.sum(0))


def test_single_precision_stays_single_and_whole_numbers_are_refused() -> None:
    physics = cinoc.Physics("heat1d")
    given = [x.detach().float() for x in drawn(physics, 2, 3)]
    assert cinoc.torch.rollout(physics, *given)[0].dtype == torch.float32
    with pytest.raises(cinoc.ConfigError, match="must be torch.float32 or torch.float64"):
        cinoc.torch.rollout(physics, given[0].int(), *given[1:])
