//! Arguments of the commands that use a policy.

use super::{Computer, at_least_one};
use crate::work::training::REPORT_CASES;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

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
    /// Token in the address, at least 16 letters and digits, so that links stay the same after a restart
    /// [default: a random one].
    #[arg(long, value_parser = token)]
    pub token: Option<String>,
    /// Do not open a browser.
    #[arg(long)]
    pub no_open: bool,
    /// Train as `cinoc train` would with what follows, and watch it learn: the learning curve, and a case
    /// with the policy of the moment. Must come last.
    #[arg(long, value_name = "TASK [OPTIONS OF train]", num_args = 1.., allow_hyphen_values = true)]
    pub train: Vec<String>,
}

/// A policy and the settings of its use.
#[derive(Args)]
pub struct Subject {
    /// Run directory or policy file. Of a run that is not finished, its newest parameters.
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
    #[command(flatten)]
    pub on: Computer,
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
    /// control step. It holds the cases too and can be given to --cases.
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
    /// Run directory or policy file. Of a run that is not finished, its newest parameters.
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
    /// Run directory or policy file. Of a run that is not finished, its newest parameters.
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
    /// Run directory or policy file. Of a run that is not finished, its newest parameters.
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
    #[command(flatten)]
    pub on: Computer,
    /// Print one JSON object, with all digits.
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
