"""Compares the policy network in NumPy (docs/policy_network_*.py) with the test vectors and with `cinoc act`.

`--write` makes the test vectors again: a field, a target, positions, and what `cinoc act` decides.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))
import policy_network_1d as network_1d
import policy_network_2d as network_2d

VECTORS = ROOT / "crates/cinoc/tests/vectors"
CINOC = ROOT / "target/release/cinoc"
# grid points, lengths of the domain, size of the field, number of agents
TASKS = {
    "fkpp1d": ([100], [1.0], 0.5, 23),
    "heat1d": ([100], [1.0], 0.3, 6),
    "ks1d": ([128], [22.0], 1.0, 11),
    "heat2d": ([32, 32], [1.0, 1.0], 0.4, 13),
    "heat2d-obstacles": ([32, 32], [1.0, 1.0], 0.4, 18),
    "ks2d": ([64, 64], [32.0, 32.0], 2.0, 40),
    "turb2d": ([64, 64], [1.0, 1.0], 3.0, 50),
    "density2d": ([64, 80], [1.0, 1.25], 1.0, 7),
}
# test vectors by name: task and policy
POLICIES = {task: (task, f"policies/{task}.safetensors") for task in TASKS}
POLICIES["fkpp1d-paper"] = ("fkpp1d", "crates/cinoc/tests/data/fkpp1d-of-version-0.1.safetensors")
TOLERANCE = 1e-6


def smooth(rng, extents, size):
    """A field of a few waves per axis, 0 or not at the ends."""
    field = np.zeros(extents)
    for _ in range(12):
        turns = [rng.uniform(0.5, 4) * np.arange(n) / n + rng.uniform() for n in extents]
        waves = [np.sin(2 * np.pi * turn) for turn in turns]
        field += size * rng.normal() / 3 * (waves[0] if len(waves) == 1 else np.outer(*waves))
    return field


def blob(rng, extents):
    """A density: a Gaussian somewhere."""
    places = [rng.uniform(0.3, 0.7) * n for n in extents]
    x, y = (np.exp(-((np.arange(n) - place) / (0.12 * n)) ** 2) for n, place in zip(extents, places))
    return np.outer(x, y)


def situation(task):
    """A field, a target if there is one, and positions: at both ends, two at one place, others anywhere."""
    extents, lengths, size, agents = TASKS[task]
    rng = np.random.default_rng(sorted(TASKS).index(task))
    draw = (lambda: blob(rng, extents)) if task == "density2d" else (lambda: smooth(rng, extents, size))
    z, zt = draw(), draw()
    xi = rng.uniform(size=(agents, len(extents))) * lengths
    xi[0], xi[1], xi[3] = 0, lengths, xi[2]
    # single precision is enough for inputs, and takes half of the space
    arrays = {"z": z.astype("<f4"), "xi": xi.squeeze()}
    if task not in ("ks1d", "ks2d", "turb2d"):
        arrays["zt"] = zt.astype("<f4")
    return arrays


def write(path, arrays, description):
    """A safetensors file."""
    header, body = {"__metadata__": {"description": json.dumps(description)}}, b""
    # numbers of eight bytes first: all are aligned
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0])):
        data = np.ascontiguousarray(array).tobytes()
        dtype = {4: "F32", 8: "F64"}[array.itemsize]
        offsets = [len(body), len(body) + len(data)]
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": offsets}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def run(*arguments):
    done = subprocess.run([CINOC, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cinoc {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def engine(policy, field):
    """What `cinoc act` decides."""
    answer = json.loads(run("act", policy, "--field", field, "--json"))
    return {name: np.array(answer[name]) for name in ("u", "v") if name in answer}


def numpy_network(policy, field):
    """What the network in NumPy decides."""
    (params, text), (seen, _) = network_1d.read(policy), network_1d.read(field)
    network = network_1d if seen["z"].ndim == 1 else network_2d
    zt = seen.get("zt", np.zeros_like(seen["z"]))
    u, v = network.act(params, tomllib.loads(text["config"]), seen["z"], zt, seen["xi"])
    return {name: value for name, value in (("u", u), ("v", v)) if value is not None}


def compare(what, found, expected):
    """Ends the program where two decisions differ."""
    if found.keys() != expected.keys() or any(found[name].shape != expected[name].shape for name in found):
        sys.exit(f"{what}: {list(found)} instead of {list(expected)}, or other shapes")
    error = max(abs(found[name] - expected[name]).max() for name in found)
    if not error <= TOLERANCE:
        sys.exit(f"{what}: the largest difference is {error:.1e}, more than {TOLERANCE}")
    print(f"{what}: the largest difference is {error:.1e}")


def make_vectors():
    VECTORS.mkdir(exist_ok=True)
    for name, (task, policy) in POLICIES.items():
        path, arrays = VECTORS / f"{name}.safetensors", situation(task)
        description = {"task": task, "policy": policy}
        write(path, arrays, description)
        write(path, arrays | engine(ROOT / policy, path), description)


def check_vectors():
    for name, (_, policy) in POLICIES.items():
        path, policy = VECTORS / f"{name}.safetensors", ROOT / policy
        stored = {name: array for name, array in network_1d.read(path)[0].items() if name in ("u", "v")}
        compare(f"{name}: NumPy and the test vectors", numpy_network(policy, path), stored)
        compare(f"{name}: cinoc act and the test vectors", engine(policy, path), stored)


def check_after_an_update(task, preset, *sets):
    """NumPy and the engine, after one short update with these settings."""
    with tempfile.TemporaryDirectory() as out:
        small = ["time.steps=2", "train.batch=2", "data.pool=2", "train.checkpoint_every=1", *sets]
        small += ["data.spin_up=1"] * (task == "ks1d")
        sets = [part for key in small for part in ("--set", key)]
        run("train", task, "--preset", preset, "--updates", 1, "--out", f"{out}/run", *sets)
        policy, field = f"{out}/run/policy.safetensors", VECTORS / f"{task}.safetensors"
        expected = engine(policy, field)
        compare(f"{task}, {preset}: NumPy and cinoc act", numpy_network(policy, field), expected)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        make_vectors()
    check_vectors()
    for task in ("fkpp1d", "ks1d", "heat2d", "density2d"):
        check_after_an_update(task, "paper")
    # a lattice with points between those of the grid, as density2d has one
    check_after_an_update("ks1d", "default", "observe.n_ref=100")
