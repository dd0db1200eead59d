//! What a run is given and what it gives is addressed by handles, never by position.

use cinoc_adjoint::*;

struct Step {
    trace: Trace,
    z: Input,
    gain: Input,
    push: Input,
    next: Record,
    error: Term,
}

/// `z' = gain z + push`.
fn step() -> Step {
    let t = Tracer::new();
    let (push, z, gain) = (t.sequence("push", 2, 1), t.state("z", 2, 1), t.fixed("gain", 2, 1));
    let next = gain * z + push;
    t.advance(z, next);
    let (error, record) = (t.term("error", next.mean_square()), t.record("next", next));
    let [z, gain, push] = [z, gain, push].map(Var::input);
    Step { trace: t.finish(), z, gain, push, next: record, error }
}

const Z: [f64; 2] = [1.0, 2.0];
const GAIN: [f64; 2] = [0.5, 0.25];
const PUSH: [f64; 4] = [1.0, 0.0, 0.0, 3.0];

#[test]
fn inputs_may_be_given_in_any_order() {
    let s = step();
    let program = Program::<f64>::new(&s.trace, 1);
    let one = Inputs::new(1, 2, &[]).with(s.z, &Z).with(s.gain, &GAIN).with(s.push, &PUSH);
    let other = Inputs::new(1, 2, &[]).with(s.push, &PUSH).with(s.gain, &GAIN).with(s.z, &Z);
    for inputs in [one, other] {
        let inputs = inputs.weighted(s.error, vec![0.0, 2.0]);
        let outcome = program.forward(&inputs, &Threads::one());
        assert_eq!(outcome.record(s.next), [1.5, 0.5, 0.75, 3.125]);
        assert_eq!(outcome.end(s.z), [0.75, 3.125]);
        let gradient = program.gradient(&inputs, &Threads::one(), Strategy::Recompute);
        assert_eq!(gradient.loss, outcome.term(s.error)[0]);
        assert_eq!(gradient.term(s.error), gradient.loss);
        // twice the mean of two squares: dL/dz' = 2 z', which goes back by the gain
        assert_eq!(gradient.input(s.push)[2..], [1.5, 6.25]);
        assert_eq!(gradient.input(s.z), [1.5 * 0.25, 6.25 * 0.0625]);
        assert_eq!(gradient.end(s.z), [0.75, 3.125]);
    }
}

#[test]
fn a_session_takes_the_same_steps() {
    let s = step();
    let program = Program::<f64>::new(&s.trace, 1);
    let mut session = Session::new(&program, &Inputs::new(1, 0, &[]).with(s.gain, &GAIN).with(s.z, &Z));
    for push in PUSH.chunks(2) {
        session.step(&[(s.push, push)], &Threads::one());
    }
    assert_eq!(session.state(s.z), [0.75, 3.125]);
    assert_eq!(session.record(s.next), [0.75, 3.125]);
    assert_eq!(session.term(s.error), [(0.75f64.powi(2) + 3.125f64.powi(2)) / 2.0]);
    session.restart(0, &[(s.z, &[0.0, 0.0])]);
    session.step(&[(s.push, &PUSH[..2])], &Threads::one());
    assert_eq!(session.state(s.z), [1.0, 0.0]);
}

#[test]
#[should_panic(expected = "input gain is not given")]
fn a_missing_input_is_named() {
    let s = step();
    let inputs = Inputs::new(1, 2, &[]).with(s.z, &Z).with(s.push, &PUSH).weighted(s.error, vec![1.0; 2]);
    Program::<f64>::new(&s.trace, 1).forward(&inputs, &Threads::one());
}

#[test]
#[should_panic(expected = "is no input of a run")]
fn a_computed_value_has_no_handle() {
    let t = Tracer::new();
    (t.state("z", 1, 1) + 1.0).input();
}
