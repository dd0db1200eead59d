# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
"""The physics of a task as PyTorch functions with gradients.

    physics = cinoc.Physics("heat1d")
    z, xi = cinoc.torch.step(physics, z, xi, u, v)

Shapes are those of `cinoc.Physics`. The derivative is the exact one of the discrete step (first order).
float32 and float64. The computation runs on the CPU, whatever device the tensors are on.
"""

from __future__ import annotations

from typing import Any

try:
    import torch
except ImportError as error:
    raise ImportError("cinoc.torch needs PyTorch: pip install 'cinoc[torch]'") from error

from .errors import ConfigError
from .physics import Physics

__all__ = ["rollout", "step"]


def step(physics: Physics, z: Any, xi: Any, u: Any = None, v: Any = None) -> tuple[Any, Any]:
    """Field and positions after one control step."""
    places = len(physics.place_shape)
    u = None if u is None else u.unsqueeze(-2)
    v = None if v is None else v.unsqueeze(-1 - places)
    z, xi = rollout(physics, z, xi, u, v)
    return z.squeeze(-1 - len(physics.state_shape)), xi.squeeze(-1 - places)


def rollout(physics: Physics, z: Any, xi: Any, u: Any = None, v: Any = None) -> tuple[Any, Any]:
    """Fields and positions after every step of some actions: `(..., steps, *state_shape)` and so on."""
    if z.dtype not in (torch.float32, torch.float64):
        raise ConfigError(f"z has the type {z.dtype}, must be torch.float32 or torch.float64")
    given = [None if value is None else value.to(z) for value in (z, xi, u, v)]
    lead = [len(shape) + (i > 1) for i, shape in enumerate(physics._shapes())]
    batches = [value.shape[: value.ndim - axes] for value, axes in zip(given, lead) if value is not None]
    try:
        batch = torch.broadcast_shapes(*batches)
    except RuntimeError:
        raise ConfigError(f"z, xi, u and v have different samples: {[tuple(b) for b in batches]}") from None
    alike = [
        None if value is None else value.expand(*batch, *value.shape[value.ndim - axes :])
        for value, axes in zip(given, lead)
    ]
    result: tuple[Any, Any] = _Rollout.apply(physics, *alike)
    return result


class _Rollout(torch.autograd.Function):
    """`rollout` and its pullback."""

    @staticmethod
    def forward(ctx: Any, physics: Physics, z: Any, xi: Any, u: Any, v: Any) -> Any:
        ctx.physics = physics
        ctx.save_for_backward(z, xi, u, v)
        return tuple(_tensor(array, z) for array in physics._run(*map(_array, (z, xi, u, v))))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *adjoint: Any) -> Any:
        given = ctx.saved_tensors
        found = ctx.physics._pull_back(*map(_array, given), *map(_array, adjoint))
        return (None, *(None if array is None else _tensor(array, given[0]) for array in found))


def _array(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().cpu().numpy()


def _tensor(array: Any, like: Any) -> Any:
    return torch.from_numpy(array.copy()).to(like)
