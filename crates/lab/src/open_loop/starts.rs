//! Initial actions of descents.

use std::f64::consts::TAU;

use cinoc_control::agents::start_positions;
use cinoc_control::{Config, Trajectories};

/// Length of a pulse, as a fraction of the horizon.
const PULSE: f64 = 1.0 / 3.0;
/// Smallest and largest amplitude of a pulse, in units of the bound.
const AMPLITUDES: [f64; 2] = [0.05, 0.25];

/// Initial actions of a descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The actions of the policy.
    Policy,
    /// Zero actions.
    Zero,
    /// A pulse in the second Fourier mode: a descent from zero may stay symmetric.
    Pulse,
}

impl Start {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Start::Policy => "policy",
            Start::Zero => "zero",
            Start::Pulse => "pulse",
        }
    }
}

/// The actions of agents in rollouts, in units of their bounds: intensities, then velocities, step by step.
pub fn decided(config: &Config, rollouts: &Trajectories<f32>) -> Vec<f64> {
    let bounds = [(rollouts.u(), config.actuation.u_max), (rollouts.v(), config.actuation.v_max)];
    let records: Vec<(&[f32], f64)> = bounds
        .into_iter()
        .filter_map(|(record, bound)| Some((record?, bound.filter(|bound| *bound > 0.0)?)))
        .collect();
    let all = rollouts.samples * rollouts.steps;
    let of_step = |step: usize| {
        records.iter().flat_map(move |(record, bound)| {
            let size = record.len() / all;
            record[step * size..(step + 1) * size].iter().map(move |x| f64::from(*x) / bound)
        })
    };
    (0..all).flat_map(of_step).collect()
}

/// Intensities of static agents in the second Fourier mode during the first third of a rollout. Amplitudes
/// and phases are spread evenly over the cases.
pub fn pulse(config: &Config, case: usize) -> Vec<f64> {
    let scattered = |irrational: f64| ((case + 1) as f64 * irrational).fract();
    let [least, most] = AMPLITUDES;
    let amplitude = least + (most - least) * scattered(2.0_f64.sqrt());
    let phase = TAU * scattered(3.0_f64.sqrt());
    let wave = |x: &f64| amplitude * (2.0 * TAU * x / config.grid.length + phase).cos();
    let intensities: Vec<f64> = start_positions(config).iter().map(wave).collect();
    let last = (PULSE * config.time.steps as f64).ceil() as usize;
    let mut actions = intensities.repeat(last);
    actions.resize(config.time.steps * config.agents, 0.0);
    actions
}
