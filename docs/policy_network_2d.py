"""The policy network in 2D. Run: python policy_network_2d.py POLICY SITUATION, both safetensors files."""
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
    """Central differences per cell along x and along y, one-sided at the walls."""
    if ring:
        return [(np.roll(field, -1, k) - np.roll(field, 1, k)) / 2 for k in (0, 1)]
    return np.gradient(field)

def on_lattice(field, cells, ring, axis=0):
    """A field at the points of the reference lattice along an axis, by linear interpolation."""
    n = field.shape[axis]
    at = np.arange(cells + (not ring)) * (n - (not ring)) / cells
    before = at.astype(int)
    weight = (at - before).reshape([-1 if k == axis else 1 for k in range(field.ndim)])
    return (1 - weight) * field.take(before, axis) + weight * field.take((before + 1) % n, axis)

def patches(maps, xi, size, density, ring, linear):
    """Points of maps [n_x, n_y, channels] around every agent: [agents, size, size, channels]."""
    n, at = np.array(maps.shape[:2]), xi * density
    cell = np.floor(at) if ring else np.floor(at).clip(0, n - 1)
    points = cell[:, :, None].astype(int) - size // 2 + np.arange(size + 1)
    points = points % n[:, None] if ring else points.clip(0, n[:, None] - 1)
    seen = maps[points[:, 0, :, None], points[:, 1, None, :]]
    ax, ay = (linear * (at - cell)).T[:, :, None, None, None]
    seen = (1 - ax) * seen[:, :-1] + ax * seen[:, 1:]
    return (1 - ay) * seen[:, :, :-1] + ay * seen[:, :, 1:]

def convolve(x, weight, bias, mode):
    """A 3 x 3 convolution of [..., n_x, n_y, channels] with a rectifier."""
    i, j = x.shape[-3:-1]
    x = np.pad(x, [(0, 0)] * (x.ndim - 3) + [(1, 1), (1, 1), (0, 0)], mode)
    taps = [x[..., a:a + i, c:c + j, :] for a in range(3) for c in range(3)]
    return np.maximum(0, np.concatenate(taps, -1) @ weight + bias)

def crowd(xi, width, lengths, ring):
    """Density of agents in kernels of one width, and the mean way to the neighbours: one and two columns."""
    cells = np.maximum(4, np.ceil(3 * lengths / width))
    bumps = []
    for k, length in enumerate(lengths):
        way = np.arange(cells[k] + (not ring))[:, None] * length / cells[k] - xi[:, k]
        bumps.append(np.exp(-(way - ring * length * np.round(way / length))**2 / (2 * width**2)))
    density = bumps[0] @ bumps[1].T
    maps = np.stack([density, *differences(density, ring)], -1)
    at = patches(maps, xi, 1, cells / lengths, ring, True)[:, 0, 0]
    rho = np.maximum(at[:, :1], 0.5)
    return rho, at[:, 1:] * width * cells / lengths / rho

def way_to_centroid(density, xi, lengths):
    """Vector, unit vector and length of the way from every agent to the centroid of a density on the grid."""
    points = [np.linspace(0, length, n) for length, n in zip(lengths, density.shape)]
    centroid = np.array([density.sum(1) @ points[0], density.sum(0) @ points[1]]) / density.sum()
    way = centroid - xi
    distance = np.linalg.norm(way, axis=1, keepdims=True)
    return [way, way / np.maximum(distance, 1e-6), distance]

def act(p, config, z, target, xi):
    """u and v of agents at xi; p are the parameters; u is None for agents that stir, v for static agents."""
    grid, do = config["grid"], config["actuation"]
    see, net = EARLIER["observe"] | config["observe"], EARLIER["policy"] | config["policy"]
    ring, size, sigma = config["task"] in ("ks2d", "turb2d"), see["patch"], do["sigma"]
    lengths = np.array([grid["length"], grid.get("length_y", grid["length"])])
    n_ref = np.array([see["n_ref"], see.get("n_ref_y", see["n_ref"])]) - (not ring)
    on = lambda field: on_lattice(on_lattice(field, n_ref[0], ring), n_ref[1], ring, 1)
    e, shown = on(z - target), on(target)
    cut = (xi, size, n_ref / lengths, ring, see["sampling"] == "linear")
    own = net["padding"] == "zero"
    rho, towards = crowd(xi, sigma, lengths, ring)
    rho_wide, towards_wide = crowd(xi, 2 * sigma, lengths, ring)
    limit = see["crowd_limit"] or np.inf
    told = [1 / np.minimum(rho, limit), 1 / np.minimum(rho_wide, 4 * limit), towards, towards_wide]
    base = {"none": 0, "pi": np.pi, "2pi": 2 * np.pi}[net["trunk_base"]]
    angles = [base / lengths[k] * xi[:, k, None] * [1, 2, 4, 8] for k in (0, 1)]
    waves = [wave(angle) for angle in angles for wave in (np.sin, np.cos)] * (net["trunk_base"] != "none")
    ways = way_to_centroid(target, xi, lengths) + way_to_centroid(z, xi, lengths) if "gain" in do else []
    t = np.hstack(waves + ways + told * see["crowd"])
    for layer in ("trunk.0", "trunk.1"):
        t = np.tanh(t @ p[layer + ".w"] + p[layer + ".b"])
    def met(e):
        """What comes before the head, for agents that see the error e."""
        fields = [e] + list(differences(e, ring)) * see["gradient"] + [shown] * see["target"]
        h = np.stack(fields, -1)
        h = patches(h, *cut) if own else h
        for k in range(len(net["conv"])):
            mode = "constant" if own else "wrap" if ring else "edge"
            h = convolve(h, p[f"conv.{k}.w"], p[f"conv.{k}.b"], mode)
        h = (h if own else patches(h, *cut)).reshape(len(xi), -1)
        h = h / (net["softnorm"] * np.linalg.norm(h, axis=1, keepdims=True) + 1)
        h = np.tanh(h @ p["branch.w"] + p["branch.b"])
        return np.tanh(np.hstack([h, t]) @ p["merge.w"] + p["merge.b"])
    y = (met(e) - met(0 * e)) @ p["head.w"] if net["rest"] else met(e) @ p["head.w"] + p["head.b"]
    share = see["crowd_ref"] / rho if net["share"] == "crowd" else 1
    if "gain" in do:  # agents that stir: the length of v is bounded too
        v = do["v_max"] * np.tanh(share * y)
        return None, v / np.maximum(1, np.linalg.norm(v, axis=1, keepdims=True) / do["v_max"])
    u = do["u_max"] * np.tanh(share * y[:, :1])[:, 0]
    return u, do["v_max"] * np.tanh(y[:, 1:]) if "v_max" in do else None

if __name__ == "__main__":
    (params, text), (seen, _) = read(sys.argv[1]), read(sys.argv[2])
    print(*act(params, tomllib.loads(text["config"]), seen["z"], seen.get("zt", 0 * seen["z"]), seen["xi"]))
