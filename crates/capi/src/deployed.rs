//! A policy at work for a caller who cannot be trusted: everything is checked, and nothing is allocated after
//! the set-up.

use std::path::Path;

use cinoc_control::agents::start_positions;
use cinoc_control::config::ReferenceAxis;
use cinoc_control::{Config, Controller, Decision, Tasks};
use cinoc_learn::files::fnv1a;
use cinoc_learn::memory::Needs;
use cinoc_learn::policy_file::PolicyFile;

use crate::text::Text;
use crate::{CinocInfo, CinocOptions, CinocStatus, CinocStatus::*};

/// Sensors are noisy: an agent this far outside of the domain, as a share of its length, is taken as at its
/// end.
const OUTSIDE: f32 = 0.01;

/// Why there is no controller.
pub struct Refused {
    /// The code.
    pub status: CinocStatus,
    /// What is wrong, and what to do.
    pub text: String,
}

fn refused(status: CinocStatus, error: impl ToString) -> Refused {
    Refused { status, text: error.to_string() }
}

/// A policy at work.
pub struct Deployed {
    /// For the set-up; its functions may allocate.
    config: Config,
    controller: Controller<f32>,
    info: CinocInfo,
    axes: Vec<ReferenceAxis>,
    centralised: bool,
    /// Of all agents it was set up for, as the engine wants them: positions `[dims][agents]`, who works.
    xi: Vec<f32>,
    alive: Vec<f32>,
    /// The last good action, as the caller gets it: intensities `[agents]`, velocities `[agents][dims]`.
    u: Vec<f32>,
    v: Vec<f32>,
    aimed: bool,
    /// After a fault of the library nothing is decided any more.
    pub broken: bool,
    /// About the last error.
    pub text: Text,
}

/// The agents of one decision, as they were given.
pub struct Agents<'a> {
    /// Positions, `[agents][dims]`.
    pub xi: &'a [f32],
    /// Who works; `None` if all do.
    pub alive: Option<&'a [u8]>,
    /// How many there are.
    pub count: usize,
}

impl Agents<'_> {
    fn works(&self, agent: usize) -> bool {
        self.alive.is_none_or(|alive| alive[agent] != 0)
    }
}

impl Deployed {
    /// Sets a policy up; errors call the file `name`.
    pub fn new(bytes: &[u8], name: &Path, options: &CinocOptions) -> Result<Deployed, Refused> {
        let policy = PolicyFile::from_bytes(bytes, name, Tasks::built_in())
            .map_err(|error| refused(CINOC_ERROR_FILE, error))?;
        let config = circumstances(&policy.config, options)?;
        let needs = Needs::decisions_with_failures(&config);
        needs.check().map_err(|error| refused(CINOC_ERROR_MEMORY, error))?;
        let most = f64::from(options.max_memory_mb) * 1e6;
        if most > 0.0 && needs.total() > most {
            let (needed, allowed) = ((needs.total() / 1e6).ceil(), options.max_memory_mb);
            let text = format!("this needs up to {needed} MB of memory, and max_memory_mb is {allowed}");
            return Err(refused(CINOC_ERROR_MEMORY, text));
        }
        let (agents, dims, numbers) = (config.agents, config.task.dims, config.state_size());
        let target = vec![0.0; numbers];
        let controller = Decision::<f32>::with_failures(&config).controller(&policy.params, &target);
        let info = describe(&config, policy.config.agents, fnv1a(bytes));
        let mut deployed = Deployed {
            controller,
            axes: config.axes(),
            centralised: config.centralised(),
            xi: vec![0.0; dims * agents],
            alive: vec![0.0; agents],
            u: vec![0.0; if info.has_u != 0 { agents } else { 0 }],
            v: vec![0.0; if info.has_v != 0 { dims * agents } else { 0 }],
            aimed: !config.task.tracks,
            broken: false,
            text: Text::new(),
            info,
            config,
        };
        // memory that was never touched is only promised; the first decision makes it real
        deployed.controller.decide_with_failures(&target, &deployed.xi, &deployed.alive);
        Ok(deployed)
    }

    /// Sizes, bounds and units.
    pub fn info(&self) -> &CinocInfo {
        &self.info
    }

    /// Where so many agents start in training, `[agents][dims]`; `None` if it was set up for fewer.
    pub fn start_positions(&self, agents: usize) -> Option<Vec<f32>> {
        if !(1..=self.config.agents).contains(&agents) {
            return None;
        }
        let by_axis = start_positions(&Config { agents, ..self.config.clone() });
        let place = |agent: usize| by_axis.iter().skip(agent).step_by(agents).map(|&x| x as f32);
        Some((0..agents).flat_map(place).collect())
    }

    /// Keeps what went wrong for whoever asks.
    pub fn fail(&mut self, status: CinocStatus, text: std::fmt::Arguments<'_>) -> CinocStatus {
        self.text.set(text);
        status
    }

    /// Whether there are as many agents as the arrays have room for.
    pub fn check_agents(&mut self, agents: usize) -> CinocStatus {
        let most = self.config.agents;
        if self.centralised && agents != most {
            return self.fail(
                CINOC_ERROR_LENGTH,
                format_args!("{agents} agents: a centralised policy has {most}; mark those that failed"),
            );
        }
        if !(1..=most).contains(&agents) {
            return self.fail(
                CINOC_ERROR_LENGTH,
                format_args!(
                    "{agents} agents, must be 1 to {most}; load the policy with a larger max_agents"
                ),
            );
        }
        CINOC_OK
    }

    /// Goes on towards another target.
    pub fn aim(&mut self, target: &[f32]) -> CinocStatus {
        let status = self.check_field("target", target);
        if status != CINOC_OK {
            return status;
        }
        if self.config.task.density {
            let mass: f64 = target.iter().map(|&x| f64::from(x)).sum();
            if mass <= 0.0 {
                return self.fail(
                    CINOC_ERROR_TARGET,
                    format_args!("the target is a density with the sum {mass:?}, must be above 0"),
                );
            }
        }
        self.controller.aim(target);
        self.aimed = true;
        CINOC_OK
    }

    /// Decides, if everything that is given can be used. [`Deployed::act`] then tells the action.
    pub fn decide(&mut self, z: &[f32], agents: &Agents<'_>) -> CinocStatus {
        if self.broken {
            return self.fail(CINOC_ERROR_INTERNAL, format_args!("an earlier call failed; load it again"));
        }
        if !self.aimed {
            return self.fail(
                CINOC_ERROR_TARGET,
                format_args!("the task tracks a target and there is none; call cinoc_set_target"),
            );
        }
        let mut status = self.check_field("z", z);
        if status == CINOC_OK {
            status = self.place(agents);
        }
        if status != CINOC_OK {
            return status;
        }
        let all = self.config.agents;
        let decided = self.controller.decide_with_failures(z, &self.xi, &self.alive);
        let finite = |values: Option<&[f32]>| {
            let good = |(i, x): (usize, &f32)| x.is_finite() || self.alive[i % all] == 0.0;
            values.is_none_or(|values| values.iter().enumerate().all(good))
        };
        if !finite(decided.u) || !finite(decided.v) {
            return self.fail(
                CINOC_ERROR_OUTPUT,
                format_args!("the decision is not finite: the field is far too large or has no mass"),
            );
        }
        let dims = self.config.task.dims;
        for (i, &alive) in self.alive.iter().enumerate() {
            // of an agent that does not work even NaN is possible
            if let Some(u) = decided.u {
                self.u[i] = if alive == 0.0 { 0.0 } else { u[i] };
            }
            if let Some(v) = decided.v {
                for axis in 0..dims {
                    self.v[i * dims + axis] = if alive == 0.0 { 0.0 } else { v[axis * all + i] };
                }
            }
        }
        CINOC_OK
    }

    /// The last good action of an agent: its intensity and the components of its velocity.
    pub fn action(&self, agent: usize) -> (Option<f32>, &[f32]) {
        let dims = self.config.task.dims;
        let velocity = if self.v.is_empty() { &[][..] } else { &self.v[agent * dims..(agent + 1) * dims] };
        (self.u.get(agent).copied(), velocity)
    }

    /// Checks a field.
    fn check_field(&mut self, name: &str, values: &[f32]) -> CinocStatus {
        let wanted = self.info.numbers;
        if values.len() != wanted {
            return self.fail(
                CINOC_ERROR_LENGTH,
                format_args!("{name} has {} numbers, must have {wanted}", values.len()),
            );
        }
        match first_bad(values) {
            None => CINOC_OK,
            Some(i) => self
                .fail(CINOC_ERROR_NOT_FINITE, format_args!("{name}[{i}] is {}, must be finite", values[i])),
        }
    }

    /// Brings the agents to where the engine reads them. Those that do not work stand in the middle.
    fn place(&mut self, agents: &Agents<'_>) -> CinocStatus {
        let (all, dims) = (self.config.agents, self.axes.len());
        for agent in 0..all {
            let works = agent < agents.count && agents.works(agent);
            self.alive[agent] = f32::from(u8::from(works));
            for axis in 0..dims {
                let length = self.axes[axis].length as f32;
                self.xi[axis * all + agent] = 0.5 * length;
                if !works {
                    continue;
                }
                let given = agents.xi[agent * dims + axis];
                let symbol = ["x", "y"][axis];
                match inside(given, length, self.axes[axis].periodic()) {
                    Some(place) => self.xi[axis * all + agent] = place,
                    None if given.is_finite() => {
                        return self.fail(
                            CINOC_ERROR_POSITION,
                            format_args!("agent {agent}: {symbol} = {given}, must be in [0, {length}]"),
                        );
                    }
                    None => {
                        return self.fail(
                            CINOC_ERROR_NOT_FINITE,
                            format_args!("agent {agent}: {symbol} is {given}, must be finite"),
                        );
                    }
                }
            }
        }
        CINOC_OK
    }
}

/// A place in the domain; nothing if it is too far outside.
fn inside(x: f32, length: f32, periodic: bool) -> Option<f32> {
    if periodic {
        let around = (-length..=2.0 * length).contains(&x);
        // of a number just below 0 the remainder is rounded to the length
        return around.then(|| x.rem_euclid(length).min(length));
    }
    let slack = OUTSIDE * length;
    (-slack..=length + slack).contains(&x).then(|| x.clamp(0.0, length))
}

/// The first number that is infinite or not a number. All exponents are compared at once: it is asked in
/// every decision.
fn first_bad(values: &[f32]) -> Option<usize> {
    const INFINITE: u32 = 0x7f80_0000;
    let largest = values.iter().map(|x| x.to_bits() & INFINITE).fold(0, u32::max);
    if largest < INFINITE { None } else { values.iter().position(|x| !x.is_finite()) }
}

/// The settings of the policy with the agents and the grid that are asked for.
fn circumstances(trained: &Config, options: &CinocOptions) -> Result<Config, Refused> {
    let mut sets = Vec::new();
    let asked = [
        ("agents", options.max_agents),
        ("grid.n", options.grid_x),
        ("grid.n_y", if trained.grid.n_y.is_some() { options.grid_y } else { 0 }),
    ];
    sets.extend(asked.iter().filter(|(_, n)| *n > 0).map(|(key, n)| format!("{key}={n}")));
    let square = trained.task.dims == 2 && trained.grid.n_y.is_none();
    if options.grid_y > 0 && !(trained.grid.n_y.is_some() || (square && options.grid_y == options.grid_x)) {
        let wanted = if square { "the same as grid_x: the domain is a square" } else { "0: the task is 1D" };
        return Err(refused(CINOC_ERROR_SETTINGS, format!("grid_y is {}, must be {wanted}", options.grid_y)));
    }
    let config = trained.with_sets(&sets).map_err(|error| refused(CINOC_ERROR_SETTINGS, error))?;
    if trained.centralised() && (config.agents, config.shape()) != (trained.agents, trained.shape()) {
        let text = format!(
            "a centralised policy ({}) runs only with the agents and the grid of its training ({} agents)",
            trained.method_name(),
            trained.agents
        );
        return Err(refused(CINOC_ERROR_SETTINGS, text));
    }
    Ok(config)
}

fn describe(config: &Config, trained_agents: usize, policy_hash: u64) -> CinocInfo {
    let (axes, bounds) = (config.axes(), &config.actuation);
    let along = |f: fn(&ReferenceAxis) -> f64| [0, 1].map(|axis| axes.get(axis).map_or(0.0, f));
    let mut task = [0; 32];
    // the last byte stays 0
    for (to, &from) in task[..31].iter_mut().zip(config.task.name.as_bytes()) {
        *to = from as std::ffi::c_char;
    }
    CinocInfo {
        task,
        dims: config.task.dims as u32,
        fields: config.task.fields.len() as u32,
        grid: [0, 1].map(|axis| axes.get(axis).map_or(0, |axis| axis.n as u32)),
        max_agents: config.agents as u32,
        trained_agents: trained_agents as u32,
        has_u: u32::from(bounds.u_max.is_some()),
        has_v: u32::from(bounds.v_max.is_some()),
        tracks: u32::from(config.task.tracks),
        periodic: u32::from(config.periodic()),
        numbers: config.state_size(),
        length: along(|axis| axis.length),
        u_max: bounds.u_max.unwrap_or(0.0),
        v_max: bounds.v_max.unwrap_or(0.0),
        control_interval: config.control_dt(),
        way_per_velocity: bounds.speed.unwrap_or_else(|| config.control_dt()),
        kernel_width: bounds.sigma,
        policy_hash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_wrapped_or_taken_to_the_end() {
        assert_eq!(inside(1.005, 1.0, false), Some(1.0));
        assert_eq!(inside(-0.01, 1.0, false), Some(0.0));
        assert_eq!(inside(1.02, 1.0, false), None);
        assert_eq!(inside(f32::NAN, 1.0, false), None);
        assert_eq!(inside(23.0, 22.0, true), Some(1.0));
        assert_eq!(inside(-1.0, 22.0, true), Some(21.0));
        assert!(inside(-1e-9, 22.0, true).is_some_and(|x| (0.0..=22.0).contains(&x)));
        assert_eq!(inside(45.0, 22.0, true), None);
        assert_eq!(inside(f32::INFINITY, 22.0, true), None);
    }

    #[test]
    fn the_first_bad_number_is_found() {
        let mut values = vec![0.5f32; 70];
        assert_eq!(first_bad(&values), None);
        values[66] = f32::NEG_INFINITY;
        assert_eq!(first_bad(&values), Some(66));
        values[3] = f32::NAN;
        assert_eq!(first_bad(&values), Some(3));
        assert_eq!(first_bad(&[f32::MAX, -f32::MAX, f32::MIN_POSITIVE / 2.0]), None);
    }
}
