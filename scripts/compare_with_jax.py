#!/usr/bin/env python3
"""Times training updates of cinoc and of a JAX implementation of the same tasks, in turns; prints the ratio.

    scripts/compare_with_jax.py --peer DIR [--python PYTHON] [--rounds 5] [--tasks fkpp1d heat1d ks1d]
    scripts/compare_with_jax.py --peer DIR --rounds 2 --repeat 1 --tasks heat2d ks2d turb2d density2d

The 2D tasks are timed with the network JAX has (`policy.padding = "zero"`). Where the preset shares feature
maps, they are timed with that too.

DIR holds `bench1d.py` and `bench2d.py`, called as
`python bench1d.py --task T --batch B --agents M --steps S --repeat R`. They must print one JSON object with
`update_s` and `forward_s` (medians). PYTHON is an interpreter with JAX (`pip install jax safetensors`). Both
sides use every core of the machine, single precision, the same batch, agents and steps. They run in turns,
so that a machine whose speed drifts does not favour either; what counts is the median over the rounds.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

# tasks whose preset convolves the field once for all agents
SHARED = ("ks2d", "turb2d")
ROOT = pathlib.Path(__file__).resolve().parent.parent

# the work of the peer: the published network
PLAIN = ["--preset", "paper"]
OURS = ("update_s", "forward_s", "gflops", "peak_share", "peak_rss_mb", "decision_us_p50")


def measure(command, folder):
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{result.stderr[-2000:]}")
    return json.loads(result.stdout.strip().splitlines()[-1])


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--peer", type=pathlib.Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--tasks", nargs="+", default=["fkpp1d", "heat1d", "ks1d"])
    args = parser.parse_args()

    subprocess.run(["cargo", "build", "--release", "--bin", "cinoc"], cwd=ROOT, check=True)
    threads = len(os.sched_getaffinity(0))
    rows = []
    for task in args.tasks:
        plane = "2d" in task
        variants = {task: ["--set", "policy.padding=zero"] if plane else []}
        if task in SHARED:
            variants[f"{task}, shared features"] = ["--set", "policy.padding=field"]
        ours, peers = {name: [] for name in variants}, []
        for _ in range(args.rounds):
            for name, sets in variants.items():
                own = measure([ROOT / "target/release/cinoc", "bench", task, "--json", *PLAIN, *sets,
                               "--threads", str(threads), "--repeat", str(args.repeat)], ROOT)
                ours[name].append(own)
            peer = [args.python, "bench2d.py" if plane else "bench1d.py", "--task", task]
            for key in ("batch", "agents", "steps"):
                peer += [f"--{key}", str(own[key])]
            peers.append(measure([*peer, "--repeat", str(args.repeat)], args.peer))
        median = lambda runs, key: statistics.median(run[key] for run in runs)
        for name, runs in ours.items():
            ratios = sorted(p["update_s"] / o["update_s"] for p, o in zip(peers, runs))
            rows.append((name, own, {k: median(runs, k) for k in OURS},
                         {k: median(peers, k) for k in ("update_s", "forward_s")}, ratios))
    print(f"\n{threads} threads, f32, median of {args.rounds} rounds in turns\n")
    print("| task | batch x agents x steps | JAX update | cinoc update | ratio (min..max) | JAX rollout "
          "| cinoc rollout | Gflop/s | share of peak | decision p50 | peak RSS |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for task, own, mine, peer, ratios in rows:
        print(f"| {task} | {own['batch']} x {own['agents']} x {own['steps']} "
              f"| {1e3 * peer['update_s']:.1f} ms | {1e3 * mine['update_s']:.1f} ms "
              f"| {statistics.median(ratios):.2f} ({ratios[0]:.2f}..{ratios[-1]:.2f}) "
              f"| {1e3 * peer['forward_s']:.1f} ms | {1e3 * mine['forward_s']:.1f} ms | {mine['gflops']:.0f} "
              f"| {100 * mine['peak_share']:.0f} % | {mine['decision_us_p50']:.1f} us "
              f"| {mine['peak_rss_mb']:.0f} MB |")


if __name__ == "__main__":
    main()
