//! Layers on patches of feature maps against their definition, and their reverse rules against central
//! differences in double precision, on every instruction set.

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

#[derive(Clone, Copy, Debug)]
struct Case {
    lattice: PatchLattice,
    channels: usize,
    outputs: usize,
    agents: usize,
    samples: usize,
}

fn case(
    patch: usize,
    n: [usize; 2],
    periodic: bool,
    [channels, outputs, agents, samples]: [usize; 4],
) -> Case {
    let density = [n[0] as f64, n[1] as f64 / 1.3];
    let lattice = PatchLattice { patch, n, density, periodic, sampling: Interpolation::Cell };
    Case { lattice, channels, outputs, agents, samples }
}

fn cases() -> Vec<Case> {
    vec![
        case(4, [6, 5], true, [3, 5, 2, 1]),
        case(4, [6, 5], false, [3, 5, 7, 1]),
        case(4, [5, 7], false, [2, 18, 3, 5]),
        case(2, [3, 2], true, [17, 32, 14, 2]),
        case(6, [4, 3], true, [16, 33, 1, 3]),
        case(6, [4, 3], false, [1, 1, 13, 1]),
        case(3, [9, 20], false, [48, 40, 140, 1]),
    ]
}

impl Case {
    fn patch_rows(self) -> usize {
        self.lattice.patch * self.lattice.patch * self.channels
    }
    fn field(self) -> usize {
        self.channels * self.lattice.n[0] * self.lattice.n[1]
    }
    /// Positions of a sample: mostly inside, some beyond the ends.
    fn positions(self, seed: u64) -> Vec<f64> {
        noise(seed, 2 * self.agents * self.samples).iter().map(|x| 0.5 + 0.75 * x).collect()
    }
    /// Index of a number of a patch in the features of its sample.
    fn index(self, xi: [f64; 2], r: usize, s: usize, channel: usize) -> usize {
        let PatchLattice { patch, n, density, periodic, .. } = self.lattice;
        let point = |axis: usize, k: usize| {
            let inside = |at: isize| {
                let n = n[axis] as isize;
                if periodic { at.rem_euclid(n) } else { at.clamp(0, n - 1) }
            };
            let cell = inside((xi[axis] * density[axis]).floor() as isize);
            inside(cell + k as isize - (patch / 2) as isize) as usize
        };
        (channel * n[0] + point(0, r)) * n[1] + point(1, s)
    }
    /// Outputs and sums of squares of one sample by the definition, as `[outputs + 1][agents]`.
    fn reference(self, xi: &[f64], f: &[f64], w: &[f64]) -> Vec<f64> {
        let (p, agents) = (self.lattice.patch, self.agents);
        let mut y = vec![0.0; (self.outputs + 1) * agents];
        for agent in 0..agents {
            for row in 0..self.patch_rows() {
                let (r, s, k) = (row / self.channels / p, row / self.channels % p, row % self.channels);
                let x = f[self.index([xi[agent], xi[agents + agent]], r, s, k)];
                for o in 0..self.outputs {
                    y[o * agents + agent] += w[row * self.outputs + o] * x;
                }
                y[self.outputs * agents + agent] += x * x;
            }
        }
        y
    }
    fn trace(self) -> Traced {
        let t = Tracer::new();
        let w = t.param("w", self.patch_rows(), self.outputs);
        let xi = t.fixed("xi", 2, self.agents);
        let f = t.sequence("f", self.channels * self.lattice.n[0], self.lattice.n[1]);
        let y = xi.patch_dense(f, w, self.lattice).stack(xi.patch_squares(f, self.lattice));
        let weight = t.constant(y.rows(), y.cols(), noise(77, y.shape().size()));
        let (xi, f) = (xi.input(), f.input());
        let (value, y) = (t.term("value", (y * weight).sum()), t.record("y", y));
        Traced { trace: t.finish(), xi, f, value, y }
    }
}

struct Traced {
    trace: Trace,
    xi: Input,
    f: Input,
    value: Term,
    y: Record,
}

impl Traced {
    fn inputs<'a, T>(&self, case: Case, w: &'a [T], xi: &'a [T], f: &'a [T]) -> Inputs<'a, T> {
        Inputs::new(case.samples, 1, w).with(self.xi, xi).with(self.f, f).weighted(self.value, vec![1.0])
    }
}

fn single(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&x| x as f32).collect()
}

#[test]
fn values_match_the_definition() {
    for case in cases() {
        let w = noise(1, case.patch_rows() * case.outputs);
        let (xi, f) = (case.positions(2), noise(3, case.samples * case.field()));
        let samples = xi.chunks_exact(2 * case.agents).zip(f.chunks_exact(case.field()));
        let exact: Vec<f64> = samples.flat_map(|(xi, f)| case.reference(xi, f, &w)).collect();
        let (w32, xi32, f32s) = (single(&w), single(&xi), single(&f));
        for isa in Isa::available() {
            let traced = case.trace();
            let double = Program::<f64>::with_isa(&traced.trace, case.samples, isa)
                .forward(&traced.inputs(case, &w, &xi, &f), &Threads::one());
            let single = Program::<f32>::with_isa(&traced.trace, case.samples, isa)
                .forward(&traced.inputs(case, &w32, &xi32, &f32s), &Threads::one());
            let (double, single) = (double.record(traced.y), single.record(traced.y));
            for ((exact, double), single) in exact.iter().zip(double).zip(single) {
                let scale = 1.0 + exact.abs();
                assert!((exact - double).abs() < 1e-12 * scale, "{case:?} {}: {exact} {double}", isa.name());
                let error = (exact - *single as f64).abs();
                assert!(error < 3e-5 * scale, "{case:?} {}: {exact} {single}", isa.name());
            }
        }
    }
}

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
    let w = noise(1, case.patch_rows() * case.outputs);
    let (xi, f) = (case.positions(2), noise(3, case.samples * case.field()));
    let gradient = |w: &[f64], xi: &[f64], f: &[f64]| {
        let g = program.gradient(&traced.inputs(case, w, xi, f), &threads, Strategy::Recompute);
        assert!(g.input(traced.xi).iter().all(|&g| g == 0.0), "no gradient flows to the positions");
        [&g.params[..], g.input(traced.f)].concat()
    };
    let got = gradient(&w, &xi, &f);
    // dirty memory: other numbers run through the same buffers in between
    gradient(&noise(11, w.len()), &case.positions(12), &noise(13, f.len()));
    let label = format!("{case:?} on {}", isa.name());
    assert_eq!(got, gradient(&w, &xi, &f), "{label}: repeated");

    // the value is bilinear in w and f and quadratic in f: central differences are exact with any step, so
    // some hundred single inputs and one direction through all of them are checked with a large one
    let along = |direction: &dyn Fn(usize) -> f64| {
        let value = |by: f64| {
            let w: Vec<f64> = w.iter().enumerate().map(|(k, w)| w + by * direction(k)).collect();
            let f: Vec<f64> = f.iter().enumerate().map(|(k, f)| f + by * direction(w.len() + k)).collect();
            let outcome = program.forward(&traced.inputs(case, &w, &xi, &f), &threads);
            outcome.term(traced.value).iter().sum::<f64>() / case.samples as f64
        };
        (value(0.5) - value(-0.5)) / 1.0
    };
    let stride = got.len().div_ceil(300);
    for k in (0..got.len()).step_by(stride) {
        let difference = along(&|m| f64::from(u8::from(m == k)));
        let g = got[k];
        assert!((difference - g).abs() < 1e-9 * (1.0 + g.abs()), "{label}: {k}: {g} but {difference}");
    }
    let direction = noise(9, got.len());
    let expected: f64 = got.iter().zip(&direction).map(|(g, d)| g * d).sum();
    let difference = along(&|k| direction[k]);
    assert!(
        (difference - expected).abs() < 1e-8 * (1.0 + expected.abs()),
        "{label}: {expected} but {difference}"
    );
}
