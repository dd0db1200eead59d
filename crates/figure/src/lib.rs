//! Charts and maps as SVG, PDF and PNG, sequences of them as APNG and GIF.
//!
//! A [`Figure`] is a grid of panels: [`Lines`] draws curves, [`Map`] draws a matrix as colours. Infinite or
//! NaN values leave gaps or are grey, and panels without data are empty, so a failed run can still be
//! plotted. An [`Animation`] is a sequence of figures. Files need no installed font, and the same figure
//! always gives the same bytes.

mod animation;
mod axis;
mod colour;
mod draw;
mod error;
mod figure;
mod layout;
mod lines;
mod map;
mod page;
mod panel;

pub use animation::{Animation, AnimationFormat};
pub use colour::{Colour, ColourMap};
pub use error::FigureError;
pub use figure::Figure;
pub use lines::{Legend, Lines, Series};
pub use map::{ColourBar, Map, Marker, Symbol};
pub use panel::Panel;
