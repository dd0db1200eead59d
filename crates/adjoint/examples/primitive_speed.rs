//! Time of single primitives at the sizes of the plane tasks, forward and with their reverse, on one thread
//! in single precision.
//!
//! `cargo run --release -p cinoc-adjoint --example primitive_speed [part of a name]`
//!
//! A row gives microseconds per sample of the forward kernel and of forward kernel, its repetition for the
//! reverse where that needs it, and reverse rule: the difference between steps with five copies of the
//! primitive and with one, best of many repeats. It includes one sum over the output, which is what the row
//! `sum` measures.

use cinoc_adjoint::*;
use std::time::Instant;

type Build = for<'t> fn(&'t Tracer, &[Var<'t>]) -> Var<'t>;

struct Case {
    name: &'static str,
    inputs: &'static [(usize, usize)],
    build: Build,
}

const fn case(name: &'static str, inputs: &'static [(usize, usize)], build: Build) -> Case {
    Case { name, inputs, build }
}

fn lattice(patch: usize, sampling: Interpolation) -> PatchLattice {
    PatchLattice { patch, n: [64, 64], density: [63.0, 63.0], periodic: false, sampling }
}

fn cases() -> Vec<Case> {
    vec![
        case("sum 64x64", &[(64, 64)], |_, v| v[0]),
        case("transpose 64x64", &[(64, 64)], |_, v| v[0].transpose()),
        case("transpose 512x512", &[(512, 512)], |_, v| v[0].transpose()),
        case("product 64x64", &[(64, 64), (64, 64)], |_, v| v[0] * v[1]),
        case("division 64x64", &[(64, 64), (64, 64)], |_, v| v[0] / v[1]),
        case("number + 64x64", &[(1, 1), (64, 64)], |_, v| v[0] + v[1]),
        case("column * 64x64", &[(64, 1), (64, 64)], |_, v| v[0] * v[1]),
        case("row * 64x64", &[(1, 64), (64, 64)], |_, v| v[0] * v[1]),
        case("constant * 64x64", &[(64, 64)], |t, v| v[0] * t.constant(64, 1, vec![2.0; 64])),
        case("length 4608x64", &[(4608, 64)], |_, v| v[0].length()),
        case("limit length 2x4096", &[(2, 4096)], |_, v| v[0].limit_length(0.5)),
        case("outer m=9", &[(64, 9), (64, 9)], |_, v| v[0].outer(v[1])),
        case("outer m=64", &[(64, 64), (64, 64)], |_, v| v[0].outer(v[1])),
        case("outer m=4096", &[(64, 4096), (64, 4096)], |_, v| v[0].outer(v[1])),
        case("patches 12, 3 fields, 64 agents", &[(2, 64), (3 * 64, 64)], |_, v| {
            v[0].patches(v[1], lattice(12, Interpolation::Cell))
        }),
        case("patches linear 12, 3 fields, 64 agents", &[(2, 64), (3 * 64, 64)], |_, v| {
            v[0].patches(v[1], lattice(12, Interpolation::Linear))
        }),
        case("patches 12, 32 fields, 64 agents", &[(2, 64), (32 * 64, 64)], |_, v| {
            v[0].patches(v[1], lattice(12, Interpolation::Cell))
        }),
        case("peak one 64x64", &[(64, 64)], |_, v| v[0].peak_one()),
    ]
}

/// Seconds per step of forward runs and of gradients, with so many copies of the primitive.
fn measure(case: &Case, samples: usize, copies: usize) -> [f64; 2] {
    let t = Tracer::new();
    let inputs: Vec<Var> = case.inputs.iter().map(|&(rows, cols)| t.state("x", rows, cols)).collect();
    inputs.iter().for_each(|x| t.advance(*x, *x));
    let terms: Vec<Term> = (0..copies).map(|_| t.term("y", (case.build)(&t, &inputs).sum())).collect();
    let inputs: Vec<Input> = inputs.iter().map(|x| x.input()).collect();
    let program = Program::<f32>::new(&t.finish(), samples);
    // short runs, so that on a busy machine the best one was not interrupted
    let steps = 2;
    // numbers in (0, 1) that are spread evenly: positions as well as fields
    let numbers = |count: usize| (0..count).map(|i| (i as f32 * 0.618_034 + 0.1).fract()).collect::<Vec<_>>();
    let states: Vec<Vec<f32>> = case.inputs.iter().map(|&(r, c)| numbers(r * c * samples)).collect();
    let run = Inputs::new(samples, steps, &[]);
    let run = inputs.iter().zip(&states).fold(run, |run, (x, state)| run.with(*x, state));
    let run = terms.iter().fold(run, |run, term| run.weighted(*term, vec![1.0; steps]));
    let threads = Threads::one();
    let best = |f: &dyn Fn()| {
        let begin = Instant::now();
        let mut best = f64::INFINITY;
        while begin.elapsed().as_secs_f64() < 0.2 {
            let start = Instant::now();
            f();
            best = best.min(start.elapsed().as_secs_f64());
        }
        best / steps as f64
    };
    let forward = best(&|| drop(program.forward(&run, &threads)));
    let gradient = best(&|| drop(program.gradient(&run, &threads, Strategy::Recompute)));
    [forward, gradient]
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!("{:<40} {:>8} {:>12} {:>12}", "primitive", "samples", "forward us", "gradient us");
    for case in cases().iter().filter(|case| case.name.contains(&wanted)) {
        for samples in [1, 2, 4, 16] {
            let (one, five) = (measure(case, samples, 1), measure(case, samples, 5));
            let [forward, gradient] = [0, 1].map(|i| (five[i] - one[i]) / 4.0 * 1e6 / samples as f64);
            println!("{:<40} {samples:>8} {forward:>12.2} {gradient:>12.2}", case.name);
        }
    }
}
