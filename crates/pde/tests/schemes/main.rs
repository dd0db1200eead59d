//! Every scheme against its declared order, exact solutions, invariants and symmetries.

mod common;
mod density;
mod fkpp;
mod heat;
mod heat_2d;
mod kuramoto_sivashinsky;
mod kuramoto_sivashinsky_2d;
mod order;
mod periodic;
mod spectra;
mod uncontrolled;
mod vorticity;
