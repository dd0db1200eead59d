//! A trace cut into two gives what it gives in one.

use cinoc_adjoint::*;

/// `y = w (field + target) read at places`, and something that nobody records.
struct Step {
    trace: Trace,
    field: Input,
    target: Input,
    places: Input,
    y: Record,
    seen: Record,
}

const LATTICE: Lattice =
    Lattice { width: 2, n: 5, density: 4.0, periodic: false, sampling: Interpolation::Linear };

fn step() -> Step {
    let t = Tracer::new();
    let (field, target) = (t.sequence("field", 5, 1), t.fixed("target", 5, 1));
    let places = t.sequence("places", 1, 3);
    let w = t.param("w", 2, 2);
    let sum = (field + target.tanh()).square();
    let _unused = field.sin() * t.param("other", 5, 1).exp();
    let window = places.windows(&[sum], LATTICE);
    let y = window.dense(w * 2.0, None) + sum.slice(0..1);
    let (y, seen) = (t.record("y", y), t.record("seen", sum));
    let [field, target, places] = [field, target, places].map(Var::input);
    Step { trace: t.finish(), field, target, places, y, seen }
}

const PARAMS: [f64; 9] = [0.3, -0.7, 1.1, 0.4, 1.0, 1.0, 1.0, 1.0, 1.0];
const TARGET: [f64; 5] = [0.1, 0.2, -0.3, 0.4, 0.5];

#[test]
fn both_parts_together_give_the_bits_of_the_whole() {
    let s = step();
    let split = s.trace.split(s.places);
    let inputs = Inputs::new(1, 0, &PARAMS).with(s.target, &TARGET);
    let mut whole = Session::new(&Program::<f64>::new(&s.trace, 1), &inputs);
    let mut before = Session::new(&Program::<f64>::new(&split.before, 1), &inputs);
    let nothing: Vec<Vec<f64>> =
        split.handed.iter().map(|(record, _)| vec![0.0; record.shape().size()]).collect();
    let with_handed =
        split.handed.iter().zip(&nothing).fold(inputs.clone(), |inputs, (h, zeros)| inputs.with(h.1, zeros));
    let mut after = Session::new(&Program::<f64>::new(&split.after, 1), &with_handed);
    let (one, another) = ([1.0, -2.0, 0.5, 3.0, 0.25], [0.0, 1.5, -0.5, 2.0, 4.0]);
    for (field, target) in [(one, TARGET), (another, TARGET), (another, one)] {
        for session in [&mut whole, &mut before, &mut after] {
            session.restart(0, &[(s.target, &target)]);
        }
        before.step(&[(s.field, &field)], &Threads::one());
        for &(record, input) in &split.handed {
            after.restart(0, &[(input, &before.record(record))]);
        }
        // the second part runs again and again
        for places in [[0.1, 0.5, 0.9], [0.0, 1.0, 0.33]] {
            whole.step(&[(s.field, &field), (s.places, &places)], &Threads::one());
            after.step(&[(split.on, &places)], &Threads::one());
            assert_eq!(whole.record(s.y), after.record(s.y));
            assert_eq!(whole.record(s.seen), after.record(s.seen));
        }
    }
}

#[test]
fn each_part_has_what_it_needs_and_no_more() {
    let s = step();
    let split = s.trace.split(s.places);
    let has = |trace: &Trace, name: &str| trace.to_string().contains(name);
    assert!(has(&split.before, "square") && !has(&split.before, "window") && !has(&split.before, "dense"));
    assert!(has(&split.after, "window") && has(&split.after, "dense") && !has(&split.after, "square"));
    // what no record needs is in neither
    assert!(has(&s.trace, "sin") && !has(&split.before, "sin") && !has(&split.after, "sin"));
    assert_eq!(split.before.param_len(), s.trace.param_len());
    assert_eq!(split.after.param_len(), s.trace.param_len());
}

#[test]
#[should_panic(expected = "a trace is cut at its last sequence")]
fn only_the_last_sequence_can_be_cut_at() {
    let s = step();
    s.trace.split(s.field);
}

#[test]
fn threads_share_items_whatever_their_number() {
    for count in [1, 2, 3, 8] {
        let threads = Threads::new(count).unwrap();
        for (workers, items) in [(1, 5), (2, 1), (3, 100), (8, 3), (2, 0)] {
            let (mut workers, mut items) = (vec![0usize; workers], vec![usize::MAX; items]);
            threads.share(&mut workers, &mut items, |worker, i, item| {
                *worker += 1;
                *item = i;
            });
            assert!(items.iter().enumerate().all(|(i, item)| i == *item), "{count} threads: {items:?}");
            assert_eq!(workers.iter().sum::<usize>(), items.len());
        }
    }
}
