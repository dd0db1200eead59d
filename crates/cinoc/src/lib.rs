//! Learn one small policy that controls a field, and run it with any number of actuators.
//!
//! A policy is trained by differentiating through the solver of a PDE. It is shared by all agents, and how
//! many there are is an argument of a run. This crate is the door to the library and its command line.
//!
//! # A PDE of your own
//!
//! A `Task` is a value: the equation with its scheme, how cases are drawn, and a preset. A program that ends
//! in [`command_line`] has every command for it: `train`, `eval`, `act`, `export`, `plot`, `sweep`, `bench`,
//! `check-gradients`, and the baselines. The folder `examples` holds two such programs.
//!
//! ```no_run
//! use cinoc::prelude::*;
//!
//! fn rod() -> Task {
//!     Task::new(
//!         "rod",
//!         Boundary::Dirichlet,
//!         "[physics]\nnu = 0.1\n[data]\nlength = 0.3",
//!         |config| pde::Heat::new(config.domain().x, config.physics.number("nu"), config.time.dt),
//!         |config, draw| {
//!             let x = config.domain().x.points();
//!             let field = pde::RandomField::new(&x, config.data.values.number("length"), 1.0);
//!             draw.each(|draw| [draw.normals(x.len()), draw.normals(x.len())].map(|n| field.bridged(&n)))
//!         },
//!     )
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     cinoc::command_line([rod()])
//! }
//! ```
//!
//! # A trained policy in your program
//!
//! ```
//! # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap();
//! use cinoc::prelude::*;
//!
//! let policy = PolicyFile::read("policies/heat1d.safetensors".as_ref(), Tasks::built_in()).unwrap();
//! let config = policy.config.with_sets(&["agents=12".to_string()]).unwrap();
//! let (field, target) = (vec![0.0f32; config.state_size()], vec![0.5; config.state_size()]);
//! let positions: Vec<f32> = (0..12).map(|i| 0.05 + 0.08 * i as f32).collect();
//! let mut controller = Decision::<f32>::new(&config).controller(&policy.params, &target);
//! let decided = controller.decide(&field, &positions);
//! println!("intensities {:?}, velocities {:?}", decided.u, decided.v);
//! # assert!(decided.u.unwrap().iter().all(|u| u.abs() <= 40.0 && *u != 0.0) && decided.v.unwrap().len() == 12);
//! ```
//!
//! # Where things are
//!
//! | module | what |
//! |---|---|
//! | [`adjoint`] | the engine: trace a step, get its reverse, run both |
//! | [`pde`] | grids, schemes, random fields |
//! | [`control`] | tasks, settings, observation, policy, actuation, objective, closed loop |
//! | [`learn`] | training, evaluation, baselines, planning, files |
//! | [`lab`] | reports, figures, experiments |
//! | [`view`] | a controlled field live in the browser |
//! | [`work`] | what the command line and the Python package ask for |

pub use cinoc_adjoint as adjoint;
pub use cinoc_control as control;
pub use cinoc_cuda as cuda;
pub use cinoc_lab as lab;
pub use cinoc_learn as learn;
pub use cinoc_pde as pde;
pub use cinoc_view as view;

// a reader of standard output may go away: `say!` bears it, `println!` panics
#[deny(clippy::print_stdout)]
mod commands;

mod arguments;
mod failure;
mod ranks;
mod terminal;
pub mod work;

use std::process::ExitCode;

pub use failure::Failure;

use arguments::{Arguments, Command};
use clap::{CommandFactory, FromArgMatches};
use prelude::{Task, Tasks};
use ranks::Crew;

/// What a program with a PDE of its own, or with a trained policy, needs.
pub mod prelude {
    pub use crate::pde;
    pub use cinoc_adjoint::{Sparse, Threads, TooManyThreads, Tridiagonal, Var};
    pub use cinoc_control::config::{ConfigError, Key, Preset, Range};
    pub use cinoc_control::{
        Cases, ClosedLoop, Config, Controller, Decision, Draw, Field, Fields, Pool, Task, Tasks,
    };
    pub use cinoc_learn::evaluate::{Evaluation, evaluate, roll_out};
    pub use cinoc_learn::policy_file::PolicyFile;
    pub use cinoc_learn::run::Run;
    pub use cinoc_pde::{Axis, Boundary, Dynamics, Grid};
}

/// The code in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Runs the command line of a program with these tasks: reads its arguments, does what they say, tells how it
/// went.
///
/// Exit codes: 0 done, 1 the run failed, 2 the request was wrong, 130 stopped by Ctrl-C after saving a
/// checkpoint.
///
/// Of several processes that `mpirun` starts, the first does this, and the others help it.
pub fn command_line(tasks: impl IntoIterator<Item = Task>) -> ExitCode {
    let tasks = Tasks::new(tasks);
    let crew = match Crew::join() {
        Ok(crew) => crew,
        Err(failure) => {
            failure.iter().for_each(Failure::report);
            // all ranks end alike, so that the launcher does not blame one of them
            return failure.map_or(ExitCode::from(2), |failure| failure.exit_code());
        }
    };
    if crew.team.follows() {
        ranks::serve(&crew, &tasks);
        return ExitCode::SUCCESS;
    }
    let code = obey(&tasks, &crew);
    crew.dismiss();
    code
}

/// Does what the arguments say.
fn obey(tasks: &Tasks, crew: &Crew) -> ExitCode {
    let matches = Arguments::command().try_get_matches();
    let arguments = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let command = match arguments {
        Ok(arguments) => arguments.command,
        Err(error) => {
            // nobody reads it: nothing is to be done about that
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let outcome = crew.bearing_device_errors(|| run(command, tasks, crew));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            failure.exit_code()
        }
    }
}

fn run(command: Command, tasks: &Tasks, crew: &Crew) -> Result<(), Failure> {
    match command {
        Command::Tasks(request) => commands::tasks::run(&request, tasks),
        Command::Train(request) => commands::train::run(&request, tasks, crew),
        Command::Eval(request) => commands::eval::run(&request, tasks),
        Command::Act(request) => commands::act::run(&request, tasks),
        Command::Export(request) => commands::export::run(&request, tasks),
        Command::Bench(request) => commands::bench::run(&request, tasks),
        Command::Trace(request) => commands::trace::run(&request, tasks),
        Command::CheckGradients(request) => commands::check_gradients::run(&request, tasks),
        Command::Verify(request) => commands::verify::run(&request),
        Command::Plot(request) => commands::plot::run(&request, tasks),
        Command::View(request) => commands::view::run(&request, tasks),
        Command::Record(request) => commands::record::run(&request, tasks),
        Command::Sweep(request) => commands::sweep::run(&request, tasks, crew),
        Command::Reproduce(request) => commands::reproduce::run(&request, crew),
    }
}
