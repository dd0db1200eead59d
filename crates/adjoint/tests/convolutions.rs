//! Convolutions against their definition, written out, and their reverse rules against central differences in
//! double precision, on every instruction set, for lanes that do and do not fill vectors.

use cinoc_adjoint::*;

/// Numbers in [-1, 1] that look random but are the same everywhere.
fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut x = seed.wrapping_mul(0x9E3779B97F4A7C15) | 1;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    (0..20).for_each(|_| {
        next();
    });
    (0..count).map(|_| next()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Patch { agents: usize },
    Wrapped,
    Repeated,
}
use Kind::*;

#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    n: [usize; 2],
    inputs: usize,
    outputs: usize,
    samples: usize,
}

const fn case(kind: Kind, n: [usize; 2], inputs: usize, outputs: usize, samples: usize) -> Case {
    Case { kind, n, inputs, outputs, samples }
}

impl Case {
    fn columns(self) -> usize {
        if let Patch { agents } = self.kind { agents } else { 1 }
    }
    /// Numbers per sample of a value with that many channels.
    fn size(self, channels: usize) -> usize {
        channels * self.n[0] * self.n[1] * self.columns()
    }
    /// Where a number lies in a sample.
    fn place(self, channels: usize, channel: usize, [i, j]: [usize; 2], column: usize) -> usize {
        match self.kind {
            Patch { agents } => ((i * self.n[1] + j) * channels + channel) * agents + column,
            Wrapped | Repeated => (channel * self.n[0] + i) * self.n[1] + j,
        }
    }
    /// The point at offset `by - 1`, if there is one.
    fn neighbour(self, axis: usize, at: usize, by: usize) -> Option<usize> {
        let (n, at) = (self.n[axis] as isize, at as isize + by as isize - 1);
        match self.kind {
            Patch { .. } => (0..n).contains(&at).then_some(at as usize),
            Wrapped => Some(at.rem_euclid(n) as usize),
            Repeated => Some(at.clamp(0, n - 1) as usize),
        }
    }
    /// One sample by the definition.
    fn reference(self, x: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.size(self.outputs)];
        for (i, j, o, column) in self.numbers() {
            let mut sum = b[o];
            for (a, c) in (0..9).map(|tap| (tap / 3, tap % 3)) {
                let (Some(i), Some(j)) = (self.neighbour(0, i, a), self.neighbour(1, j, c)) else { continue };
                for k in 0..self.inputs {
                    sum += w[((3 * a + c) * self.inputs + k) * self.outputs + o]
                        * x[self.place(self.inputs, k, [i, j], column)];
                }
            }
            y[self.place(self.outputs, o, [i, j], column)] = sum.max(0.0);
        }
        y
    }
    /// Derivatives of the mean over samples of the weighted sum, by the definition: parameters, then inputs.
    fn reference_gradient(self, params: &[f64], x: &[f64], clock: &[f64]) -> Vec<f64> {
        let (w, b) = params.split_at(9 * self.inputs * self.outputs);
        let weight = noise(77, self.size(self.outputs));
        let (mut dp, mut dx) = (vec![0.0; params.len()], vec![0.0; x.len()]);
        let size = self.size(self.inputs);
        for ((x, dx), clock) in x.chunks_exact(size).zip(dx.chunks_exact_mut(size)).zip(clock) {
            let y = self.reference(x, w, b);
            for (i, j, o, column) in self.numbers() {
                let at = self.place(self.outputs, o, [i, j], column);
                let dy = if y[at] > 0.0 { weight[at] * clock / self.samples as f64 } else { 0.0 };
                dp[w.len() + o] += dy;
                for (a, c) in (0..9).map(|tap| (tap / 3, tap % 3)) {
                    let (Some(i), Some(j)) = (self.neighbour(0, i, a), self.neighbour(1, j, c)) else {
                        continue;
                    };
                    for k in 0..self.inputs {
                        let from = self.place(self.inputs, k, [i, j], column);
                        let at = ((3 * a + c) * self.inputs + k) * self.outputs + o;
                        dp[at] += dy * x[from];
                        dx[from] += dy * w[at];
                    }
                }
            }
        }
        [dp, dx].concat()
    }
    fn numbers(self) -> impl Iterator<Item = (usize, usize, usize, usize)> {
        let [nx, ny] = self.n;
        let places = (0..nx).flat_map(move |i| (0..ny).map(move |j| (i, j)));
        places.flat_map(move |(i, j)| {
            (0..self.outputs).flat_map(move |o| (0..self.columns()).map(move |column| (i, j, o, column)))
        })
    }

    fn trace(self) -> Traced {
        let t = Tracer::new();
        let w = t.param("w", 9 * self.inputs, self.outputs);
        let b = t.param("b", self.outputs, 1);
        let (nx, ny) = (self.n[0], self.n[1]);
        let x = match self.kind {
            Patch { agents } => t.sequence("x", nx * ny * self.inputs, agents),
            _ => t.sequence("x", self.inputs * nx, ny),
        };
        let y = match self.kind {
            Patch { .. } => x.conv_patch((nx, ny), w, b),
            _ => x.conv_field(nx, w, b, self.kind == Wrapped),
        };
        let weight = t.constant(y.rows(), y.cols(), noise(77, y.shape().size()));
        let clock = t.sequence("clock", 1, 1);
        let value = t.term("value", (y * weight).sum() * clock);
        let (x, clock, y) = (x.input(), clock.input(), t.record("y", y));
        Traced { trace: t.finish(), x, clock, value, y }
    }
    /// Parameters and inputs for the samples and steps.
    fn data(self, steps: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
        let params = noise(seed, (9 * self.inputs + 1) * self.outputs);
        (params, noise(seed + 1, self.samples * steps * self.size(self.inputs)))
    }
}

const STEPS: usize = 2;

struct Traced {
    trace: Trace,
    x: Input,
    clock: Input,
    value: Term,
    y: Record,
}

impl Traced {
    fn inputs<'a, T>(&self, case: Case, params: &'a [T], x: &'a [T], clock: &'a [T]) -> Inputs<'a, T> {
        let inputs = Inputs::new(case.samples, STEPS, params).with(self.x, x).with(self.clock, clock);
        inputs.weighted(self.value, vec![1.0; STEPS])
    }
}

fn cases() -> Vec<Case> {
    vec![
        // lanes that fill vectors, nearly fill them, leave them nearly empty
        case(Patch { agents: 8 }, [4, 4], 3, 16, 2),
        case(Patch { agents: 15 }, [3, 4], 2, 5, 1),
        case(Patch { agents: 7 }, [4, 3], 16, 20, 14),
        case(Patch { agents: 100 }, [4, 3], 3, 16, 1),
        case(Patch { agents: 9 }, [6, 5], 4, 7, 2),
        case(Patch { agents: 9 }, [3, 4], 3, 32, 2),
        case(Patch { agents: 1 }, [6, 20], 3, 16, 3),
        // many channels: tiles that are whole, cut by the rim, alone and several in a block
        case(Patch { agents: 9 }, [4, 6], 16, 32, 2),
        case(Patch { agents: 64 }, [3, 5], 16, 16, 1),
        case(Patch { agents: 8 }, [1, 2], 16, 16, 1),
        case(Patch { agents: 130 }, [2, 3], 32, 16, 1),
        case(Patch { agents: 16 }, [1, 5], 1, 1, 1),
        case(Patch { agents: 16 }, [2, 1], 5, 3, 1),
        case(Patch { agents: 3 }, [1, 1], 1, 2, 1),
        case(Wrapped, [5, 6], 3, 9, 1),
        case(Wrapped, [2, 33], 7, 33, 4),
        case(Wrapped, [3, 2], 16, 16, 2),
        case(Repeated, [5, 6], 3, 9, 1),
        case(Repeated, [4, 64], 6, 17, 3),
        case(Repeated, [2, 2], 4, 12, 2),
    ]
}

#[test]
fn values_match_the_definition() {
    for case in cases() {
        let (params, x) = case.data(STEPS, 3);
        let (w, b) = params.split_at(9 * case.inputs * case.outputs);
        let exact: Vec<f64> =
            x.chunks_exact(case.size(case.inputs)).flat_map(|x| case.reference(x, w, b)).collect();
        let clock = vec![1.0; case.samples * STEPS];
        let (params32, x32, clock32) = (single(&params), single(&x), single(&clock));
        for isa in Isa::available() {
            let traced = case.trace();
            let double = Program::<f64>::with_isa(&traced.trace, case.samples, isa)
                .forward(&traced.inputs(case, &params, &x, &clock), &Threads::one());
            let single = Program::<f32>::with_isa(&traced.trace, case.samples, isa)
                .forward(&traced.inputs(case, &params32, &x32, &clock32), &Threads::one());
            let (double, single) = (double.record(traced.y), single.record(traced.y));
            for ((exact, double), single) in exact.iter().zip(double).zip(single) {
                let scale = 1.0 + exact.abs();
                assert!((exact - double).abs() < 1e-13 * scale, "{case:?} {}: {exact} {double}", isa.name());
                assert!(
                    (exact - *single as f64).abs() < 1e-5 * scale,
                    "{case:?} {}: {exact} {single}",
                    isa.name()
                );
            }
        }
    }
}

fn single(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&x| x as f32).collect()
}

/// And with the definition; differences only where there are few inputs.
#[test]
fn reverse_rules_agree_with_central_differences() {
    for case in cases() {
        for isa in Isa::available() {
            differences(case, isa);
        }
    }
}

fn differences(case: Case, isa: Isa) {
    let traced = case.trace();
    let program = Program::<f64>::with_isa(&traced.trace, case.samples, isa);
    let threads = Threads::one();
    let clock = noise(5, case.samples * STEPS);
    let (params, x) = case.data(STEPS, 3);
    let value = |params: &[f64], x: &[f64]| {
        let outcome = program.forward(&traced.inputs(case, params, x, &clock), &threads);
        outcome.term(traced.value).iter().sum::<f64>() / case.samples as f64
    };
    let gradient = |params: &[f64], x: &[f64], strategy| {
        let g = program.gradient(&traced.inputs(case, params, x, &clock), &threads, strategy);
        [&g.params[..], g.input(traced.x)].concat()
    };
    let got = gradient(&params, &x, Strategy::Recompute);
    let label = format!("{case:?} on {}", isa.name());
    // dirty memory: other numbers run through the same buffers in between
    let other = case.data(STEPS, 50);
    gradient(&other.0, &other.1, Strategy::Store);
    assert_eq!(got, gradient(&params, &x, Strategy::Recompute), "{label}: repeated");
    assert_eq!(got, gradient(&params, &x, Strategy::Store), "{label}: stored");

    let exact = case.reference_gradient(&params, &x, &clock);
    for (k, (got, exact)) in got.iter().zip(&exact).enumerate() {
        assert!((got - exact).abs() < 1e-12 * (1.0 + exact.abs()), "{label}: {k}: {got} but {exact}");
    }
    if got.len() < 2500 {
        let eps = 1e-6;
        for (k, g) in got.iter().enumerate() {
            let moved = |by: f64| {
                let (mut params, mut x) = (params.clone(), x.clone());
                match k.checked_sub(params.len()) {
                    None => params[k] += by,
                    Some(k) => x[k] += by,
                }
                value(&params, &x)
            };
            let difference = (moved(eps) - moved(-eps)) / (2.0 * eps);
            assert!((difference - g).abs() < 1e-7 * (1.0 + g.abs()), "{label}: {k}: {g} but {difference}");
        }
    }
}

/// Taps outside a patch are neither used nor counted.
#[test]
fn operations_are_those_of_the_taps_in_use() {
    let flops = |case: Case| Program::<f64>::new(&case.trace().trace, case.samples).flops(1);
    let per_input = |case: Case| flops(Case { inputs: case.inputs + 1, ..case }) - flops(case);
    // 4 points in x have 2 + 3 + 3 + 2 taps, one point in y has one
    assert_eq!(per_input(case(Patch { agents: 2 }, [4, 1], 3, 5, 1)), 2.0 * 10.0 * 5.0 * 2.0);
    assert_eq!(per_input(case(Patch { agents: 1 }, [2, 3], 3, 5, 2)), 2.0 * 4.0 * 7.0 * 5.0 * 2.0);
    assert_eq!(per_input(case(Wrapped, [4, 6], 3, 5, 2)), 2.0 * 9.0 * 24.0 * 5.0 * 2.0);
    // many channels: 6 tiles of 16 products, 8 lanes, and the additions around them
    let wide = case(Patch { agents: 8 }, [4, 6], 16, 16, 1);
    let twice = flops(Case { inputs: 32, ..wide }) - flops(wide);
    assert_eq!(twice, 6.0 * 8.0 * (2.0 * 16.0 * 16.0 * 16.0 + 32.0 * 16.0));
}
