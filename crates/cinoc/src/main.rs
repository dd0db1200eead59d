//! The program `cinoc`: the command line with the tasks of this library.

use std::process::ExitCode;

fn main() -> ExitCode {
    cinoc::command_line(cinoc::prelude::Tasks::built_in().iter().map(|task| task.as_ref().clone()))
}
