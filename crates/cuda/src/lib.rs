//! Programs of the engine on a GPU.
//!
//! A plan becomes CUDA C++ that is compiled when it is first used. Each sweep is one launch: a *team* of
//! threads, one block or a cluster of blocks, takes a sample through all its steps forward and back.
//! Threads of a team share agents and grid points; they wait for each other only where one needs what
//! another has computed. Nothing is added by several threads at once, so that every run gives the same
//! bits.
//!
//! | file | what is in it |
//! |---|---|
//! | `device/*.h` | the device functions of all primitives, in the common subset of CUDA C++ and C++ |
//! | `lower/` | from an operation of a plan to calls of device functions |
//! | `calls.rs` | calls of device functions, and what they touch |
//! | `schedule.rs` | where barriers are needed |
//! | `places.rs` | what comes from outside a step and goes there |
//! | `versions.rs` | memory of their own for small values that share a slot |
//! | `weights.rs` | weights whose rows lie apart |
//! | `halves.rs` | products along both axes by blocks that have parts of a field |
//! | `fields.rs` | fields in the shared memory of all blocks |
//! | `memory.rs` | which slots live in shared memory |
//! | `sweep.rs` | the code of a forward sweep and of a gradient |
//! | `late.rs` | what the parameters get, added up after the sweep |
//! | `executable.rs` | what goes to a processor and what comes back |
//! | `compile.rs` | NVRTC, and a cache of machine code |
//! | `device.rs` | a CUDA device as a backend |
//! | `batches.rs` | programs for few samples and for many |
//! | `launch.rs` | a program there: kernels, memory, launches |
//! | `host.rs` | the same code on the host, for tests without a GPU |
//! | `rounding.h` | the rounding of matrix units, for such tests |

mod batches;
mod calls;
pub mod compile;
mod cuts;
mod device;
mod executable;
mod fields;
mod halves;
pub mod host;
mod late;
mod launch;
mod lower;
mod memory;
mod places;
mod schedule;
mod sweep;
mod tables;
mod transfer;
mod versions;
mod weights;

pub use device::{Choice, Cuda, NoDevice};
pub use executable::{DeviceError, Entry};
pub use sweep::{Code, Spread, generate};
pub use tables::Tables;
