//! Arguments of `cinoc train`.

use super::{Computer, Preset};
use clap::Args;
use std::path::PathBuf;

/// What `cinoc train` reads, for those who start a training by other means.
#[derive(clap::Parser)]
#[command(name = "train", no_binary_name = true)]
pub struct TrainOptions {
    #[command(flatten)]
    pub train: Train,
}

#[derive(Args)]
#[command(after_help = "Examples:
  cinoc train heat1d --seed 1 --out runs/my-heat
  cinoc train fkpp1d --set noise.sensor=0.01 --set train.updates=1000
  cinoc train ks1d -c my.toml --threads 2
  cinoc train heat1d --preset paper
  cinoc train heat1d --method mappo --set method.on_policy.gamma=0.99
  cinoc train --resume runs/fkpp1d-0                  continue an interrupted run
  cinoc train --resume runs/fkpp1d-0 --updates 1000   extend a finished run to 1000 updates in total
  cinoc train heat1d --init policies/heat1d.safetensors --set physics.nu=0.4 --set train.updates=100
  cinoc train heat1d --cases mine.safetensors --validation others.safetensors
  cinoc eval runs/heat1d-0 --best                     the parameters with the lowest validation loss")]
pub struct Train {
    /// Task, see `cinoc tasks`; not needed with --resume RUN.
    pub task: Option<String>,
    /// Training method: cinoc (the operator policy, through the physics), or a baseline: dpc, ppo, td3,
    /// mappo, matd3.
    #[arg(long, default_value = "cinoc")]
    pub method: String,
    /// Settings to start from: default (works with any number of agents) or paper (network, loss and training
    /// as published).
    #[arg(long, value_enum, default_value = "default", hide_possible_values = true)]
    pub preset: Preset,
    /// TOML file that overrides the task's settings.
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Override one setting, such as train.lr=0.001; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Seed of every random number of the run (setting train.seed).
    #[arg(long)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub on: Computer,
    /// Updates of the parameters (setting train.updates). With --resume, more than the run has extend it: the
    /// added updates have a learning-rate schedule of their own.
    #[arg(long)]
    pub updates: Option<usize>,
    /// Run directory [default: runs/TASK-SEED, of a baseline runs/TASK-METHOD-SEED].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Continue a run with its own settings. Without RUN: the same command as before, plus this option.
    #[arg(long, value_name = "RUN", num_args = 0..=1)]
    pub resume: Option<Option<PathBuf>>,
    /// Start with the parameters of this policy (file or run directory) instead of random ones. Its network
    /// must have the same sizes; physics, number of agents and all other settings may differ.
    #[arg(long, value_name = "POLICY")]
    pub init: Option<PathBuf>,
    /// Train on the cases of this safetensors file (z0, zt and optionally xi0) instead of drawn ones. With an
    /// axis of control steps in zt the targets move.
    #[arg(long, value_name = "FILE")]
    pub cases: Option<PathBuf>,
    /// Validate and report on the cases of this file instead of drawn ones.
    #[arg(long, value_name = "FILE")]
    pub validation: Option<PathBuf>,
    /// Print the evaluation as one JSON object.
    #[arg(long)]
    pub json: bool,
}
