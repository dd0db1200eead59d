"""How well could agents that stand still hold the targets of heat1d, and where should they stand?
Run: python heat1d_places.py ROLLOUTS, a file of `cinoc eval POLICY --save ROLLOUTS`.

Intensities that do not change lead to a steady field, the solution of nu z_xx + f = 0. It is linear in the
intensities, so for given places the best ones are a least-squares problem. Bounds and costs are left out."""
import sys, tomllib
import numpy as np
from policy_network_1d import read

def main(path):
    data, text = read(path)
    config, targets = tomllib.loads(text["settings"]), data["zt"][:, 1:-1]
    n, sigma = config["grid"]["n"], config["actuation"]["sigma"]
    x = np.linspace(0, config["grid"]["length"], n)
    second = np.diag(np.full(n - 2, 2.0)) - np.eye(n - 2, k=1) - np.eye(n - 2, k=-1)
    steady = np.linalg.inv(second * config["physics"]["nu"] / x[1]**2)

    def errors(places, targets):
        """What is left of targets with agents at these places."""
        fields = steady @ np.exp(-(x[1:-1, None] - places)**2 / (2 * sigma**2))
        basis = np.linalg.svd(fields, full_matrices=False)[0]
        return ((targets - targets @ basis @ basis.T)**2).sum(1) / n

    def descend(places, targets):
        """Better places for all of these targets together: steps along random directions that help."""
        least, length = errors(places, targets).mean(), 0.1
        while length > 1e-4:
            step = length * random.standard_normal(places.shape)
            near = [(places + sign * step).clip(0, x[-1]) for sign in (1, -1)]
            found = [errors(place, targets).mean() for place in near]
            if min(found) < least:
                least, places, length = min(found), near[np.argmin(found)], 1.2 * length
            else:
                length *= 0.95
        return places

    random, agents = np.random.default_rng(0), data["xi"].shape[2]
    even = np.linspace(0.2, 0.8, agents) * x[-1]
    common = descend(even, targets)
    own = [min(errors(descend(start, t[None]), t[None])[0] for start in (even, common)) for t in targets]
    ended = [errors(xi, t[None])[0] for xi, t in zip(data["xi"][:, -1], targets)]
    print(f"{agents} agents, {len(targets)} cases, mean (z - z*)^2")
    print(f"  the policy, at the last step                  {data['error'][:, -1].mean():.1e}")
    print("steady fields, with the best intensities for every target:")
    print(f"  agents where they start                       {errors(even, targets).mean():.1e}")
    print(f"  agents where the policy has led them          {np.mean(ended):.1e}")
    at_common = f"{errors(common, targets).mean():.1e}, at {np.sort(common).round(2)}"
    print(f"  the best places for all targets together      {at_common}")
    print(f"  the best places for every target              {np.mean(own):.1e}")
    spread = data["xi"][:, -1].std(0).max()
    print(f"standard deviation over cases of where the policy leads an agent: at most {spread:.3f}")

main(sys.argv[1])
