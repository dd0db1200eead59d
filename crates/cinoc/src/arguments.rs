//! The arguments of every command, with their help.

use crate::work::Device;
use crate::work::training::REPORT_CASES;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

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
#[command(after_help = "Examples:
  cinoc view                                  all shipped policies
  cinoc view runs/heat1d-0                    a policy of yours, beside the shipped ones
  cinoc view --no-open --port 8123            print the address only
  cinoc view --train heat1d --seed 1          train, and watch it learn

The address contains a random token, and only this machine can reach it. Ctrl-C ends the server.")]
pub struct View {
    /// Policy files or run directories to offer before the shipped policies.
    #[arg(value_name = "POLICY or RUN")]
    pub policies: Vec<PathBuf>,
    /// Port; 0 takes one that is free.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Interface to listen at; the default can be reached from this machine only.
    #[arg(long, default_value = "127.0.0.1")]
    pub host: std::net::IpAddr,
    /// Token in the address, at least 16 letters and digits, so that links stay the same after a restart [default: a
    /// random one].
    #[arg(long, value_parser = token)]
    pub token: Option<String>,
    /// Do not open a browser.
    #[arg(long)]
    pub no_open: bool,
    /// Train as `cinoc train` would with what follows, and watch it learn: the learning curve, and a case with the
    /// policy of the moment. Must come last.
    #[arg(long, value_name = "TASK [OPTIONS OF train]", num_args = 1.., allow_hyphen_values = true)]
    pub train: Vec<String>,
}

/// What `cinoc train` reads, for those who start a training by other means.
#[derive(clap::Parser)]
#[command(name = "train", no_binary_name = true)]
pub struct TrainOptions {
    #[command(flatten)]
    pub train: Train,
}

#[derive(Args)]
pub struct Tasks {
    /// Show the settings of this task as TOML.
    pub task: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
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
    /// Threads; the result does not depend on it.
    #[arg(long, value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// Where to compute: cpu, cuda, or cuda:N for the GPU number N. A GPU gives other last digits than a CPU.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
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

/// A policy and the settings of its use.
#[derive(Args)]
pub struct Subject {
    /// Run directory or policy file. Of a run that is not finished, its checkpoint is used.
    pub policy: PathBuf,
    /// Use the parameters of the run with the lowest validation loss (best.safetensors).
    #[arg(long)]
    pub best: bool,
    /// Number of agents (setting agents).
    #[arg(long, value_name = "M")]
    pub agents: Option<usize>,
    /// Number of validation cases, `test:N` for test cases (do not tune anything on them), `paper` for the
    /// published ones, or a safetensors file with z0, zt and optionally xi0.
    #[arg(long, value_name = "N|test:N|paper|FILE", default_value_t = REPORT_CASES.to_string())]
    pub cases: String,
    /// Override one setting; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Let a fraction of the agents fail from a control step on, such as 0.3@100.
    #[arg(long, value_name = "SHARE@STEP")]
    pub fail: Option<String>,
    /// Threads; the result does not depend on it.
    #[arg(long, value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// Where to compute: cpu, cuda, or cuda:N for the GPU number N. A GPU gives other last digits than a CPU.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
}

#[derive(Args)]
#[command(after_help = "Examples:
  cinoc eval runs/fkpp1d-0 --cases paper
  cinoc eval runs/fkpp1d-0 --best
  cinoc eval policies/heat1d.safetensors --agents 16 --json
  cinoc eval policies/ks1d.safetensors --fail 0.25@0
  cinoc eval policies/fkpp1d.safetensors --set grid.n=199 --set noise.sensor=0.05 --seed 1
  cinoc eval policies/heat1d.safetensors --cases 10 --save rollouts.safetensors")]
pub struct Eval {
    #[command(flatten)]
    pub subject: Subject,
    /// Seed of noise and of which agents fail; the cases do not depend on it.
    #[arg(long, default_value = "0")]
    pub seed: u64,
    /// Write what happened, with control, into a safetensors file: z, xi, u, v and error of every case and
    /// control step.
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  cinoc act policies/heat1d.safetensors --field z.npy --target zt.npy
  cinoc act policies/heat1d.safetensors --field z.csv --target zt.csv --positions xi.csv --json
  cinoc act runs/turb2d-0 --field vorticity.npy --agents 100 --json
  cinoc act policies/density2d.safetensors --field case.safetensors

Formats, by the end of a file's name:
  .npy            float32 or float64, C order
  .csv, .txt      lines of numbers
  .json           nested lists of numbers
  .safetensors    tensors z, zt and xi; the file of the field may hold all three

Shapes: a field is [n] or [n_x, n_y], positions are [agents] or [agents, 2].
A field on a finer grid is read as `cinoc eval --set grid.n=N` reads it.
Leave failed agents out of the positions.")]
pub struct Act {
    /// Run directory or policy file. Of a run that is not finished, its checkpoint is used.
    pub policy: PathBuf,
    /// The field as it is now.
    #[arg(long, value_name = "FILE")]
    pub field: PathBuf,
    /// The target, of a moving one that of now [default: 0, if the task drives the field to rest].
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Where the agents are [default: where they start].
    #[arg(long, value_name = "FILE")]
    pub positions: Option<PathBuf>,
    /// Number of agents [default: that of the positions, or that of the training].
    #[arg(long, value_name = "M")]
    pub agents: Option<usize>,
    /// Override one setting; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  cinoc export policies/heat1d.safetensors --onnx heat1d.onnx
  cinoc export runs/fkpp1d-0 --best --onnx fkpp1d.onnx --json
  cinoc export policies/ks1d.safetensors --onnx ks1d-fine.onnx --set grid.n=256
  cinoc export policies/turb2d.safetensors --onnx network.onnx --inner

Inputs, with any number of fields (batch) and of agents:
  z        the field, [batch, n] or [batch, n_x, n_y]
  target   what it should be; zeros, if the task drives the field to rest
  xi       where the agents are, [batch, agents] or [batch, agents, 2]
  alive    false for agents that have failed, [batch, agents]; only of policies
           whose agents know each other
Outputs: u [batch, agents] and v [batch, agents] or [batch, agents, 2].
docs/onnx.md has all of it, with examples.")]
pub struct Export {
    /// Run directory or policy file. Of a run that is not finished, its checkpoint is used.
    pub policy: PathBuf,
    /// Write this ONNX file; one that is there is replaced.
    #[arg(long, value_name = "FILE")]
    pub onnx: PathBuf,
    /// Export the network alone, from observations instead of fields and positions.
    #[arg(long)]
    pub inner: bool,
    /// Use the parameters of the run with the lowest validation loss (best.safetensors).
    #[arg(long)]
    pub best: bool,
    /// Override one setting, such as the grid that fields come on; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Where the files go (the command prints the path):
  with --out DIR       DIR
  RUN as trained       RUN: report.md, figures/NAME.svg, .pdf and .png
  RUN otherwise        RUN/plots/WHAT, such as runs/heat1d-0/plots/agents=16
  POLICY.safetensors   plots/POLICY, otherwise plots/POLICY/WHAT
WHAT lists what differs from the report of the training: settings, cases,
--case, --size, --dpi.

Examples:
  cinoc plot runs/fkpp1d-0
  cinoc plot runs/heat1d-0 --agents 16
  cinoc plot runs/heat2d-0 --size 180mm --dpi 300 --out paper
  cinoc plot runs/fkpp1d-0 --best
  cinoc plot policies/ks1d.safetensors --agents 16 --out ks1d-16
  cinoc plot runs/heat2d-0 --animate --case 3")]
pub struct Plot {
    #[command(flatten)]
    pub subject: Subject,
    /// Folder for report.md and figures, or for the animation [default: see below].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Width of the figures with its unit, mm or in, such as 180mm or 7in; from 80mm to 500mm [default:
    /// 268mm]. Texts keep their size. In a narrow figure panels go into more rows, and a 2D field is shown at
    /// fewer times.
    #[arg(long, value_name = "WIDTH", conflicts_with = "animate")]
    pub size: Option<String>,
    /// Resolution of the PNG files in pixels per inch, from 36 to 600 [default: 144].
    #[arg(long, value_name = "DPI", conflicts_with = "animate")]
    pub dpi: Option<f64>,
    /// Write an animation of one case instead, without and with control side by side (2D tasks).
    #[arg(long)]
    pub animate: bool,
    /// File format of the animation: gif plays everywhere, apng keeps every colour.
    #[arg(long, value_enum, default_value = "gif", requires = "animate")]
    pub format: AnimationFormat,
    /// Case to animate, from 0 [default: the one with the median final error].
    #[arg(long, value_name = "K", requires = "animate")]
    pub case: Option<usize>,
}

/// File format of an animation.
#[derive(Clone, Copy, ValueEnum)]
pub enum AnimationFormat {
    Gif,
    Apng,
}

impl From<AnimationFormat> for cinoc_lab::figures::AnimationFormat {
    fn from(format: AnimationFormat) -> Self {
        match format {
            AnimationFormat::Gif => cinoc_lab::figures::AnimationFormat::Gif,
            AnimationFormat::Apng => cinoc_lab::figures::AnimationFormat::Apng,
        }
    }
}

#[derive(Args)]
#[command(after_help = "Examples:
  cinoc record policies/heat1d.safetensors heat1d.decisions
  cinoc record runs/fkpp1d-0 fkpp1d.decisions --agents 60 --count 200
  cinoc-selftest policies/heat1d.safetensors heat1d.decisions     on the target, see docs/deploy.md

The situations are those of closed loops with 1 to M agents, some of which fail.
The decisions are made in double precision.")]
pub struct Record {
    /// Policy file or run directory.
    pub policy: PathBuf,
    /// The file to write.
    pub file: PathBuf,
    /// Most agents of any decision [default: that of the training].
    #[arg(long, value_name = "M")]
    pub agents: Option<usize>,
    /// Number of decisions.
    #[arg(long, value_name = "N", default_value = "64", value_parser = at_least_one)]
    pub count: usize,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  cinoc sweep agents policies/fkpp1d.safetensors
  cinoc sweep agents runs/heat2d-0 --values 10,20,x4 --cases 20
  cinoc sweep physics policies/fkpp1d.safetensors --values x0.5,x2
  cinoc sweep physics.nu policies/heat1d.safetensors --values 0.1,0.2,0.4
  cinoc sweep failure policies/heat1d.safetensors --out failure
  cinoc sweep grid policies/ks1d.safetensors --values x1,x2 --cases 4 --json")]
pub struct Sweep {
    /// What to change: agents, noise, failure, grid, physics (every coefficient of the equation in turn), or
    /// physics.NAME (one of them).
    pub axis: String,
    /// Run directory or policy file. Of a run that is not finished, its checkpoint is used.
    pub policy: PathBuf,
    /// Values to measure at, absolute (10,20,40) or multiples of the value in training (x0.5,x2). agents:
    /// numbers of agents; grid: points along x; physics.NAME: the coefficient; noise: standard deviations of
    /// the sensor noise, with twice that for the actuators; failure: shares of the agents. noise and failure
    /// take no multiples. The value of the training is always measured too.
    #[arg(long, value_delimiter = ',', value_name = "X,Y,...", allow_hyphen_values = true)]
    pub values: Option<Vec<String>>,
    /// Number of test cases per value.
    #[arg(long, value_name = "N", default_value = "50", value_parser = at_least_one)]
    pub cases: usize,
    /// Write tables (Markdown, CSV, JSON) and figures into this folder. Without it, the table is printed and
    /// nothing is written.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Threads; the result does not depend on it.
    #[arg(long, value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// Where to compute: cpu, cuda, or cuda:N for the GPU number N. A GPU gives other last digits than a CPU.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
    /// Print one JSON object, with all digits.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  cinoc reproduce                     list the experiments
  cinoc reproduce cardinality         one experiment; results/cardinality.md has its tables and figures
  cinoc reproduce all --quick         every experiment in a very small version, as a test
  cinoc reproduce effort --seeds 3    with three training seeds where numbers are compared
  cinoc reproduce table --methods all the operator policy and every baseline
  cinoc reproduce page                docs/results.md from the files in results/

To resume an experiment that was stopped (Ctrl-C) or killed, run the same command again.")]
pub struct Reproduce {
    /// Experiment, `all`, or `page` for the page of all results; without a name, lists the experiments.
    pub name: Option<String>,
    /// A very small version of everything, in minutes, to test that it works. Its numbers mean nothing: the
    /// first line of the results says so, and there are no findings.
    #[arg(long)]
    pub quick: bool,
    /// Number of training seeds where numbers are compared [default: that of the experiment].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub seeds: Option<usize>,
    /// With table or methods: compare these methods (cinoc, dpc, ppo, td3, mappo, matd3, separated by
    /// commas), or all.
    #[arg(long, value_delimiter = ',', value_name = "METHOD,...|all")]
    pub methods: Option<Vec<String>>,
    /// With table, methods, cardinality, cardinality-paper or failure: run these tasks only. The results file
    /// keeps its results of the other tasks, except with methods.
    #[arg(long, value_delimiter = ',', value_name = "TASK,...")]
    pub tasks: Option<Vec<String>>,
    /// With table: only these rows of a task: default, paper (the presets), dpc (the strongest baseline).
    #[arg(long, value_delimiter = ',', value_name = "ROW,...")]
    pub rows: Option<Vec<String>>,
    /// Folder for results [default: results, or runs/quick/results].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder for runs and measurements [default: runs/lab, or runs/quick].
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Threads; the results, except times, do not depend on it.
    #[arg(long, value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// Where to compute: cpu, cuda, or cuda:N for the GPU number N. A GPU gives other last digits than a CPU.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Device,
    /// Print one JSON object per experiment.
    #[arg(long)]
    pub json: bool,
}

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
    /// Time decisions instead of training: percentiles, for 1 to 100 000 agents unless --agents says otherwise.
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

/// A token of an address, long enough not to be guessed.
fn token(text: &str) -> Result<String, String> {
    match text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        true => Ok(text.to_string()),
        false => Err("must be at least 16 letters and digits".into()),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_string()),
        Ok(n) => Ok(n),
        Err(_) => Err("must be a whole number".to_string()),
    }
}
