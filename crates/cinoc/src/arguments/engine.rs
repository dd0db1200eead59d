//! Arguments of the commands that time, list and verify.

use super::{Preset, at_least_one};
use crate::work::Device;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:
  cinoc bench fkpp1d --threads 2 --json
  cinoc bench fkpp1d --decision
  cinoc bench heat2d --decision --agents 16,1000,100000 --threads 2 --decisions 1000")]
pub struct Bench {
    /// Task, see `cinoc tasks`.
    pub task: String,
    /// Settings to start from: default, or paper, the published network.
    #[arg(long, value_enum, default_value = "default", hide_possible_values = true)]
    pub preset: Preset,
    /// Cases per update (setting train.batch).
    #[arg(long)]
    pub batch: Option<usize>,
    /// Number of agents (setting agents); with --decision several, as in 1,20,1000.
    #[arg(long, value_name = "M", value_delimiter = ',')]
    pub agents: Vec<usize>,
    /// Threads; decisions are timed on one thread and on all unless this is given.
    #[arg(long, value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// Where to compute: cpu, cuda, or cuda:N for the GPU number N. A GPU gives other last digits than a CPU.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
    /// Precision.
    #[arg(long, value_enum, default_value = "f32")]
    pub dtype: Precision,
    /// Time decisions instead of training: percentiles, for 1 to 100 000 agents unless --agents says
    /// otherwise.
    #[arg(long)]
    pub decision: bool,
    /// Number of timed decisions per line [default: 1000000, or what 10 seconds allow].
    #[arg(long, value_name = "N", value_parser = at_least_one, requires = "decision")]
    pub decisions: Option<usize>,
    /// Number of timed updates; the median is reported.
    #[arg(long, default_value = "10", value_parser = at_least_one)]
    pub repeat: usize,
    /// Override one setting; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  cinoc trace heat1d
  cinoc trace fkpp1d --preset paper --agents 40 --json")]
pub struct Trace {
    /// Task, see `cinoc tasks`.
    pub task: String,
    /// Settings to start from: default, or paper, the published network.
    #[arg(long, value_enum, default_value = "default", hide_possible_values = true)]
    pub preset: Preset,
    /// Number of agents (setting agents).
    #[arg(long, value_name = "M")]
    pub agents: Option<usize>,
    /// Override one setting; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Precision {
    F32,
    F64,
}

#[derive(Args)]
pub struct CheckGradients {
    /// Task, see `cinoc tasks`.
    pub task: String,
    /// Settings to start from: default, or paper, the published network.
    #[arg(long, value_enum, default_value = "default", hide_possible_values = true)]
    pub preset: Preset,
    /// Override one setting; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Where to compute: cpu, cuda, or cuda:N for the GPU number N.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Verify {
    /// Golden files.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Where to compute: cpu, cuda, or cuda:N for the GPU number N.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
    /// Print one JSON object per file.
    #[arg(long)]
    pub json: bool,
}
