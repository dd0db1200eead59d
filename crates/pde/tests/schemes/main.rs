//! Every scheme against its declared order, exact solutions, invariants and symmetries.

mod common;
mod fkpp;
mod heat;
mod kuramoto_sivashinsky;
mod order;
