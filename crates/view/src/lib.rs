//! Watch and disturb a controlled field live, in the browser.
//!
//! A [`server::Server`] offers the policies of a [`library::Library`] on the loopback interface. Every tab
//! has a [`simulation::Simulation`] of its own, the engine's closed loop driven one control step at a time.
//! [`protocol`] is what both sides say to each other.

pub mod library;
pub mod protocol;
pub mod server;
pub mod simulation;

mod connection;
mod http;
mod page;
