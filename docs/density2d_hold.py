"""How well could the blob of density2d be held for longer than in training?
Run: python density2d_hold.py ROLLOUTS, a file of `cinoc eval POLICY --set time.steps=600 --save ROLLOUTS`.

"held", an estimate: the advective transport moves values and never raises them, so the peak of the blob can
only fall. Diffusion lowers it: the peak of a Gaussian of variance s^2 (in cells, per axis) by the fraction
2 D / s^2 in a step. From step 150 on the blob is a Gaussian at the place of the target, its width is the best
for its peak, and its peak falls only by diffusion.

"a rule" that sees everything takes over after step 150, where the policy has brought density and agents.
Every five steps it chooses new velocities: those that would bring the density closest to the target within
30 steps, if it went on changing at the same rate. This is linear least squares, with a small weight on the
velocities. Its constants were chosen on 16 validation cases.
The agents move and stir as in the engine."""
import sys, tomllib
import numpy as np
from policy_network_1d import read

AHEAD, EVERY, WEIGHT = 30, 5, 10

class Box:
    """The equation of density2d: advective transport, then diffusion."""
    def __init__(self, config, shape):
        self.grid, self.medium, self.push = config["grid"], config["physics"], config["actuation"]
        self.wall = config["safety"]["margin"]
        self.lengths = np.array([self.grid["length"], self.grid["length_y"]])
        self.h = self.lengths / (np.array(shape) - 1)
        self.cells = np.stack(np.indices(shape))
        self.points = self.cells * self.h[:, None, None]

    def kernels(self, xi):
        """What every agent does to the flow, for a unit of velocity; xi is [2, agents]."""
        ways = self.points[:, None] - xi[:, :, None, None]
        return self.push["gain"] * np.exp(-(ways**2).sum(0) / (2 * self.push["sigma"]**2))

    def step(self, z, xi, v):
        flow = np.einsum("am,mxy->axy", v, self.kernels(xi))
        flow[1] += self.medium["drift"]
        way = flow / self.h[:, None, None]
        way *= np.minimum(1, self.medium["limit"] / np.maximum(np.hypot(*way), 1e-12))
        (x, y), (n, m) = self.cells - way, z.shape
        x, y = x.clip(0, n - 1), y.clip(0, m - 1)
        i, j = x.astype(int).clip(0, n - 2), y.astype(int).clip(0, m - 2)
        a, b = x - i, y - j
        left = (1 - b) * z[i, j] + b * z[i, j + 1]
        right = (1 - b) * z[i + 1, j] + b * z[i + 1, j + 1]
        z = (1 - a) * left + a * right
        p = np.pad(z, 1, mode="edge")
        neighbours = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
        places = xi + self.push["speed"] * v
        inside = places.clip(self.wall, (self.lengths - self.wall)[:, None])
        return z + self.medium["diffusion"] * (neighbours - 4 * z), inside

    def rule(self, z, xi, target):
        slopes, kernels = np.gradient(z, *self.h), self.kernels(xi)
        changes = np.concatenate([(kernels * slope).reshape(len(kernels), -1) for slope in slopes]) * AHEAD
        wanted = z - target - AHEAD * self.medium["drift"] * slopes[1]
        v = np.linalg.solve(changes @ changes.T + WEIGHT * np.eye(len(changes)), changes @ wanted.ravel())
        return v.reshape(2, -1).clip(-self.push["v_max"], self.push["v_max"])

def main(path):
    data, text = read(path)
    config = tomllib.loads(text["settings"])
    spread = 2 * config["physics"]["diffusion"]
    x, y = np.indices(data["zt"].shape[1:])
    marks = [steps for steps in (150, 300, 600) if steps <= data["z"].shape[1]]
    box, first = Box(config, data["zt"].shape[1:]), marks[0]

    def best(peak, target):
        """The error and the variance of the best Gaussian of this peak."""
        share = target / target.sum()
        dx, dy = x - (share * x).sum(), y - (share * y).sum()
        variances = (share * (dx**2 + dy**2)).sum() / 2 * np.linspace(0.8, 2.5, 60)
        fits = [((peak * np.exp(-(dx**2 + dy**2) / (2 * s)) - target)**2).mean() for s in variances]
        return min(fits), variances[np.argmin(fits)]

    rows, peaks, replay = {"the policy": [], "a rule": [], "held": []}, [], 0
    for z, target, xi, v in zip(data["z"], data["zt"], data["xi"], data["v"]):
        error = lambda density: ((density - target)**2).mean()
        rows["the policy"].append([error(z[step - 1]) for step in marks])
        # the same step as in the engine?
        there, _ = box.step(z[first - 2], xi[first - 2], v[first - 1])
        replay = max(replay, abs(there - z[first - 1]).max())

        peak, errors = z[first - 1].max(), {}
        peaks.append(peak / target.max())
        for step in range(first, marks[-1] + 1):
            if step % 10 == 0:
                errors[step], variance = best(peak, target)
            peak *= 1 - spread / variance
        rows["held"].append([errors[step] for step in marks])

        density, places, errors = z[first - 1], xi[first - 1], {first: error(z[first - 1])}
        for step in range(first + 1, marks[-1] + 1):
            if (step - first) % EVERY == 1:
                velocities = box.rule(density, places, target)
            density, places = box.step(density, places, velocities)
            errors[step] = error(density)
        rows["a rule"].append([errors[step] for step in marks])
    peaks = f"{min(peaks):.0%} to {max(peaks):.0%} of the target's"
    print(f"{len(rows['held'])} cases; after {first} steps the peak has {peaks}")
    print(f"a step in NumPy and in the engine differ by {replay:.1e}")
    print("steps       " + "".join(f"{step:>10}" for step in marks))
    for name, errors in rows.items():
        print(f"{name:12}" + "".join(f"{error:10.2e}" for error in np.mean(errors, 0)))

main(sys.argv[1])
