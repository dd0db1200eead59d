//! The command line: raw arguments become settings, a command runs, an exit code says how it went.
//!
//! Exit codes: 0 done, 1 the run failed, 2 the request was wrong, 130 stopped by Ctrl-C after saving a checkpoint.

mod arguments;
mod commands;
mod failure;
mod terminal;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Tasks(request) => commands::tasks::run(&request),
        Command::Train(request) => commands::train::run(&request),
        Command::Eval(request) => commands::eval::run(&request),
        Command::Bench(request) => commands::bench::run(&request),
        Command::Trace(request) => commands::trace::run(&request),
        Command::CheckGradients(request) => commands::check_gradients::run(&request),
        Command::Verify(request) => commands::verify::run(&request),
        Command::Plot(request) => commands::plot::run(&request),
        Command::Sweep(request) => commands::sweep::run(&request),
        Command::Reproduce(request) => commands::reproduce::run(&request),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            failure.exit_code()
        }
    }
}
