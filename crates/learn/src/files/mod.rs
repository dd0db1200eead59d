//! Files a run leaves behind: written completely or not at all, and checked when read.

mod atomic;
mod bytes;
mod error;
mod growing;
mod tensors;

#[cfg(test)]
mod damage_tests;

pub use atomic::write_atomically;
pub use bytes::fnv1a;
pub use error::{FileError, TensorError};
pub use growing::GrowingTensors;
pub use tensors::{Data, Element, Tensor, Tensors};
