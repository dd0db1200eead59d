//! Ranges: what the equations, the grids and the optimiser need of the numbers.

use std::fmt::Debug;

use super::error::ConfigError;
use super::{Config, Loss};

/// Checks one section after the other; the first value out of range is reported.
pub(super) fn validate(config: &Config) -> Result<(), ConfigError> {
    at_least("agents", config.agents, 1)?;
    grids(config)?;
    time_and_physics(config)?;
    actuation(config)?;
    disturbances(config)?;
    data(config)?;
    loss(config)?;
    train(config)
}

fn grids(config: &Config) -> Result<(), ConfigError> {
    let (n, observe) = (config.grid.n, &config.observe);
    at_least("grid.n", n, 8)?;
    positive("grid.length", config.grid.length)?;
    at_least("observe.n_ref", observe.n_ref, 8)?;
    at_least("observe.points", observe.points, 2)?;

    // Non-periodic grids count one point more than cells.
    let extra = usize::from(!config.periodic());
    let cells_ref = observe.n_ref - extra;
    let refinement = (n - extra) / cells_ref;
    let nested = refinement >= 1 && (n - extra).is_multiple_of(cells_ref);
    let near = refinement.max(1) * cells_ref + extra;
    require(nested, "grid.n", n, || {
        let rule = if extra == 1 {
            format!("1 + a multiple of {cells_ref}")
        } else {
            format!("a multiple of {cells_ref}")
        };
        format!(
            "{rule}, such as {near} or {}, so that it refines the reference lattice; \
             for a policy on another lattice set observe.n_ref too",
            near + cells_ref
        )
    })?;

    let window = observe.window;
    require(
        window.is_multiple_of(2) && (2..=observe.n_ref).contains(&window),
        "observe.window",
        window,
        || format!("an even number from 2 to {} (observe.n_ref)", observe.n_ref),
    )
}

fn time_and_physics(config: &Config) -> Result<(), ConfigError> {
    let time = &config.time;
    positive("time.dt", time.dt)?;
    at_least("time.steps", time.steps, 1)?;
    at_least("time.substeps", time.substeps, 1)?;
    if let Some(nu) = config.physics.nu {
        non_negative("physics.nu", nu)?;
    }
    if let Some(rho) = config.physics.rho {
        non_negative("physics.rho", rho)?;
        require(time.dt * rho <= 0.5, "time.dt", time.dt, || {
            format!("at most {:?} (0.5 / physics.rho), or the explicit reaction step overshoots", 0.5 / rho)
        })?;
    }
    if config.task == "ks1d" {
        // The growth rate k^2 - k^4 is at most 1/4, at k^2 = 1/2, and the step divides by 1 - dt (k^2 - k^4) / 2.
        require(time.dt < 8.0, "time.dt", time.dt, || {
            "below 8, or the implicit step is singular".to_string()
        })?;
    }
    Ok(())
}

fn actuation(config: &Config) -> Result<(), ConfigError> {
    let actuation = &config.actuation;
    positive("actuation.sigma", actuation.sigma)?;
    let half = 0.5 * config.h();
    require(actuation.sigma >= half, "actuation.sigma", actuation.sigma, || {
        format!(
            "at least {half:?}, half the grid spacing, or the kernel falls between grid points; refine grid.n"
        )
    })?;
    non_negative("actuation.u_max", actuation.u_max)?;
    if let Some(v_max) = actuation.v_max {
        non_negative("actuation.v_max", v_max)?;
    }
    if let Some(safety) = &config.safety {
        let half = 0.5 * config.grid.length;
        require((0.0..half).contains(&safety.margin), "safety.margin", safety.margin, || {
            format!("from 0 to below {half:?}, half of grid.length")
        })?;
        non_negative("safety.radius", safety.radius)?;
    }
    Ok(())
}

fn disturbances(config: &Config) -> Result<(), ConfigError> {
    non_negative("noise.sensor", config.noise.sensor)?;
    non_negative("noise.actuator", config.noise.actuator)?;
    let failure = &config.failure;
    require((0.0..=1.0).contains(&failure.share), "failure.share", failure.share, || {
        "from 0 to 1".to_string()
    })?;
    require(failure.step <= config.time.steps, "failure.step", failure.step, || {
        format!("from 0 to {} (time.steps)", config.time.steps)
    })
}

fn data(config: &Config) -> Result<(), ConfigError> {
    let data = &config.data;
    at_least("data.pool", data.pool, 1)?;
    for (key, value) in [
        ("data.std", data.std),
        ("data.length_start", data.length_start),
        ("data.length_target", data.length_target),
        ("data.amplitude", data.amplitude),
    ] {
        value.map_or(Ok(()), |value| positive(key, value))?;
    }
    data.spin_up.map_or(Ok(()), |spin_up| non_negative("data.spin_up", spin_up))
}

fn loss(config: &Config) -> Result<(), ConfigError> {
    let Loss { track, effort_u, effort_v, bound, coll, accel, terminal, total_forcing } = config.loss;
    for (key, weight) in [
        ("loss.track", Some(track)),
        ("loss.effort_u", Some(effort_u)),
        ("loss.effort_v", effort_v),
        ("loss.bound", bound),
        ("loss.coll", coll),
        ("loss.accel", accel),
        ("loss.terminal", Some(terminal)),
        ("loss.total_forcing", Some(total_forcing)),
    ] {
        weight.map_or(Ok(()), |weight| non_negative(key, weight))?;
    }
    Ok(())
}

fn train(config: &Config) -> Result<(), ConfigError> {
    let train = &config.train;
    at_least("train.batch", train.batch, 1)?;
    at_least("train.updates", train.updates, 1)?;
    positive("train.lr", train.lr)?;
    positive("train.half_life", train.half_life)?;
    non_negative("train.lr_start", train.lr_start)?;
    non_negative("train.lr_end", train.lr_end)?;
    positive("train.clip", train.clip)?;
    at_least("train.checkpoint_every", train.checkpoint_every, 1)
}

fn at_least(key: &str, value: usize, least: usize) -> Result<(), ConfigError> {
    require(value >= least, key, value, || format!("{least} or more"))
}

fn positive(key: &str, value: f64) -> Result<(), ConfigError> {
    require(value > 0.0 && value.is_finite(), key, value, || "above 0 and finite".to_string())
}

fn non_negative(key: &str, value: f64) -> Result<(), ConfigError> {
    require(value >= 0.0 && value.is_finite(), key, value, || "0 or more, and finite".to_string())
}

fn require(
    holds: bool,
    key: &str,
    value: impl Debug,
    allowed: impl FnOnce() -> String,
) -> Result<(), ConfigError> {
    if holds {
        return Ok(());
    }
    Err(ConfigError::Range { key: key.to_string(), value: format!("{value:?}"), allowed: allowed() })
}
