//! Grids, random fields and solvers of partial differential equations, written forward-only on the engine.
//!
//! A PDE is a type that implements [`Dynamics`]: one time step, written with the engine's symbolic values. Nothing
//! here is differentiated by hand, and nothing here knows of agents.
//!
//! | file | what it holds |
//! |---|---|
//! | [`grid`] | points in space and how the domain ends |
//! | [`operators`] | finite differences as sparse matrices and tridiagonal systems |
//! | [`dynamics`] | what a PDE has to say to be simulated and controlled |
//! | [`heat`], [`fkpp`], [`kuramoto_sivashinsky`] | one equation and its scheme each |
//! | [`heat_2d`], [`density`] | the same on a rectangle |
//! | [`mod@evolve`] | running a PDE without any control |
//! | [`random_field`], [`random_field_2d`], [`blobs`] | initial states and targets |

pub mod blobs;
pub mod density;
pub mod dynamics;
pub mod evolve;
pub mod fkpp;
pub mod grid;
pub mod heat;
pub mod heat_2d;
pub mod kuramoto_sivashinsky;
pub mod operators;
pub mod random_field;
pub mod random_field_2d;

pub use blobs::BlobPairs;
pub use density::{Density, Medium, Transport};
pub use dynamics::Dynamics;
pub use evolve::evolve;
pub use fkpp::Fkpp;
pub use grid::{Axis, Boundary, Grid};
pub use heat::Heat;
pub use heat_2d::Heat2d;
pub use kuramoto_sivashinsky::KuramotoSivashinsky;
pub use random_field::RandomField;
pub use random_field_2d::RandomField2d;
