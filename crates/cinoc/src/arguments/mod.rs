//! The arguments of every command, with their help.

mod engine;
mod experiment;
mod policy;
mod train;

pub use self::engine::{Bench, CheckGradients, Precision, Trace, Verify};
pub use self::experiment::Reproduce;
pub use self::policy::{Act, Eval, Export, Plot, Record, Subject, Sweep, View};
pub use self::train::{Train, TrainOptions};
use crate::work::Device;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Learn one small policy that controls a field, and run it with any number of actuators.
#[derive(Parser)]
#[command(
    version,
    max_term_width = 110,
    after_help = "Examples:
  cinoc train fkpp1d                      train a policy, evaluate it, write runs/fkpp1d-0/report.md
  cinoc eval runs/fkpp1d-0 --agents 60    the same policy with three times as many agents
  cinoc tasks heat1d                      every setting of a task, with its meaning
  cinoc reproduce cardinality             an experiment of the paper, with tables and figures"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What computes.
#[derive(Args)]
pub struct Computer {
    /// Threads; results, except times, do not depend on it.
    #[arg(long, value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// Where to compute: cpu, cuda, or cuda:N for the GPU number N. A GPU gives other last digits than a CPU.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
}

#[derive(Subcommand)]
pub enum Command {
    /// List the tasks, or show every setting of one.
    Tasks(Tasks),
    /// Train a policy through the physics, evaluate it, write a report with figures.
    Train(Train),
    /// Evaluate a policy on cases it has never seen.
    Eval(Eval),
    /// Decide once: what every agent does about a field.
    Act(Act),
    /// Write a policy in a format that other programs run: ONNX.
    Export(Export),
    /// Time a task on this machine.
    Bench(Bench),
    /// List the primitives of one control step, with what each costs.
    Trace(Trace),
    /// Compare gradients with central differences in double precision.
    CheckGradients(CheckGradients),
    /// Recompute golden files in double precision.
    Verify(Verify),
    /// Write a report with figures (SVG, PDF, PNG) of a run or a policy, as trained or with other settings.
    Plot(Plot),
    /// Watch a policy at work in the browser, and disturb it: kill, drag and add agents, push the field.
    View(View),
    /// Record decisions of a policy, to verify the controller on another machine.
    Record(Record),
    /// Measure a policy along one axis: agents, noise, failure, grid or physics.
    Sweep(Sweep),
    /// Reproduce an experiment of the paper: train what it needs, measure, write tables and figures.
    Reproduce(Reproduce),
}

#[derive(Args)]
pub struct Tasks {
    /// Show the settings of this task as TOML.
    pub task: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Settings a task starts from.
#[derive(Clone, Copy, ValueEnum)]
pub enum Preset {
    Default,
    Paper,
}

impl From<Preset> for cinoc_control::config::Preset {
    fn from(preset: Preset) -> Self {
        match preset {
            Preset::Default => cinoc_control::config::Preset::Default,
            Preset::Paper => cinoc_control::config::Preset::Paper,
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_string()),
        Ok(n) => Ok(n),
        Err(_) => Err("must be a whole number".to_string()),
    }
}
