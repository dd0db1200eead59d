//! The physics alone: a control step whose actions are given, and its derivatives with respect to everything
//! it is given.
//!
//! Other learners bring their own policy and their own automatic differentiation. What they need of the
//! physics is a function and its pullback (vector-Jacobian product): from the derivatives of a loss with
//! respect to what the function returns to those with respect to what it was given. The pullback is the
//! gradient of the number
//!
//! ```text
//! sum over steps of  <z_adjoint, z>  +  <xi_adjoint, xi>
//! ```
//!
//! so the engine needs nothing new for it.
//!
//! Actions are in their own units and not limited: the bounds `actuation.u_max` and `actuation.v_max` are a
//! matter of the policy. There is no noise, and no agent fails.

use cinoc_adjoint::{Input, Inputs, Program, Real, Record, Strategy, Term, Threads, Trace, Tracer, Var};

use crate::actuation::Actuation;
use crate::closed_loop::moved;
use crate::config::Config;
use crate::policy::Action;

/// The physics of a task, compiled once for any number of samples and steps.
///
/// ```
/// use cinoc_adjoint::Threads;
/// use cinoc_control::agents::start_positions;
/// use cinoc_control::physics::{Driven, Path, Physics};
/// use cinoc_control::Config;
///
/// let config = Config::preset("heat1d").unwrap();
/// let (physics, threads) = (Physics::<f64>::new(&config, 1), Threads::one());
/// let (z, xi, u, v) = (vec![0.0; 100], start_positions(&config), vec![1.0; 8], vec![0.5; 8]);
/// let driven = Driven { samples: 1, steps: 1, z: &z, xi: &xi, u: Some(&u), v: Some(&v) };
/// let next = physics.run(&driven, &threads);
/// assert!(next.z[50] > 0.0 && next.xi[0] > xi[0]);
///
/// // how the mean of the next field changes with the intensity of every agent
/// let adjoint = Path { z: vec![0.01; 100], xi: vec![0.0; 8] };
/// assert!(physics.pull_back(&driven, &adjoint, &threads).u.unwrap().iter().all(|&slope| slope > 0.0));
/// ```
pub struct Physics<T: Real> {
    forward: Program<T>,
    /// The same step with the number that is differentiated.
    reverse: Program<T>,
    handles: Handles,
    pulled: Pulled,
}

/// What drives some samples: first states, and actions of every step.
#[derive(Clone, Copy, Debug)]
pub struct Driven<'a, T> {
    /// Independent samples.
    pub samples: usize,
    /// Control steps.
    pub steps: usize,
    /// Fields, `[samples][size]`.
    pub z: &'a [T],
    /// Positions, `[samples][dims][agents]`.
    pub xi: &'a [T],
    /// Intensities `[samples][steps][agents]`, where agents have any.
    pub u: Option<&'a [T]>,
    /// Velocities `[samples][steps][dims][agents]`, where agents move.
    pub v: Option<&'a [T]>,
}

/// Fields and positions after every step, or the derivatives with respect to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Path<T> {
    /// `[samples][steps][size]`.
    pub z: Vec<T>,
    /// `[samples][steps][dims][agents]`.
    pub xi: Vec<T>,
}

/// Derivatives with respect to what drives a sample, in the shapes of [`Driven`].
#[derive(Clone, Debug, PartialEq)]
pub struct Pullback<T> {
    /// First fields.
    pub z: Vec<T>,
    /// First positions.
    pub xi: Vec<T>,
    /// Intensities.
    pub u: Option<Vec<T>>,
    /// Velocities.
    pub v: Option<Vec<T>>,
}

/// What a step takes and gives.
#[derive(Clone, Copy)]
struct Handles {
    z: Input,
    xi: Input,
    u: Option<Input>,
    v: Option<Input>,
    next: [Record; 2],
}

/// Handles of the differentiated number: the adjoints of field and positions, and their sum of products.
#[derive(Clone, Copy)]
struct Pulled {
    z: Input,
    xi: Input,
    term: Term,
}

impl<T: Real> Physics<T> {
    /// The physics that `config` describes; `chunk` samples are worked on together.
    pub fn new(config: &Config, chunk: usize) -> Physics<T> {
        let tracer = Tracer::new();
        let (handles, _) = control_step(&tracer, config);
        let forward = tracer.finish();
        let (reverse, pulled) = pulled_trace(config);
        Physics {
            forward: Program::new(&forward, chunk),
            reverse: Program::new(&reverse, chunk),
            handles,
            pulled,
        }
    }

    /// Fields and positions after every step.
    ///
    /// # Panics
    /// If something is missing or has a wrong length.
    pub fn run(&self, driven: &Driven<'_, T>, threads: &Threads) -> Path<T> {
        let outcome = self.forward.forward(&self.inputs(driven), threads);
        let [z, xi] = self.handles.next.map(|record| outcome.record(record).to_vec());
        Path { z, xi }
    }

    /// Derivatives with respect to all that was given, from those with respect to [`Physics::run`]'s result.
    ///
    /// # Panics
    /// If something is missing or has a wrong length.
    pub fn pull_back(&self, driven: &Driven<'_, T>, adjoint: &Path<T>, threads: &Threads) -> Pullback<T> {
        let Handles { z, xi, u, v, .. } = self.handles;
        // a program differentiates the mean over its samples
        let weights = vec![driven.samples as f64; driven.steps];
        let inputs = self.inputs(driven).with(self.pulled.z, &adjoint.z).with(self.pulled.xi, &adjoint.xi);
        let inputs = inputs.weighted(self.pulled.term, weights);
        let gradient = self.reverse.gradient(&inputs, threads, Strategy::Recompute);
        let of = |input: Input| gradient.input(input).to_vec();
        Pullback { z: of(z), xi: of(xi), u: u.map(of), v: v.map(of) }
    }

    fn inputs<'a>(&self, driven: &Driven<'a, T>) -> Inputs<'a, T> {
        let Handles { z, xi, u, v, .. } = self.handles;
        let inputs = Inputs::new(driven.samples, driven.steps, &[]).with(z, driven.z).with(xi, driven.xi);
        let actions = [u.zip(driven.u), v.zip(driven.v)].into_iter().flatten();
        actions.fold(inputs, |inputs, (input, values)| inputs.with(input, values))
    }
}

/// Traces one control step; returns field and positions after it too.
fn control_step<'t>(tracer: &'t Tracer, config: &Config) -> (Handles, [Var<'t>; 2]) {
    let ((rows, cols), dims, agents) = (config.state_shape(), config.task.dims, config.agents);
    let (bounds, dynamics) = (&config.actuation, config.dynamics());
    let z = tracer.state("z", rows, cols);
    let xi = match config.mobile() {
        true => tracer.state("xi", dims, agents),
        false => tracer.fixed("xi", dims, agents),
    };
    let u = bounds.u_max.map(|_| tracer.sequence("u", 1, agents));
    let v = bounds.v_max.map(|_| tracer.sequence("v", dims, agents));
    let response = Actuation::new(config).response(dynamics.as_ref(), xi, Action { u, v });
    let next = dynamics.interval(z, response, config.time.substeps);
    tracer.advance(z, next);
    let moved = v.map_or(xi, |v| moved(config, xi, v));
    if v.is_some() {
        tracer.advance(xi, moved);
    }
    let handles = Handles {
        z: z.input(),
        xi: xi.input(),
        u: u.map(Var::input),
        v: v.map(Var::input),
        next: [tracer.record("z", next), tracer.record("xi", moved)],
    };
    (handles, [next, moved])
}

/// Traces the same step with the number that is differentiated.
fn pulled_trace(config: &Config) -> (Trace, Pulled) {
    let tracer = Tracer::new();
    let (_, [z, xi]) = control_step(&tracer, config);
    let adjoint = |name: &str, value: Var<'_>| tracer.sequence(name, value.rows(), value.cols());
    let (z_adjoint, xi_adjoint) = tracer.given(|_| (adjoint("z_adjoint", z), adjoint("xi_adjoint", xi)));
    let term = tracer.term("pullback", (z_adjoint * z).sum() + (xi_adjoint * xi).sum());
    let pulled = Pulled { z: z_adjoint.input(), xi: xi_adjoint.input(), term };
    (tracer.finish(), pulled)
}
