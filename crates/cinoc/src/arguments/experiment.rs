//! Arguments of `cinoc reproduce`.

use super::{Computer, at_least_one};
use clap::Args;
use std::path::PathBuf;

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
    /// commas), or all. The results file keeps its results of the other methods.
    #[arg(long, value_delimiter = ',', value_name = "METHOD,...|all")]
    pub methods: Option<Vec<String>>,
    /// With table, methods, cardinality, cardinality-paper, failure, optimum or regulator: run these tasks
    /// only. The results file keeps its results of the other tasks.
    #[arg(long, value_delimiter = ',', value_name = "TASK,...")]
    pub tasks: Option<Vec<String>>,
    /// With table: only these rows of a task: default, paper (the presets), dpc (the strongest baseline).
    /// The results file keeps the other rows.
    #[arg(long, value_delimiter = ',', value_name = "ROW,...")]
    pub rows: Option<Vec<String>>,
    /// Folder for results [default: results, or runs/quick/results].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder for runs and measurements [default: runs/lab, or runs/quick].
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    #[command(flatten)]
    pub on: Computer,
    /// Print one JSON object per experiment.
    #[arg(long)]
    pub json: bool,
}
