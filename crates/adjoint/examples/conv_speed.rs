//! Speed of two convolutions in a row and of dense layers on patches of their results, as policies use them,
//! beside what the arithmetic units can do:
//! `cargo run --release -p cinoc-adjoint --example conv_speed [part of a name]`. One thread; the best of many
//! runs.

use cinoc_adjoint::*;
use std::time::Instant;

enum Kind {
    Patch {
        agents: usize,
    },
    Field,
    /// A dense layer with 32 outputs on patches of maps of `channels`.
    Dense {
        agents: usize,
        patch: usize,
        channels: usize,
    },
}
use Kind::*;

struct Case {
    name: &'static str,
    kind: Kind,
    n: (usize, usize),
    outputs: [usize; 2],
    samples: usize,
}

const CASES: [Case; 18] = [
    Case { name: "heat2d 16 x 4", kind: Patch { agents: 16 }, n: (12, 12), outputs: [16, 32], samples: 4 },
    Case { name: "ks2d 100 x 1", kind: Patch { agents: 100 }, n: (12, 12), outputs: [16, 32], samples: 1 },
    Case { name: "ks2d 100 x 2", kind: Patch { agents: 100 }, n: (12, 12), outputs: [16, 32], samples: 2 },
    Case { name: "turb2d 64 x 1", kind: Patch { agents: 64 }, n: (20, 20), outputs: [32, 64], samples: 1 },
    Case { name: "turb2d 64 x 2", kind: Patch { agents: 64 }, n: (20, 20), outputs: [32, 64], samples: 2 },
    Case { name: "density2d 9 x 2", kind: Patch { agents: 9 }, n: (12, 12), outputs: [16, 32], samples: 2 },
    Case { name: "density2d field 1", kind: Patch { agents: 1 }, n: (64, 80), outputs: [16, 32], samples: 1 },
    Case { name: "density2d field 4", kind: Patch { agents: 1 }, n: (64, 80), outputs: [16, 32], samples: 4 },
    Case { name: "ks2d field 1", kind: Field, n: (64, 64), outputs: [16, 32], samples: 1 },
    Case { name: "ks2d field 2", kind: Field, n: (64, 64), outputs: [16, 32], samples: 2 },
    Case { name: "ks2d field 4", kind: Field, n: (64, 64), outputs: [16, 32], samples: 4 },
    Case { name: "turb2d field 1", kind: Field, n: (64, 64), outputs: [32, 64], samples: 1 },
    Case { name: "turb2d field 4", kind: Field, n: (64, 64), outputs: [32, 64], samples: 4 },
    Case {
        name: "ks2d dense 100 x 1",
        kind: Dense { agents: 100, patch: 12, channels: 32 },
        n: (64, 64),
        outputs: [0, 32],
        samples: 1,
    },
    Case {
        name: "ks2d dense 100 x 2",
        kind: Dense { agents: 100, patch: 12, channels: 32 },
        n: (64, 64),
        outputs: [0, 32],
        samples: 2,
    },
    Case {
        name: "turb2d dense 64 x 1",
        kind: Dense { agents: 64, patch: 20, channels: 64 },
        n: (64, 64),
        outputs: [0, 32],
        samples: 1,
    },
    Case {
        name: "turb2d dense 64 x 2",
        kind: Dense { agents: 64, patch: 20, channels: 64 },
        n: (64, 64),
        outputs: [0, 32],
        samples: 2,
    },
    Case { name: "large field 1", kind: Field, n: (512, 512), outputs: [16, 32], samples: 1 },
];

/// The trace, its only state and its only term.
fn trace(case: &Case) -> (Trace, Input, Term) {
    let t = Tracer::new();
    let (nx, ny) = case.n;
    let mut y = match case.kind {
        Patch { agents } => t.state("x", nx * ny * 3, agents),
        Field => t.state("x", 3 * nx, ny),
        Dense { channels, .. } => t.state("x", channels * nx, ny),
    };
    t.advance(y, y);
    let x = y.input();
    if let Dense { agents, patch, channels } = case.kind {
        let (n, density) = ([nx, ny], [nx as f64, ny as f64]);
        let lattice = PatchLattice { patch, n, density, periodic: true, sampling: Interpolation::Cell };
        let spots = (0..2 * agents).map(|k| (k as f64 * 0.618).fract()).collect();
        let positions = t.constant(2, agents, spots).broadcast(Shape::per_sample(2, agents));
        let w = t.param("w", patch * patch * channels, case.outputs[1]);
        let value = t.term("value", positions.patch_dense(y, w, lattice).sum());
        return (t.finish(), x, value);
    }
    let mut inputs = 3;
    for outputs in case.outputs {
        let (w, b) = (t.param("w", 9 * inputs, outputs), t.param("b", outputs, 1));
        y = match case.kind {
            Patch { .. } => y.conv_patch(case.n, w, b),
            _ => y.conv_field(nx, w, b, true),
        };
        inputs = outputs;
    }
    // one row only: the sum itself takes no time
    let value = t.term("value", y.slice(0..1).sum());
    (t.finish(), x, value)
}

fn seconds(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let peak = peak_flops::<f32>(&Threads::one());
    println!("peak {:.0} GFLOP/s", peak / 1e9);
    println!("{:<20} {:>10} {:>10} {:>10} {:>6} {:>6}", "", "ms", "forward", "reverse", "%", "%");
    for case in CASES.iter().filter(|case| case.name.contains(&wanted)) {
        let (trace, state, value) = trace(case);
        let program = Program::<f32>::new(&trace, case.samples);
        let numbers = |count: usize| (0..count).map(|k| (k as f32 * 0.7).sin()).collect::<Vec<f32>>();
        let (params, x) = (numbers(trace.param_len()), numbers(state.size() * case.samples));
        let steps = 4;
        let run = Inputs::new(case.samples, steps, &params).with(state, &x).weighted(value, vec![1.0; steps]);
        let threads = Threads::one();
        let (mut forward, mut gradient) = (f64::MAX, f64::MAX);
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < 2.5 {
            forward = forward.min(seconds(|| drop(program.forward(&run, &threads))));
            let once = || drop(program.gradient(&run, &threads, Strategy::Recompute));
            gradient = gradient.min(seconds(once));
        }
        // a gradient runs forward twice before it goes back
        let flops = program.flops(steps);
        let (ahead, back) = (flops / forward, 2.0 * flops / (gradient - 2.0 * forward));
        println!(
            "{:<20} {:>10.3} {:>10.1} {:>10.1} {:>6.0} {:>6.0}",
            case.name,
            1e3 * forward / steps as f64,
            ahead / 1e9,
            back / 1e9,
            100.0 * ahead / peak,
            100.0 * back / peak
        );
    }
}
