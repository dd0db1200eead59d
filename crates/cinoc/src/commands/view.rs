//! `cinoc view`: a controlled field, live in the browser.

use crate::arguments::View;
use crate::failure::Failure;
use crate::terminal::{Terminal, say, warn};
use crate::work::subject::load_policy;
use cinoc_control::Tasks;
use cinoc_view::library::{Library, Offered};
use cinoc_view::server::Server;
use std::process::{Command, Stdio};

pub fn run(request: &View, tasks: &Tasks) -> Result<(), Failure> {
    let mut given = Vec::new();
    for path in &request.policies {
        let policy = load_policy(path, false, tasks, &Terminal::default())?.policy;
        given.push(Offered { name: path.display().to_string(), policy });
    }
    let library = Library::new(given)?;
    if !request.host.is_loopback() {
        warn(&format!(
            "--host {}: whoever can reach this machine and knows the address can watch and use its processor",
            request.host
        ));
    }
    let server =
        Server::new(request.host, request.port, request.token.as_deref(), library).map_err(|error| {
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
    server.run();
    Ok(())
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
