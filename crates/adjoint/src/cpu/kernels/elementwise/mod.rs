//! Functions of one number and of several, element by element.

mod binary;
mod combination;
mod map;
mod quadratic;

use super::*;
pub(crate) use binary::add_scaled;

/// Adds what a reverse rule has computed in place of dy to the adjoint of the input, unless it is handed
/// over.
pub(crate) unsafe fn add_in_place<T: Real>(isa: Isa, dy: &[T], dx: &mut Adjoint<T>) {
    if dx.wanted() {
        add_scaled(isa, T::of(1.0), dy, dx.accumulate, &mut dx.data);
    }
}
