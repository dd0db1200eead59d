//! A trace and its plan can be read.

use cinoc_adjoint::*;

fn trace() -> Trace {
    let t = Tracer::new();
    let (w, z, target) = (t.param("w", 3, 3), t.state("z", 3, 2), t.fixed("target", 3, 2));
    let stencil = Sparse::from_rows(3, (0..3).map(|i| vec![(i, 1.0), ((i + 1) % 3, -1.0)]).collect());
    let next = z + 0.5 * z.dense(w.square(), None).tanh() + z.linear(&stencil);
    t.advance(z, next);
    t.term("error", (next - target).mean_square());
    t.record("z", next);
    t.finish()
}

#[test]
fn a_trace_prints_one_line_per_value() {
    let text = trace().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "%0 = param w : 3 x 3 shared");
    assert_eq!(lines[1], "%1 = state z : 3 x 2");
    assert!(lines.contains(&"%3 = square(%0) : 3 x 3 shared"), "{text}");
    assert!(lines.contains(&"%4 = dense(%1, %3) : 3 x 2"), "{text}");
    assert!(lines.contains(&"%6 = affine(%5) {a = 0.5, b = 0} : 3 x 2"), "{text}");
    assert!(text.contains("linear(%1) {counts = [2, 2, 2], columns = [6 numbers, hash "), "{text}");
    assert!(text.contains("-> next z, record z"), "{text}");
    assert!(text.contains("-> term error"), "{text}");
}

#[test]
fn a_program_lists_stages_costs_and_fates() {
    let listing = Program::<f32>::new(&trace(), 4).listing();
    assert_eq!(listing.chunk, 4);
    let named = |name: &str| listing.entries.iter().find(|entry| entry.primitive == name).unwrap();
    // the square of a parameter does not change during a rollout
    assert_eq!((named("square").stage, named("square").reverse), ("set-up", "-"));
    let dense = named("dense");
    assert_eq!((dense.stage, dense.flops, dense.bytes), ("step", 2.0 * 3.0 * 3.0 * 2.0 * 4.0, 4 * 3 * 2 * 4));
    // the derivative of tanh is a function of its output
    assert_eq!((named("tanh").reverse, named("state").reverse), ("computed again", "kept"));
    assert_eq!(listing.to_string().lines().count(), 1 + listing.entries.len());
}

#[test]
fn large_tables_are_told_by_size_and_hash() {
    let table = |last: f64| Value::Table(vec![1.0, 2.0, 3.0, 4.0, last]).to_string();
    assert!(table(5.0).starts_with("[5 numbers, hash "));
    assert_ne!(table(5.0), table(6.0));
    assert_eq!(Value::Table(vec![1.0, 2.5]).to_string(), "[1.0, 2.5]");
}
