"""The Gray-Scott reaction in a square: agents feed one of two fields, to turn one pattern into another.

    a_t = D_a lap a - a b^2 + feed (1 - a)
    b_t = D_b lap b + a b^2 - (feed + kill) b + f          nothing passes the walls

Agents see both fields; only `b` is forced, and only `b` has a target.
"""

import numpy as np

import cinoc
from cinoc.pde import Field, five_point


class GrayScott(cinoc.PDE):
    name = "gray-scott"
    title = "Gray-Scott: mobile agents turn one pattern of spots into another"
    dims, boundary = 2, "zero-flux"
    fields = [Field("a", tracked=False, positive=True), Field("b", positive=True)]
    preset = {
        "agents": 16,
        "grid.n": 32,
        "time": {"dt": 1.0, "steps": 60, "substeps": 2},
        "physics": {"diffusion_a": 1.6e-4, "diffusion_b": 0.8e-4, "feed": 0.04, "kill": 0.06},
        "actuation": {"sigma": 0.08, "u_max": 0.05, "v_max": 0.05},
        "observe.crowd_ref": 1.4,
        "data": {"pool": 100, "spots": 4, "spin_up": 300.0},
        "loss": {"effort_u": 0.0, "effort_v": 0.0, "accel": 0.0},
        "train": {"updates": 100, "batch": 8},
    }

    def setup(self):
        p, dt = self.physics, self.dt
        self.spread = [
            five_point(self.x, self.y, dt * d / self.x.h**2) for d in (p.diffusion_a, p.diffusion_b)
        ]
        self.feed, self.kill = dt * p.feed, dt * p.kill

    def step(self, z, f):
        a, b = z
        spread_a, spread_b = ((m @ c.ravel()).reshape(c.shape) for m, c in zip(self.spread, z))
        reaction = self.dt * a * b**2
        next_a = a + spread_a - reaction + self.feed * (1.0 - a)
        return next_a, b + spread_b + reaction - (self.feed + self.kill) * b + self.dt * f

    def pattern(self, rng):
        """Spots of b at random places that have grown for a while."""
        x, y = np.meshgrid(self.x.points, self.y.points, indexing="ij")
        centres = rng.uniform(0.2, 0.8, (self.data.spots, 2))
        b = 0.5 * np.max([np.exp(-((x - i) ** 2 + (y - j) ** 2) / (2 * 0.05**2)) for i, j in centres], axis=0)
        return self.evolve((1.0 - b, b), round(self.data.spin_up / self.dt))

    def cases(self, rng):
        return self.pattern(rng), self.pattern(rng)[1]


if __name__ == "__main__":
    run = cinoc.train(GrayScott)
    print(cinoc.evaluate(run.policy, agents=25)["controlled"])
