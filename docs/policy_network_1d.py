"""The policy network in 1D. Run: python policy_network_1d.py POLICY SITUATION, both safetensors files."""
import json, sys, tomllib
import numpy as np

# what holds where the config of an earlier version does not say it
EARLIER = {"observe": {"gradient": True, "target": False, "crowd": False, "crowd_ref": 1, "crowd_limit": 0},
           "policy": {"share": "none", "rest": False}}

def read(path):
    """The tensors and the metadata of a safetensors file."""
    data = open(path, "rb").read()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    text = header.pop("__metadata__", {})
    tensors = {}
    for name, about in header.items():
        first, end = about["data_offsets"]
        numbers = np.frombuffer(data[start + first:start + end], {"F32": "<f4", "F64": "<f8"}[about["dtype"]])
        tensors[name] = numbers.reshape(about["shape"]).astype(float)
    return tensors, text

def differences(field, ring):
    """Central differences per cell, one-sided at the ends of an interval."""
    return (np.roll(field, -1) - np.roll(field, 1)) / 2 if ring else np.gradient(field)

def on_lattice(field, cells, ring, axis=0):
    """A field at the points of the reference lattice along an axis, by linear interpolation."""
    n = field.shape[axis]
    at = np.arange(cells + (not ring)) * (n - (not ring)) / cells
    before = at.astype(int)
    weight = (at - before).reshape([-1 if k == axis else 1 for k in range(field.ndim)])
    return (1 - weight) * field.take(before, axis) + weight * field.take((before + 1) % n, axis)

def windows(field, xi, width, density, ring, linear):
    """`width` points of a field around every agent: [agents, width]."""
    at = xi * density
    cell = np.floor(at) if ring else np.floor(at).clip(0, len(field) - 1)
    points = cell[:, None].astype(int) - width // 2 + np.arange(width + 1)
    seen = field[points % len(field) if ring else points.clip(0, len(field) - 1)]
    return seen[:, :-1] + (linear * (at - cell))[:, None] * np.diff(seen)

def resampling(width, points):
    """The matrix from a window to the inputs of the branch, with half-pixel centres."""
    ratio = width / points
    distance = np.arange(width) - ((np.arange(points)[:, None] + 0.5) * ratio - 0.5)
    weights = np.maximum(0, 1 - abs(distance) / max(ratio, 1))
    return weights / weights.sum(1, keepdims=True)

def crowd(xi, width, length, ring):
    """Density of agents in kernels of one width, and the mean way to the neighbours: one column each."""
    cells = max(4, int(np.ceil(3 * length / width)))
    way = np.arange(cells + (not ring))[:, None] * length / cells - xi
    way = way - ring * length * np.round(way / length)
    density = np.exp(-way**2 / (2 * width**2)).sum(1)
    at = [windows(f, xi, 1, cells / length, ring, True) for f in (density, differences(density, ring))]
    rho = np.maximum(at[0], 0.5)
    return rho, at[1] * width * cells / length / rho

def act(p, config, z, target, xi):
    """u and v of agents at xi; p are the parameters, v is None for static agents."""
    grid, do = config["grid"], config["actuation"]
    see, net = EARLIER["observe"] | config["observe"], EARLIER["policy"] | config["policy"]
    ring, length, sigma = config["task"] == "ks1d", grid["length"], do["sigma"]
    cells = see["n_ref"] - (not ring)
    e, shown = (on_lattice(field, cells, ring) for field in (z - target, target))
    cut = (xi, see["window"], cells / length, ring, see["sampling"] == "linear")
    matrix = resampling(see["window"], see["points"]).T
    rho, towards = crowd(xi, sigma, length, ring)
    rho_wide, towards_wide = crowd(xi, 2 * sigma, length, ring)
    limit = see["crowd_limit"] or np.inf
    told = [1 / np.minimum(rho, limit), 1 / np.minimum(rho_wide, 2 * limit), towards, towards_wide]
    base = {"none": 0, "pi": np.pi, "2pi": 2 * np.pi}[net["trunk_base"]]
    angles = base / length * xi[:, None] * [1, 2, 4, 8]
    waves = [np.sin(angles), np.cos(angles)] * (net["trunk_base"] != "none")
    t = np.hstack(waves + told * see["crowd"])
    for layer in ("trunk.0", "trunk.1"):
        t = np.tanh(t @ p[layer + ".w"] + p[layer + ".b"])
    def met(e):
        """What comes before the head, for agents that see the error e."""
        fields = [e] + [differences(e, ring)] * see["gradient"] + [shown] * see["target"]
        h = np.hstack([windows(field, *cut) @ matrix for field in fields])
        for layer in ("branch.0", "branch.1"):
            h = h @ p[layer + ".w"] + p[layer + ".b"]
            h = np.tanh(h / (net["softnorm"] * np.linalg.norm(h, axis=1, keepdims=True) + 1))
        return np.tanh(np.hstack([h, t]) @ p["merge.w"] + p["merge.b"])
    y = (met(e) - met(0 * e)) @ p["head.w"] if net["rest"] else met(e) @ p["head.w"] + p["head.b"]
    share = see["crowd_ref"] / rho[:, 0] if net["share"] == "crowd" else 1
    u = do["u_max"] * np.tanh(share * y[:, 0])
    return u, do["v_max"] * np.tanh(y[:, 1]) if "v_max" in do else None

if __name__ == "__main__":
    (params, text), (seen, _) = read(sys.argv[1]), read(sys.argv[2])
    print(*act(params, tomllib.loads(text["config"]), seen["z"], seen.get("zt", 0 * seen["z"]), seen["xi"]))
