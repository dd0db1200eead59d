//! `cinoc view`: a controlled field, live in the browser.

use super::train::asked;
use crate::arguments::{Train, TrainOptions, View};
use crate::failure::Failure;
use crate::ranks::Crew;
use crate::terminal::{Terminal, say, warn};
use crate::work::subject::load_policy;
use cinoc_control::Tasks;
use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_learn::policy_file::PolicyFile;
use cinoc_view::library::{Library, Offered};
use cinoc_view::server::Server;
use clap::Parser;
use std::process::{Command, Stdio};

pub fn run(request: &View, tasks: &Tasks) -> Result<(), Failure> {
    let training = match &request.train[..] {
        [] => None,
        words => Some(TrainOptions::try_parse_from(words).unwrap_or_else(|error| error.exit()).train),
    };
    let mut given = Vec::new();
    if let Some(training) = &training {
        given.push(followed(training, tasks)?);
    }
    for path in &request.policies {
        let policy = load_policy(path, false, tasks, &Terminal::default())?.policy;
        given.push(Offered::new(path.display().to_string(), policy));
    }
    let library = Library::new(given)?;
    if !request.host.is_loopback() {
        warn(&format!(
            "--host {}: whoever can reach this machine and knows the address can watch and use its processor",
            request.host
        ));
    }
    let server = Server::new(request.host, request.port, request.token.as_deref(), library);
    let server = server.map_err(|error| {
        Failure::Request(format!(
            "cannot listen at {}:{}: {error}; take another --port",
            request.host, request.port
        ))
    })?;
    let address = server.address();
    say!("{address}");
    if !request.no_open {
        open(&address);
    }
    let serving = std::thread::spawn(move || server.run());
    if let Some(training) = &training {
        super::train::run(training, tasks, &Crew::default())?;
    }
    // pages are served until the process is ended
    let _ = serving.join();
    Ok(())
}

/// The policy that a training is going to make, as it begins.
fn followed(request: &Train, tasks: &Tasks) -> Result<Offered, Failure> {
    let (config, folder) = asked(request, tasks)?;
    let params = initial_params(&config, &mut stream(config.train.seed, Purpose::Parameters, 0));
    let first = PolicyFile { params: params.iter().map(|&value| value as f32).collect(), config };
    Ok(Offered::in_training(folder.display().to_string(), first, &folder, tasks))
}

/// Opens the address in a browser, if there is a screen; whoever has none has the address.
fn open(address: &str) {
    let shown = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("cmd");
        command.args(["/c", "start", ""]);
        command
    } else if shown {
        Command::new("xdg-open")
    } else {
        return;
    };
    let _ = command.arg(address).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
