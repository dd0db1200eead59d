//! Every scheme against its declared order, exact solutions, invariants and symmetries.

mod common;
mod density;
mod fkpp;
mod heat;
mod heat_2d;
mod kuramoto_sivashinsky;
mod order;
mod uncontrolled;
