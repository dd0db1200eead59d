//! Grids, random fields and solvers of partial differential equations, written forward-only on the engine.
//!
//! A PDE is a type that implements [`Dynamics`]: one time step, written with the engine's symbolic values.
//! Nothing here is differentiated by hand, and nothing here depends on agents.
//!
//! | file | contents |
//! |---|---|
//! | [`grid`] | points in space and boundary conditions |
//! | [`operators`] | finite differences as sparse matrices and tridiagonal systems |
//! | [`dynamics`] | the interface of a PDE for simulation and control |
//! | [`heat`], [`fkpp`], [`kuramoto_sivashinsky`] | one equation and its scheme per file |
//! | [`heat_2d`], [`density`] | the same on a rectangle |
//! | [`kuramoto_sivashinsky_2d`], [`vorticity`] | the same on periodic rectangles |
//! | [`fourier`] | spectra on periodic rectangles, products without aliasing |
//! | [`etdrk4`], [`runge_kutta`] | time-stepping schemes of fourth order |
//! | [`mod@evolve`] | runs a PDE without control |
//! | [`random_field`], [`random_field_2d`], [`blobs`] | initial states and targets |

pub mod blobs;
pub mod density;
pub mod dynamics;
pub mod etdrk4;
pub mod evolve;
pub mod fkpp;
pub mod fourier;
pub mod grid;
pub mod heat;
pub mod heat_2d;
pub mod kuramoto_sivashinsky;
pub mod kuramoto_sivashinsky_2d;
pub mod operators;
pub mod random_field;
pub mod random_field_2d;
pub mod runge_kutta;
pub mod vorticity;

pub use blobs::BlobPairs;
pub use density::{Density, Medium, Transport};
pub use dynamics::Dynamics;
pub use etdrk4::Etdrk4;
pub use evolve::{evolve, evolve_in};
pub use fkpp::Fkpp;
pub use fourier::Fourier;
pub use grid::{Axis, Boundary, Grid};
pub use heat::Heat;
pub use heat_2d::Heat2d;
pub use kuramoto_sivashinsky::{KuramotoSivashinsky, KuramotoSivashinskyEtdrk4};
pub use kuramoto_sivashinsky_2d::KuramotoSivashinsky2d;
pub use random_field::RandomField;
pub use random_field_2d::RandomField2d;
pub use vorticity::Vorticity;
