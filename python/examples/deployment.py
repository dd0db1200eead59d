"""A policy in a program of yours: fields come from a sensor, actions go to actuators.

Here the plant is a rod, simulated in a few lines of NumPy:
z_t = nu z_xx + sum_i u_i exp(-(x - xi_i)^2 / (2 sigma^2)). In the middle of the run two of the twelve agents
fail. The others are told so by leaving those two out.
"""

import numpy as np

import cinoc

policy = cinoc.Policy("heat1d")  # trained with 8 agents
config = policy.config
nu, sigma = config["physics"]["nu"], config["actuation"]["sigma"]
dt, n = config["time"]["dt"], config["grid"]["n"]

x = np.linspace(0, 1, n)
target = np.sin(np.pi * x) * (0.5 + x)
z = 0.8 * np.sin(2 * np.pi * x)
xi = policy.start_positions(12).astype(float)
print(f"error at the beginning: {np.mean((z - target) ** 2):.1e}")

# the implicit step of the heat equation, with zeros at both ends
r = nu * dt / (x[1] - x[0]) ** 2
implicit = np.eye(n)
for i in range(1, n - 1):
    implicit[i, i - 1 : i + 2] = -r, 1 + 2 * r, -r
step = np.linalg.inv(implicit)

for control_step in range(600):
    if control_step == 300:
        xi = np.delete(xi, [2, 9])
        print(f"error before two agents fail: {np.mean((z - target) ** 2):.1e}")
    u, v = policy.act(z, xi, target)
    forcing = np.exp(-((x[:, None] - xi) ** 2) / (2 * sigma**2)) @ u
    z = step @ (z + dt * forcing)
    z[[0, -1]] = 0
    xi = np.clip(xi + dt * v, 0, 1)
print(f"error at the end: {np.mean((z - target) ** 2):.1e}")
