//! Ranges: what the equations, the grids and the optimiser need of the numbers.

use std::fmt::Debug;

use super::error::ConfigError;
use super::method::{Method, Network};
use super::{Axis, Config, Equation, TrunkBase};

/// Checks one section after the other; the first value out of range is reported.
pub(super) fn validate(config: &Config) -> Result<(), ConfigError> {
    at_least("agents", config.agents, 1)?;
    grids(config)?;
    time_and_physics(config)?;
    actuation(config)?;
    disturbances(config)?;
    data(config)?;
    loss(config)?;
    train(config)?;
    config.method.as_ref().map_or(Ok(()), |method| baseline(config, method))
}

fn grids(config: &Config) -> Result<(), ConfigError> {
    let observe = &config.observe;
    let keys = [["grid.n", "grid.length", "observe.n_ref"], ["grid.n_y", "grid.length_y", "observe.n_ref_y"]];
    for (axis, [n, length, n_ref]) in config.axes().iter().zip(keys) {
        at_least(n, axis.n, 8)?;
        positive(length, axis.length)?;
        at_least(n_ref, axis.n_ref, 8)?;
        nested(n, n_ref, axis)?;
    }
    observe.points.map_or(Ok(()), |points| at_least("observe.points", points, 2))?;
    let (n_ref, shorter) =
        config.axes().iter().map(|axis| axis.n_ref).zip(["n_ref", "n_ref_y"]).min().expect("an axis");
    for (key, width) in [("observe.window", observe.window), ("observe.patch", observe.patch)] {
        let Some(width) = width else { continue };
        require(width.is_multiple_of(2) && (2..=n_ref).contains(&width), key, width, || {
            format!("an even number from 2 to {n_ref} (observe.{shorter})")
        })?;
    }
    positive("observe.crowd_ref", observe.crowd_ref)?;
    non_negative("observe.crowd_limit", observe.crowd_limit)?;
    positive("policy.head_scale", config.policy.head_scale)?;
    let blind = config.policy.trunk_base == TrunkBase::None && !observe.crowd;
    require(!blind, "policy.trunk_base", "none", || {
        "\"pi\" or \"2pi\" unless observe.crowd is true, or the trunk is told nothing".to_string()
    })?;
    let Some(conv) = &config.policy.conv else { return Ok(()) };
    let channels = !conv.is_empty() && conv.iter().all(|channels| (1..=1024).contains(channels));
    require(channels, "policy.conv", conv, || "one or more numbers of channels from 1 to 1024".to_string())
}

/// The grid of an axis must refine its reference lattice.
fn nested(key: &str, n_ref: &str, axis: &Axis) -> Result<(), ConfigError> {
    // Non-periodic grids count one point more than cells.
    let extra = usize::from(!axis.periodic());
    let cells_ref = axis.n_ref - extra;
    let refinement = (axis.n - extra) / cells_ref;
    let nested = refinement >= 1 && (axis.n - extra).is_multiple_of(cells_ref);
    let near = refinement.max(1) * cells_ref + extra;
    require(nested, key, axis.n, || {
        let rule = if extra == 1 {
            format!("1 + a multiple of {cells_ref}")
        } else {
            format!("a multiple of {cells_ref}")
        };
        format!(
            "{rule}, such as {near} or {}, so that it refines the reference lattice; \
             for a policy on another lattice set {n_ref} too",
            near + cells_ref
        )
    })
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
    let physics = &config.physics;
    for (key, value) in [("physics.drift", physics.drift), ("physics.limit", physics.limit)] {
        value.map_or(Ok(()), |value| non_negative(key, value))?;
    }
    if let Some(limit) = physics.limit {
        require(limit <= 1.0, "physics.limit", limit, || {
            "at most 1: a density moves to neighbouring cells only".to_string()
        })?;
    }
    if let Some(diffusion) = physics.diffusion {
        require((0.0..=0.25).contains(&diffusion), "physics.diffusion", diffusion, || {
            "from 0 to 0.25, or the explicit step is unstable".to_string()
        })?;
    }
    if config.equation() == Equation::KuramotoSivashinsky1d {
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
    let half = 0.5 * config.axes().iter().map(Axis::h).fold(0.0, f64::max);
    require(actuation.sigma >= half, "actuation.sigma", actuation.sigma, || {
        format!(
            "at least {half:?}, half the grid spacing, or the kernel falls between grid points; refine grid.n"
        )
    })?;
    for (key, value) in [
        ("actuation.u_max", actuation.u_max),
        ("actuation.v_max", actuation.v_max),
        ("actuation.gain", actuation.gain),
        ("actuation.speed", actuation.speed),
        ("obstacles.margin", config.obstacles.as_ref().map(|obstacles| obstacles.margin)),
    ] {
        value.map_or(Ok(()), |value| non_negative(key, value))?;
    }
    if let Some(safety) = &config.safety {
        let half = 0.5 * config.axes().iter().map(|axis| axis.length).fold(f64::INFINITY, f64::min);
        let wall = safety.wall.unwrap_or(0.0);
        require((0.0..half).contains(&wall), "safety.wall", wall, || {
            format!("from 0 to below {half:?}, half of the shorter side")
        })?;
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
        ("data.spin_up_dt", data.spin_up_dt),
        ("data.waves", data.waves),
        ("data.energy", data.energy),
    ] {
        value.map_or(Ok(()), |value| positive(key, value))?;
    }
    for (key, value) in [
        ("data.spin_up", data.spin_up),
        ("data.spin_up_nu", data.spin_up_nu),
        ("data.distance", data.distance),
    ] {
        value.map_or(Ok(()), |value| non_negative(key, value))?;
    }
    for (key, range) in [
        ("data.height", data.height),
        ("data.width", data.width),
        ("data.start", data.start),
        ("data.target_x", data.target_x),
        ("data.target_y", data.target_y),
    ] {
        let Some([low, high]) = range else { continue };
        require(0.0 < low && low <= high && high.is_finite(), key, [low, high], || {
            "two numbers above 0, the smaller one first".to_string()
        })?;
    }
    Ok(())
}

fn loss(config: &Config) -> Result<(), ConfigError> {
    let loss = &config.loss;
    for (key, weight) in [
        ("loss.track", Some(loss.track)),
        ("loss.effort_u", loss.effort_u),
        ("loss.effort_v", loss.effort_v),
        ("loss.bound", loss.bound),
        ("loss.coll", loss.coll),
        ("loss.accel", loss.accel),
        ("loss.terminal", Some(loss.terminal)),
        ("loss.total_forcing", loss.total_forcing),
        ("loss.obstacle", loss.obstacle),
        ("loss.moment", loss.moment),
        ("loss.moment_end", loss.moment_end),
        ("loss.mass", loss.mass),
        ("loss.smooth", loss.smooth),
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
    non_negative("train.step_clip", train.step_clip)?;
    for (key, share) in
        [("train.scatter", train.scatter), ("train.fewer", train.fewer), ("train.hold", train.hold)]
    {
        require((0.0..=1.0).contains(&share), key, share, || "from 0 to 1".to_string())?;
    }
    positive("train.hold_weight", train.hold_weight)?;
    let [low, high] = train.failure;
    require(0.0 <= low && low <= high && high < 1.0, "train.failure", train.failure, || {
        "[low, high] with 0 <= low <= high < 1, [0, 0] for none".to_string()
    })?;
    require(train.fewer == 0.0 || high > 0.0, "train.fewer", train.fewer, || {
        "0 unless train.failure says how many agents may be missing".to_string()
    })?;
    at_least("train.checkpoint_every", train.checkpoint_every, 1)
}

fn baseline(config: &Config, method: &Method) -> Result<(), ConfigError> {
    let plane = config.equation().dims() == 2;
    require(plane || method.network != Network::Convolutional, "method.network", method.network, || {
        "central, local or operator on a line".to_string()
    })?;
    let widths = |key: &str, hidden: &[usize]| {
        let fit = !hidden.is_empty() && hidden.iter().all(|width| (1..=4096).contains(width));
        require(fit, key, hidden, || "one or more widths from 1 to 4096".to_string())
    };
    widths("method.hidden", &method.hidden)?;
    let share = |key: &str, value: f64| {
        require((0.0..=1.0).contains(&value), key, value, || "from 0 to 1".to_string())
    };
    if let Some(on) = &method.on_policy {
        at_least("method.on_policy.envs", on.envs, 1)?;
        at_least("method.on_policy.hold", on.hold, 1)?;
        widths("method.on_policy.critic_hidden", &on.critic_hidden)?;
        at_least("method.on_policy.horizon", on.horizon, 1)?;
        at_least("method.on_policy.epochs", on.epochs, 1)?;
        share("method.on_policy.gamma", on.gamma)?;
        share("method.on_policy.lambda", on.lambda)?;
        positive("method.on_policy.ratio_clip", on.ratio_clip)?;
        non_negative("method.on_policy.value_weight", on.value_weight)?;
        non_negative("method.on_policy.entropy_weight", on.entropy_weight)?;
        positive("method.on_policy.std", on.std)?;
    }
    if let Some(off) = &method.off_policy {
        at_least("method.off_policy.envs", off.envs, 1)?;
        at_least("method.off_policy.hold", off.hold, 1)?;
        widths("method.off_policy.critic_hidden", &off.critic_hidden)?;
        at_least("method.off_policy.interval", off.interval, 1)?;
        at_least("method.off_policy.gradient_steps", off.gradient_steps, 1)?;
        at_least("method.off_policy.buffer", off.buffer, config.train.batch)?;
        share("method.off_policy.gamma", off.gamma)?;
        share("method.off_policy.tau", off.tau)?;
        non_negative("method.off_policy.explore", off.explore)?;
        share("method.off_policy.together", off.together)?;
        non_negative("method.off_policy.smooth", off.smooth)?;
        non_negative("method.off_policy.smooth_clip", off.smooth_clip)?;
        at_least("method.off_policy.delay", off.delay, 1)?;
    }
    Ok(())
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
