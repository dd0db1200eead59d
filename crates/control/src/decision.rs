//! The policy alone, without physics: what agents at given places do about a given field.
//!
//! For deployment (fields come from a sensor, not from a solver) and to measure how long a decision takes.
//! Field and positions may change from step to step; the target is fixed. An agent that is known to have
//! failed is left out of the positions, or marked as failed where the number of agents cannot change
//! ([`Decision::with_failures`]).
//!
//! A few agents decide together. Many decide in blocks that stay in cache (`decision/blocks.rs`).

mod blocks;

use crate::actuation::Actuation;
use crate::config::{Around, Config, Padding, Sampling, View};
use crate::policy::{self, Policy, Sight};
use blocks::{Blocks, Stages};
use cinoc_adjoint::{Input, Inputs, Program, Real, Record, Session, Threads, Trace, Tracer, Var};

/// Inputs of a decision: the field and the positions of every step, the target.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The field.
    pub z: Input,
    /// Positions.
    pub xi: Input,
    /// Target of the whole run.
    pub target: Input,
    /// 1 for every agent at work, 0 for every failed one, where agents may fail.
    pub alive: Option<Input>,
}

/// What lies between field and action, traced.
pub struct Inspection {
    /// The step.
    pub trace: Trace,
    /// Its inputs.
    pub seen: Seen,
    /// What every agent observes, `[numbers][agents]`.
    pub observation: Record,
    /// Features of the trunk, `[features][agents]`.
    pub features: Record,
    /// Outputs of the network, `[outputs][agents]`.
    pub raw: Record,
    /// The forcing: a field or, of a flow, its two components with the drift.
    pub forcing: Record,
}

/// Traces what lies between field and action, for checks.
pub fn inspection(config: &Config) -> Inspection {
    let tracer = Tracer::new();
    let (sight, seen) = sight(&tracer, config, None);
    let (raw, action) = {
        let policy = Policy::declare(&tracer, config);
        (policy.raw(sight), policy.act(sight))
    };
    let observation = tracer.record("observation", policy::observation(config, sight));
    let features = tracer.record("features", policy::features(config, sight));
    let raw = tracer.record("raw", raw);
    let forcing = Actuation::new(config).forcing(sight.xi, action);
    let forcing = match config.physics.get("drift") {
        Some(drift) => {
            let rows = forcing.rows() / 2;
            forcing.slice(0..rows).stack(forcing.slice(rows..2 * rows) + drift)
        }
        None => forcing,
    };
    let forcing = tracer.record("forcing", forcing);
    Inspection { trace: tracer.finish(), seen, observation, features, raw, forcing }
}

fn sight<'t>(tracer: &'t Tracer, config: &Config, alive: Option<Var<'t>>) -> (Sight<'t>, Seen) {
    let (rows, cols) = config.state_shape();
    let (z, target) = (tracer.sequence("z", rows, cols), tracer.fixed("target", rows, cols));
    let xi = tracer.sequence("xi", config.task.dims, config.agents);
    let seen = Seen { z: z.input(), xi: xi.input(), target: target.input(), alive: alive.map(Var::input) };
    (Sight::new(config, z, target, xi, alive), seen)
}

/// Most agents of a block where everyone has a window, or all see the same: the values of a block are in the
/// second-level cache.
const BLOCK: usize = 192;
/// Where everyone convolves a patch, which takes a hundred times the memory: three full vectors.
const BLOCK_OF_PATCHES: usize = 48;
/// Where patches are read in place from maps that all agents share.
const BLOCK_ON_MAPS: usize = 1024;

/// A policy ready to be given parameters.
///
/// ```
/// use cinoc_control::policy::param_count;
/// use cinoc_control::{Config, Decision};
///
/// let config = Config::preset("ks1d").unwrap();
/// let decision = Decision::<f32>::new(&config);
/// // one decision serves many policies and targets
/// let target = vec![0.0; config.state_size()];
/// let _controller = decision.controller(&vec![0.0; param_count(&config)], &target);
/// ```
pub struct Decision<T: Real> {
    programs: Programs<T>,
    agents: usize,
}

#[allow(clippy::large_enum_variant)] // there are few of them
enum Programs<T: Real> {
    Together { program: Program<T>, seen: Seen, told: Told },
    InBlocks(Box<Stages<T>>),
}

/// What agents are told, in a trace.
#[derive(Clone, Copy)]
struct Told {
    /// Intensities, where agents have any.
    u: Option<Record>,
    /// Velocities, where agents move.
    v: Option<Record>,
}

impl Told {
    fn trace(tracer: &Tracer, config: &Config, sight: Sight<'_>, alive: Option<Var<'_>>) -> Told {
        let action = Policy::declare(tracer, config).act(sight);
        let action = alive.map_or(action, |alive| action.map(|value| alive * value));
        Told { u: action.u.map(|u| tracer.record("u", u)), v: action.v.map(|v| tracer.record("v", v)) }
    }

    /// Rows of both, 0 where there is none.
    fn rows(self) -> [usize; 2] {
        [self.u, self.v].map(|record| record.map_or(0, |record| record.shape().rows))
    }
}

impl<T: Real> Decision<T> {
    /// For `config.agents` agents.
    pub fn new(config: &Config) -> Decision<T> {
        Decision::in_blocks(config, Decision::<T>::block(config))
    }

    /// Most agents that decide together. A network that decides for all agents at once has no blocks.
    pub fn block(config: &Config) -> usize {
        let in_place =
            config.policy.padding == Some(Padding::Field) && config.observe.sampling == Sampling::Cell;
        match config.observe.around {
            _ if config.centralised() => config.agents,
            Around::Window { .. } | Around::Patch { view: View::Field, .. } => BLOCK,
            Around::Patch { .. } if in_place => BLOCK_ON_MAPS,
            Around::Patch { .. } => BLOCK_OF_PATCHES,
        }
    }

    /// The same with at most so many agents in a block.
    pub fn in_blocks(config: &Config, most: usize) -> Decision<T> {
        if config.agents <= most || config.centralised() {
            return Decision::together(config, false);
        }
        Decision { programs: Programs::InBlocks(Box::new(Stages::new(config, most))), agents: config.agents }
    }

    /// For `config.agents` agents, any of which may have failed: the others do not count them, and their
    /// actions are 0. Their positions must be finite, and have no effect.
    pub fn with_failures(config: &Config) -> Decision<T> {
        Decision::together(config, true)
    }

    fn together(config: &Config, failures: bool) -> Decision<T> {
        let tracer = Tracer::new();
        let alive = failures.then(|| tracer.sequence("alive", 1, config.agents));
        let (sight, seen) = sight(&tracer, config, alive);
        let told = Told::trace(&tracer, config, sight, alive);
        let programs = Programs::Together { program: Program::new(&tracer.finish(), 1), seen, told };
        Decision { programs, agents: config.agents }
    }

    /// A controller with these parameters, towards this target, on the caller's thread. What depends on them
    /// only is worked out here. If the target moves, ask for another controller with the target of the
    /// moment.
    pub fn controller(&self, params: &[T], target: &[T]) -> Controller<T> {
        self.controller_on(params, target, &Threads::one())
    }

    /// A controller whose blocks are decided on several threads, if there are many agents. The decisions are
    /// the same, to the last bit.
    pub fn controller_on(&self, params: &[T], target: &[T], threads: &Threads) -> Controller<T> {
        let (at_work, rows) = match &self.programs {
            Programs::Together { program, seen, told } => {
                let inputs = Inputs::new(1, 0, params).with(seen.target, target);
                let session = Session::new(program, &inputs);
                (AtWork::Together { session, seen: *seen, told: *told }, told.rows())
            }
            Programs::InBlocks(stages) => {
                let blocks = Box::new(Blocks::new(stages, params, target, threads));
                (AtWork::InBlocks(blocks), stages.told().rows())
            }
        };
        let [u, v] = rows.map(|rows| vec![T::default(); rows * self.agents]);
        Controller { at_work, u, v }
    }
}

/// A policy at work: a field and positions in, actions out. On one thread a decision asks the system for
/// nothing: no memory, no lock.
///
/// ```
/// use cinoc_control::agents::start_positions;
/// use cinoc_control::policy::param_count;
/// use cinoc_control::{Config, Decision};
///
/// // parameters come from a trained policy; those that are 0 do nothing
/// let config = Config::preset("heat1d").unwrap();
/// let (params, target) = (vec![0.0; param_count(&config)], vec![0.5; config.state_size()]);
/// let mut controller = Decision::<f64>::new(&config).controller(&params, &target);
/// let decided = controller.decide(&vec![0.0; config.state_size()], &start_positions(&config));
/// assert_eq!(decided.u, Some(&[0.0; 8][..]));
/// ```
pub struct Controller<T: Real> {
    at_work: AtWork<T>,
    /// What was decided last; empty where agents have no such action.
    u: Vec<T>,
    v: Vec<T>,
}

#[allow(clippy::large_enum_variant)] // there are few of them
enum AtWork<T: Real> {
    Together { session: Session<T>, seen: Seen, told: Told },
    InBlocks(Box<Blocks<T>>),
}

/// What the agents are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decided<'a, T> {
    /// Intensities, where agents have any.
    pub u: Option<&'a [T]>,
    /// Velocities, where agents move: all first components, then all second ones.
    pub v: Option<&'a [T]>,
}

impl<T: Real> Controller<T> {
    /// Goes on towards another target.
    pub fn aim(&mut self, target: &[T]) {
        match &mut self.at_work {
            AtWork::Together { session, seen, .. } => session.restart(0, &[(seen.target, target)]),
            AtWork::InBlocks(blocks) => blocks.aim(target),
        }
    }

    /// Actions for the field `z` and agents at `xi` (all first coordinates, then all second ones).
    ///
    /// # Panics
    /// If agents may fail, and for wrong lengths.
    pub fn decide(&mut self, z: &[T], xi: &[T]) -> Decided<'_, T> {
        match &mut self.at_work {
            AtWork::Together { session, seen, .. } => {
                session.step(&[(seen.z, z), (seen.xi, xi)], &Threads::one());
            }
            AtWork::InBlocks(blocks) => blocks.decide(z, xi, &mut self.u, &mut self.v),
        }
        self.decided()
    }

    /// The same where agents may fail: `alive` has 1 for every agent at work and 0 for every failed one.
    ///
    /// # Panics
    /// If no agent may fail, and for wrong lengths.
    pub fn decide_with_failures(&mut self, z: &[T], xi: &[T], alive: &[T]) -> Decided<'_, T> {
        let AtWork::Together { session, seen, .. } = &mut self.at_work else {
            panic!("a decision with failures");
        };
        let failing = seen.alive.expect("a decision with failures");
        session.step(&[(seen.z, z), (seen.xi, xi), (failing, alive)], &Threads::one());
        self.decided()
    }

    fn decided(&mut self) -> Decided<'_, T> {
        if let AtWork::Together { session, told, .. } = &mut self.at_work {
            for (record, values) in [(told.u, &mut self.u), (told.v, &mut self.v)] {
                if let Some(record) = record {
                    session.copy_record(record, values);
                }
            }
        }
        let [u, v] = [&self.u, &self.v].map(|values| (!values.is_empty()).then_some(&values[..]));
        Decided { u, v }
    }
}
