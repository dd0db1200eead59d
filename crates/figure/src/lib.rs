//! Charts and maps as SVG and PNG.
//!
//! A [`Figure`] is a grid of panels: [`Lines`] draws curves, [`Map`] draws a matrix as colours. Values that are not
//! finite leave gaps or turn grey, and panels without data stay empty, so that a failed run can still be looked at.
//! Files need no installed font, and the same figure always gives the same bytes.

mod axis;
mod colour;
mod draw;
mod error;
mod figure;
mod layout;
mod lines;
mod map;
mod panel;

pub use colour::{Colour, ColourMap};
pub use error::FigureError;
pub use figure::Figure;
pub use lines::{Legend, Lines, Series};
pub use map::{Map, Marker};
pub use panel::Panel;
