//! Observation, policy, actuation, objective and closed loop: the control tasks.
//!
//! The way of the data: [`task`] says what a task is, [`config`] holds its settings; [`data`] draws its
//! cases; [`closed_loop`] writes one control step down, from [`observation`] through [`policy`] and
//! [`actuation`] to the physics and the [`objective`]; [`rollout`] runs it.

pub mod actuation;
pub mod agents;
pub mod closed_loop;
pub mod config;
pub mod data;
pub mod decision;
pub mod disturbance;
pub mod live;
pub mod moments;
pub mod objective;
pub mod observation;
pub mod obstacles;
pub mod physics;
pub mod policy;
pub mod random;
pub mod rollout;
pub mod task;
mod tasks;
pub mod trajectories;

pub use config::Config;
pub use data::{Cases, Pool, Targets};
pub use decision::{Controller, Decision};
pub use disturbance::Disturbance;
pub use random::Purpose;
pub use rollout::{Batch, ClosedLoop};
pub use task::{Draw, Field, Fields, Task, Tasks};
pub use trajectories::Trajectories;
