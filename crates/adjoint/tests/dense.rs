//! Dense layers in single precision, at the sizes of policies: nothing is lost but the rounding of singles,
//! on every instruction set.

use cinoc_adjoint::{Inputs, Isa, Program, Strategy, Threads, Tracer};

struct Layer {
    inputs: usize,
    outputs: usize,
    cols: usize,
    bias: bool,
}

const SAMPLES: usize = 16;
const STEPS: usize = 2;

/// Records and gradients of a step `z' = z + small tanh(w z + b)` with a weight per output on what is summed.
fn gradient<T: cinoc_adjoint::Real>(layer: &Layer, chunk: usize, isa: Isa) -> Vec<Vec<f64>> {
    let &Layer { inputs, outputs, cols, bias } = layer;
    let tracer = Tracer::new();
    let w = tracer.param("w", inputs, outputs);
    let b = tracer.param("b", outputs, 1);
    let z = tracer.state("z", inputs, cols);
    let y = z.dense(w, bias.then_some(b));
    // the next state takes its rows from the outputs, again and again
    let rows: Vec<_> = (0..inputs).map(|i| vec![(i % outputs, 0.1)]).collect();
    tracer.advance(z, z + y.tanh().linear(&cinoc_adjoint::Sparse::from_rows(outputs, rows)));
    let (z, square) = (z.input(), tracer.term("square", y.mean_square()));
    let y = tracer.record("y", y);

    // singles, so that both precisions start from the same numbers
    let numbers = |n: usize, scale: f64| -> Vec<T> {
        let fraction = |i: usize| ((i as f64 + 1.0).sin() * 43_758.545).fract();
        (0..n).map(|i| T::of((scale * fraction(i)) as f32 as f64)).collect()
    };
    let params = numbers((inputs + 1) * outputs, 1.0 / (inputs as f64).sqrt());
    let states = numbers(inputs * cols * SAMPLES, 1.0);
    let given = Inputs::new(SAMPLES, STEPS, &params).with(z, &states).weighted(square, vec![1.0; STEPS]);
    let program = Program::<T>::with_isa(&tracer.finish(), chunk, isa);
    let threads = Threads::one();
    let outcome = program.forward(&given, &threads);
    let gradient = program.gradient(&given, &threads, Strategy::Recompute);
    let doubles = |values: &[T]| values.iter().map(|v| v.f64()).collect::<Vec<_>>();
    let (dw, db) = gradient.params.split_at(inputs * outputs);
    vec![doubles(outcome.record(y)), doubles(dw), doubles(db), doubles(gradient.input(z))]
}

#[test]
fn singles_lose_nothing_but_their_own_rounding() {
    let layer = |inputs, outputs, cols, bias| Layer { inputs, outputs, cols, bias };
    // lanes are columns times 16: strips that are full and that are not, one block of inputs and several
    for layer in [
        layer(64, 64, 20, true),
        layer(64, 32, 5, true),
        layer(32, 96, 4, false),
        layer(160, 64, 9, true),
        layer(640, 32, 4, true),
        layer(48, 64, 4, true),
        // few inputs or outputs: weight adjoints without a transposed copy, in tiles of every size
        layer(6, 64, 8, true),
        layer(16, 64, 20, true),
        layer(7, 15, 20, true),
        layer(5, 6, 9, false),
        layer(33, 2, 20, true),
        layer(41, 1, 8, true),
    ] {
        let exact = gradient::<f64>(&layer, SAMPLES, Isa::available()[0]);
        for isa in Isa::available() {
            // the second chunk does not fill its last vector
            let singles = [SAMPLES, 7].map(|chunk| gradient::<f32>(&layer, chunk, isa));
            let pairs = singles.iter().flat_map(|single| exact.iter().zip(single));
            for (what, (exact, single)) in
                ["y", "dw", "db", "dx"].iter().cycle().zip(pairs).filter(|(_, (e, _))| !e.is_empty())
            {
                let norm = exact.iter().map(|x| x * x).sum::<f64>().sqrt();
                let error = exact.iter().zip(single).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                assert!(
                    error <= 1e-6 * norm,
                    "{what} of {} -> {} on {}: {:.1e} off",
                    layer.inputs,
                    layer.outputs,
                    isa.name(),
                    error / norm
                );
            }
        }
    }
}

#[test]
fn few_lanes_give_what_many_do() {
    let layer = |inputs, outputs, bias| Layer { inputs, outputs, cols: 1, bias };
    // outputs that fill vectors and that do not, sums of one block and of several
    for layer in [layer(40, 70, true), layer(300, 33, false), layer(9, 300, true), layer(5, 3, true)] {
        for isa in Isa::available() {
            let many = gradient::<f64>(&layer, SAMPLES, isa);
            for chunk in 1..=5 {
                let few = gradient::<f64>(&layer, chunk, isa);
                for (a, b) in many.iter().flatten().zip(few.iter().flatten()) {
                    assert!(
                        (a - b).abs() <= 1e-12 * (1.0 + a.abs()),
                        "chunks of {chunk}: {b} instead of {a}"
                    );
                }
            }
        }
    }
}
