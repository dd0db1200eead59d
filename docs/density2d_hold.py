"""How well could the blob of density2d be held for longer than in training?
Run: python density2d_hold.py ROLLOUTS, a file of `cinoc eval POLICY --set time.steps=600 --save ROLLOUTS`.

The advective transport moves values and never raises them, so the peak of the blob can only fall. Diffusion
lowers it: the peak of a Gaussian of variance s^2 (in cells, per axis) by the fraction 2 D / s^2 in a step.
"Held" means: from step 150 on the blob is a Gaussian at the place of the target, its width is the best for
its peak, and its peak falls only by diffusion."""
import sys, tomllib
import numpy as np
from policy_network_1d import read

def main(path):
    data, text = read(path)
    config = tomllib.loads(text["settings"])
    spread = 2 * config["physics"]["diffusion"]
    x, y = np.indices(data["zt"].shape[1:])
    marks = [steps for steps in (150, 300, 600) if steps <= data["z"].shape[1]]

    def best(peak, target):
        """The error and the variance of the best Gaussian of this peak."""
        share = target / target.sum()
        dx, dy = x - (share * x).sum(), y - (share * y).sum()
        variances = (share * (dx**2 + dy**2)).sum() / 2 * np.linspace(0.8, 2.5, 60)
        fits = [((peak * np.exp(-(dx**2 + dy**2) / (2 * s)) - target)**2).mean() for s in variances]
        return min(fits), variances[np.argmin(fits)]

    policy, held, peaks = [], [], []
    for z, target in zip(data["z"], data["zt"]):
        peak = z[marks[0] - 1].max()
        peaks.append(peak / target.max())
        errors = {}
        for step in range(marks[0], marks[-1] + 1):
            if step % 10 == 0:
                errors[step], variance = best(peak, target)
            peak *= 1 - spread / variance
        policy.append([((z[step - 1] - target)**2).mean() for step in marks])
        held.append([errors[step] for step in marks])
    peaks = f"{min(peaks):.0%} to {max(peaks):.0%} of the target's"
    print(f"{len(policy)} cases; after {marks[0]} steps the peak has {peaks}")
    print("steps       " + "".join(f"{step:>10}" for step in marks))
    print("the policy  " + "".join(f"{error:10.2e}" for error in np.mean(policy, 0)))
    print("held        " + "".join(f"{error:10.2e}" for error in np.mean(held, 0)))

main(sys.argv[1])
