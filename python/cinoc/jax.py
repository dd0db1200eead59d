# mypy: disable-error-code="import-not-found, no-untyped-call"
"""The physics of a task as JAX functions: `jit`, `grad`, `vmap` and `scan` work on them.

    physics = cinoc.Physics("heat1d")
    z, xi = cinoc.jax.step(physics, z, xi, u, v)

Shapes are those of `cinoc.Physics`. The derivative is the exact one of the discrete step (reverse mode, first
order). float32 and, with `jax_enable_x64`, float64. The computation runs on the CPU, whatever device the
arrays are on.
"""

from __future__ import annotations

from functools import partial
from typing import Any

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("cinoc.jax needs JAX: pip install 'cinoc[jax]'") from error

from .errors import ConfigError
from .physics import Physics

__all__ = ["rollout", "step"]


def step(physics: Physics, z: Any, xi: Any, u: Any = None, v: Any = None) -> tuple[Any, Any]:
    """Field and positions after one control step."""
    places = len(physics.place_shape)
    u = None if u is None else jnp.expand_dims(u, -2)
    v = None if v is None else jnp.expand_dims(v, -1 - places)
    z, xi = rollout(physics, z, xi, u, v)
    return z.squeeze(-1 - len(physics.state_shape)), xi.squeeze(-1 - places)


def rollout(physics: Physics, z: Any, xi: Any, u: Any = None, v: Any = None) -> tuple[Any, Any]:
    """Fields and positions after every step of some actions: `(..., steps, *state_shape)` and so on."""
    z, dtype = jnp.asarray(z), jnp.result_type(z)
    if dtype not in (jnp.float32, jnp.float64):
        raise ConfigError(f"z has the type {dtype}, must be float32 or float64")
    given = [None if value is None else jnp.asarray(value, dtype) for value in (z, xi, u, v)]
    lead = [len(shape) + (i > 1) for i, shape in enumerate(physics._shapes())]
    batches = [value.shape[: value.ndim - axes] for value, axes in zip(given, lead) if value is not None]
    try:
        batch = jnp.broadcast_shapes(*batches)
    except ValueError:
        raise ConfigError(f"z, xi, u and v have different samples: {batches}") from None
    alike = [
        None if value is None else jnp.broadcast_to(value, (*batch, *value.shape[value.ndim - axes :]))
        for value, axes in zip(given, lead)
    ]
    result: tuple[Any, Any] = _rollout(physics, *alike)
    return result


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rollout(physics: Physics, z: Any, xi: Any, u: Any, v: Any) -> Any:
    actions = u if u is not None else v
    if actions is None:
        raise ConfigError(f"u or v is missing: agents of {physics.task} need actions")
    batch = z.shape[: z.ndim - len(physics.state_shape)]
    leading = (*batch, actions.shape[len(batch)])
    shapes = [(*leading, *shape) for shape in (physics.state_shape, physics.place_shape)]
    results = tuple(jax.ShapeDtypeStruct(shape, z.dtype) for shape in shapes)
    return jax.pure_callback(physics._run, results, z, xi, u, v, vmap_method="broadcast_all")


def _forward(physics: Physics, z: Any, xi: Any, u: Any, v: Any) -> Any:
    return _rollout(physics, z, xi, u, v), (z, xi, u, v)


def _backward(physics: Physics, given: Any, adjoint: Any) -> Any:
    results = jax.tree.map(lambda value: jax.ShapeDtypeStruct(value.shape, value.dtype), given)
    return jax.pure_callback(physics._pull_back, results, *given, *adjoint, vmap_method="broadcast_all")


_rollout.defvjp(_forward, _backward)
