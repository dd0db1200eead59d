"""A network of your own, in JAX, trained through the physics of `heat1d`.

Every agent sees the error around it and its position; one small network, shared by all agents, says how
strongly it heats and where it moves. The loss of a whole closed-loop rollout is differentiated through
network and physics.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import cinoc
import cinoc.jax

physics = cinoc.Physics("heat1d")
OFFSETS = jnp.linspace(-0.15, 0.15, 13)
LAYERS = [2 * len(OFFSETS) + 1, 48, 48, 2]
UPDATES = int(sys.argv[1]) if len(sys.argv) > 1 else 60
BATCH, DECAY = 16, 0.99  # cases per update; of the second moment in Adam


def init(key):
    keys = jax.random.split(key, len(LAYERS) - 1)
    sizes = zip(keys, LAYERS, LAYERS[1:])
    return [(jax.random.normal(key, (m, n)) / jnp.sqrt(m), jnp.zeros(n)) for key, m, n in sizes]


def policy(params, z, target, xi):
    """Intensities and velocities of all agents of one sample."""
    x = jnp.linspace(0.0, physics.lengths[0], physics.state_shape[0])
    at = xi[:, None] + OFFSETS
    seen = jnp.concatenate([jnp.interp(at, x, target - z), jnp.interp(at, x, target), xi[:, None]], 1)
    for weight, bias in params[:-1]:
        seen = jnp.tanh(seen @ weight + bias)
    weight, bias = params[-1]
    u, v = jnp.tanh(seen @ weight + bias).T
    return physics.u_max * u, physics.v_max * v


def errors(params, z, target):
    """Mean of (z - z*)^2 after every control step, `[steps, samples]`."""

    def step(state, _):
        z, xi = state
        u, v = jax.vmap(policy, (None, 0, 0, 0))(params, z, target, xi)
        z, xi = cinoc.jax.step(physics, z, xi, u, v)
        return (z, xi), jnp.mean((z - target) ** 2, 1)

    xi = jnp.broadcast_to(jnp.asarray(physics.start, z.dtype), (len(z), physics.agents))
    return jax.lax.scan(step, (z, xi), length=physics.steps)[1]


def loss(params, z, target):
    error = errors(params, z, target)
    # small errors count too: what is left at the end is measured by its logarithm
    return jnp.mean(error) + jnp.mean(error[-1]) + 0.02 * jnp.mean(jnp.log(error[-1] + 1e-6))


@jax.jit
def update(params, moments, count, z, target):
    """One step of Adam with a clipped gradient."""
    value, gradient = jax.value_and_grad(loss)(params, z, target)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient)))
    gradient = jax.tree.map(lambda g: g / jnp.maximum(norm, 1.0), gradient)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, moments[0], gradient)
    square = jax.tree.map(lambda s, g: DECAY * s + (1 - DECAY) * g**2, moments[1], gradient)
    rate = 3e-3 * 0.5 * (1 + jnp.cos(jnp.pi * count / UPDATES)) * jnp.minimum(1.0, (count + 1) / 10)

    def moved(p, m, s):
        return p - rate * (m / (1 - 0.9 ** (count + 1))) / (jnp.sqrt(s / (1 - DECAY ** (count + 1))) + 1e-8)

    return jax.tree.map(moved, params, mean, square), (mean, square), value


if __name__ == "__main__":
    params = init(jax.random.key(0))
    moments = (jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params))
    starts, targets = (a.astype(np.float32) for a in physics.cases(512))
    rng = np.random.default_rng(0)
    for count in range(UPDATES):
        which = rng.integers(len(starts), size=BATCH)
        params, moments, value = update(params, moments, count, starts[which], targets[which])
        if count % 20 == 0:
            print(f"update {count}: loss {value:.4f}", flush=True)
    starts, targets = (a.astype(np.float32) for a in physics.cases(50, pool="test"))
    final = float(jnp.mean(jax.jit(errors)(params, starts, targets)[-1]))
    print(f"final tracking error on 50 test cases: {final:.2e} (a field of zeros: {np.mean(targets**2):.2e})")
