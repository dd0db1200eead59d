//! Estimates of work, so that a progress bar can show the remaining time.
//!
//! A rough count of multiplications; only ratios matter.

use cinoc_control::Config;
use cinoc_control::config::{Around, Padding, View};

/// Work of rolling out one case.
pub fn work(config: &Config) -> f64 {
    let steps = config.time.steps as f64;
    steps * (physics(config) + policy(config))
}

/// Work of a training.
pub(super) fn training_work(config: &Config) -> f64 {
    let method = config.method.as_ref();
    let decision = physics(config) + policy(config);
    if let Some(on) = method.and_then(|method| method.on_policy.as_ref()) {
        let decisions = (config.train.updates * on.envs * on.horizon) as f64;
        return decisions * (on.hold as f64 * physics(config) + 3.0 * on.epochs as f64 * decision);
    }
    if let Some(off) = method.and_then(|method| method.off_policy.as_ref()) {
        let decisions = (config.train.updates * off.envs * off.interval + off.first) as f64;
        let gradients = (config.train.updates * off.gradient_steps + off.warmup) as f64;
        let learning = 10.0 * gradients * config.train.batch as f64 * policy(config);
        return decisions * off.hold as f64 * physics(config) + learning;
    }
    // forward, recomputed forward, and backward
    4.0 * (config.train.updates * config.train.batch) as f64 * work(config)
}

fn physics(config: &Config) -> f64 {
    let (side, cols) = config.shape();
    // periodic rectangles are transformed by several dense products per stage
    let per_point = if config.periodic() && cols > 1 { 80.0 * side as f64 } else { 100.0 };
    config.state_size() as f64 * per_point * config.time.substeps as f64
}

fn policy(config: &Config) -> f64 {
    let agents = config.agents as f64;
    if config.centralised() {
        return 2.0 * 256.0 * config.points() as f64;
    }
    let (conv, Around::Patch { patch, view }) = (&config.policy.conv, config.observe.around) else {
        return agents * 15_000.0;
    };
    let mut channels = vec![3];
    channels.extend(conv);
    let convolution: f64 = channels.windows(2).map(|pair| (9 * pair[0] * pair[1]) as f64).sum();
    let patch = (patch * patch) as f64;
    let shared = config.policy.padding == Some(Padding::Field) || view == View::Field;
    let convolved = if shared { config.points() as f64 } else { agents * patch };
    let last = conv.last().map_or(3.0, |&last| last as f64);
    convolved * convolution + agents * patch * last * 32.0
}
