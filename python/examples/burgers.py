"""Viscous Burgers, `z_t + z z_x = nu z_xx + f` on [0, L] with z = 0 at both ends: agents track a target.

Explicit Euler for advection in conservation form and for the forcing, then backward Euler for diffusion:

    (I - dt nu D2) z_{t+1} = z_t - dt D1 (z_t^2 / 2) + dt f   inside,   z_{t+1} = 0 at the ends
"""

import cinoc
from cinoc.pde import RandomField


class Burgers(cinoc.PDE):
    title = "viscous Burgers: mobile agents track a target profile"
    preset = {"agents": 8, "physics": {"nu": 0.02}, "data": {"length": 0.3}, "train": {"updates": 200}}
    keys = {"data.length": ("L", "positive", "correlation length of the random fields")}

    def setup(self):
        c = self.dt / (4 * self.x.h)
        self.advection = self.x.stencil({-1: c, 1: -c})
        self.implicit = self.x.implicit_diffusion(self.dt * self.physics.nu)
        self.field = RandomField(self.x.points, self.data.length)

    def step(self, z, f):
        return self.implicit.solve(self.x.interior * (z + self.advection @ z**2 + self.dt * f))

    def cases(self, rng):
        return self.field.bridged(rng), self.field.bridged(rng)


if __name__ == "__main__":
    run = cinoc.train(Burgers)
    print(cinoc.evaluate(run.policy, agents=20)["controlled"])
