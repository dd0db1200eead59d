//! Training through the physics, data pools, checkpoints and evaluation.
//!
//! The way of the data: [`pool`] draws cases, a [`learner`] ([`train`] through the physics, [`rl`] by trial)
//! updates parameters on them, [`run`] keeps the files of a training, [`policy_file`] holds the result,
//! [`evaluate`] measures it on held-out cases. [`verify`] and [`gradient_check`] hold the whole chain against
//! independent numbers; [`mean_field`] holds gradients of many agents against those of a density of agents.
//! Classical ways learn nothing: [`nmpc`] plans anew in every control step, a [`regulator`] is the best linear
//! feedback of a field near rest. [`team`] lets
//! several processes do one training.

pub mod array_file;
pub mod bench;
pub mod cases_file;
pub mod checkpoint;
pub mod decisions_file;
pub mod evaluate;
pub mod events;
pub mod files;
pub mod gradient_check;
pub mod inputs;
pub mod latency;
pub mod learner;
pub mod mean_field;
pub mod memory;
mod metrics;
pub mod nmpc;
pub mod onnx;
pub mod policy_file;
pub mod pool;
pub mod regulator;
pub mod rl;
pub mod run;
pub mod schedule;
pub mod situation;
pub mod slope;
pub mod team;
pub mod train;
pub mod validation;
pub mod verify;
mod weights;

#[cfg(test)]
mod pair;
