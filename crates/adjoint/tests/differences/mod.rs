//! Comparing primitives with central differences, and instruction sets and precisions with each other.

use cinoc_adjoint::*;

/// Numbers that look random but are the same everywhere.
pub fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut x = seed.wrapping_mul(0x9E3779B97F4A7C15) | 1;
    let next = |x: &mut u64| {
        *x ^= *x << 13;
        *x ^= *x >> 7;
        *x ^= *x << 17;
        (*x >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    (0..20).for_each(|_| {
        next(&mut x);
    });
    (0..count).map(|_| next(&mut x)).collect()
}

pub type Build = for<'t> fn(&'t Tracer, &[Var<'t>]) -> Var<'t>;

pub struct Case {
    pub name: &'static str,
    /// Shapes of its inputs; `true` marks a parameter (shared).
    pub inputs: &'static [(usize, usize, bool)],
    /// Inputs are drawn from `shift + scale * [-1, 1]`.
    pub scale: f64,
    pub shift: f64,
    pub build: Build,
}

pub const fn case(name: &'static str, inputs: &'static [(usize, usize, bool)], build: Build) -> Case {
    Case { name, inputs, scale: 1.0, shift: 0.0, build }
}

/// Trace of a case; inputs that are not parameters come as sequences (step) or as fixed inputs (set-up).
struct Traced {
    trace: Trace,
    others: Vec<Input>,
    clock: Input,
    value: Term,
    y: Record,
}

fn trace(case: &Case, in_step: bool) -> Traced {
    trace_given(case, in_step, &[])
}

/// The same where some inputs have no derivatives.
fn trace_given(case: &Case, in_step: bool, given: &[usize]) -> Traced {
    let t = Tracer::new();
    let declare = |(rows, cols, shared)| match (shared, in_step) {
        (true, _) => t.param("p", rows, cols),
        (false, true) => t.sequence("s", rows, cols),
        (false, false) => t.fixed("f", rows, cols),
    };
    let inputs: Vec<Var> = (case.inputs.iter().enumerate())
        .map(|(i, &input)| if given.contains(&i) { t.given(|_| declare(input)) } else { declare(input) })
        .collect();
    let y = (case.build)(&t, &inputs);
    let shape = y.shape();
    let weight = t.constant(shape.rows, shape.cols, noise(77, shape.size()));
    let clock = t.sequence("clock", 1, 1);
    let (value, y) = (t.term("value", (y * weight).sum() * clock), t.record("y", y * clock));
    let others = inputs.iter().filter(|input| !input.shape().shared).map(|input| input.input()).collect();
    let clock = clock.input();
    Traced { trace: t.finish(), others, clock, value, y }
}

struct Data {
    params: Vec<f64>,
    others: Vec<Vec<f64>>,
}

fn data(case: &Case, samples: usize, steps: usize, in_step: bool, seed: u64) -> Data {
    let copies = samples * if in_step { steps } else { 1 };
    let (mut params, mut others) = (Vec::new(), Vec::new());
    for (i, &(rows, cols, shared)) in case.inputs.iter().enumerate() {
        let count = rows * cols * if shared { 1 } else { copies };
        let numbers = noise(seed + i as u64, count).into_iter().map(|x| case.shift + case.scale * x);
        if shared { params.extend(numbers) } else { others.push(numbers.collect()) }
    }
    Data { params, others }
}

impl Traced {
    fn inputs<'a, T>(
        &self,
        data: &'a (Vec<T>, Vec<Vec<T>>),
        clock: &'a [T],
        samples: usize,
        steps: usize,
    ) -> Inputs<'a, T> {
        let inputs = Inputs::new(samples, steps, &data.0).with(self.clock, clock);
        let inputs = inputs.weighted(self.value, vec![1.0; steps]);
        self.others.iter().zip(&data.1).fold(inputs, |inputs, (other, values)| inputs.with(*other, values))
    }

    /// All derivatives of a gradient in one list: parameters, then the other inputs.
    fn flat(&self, g: Gradient<f64>) -> Vec<f64> {
        let others = self.others.iter().flat_map(|other| g.input(*other).to_vec()).collect();
        [g.params, others].concat()
    }
}

fn cast<T: Real>(d: &Data) -> (Vec<T>, Vec<Vec<T>>) {
    let all = |v: &Vec<f64>| v.iter().map(|&x| T::of(x)).collect();
    (all(&d.params), d.others.iter().map(all).collect())
}

/// Where the derivatives of an input stand in that list.
fn derivatives_of(case: &Case, data: &Data, input: usize) -> std::ops::Range<usize> {
    let shared = |i: usize| case.inputs[i].2;
    let size = |i: usize| case.inputs[i].0 * case.inputs[i].1;
    let (start, len) = if shared(input) {
        ((0..input).filter(|&i| shared(i)).map(size).sum(), size(input))
    } else {
        let nth = (0..input).filter(|&i| !shared(i)).count();
        let before: usize = data.others[..nth].iter().map(Vec::len).sum();
        (data.params.len() + before, data.others[nth].len())
    };
    start..start + len
}

fn check(case: &Case, isa: Isa, chunk: usize, in_step: bool) {
    let (samples, steps) = (3, 2);
    let traced = trace(case, in_step);
    let program = Program::<f64>::with_isa(&traced.trace, chunk, isa);
    let threads = Threads::one();
    let clock = noise(5, samples * steps);
    let base = data(case, samples, steps, in_step, 1);
    let value = |d: &Data| {
        let d = cast::<f64>(d);
        let outcome = program.forward(&traced.inputs(&d, &clock, samples, steps), &threads);
        outcome.term(traced.value).iter().sum::<f64>() / samples as f64
    };
    let gradient = |d: &Data, strategy| {
        let d = cast::<f64>(d);
        traced.flat(program.gradient(&traced.inputs(&d, &clock, samples, steps), &threads, strategy))
    };
    let got = gradient(&base, Strategy::Recompute);

    // dirty memory: other numbers run through the same buffers in between
    gradient(&data(case, samples, steps, in_step, 50), Strategy::Store);
    let label = format!("{} on {} in chunks of {chunk}, in step: {in_step}", case.name, isa.name());
    assert_eq!(got, gradient(&base, Strategy::Recompute), "{label}: repeated");
    assert_eq!(got, gradient(&base, Strategy::Store), "{label}: stored");

    // an input without derivatives leaves those of the others as they are, to the last bit
    for only in 0..case.inputs.len() {
        let given: Vec<usize> = (0..case.inputs.len()).filter(|&i| i != only).collect();
        let traced = trace_given(case, in_step, &given);
        let program = Program::<f64>::with_isa(&traced.trace, chunk, isa);
        let d = cast::<f64>(&base);
        let inputs = traced.inputs(&d, &clock, samples, steps);
        let alone = traced.flat(program.gradient(&inputs, &threads, Strategy::Recompute));
        let mine = derivatives_of(case, &base, only);
        for (k, (alone, all)) in alone.iter().zip(&got).enumerate() {
            let expected = if mine.contains(&k) { *all } else { 0.0 };
            assert_eq!(*alone, expected, "{label}: input {k} where only {only} is not given");
        }
    }

    let eps = 1e-6;
    let moved = |k: usize, by: f64| {
        let mut d = data(case, samples, steps, in_step, 1);
        let mut k = k;
        for list in std::iter::once(&mut d.params).chain(&mut d.others) {
            if k < list.len() {
                list[k] += by;
                return d;
            }
            k -= list.len();
        }
        unreachable!()
    };
    for (k, g) in got.iter().enumerate() {
        let difference = (value(&moved(k, eps)) - value(&moved(k, -eps))) / (2.0 * eps);
        assert!(
            (difference - g).abs() < 2e-8 * (1.0 + g.abs()),
            "{label}: input {k}: {g} but differences say {difference}"
        );
    }
}

/// Compares the reverse rule of every case with central differences on every instruction set.
pub fn check_reverse_rules(cases: &[Case]) {
    for case in cases {
        for isa in Isa::available() {
            for (chunk, in_step) in [(1, true), (2, false), (8, true), (16, true)] {
                check(case, isa, chunk, in_step);
            }
        }
    }
}

/// Compares forward values between instruction sets and precisions.
pub fn check_agreement(cases: &[Case]) {
    for case in cases {
        let traced = trace(case, true);
        let base = data(case, 3, 2, true, 9);
        let clock = noise(5, 6);
        let clock32: Vec<f32> = clock.iter().map(|&x| x as f32).collect();
        let threads = Threads::one();
        let doubles = |isa| {
            Program::<f64>::with_isa(&traced.trace, 2, isa)
                .forward(&traced.inputs(&cast(&base), &clock, 3, 2), &threads)
        };
        let exact = doubles(Isa::available()[0]);
        for isa in Isa::available() {
            let double = doubles(isa);
            let single = Program::<f32>::with_isa(&traced.trace, 2, isa)
                .forward(&traced.inputs(&cast(&base), &clock32, 3, 2), &threads);
            let of_isa = double.record(traced.y).iter().zip(single.record(traced.y));
            for (a, (b, c)) in exact.record(traced.y).iter().zip(of_isa) {
                assert!((a - b).abs() < 1e-13 * (1.0 + a.abs()), "{} on {}: {a} {b}", case.name, isa.name());
                assert!(
                    (a - *c as f64).abs() < 1e-5 * (1.0 + a.abs()),
                    "{} on {}: {a} {c}",
                    case.name,
                    isa.name()
                );
            }
        }
    }
}
