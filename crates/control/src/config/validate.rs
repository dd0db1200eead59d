//! What the equations, the grids and the optimiser need of the settings: the range of every key, then what
//! keys need of each other.

use super::error::ConfigError;
use super::keys;
use super::merge::leaves;
use super::method::Network;
use super::{Around, Config, ReferenceAxis, TrunkBase};
use crate::task::Task;
use toml::Table;

/// The first value out of range is reported.
pub(super) fn validate(config: &Config) -> Result<(), ConfigError> {
    task(&config.task)?;
    ranges(&config.task, &config.to_table()?)?;
    grids(config)?;
    observation(config)?;
    actuation(config)?;
    training(config)?;
    baseline(config)?;
    config.task.check(config)
}

/// What everything takes for granted of a task. Tasks of users need not have it.
fn task(task: &Task) -> Result<(), ConfigError> {
    let message = if !(1..=2).contains(&task.dims) {
        format!("it has {} dimensions, must have 1 or 2", task.dims)
    } else if task.starts.len() != task.dims {
        format!("it says along {} axes where agents start, must be {}", task.starts.len(), task.dims)
    } else if !task.fields.iter().any(|field| field.tracked) {
        "it tracks no field; leave one of its fields tracked, be it to rest".to_string()
    } else if !task.fields.iter().any(|field| field.observed) {
        "agents observe no field; leave one of its fields observed".to_string()
    } else {
        return Ok(());
    };
    Err(ConfigError::Task { task: task.name.clone(), message })
}

/// The equation of a task must be of the grid, the time step and the number of fields that the settings say.
/// Those of the library are, as the tests check; a task of a user may be written for one grid only.
pub(super) fn equation(config: &Config) -> Result<(), ConfigError> {
    let dynamics = config.task.make_dynamics(config);
    let (grid, dt, fields) = (config.domain(), config.time.dt, config.task.fields.len());
    let message = if dynamics.grid() != grid {
        format!("its equation has the grid {:?}, config.domain() is {grid:?}", dynamics.grid())
    } else if dynamics.dt() != dt {
        format!("its equation has the time step {}, config.time.dt is {dt}", dynamics.dt())
    } else if dynamics.fields() != fields {
        format!("its equation has {} fields, the task has {fields} (Task::with_fields)", dynamics.fields())
    } else {
        return Ok(());
    };
    Err(ConfigError::Task { task: config.task.name.clone(), message })
}

/// Every key by itself.
pub(super) fn ranges(task: &Task, table: &Table) -> Result<(), ConfigError> {
    leaves(table).iter().try_for_each(|(name, value)| keys::check(&task.keys, name, value))
}

fn grids(config: &Config) -> Result<(), ConfigError> {
    let axes = config.axes();
    for (axis, [n, n_ref]) in axes.iter().zip([["grid.n", "observe.n_ref"], ["grid.n_y", "observe.n_ref_y"]])
    {
        resolved(n, n_ref, axis)?;
    }
    let (n_ref, shorter) =
        axes.iter().map(|axis| axis.n_ref).zip(["n_ref", "n_ref_y"]).min().expect("a task has 1 or 2 axes");
    let (key, width) = match config.observe.around {
        Around::Window { window, .. } => ("observe.window", window),
        Around::Patch { patch, .. } => ("observe.patch", patch),
    };
    let fits = width.is_multiple_of(2) && (2..=n_ref).contains(&width);
    ConfigError::unless(fits, key, width, || format!("an even number from 2 to {n_ref} (observe.{shorter})"))
}

/// The grid of an axis must not be coarser than its reference lattice.
fn resolved(key: &str, n_ref: &str, axis: &ReferenceAxis) -> Result<(), ConfigError> {
    ConfigError::unless(axis.n >= axis.n_ref, key, axis.n, || {
        format!(
            "at least {}, the points of the reference lattice; for a policy on a coarser lattice set \
             {n_ref} too",
            axis.n_ref
        )
    })
}

fn observation(config: &Config) -> Result<(), ConfigError> {
    let blind = config.policy.trunk_base == TrunkBase::None && !config.observe.crowd;
    ConfigError::unless(!blind, "policy.trunk_base", "none", || {
        "\"pi\" or \"2pi\" unless observe.crowd is true, or the trunk is told nothing".to_string()
    })
}

fn actuation(config: &Config) -> Result<(), ConfigError> {
    let sigma = config.actuation.sigma;
    let half = 0.5 * config.axes().iter().map(ReferenceAxis::h).fold(0.0, f64::max);
    ConfigError::unless(sigma >= half, "actuation.sigma", sigma, || {
        format!(
            "at least {half:?}, half the grid spacing, or the kernel falls between grid points; refine grid.n"
        )
    })?;
    let (intensity, stirring) = (config.actuation.u_max, config.actuation.gain.and(config.actuation.v_max));
    ConfigError::unless(intensity.or(stirring).is_some(), "actuation.u_max", "none", || {
        "a number unless agents stir (actuation.gain and actuation.v_max)".to_string()
    })?;
    let Some(safety) = &config.safety else { return Ok(()) };
    let half = 0.5 * config.axes().iter().map(|axis| axis.length).fold(f64::INFINITY, f64::min);
    for (key, distance) in [("safety.wall", safety.wall.unwrap_or(0.0)), ("safety.margin", safety.margin)] {
        ConfigError::unless(distance < half, key, distance, || {
            format!("from 0 to below {half:?}, half of the shorter side")
        })?;
    }
    Ok(())
}

fn training(config: &Config) -> Result<(), ConfigError> {
    let (step, steps) = (config.failure.step, config.time.steps);
    ConfigError::unless(step <= steps, "failure.step", step, || format!("from 0 to {steps} (time.steps)"))?;
    let [low, high] = config.train.failure;
    let ordered = 0.0 <= low && low <= high && high < 1.0;
    ConfigError::unless(ordered, "train.failure", config.train.failure, || {
        "[low, high] with 0 <= low <= high < 1, [0, 0] for none".to_string()
    })?;
    let fewer = config.train.fewer;
    ConfigError::unless(fewer == 0.0 || high > 0.0, "train.fewer", fewer, || {
        "0 unless train.failure says how many agents may be missing".to_string()
    })?;
    let more = config.train.more;
    ConfigError::unless(more == 0.0 || !config.centralised(), "train.more", more, || {
        "0: this network is made for one number of agents".to_string()
    })?;
    ConfigError::unless(more == 0.0 || config.loss.coll.unwrap_or(0.0) == 0.0, "train.more", more, || {
        "0 unless loss.coll is 0: agents that a case does not have would count as collisions".to_string()
    })?;
    let (parts, updates) = (&config.train.extended_at, config.train.updates);
    ConfigError::unless(parts.iter().all(|&part| part < updates), "train.extended_at", parts, || {
        format!("below {updates} (train.updates)")
    })
}

fn baseline(config: &Config) -> Result<(), ConfigError> {
    let operator = config.network() == Network::Operator;
    ConfigError::unless(operator || !config.policy.rest, "policy.rest", config.policy.rest, || {
        "false: only the operator network can be at rest".to_string()
    })?;
    let Some(method) = &config.method else { return Ok(()) };
    let fits = config.task.dims == 2 || method.network != Network::Convolutional;
    ConfigError::unless(fits, "method.network", method.network, || {
        "central, local or operator in 1D".to_string()
    })?;
    let (buffer, batch) = (method.off_policy.as_ref().map(|off| off.buffer), config.train.batch);
    ConfigError::unless(
        buffer.is_none_or(|buffer| buffer >= batch),
        "method.off_policy.buffer",
        buffer.unwrap_or(0),
        || format!("{batch} or more (train.batch)"),
    )
}
