//! The viewer in the browser, started from Python.

use std::net::{IpAddr, Ipv4Addr};

use cinoc::view::library::{Library, Offered};
use cinoc::view::server::Server;
use pyo3::prelude::*;

use crate::errors::{raised, wrong};
use crate::policy::Policy;

/// Serves policies, and the shipped ones, on a thread of its own that lives as long as the process. Returns
/// the address.
#[pyfunction]
fn serve(policies: Vec<PyRef<'_, Policy>>, port: u16, token: Option<&str>) -> PyResult<String> {
    if token.is_some_and(|token| token.len() < 16 || !token.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    {
        return Err(wrong("token: must be at least 16 letters and digits"));
    }
    let offered = policies.iter().enumerate().map(|(number, policy)| {
        let file = policy.file.as_ref().clone();
        Offered::new(format!("policy {} ({})", number + 1, file.config.task), file)
    });
    let library = Library::new(offered.collect()).map_err(raised)?;
    let server = Server::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port, token, library)
        .map_err(|error| wrong(format!("cannot listen at port {port}: {error}; take another port")))?;
    let address = server.address();
    std::thread::spawn(move || server.run());
    Ok(address)
}

/// Adds it to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(serve, module)?)
}
