//! Drawing primitives of all panels. Panels fill a [`Drawing`](drawing::Drawing), a list of shapes and texts;
//! `svg` and `pdf` write it as vectors and `raster` as pixels.

pub(crate) mod drawing;
pub(crate) mod font;
pub(crate) mod geometry;
pub(crate) mod image;
pub(crate) mod pdf;
pub(crate) mod polyline;
pub(crate) mod raster;
pub(crate) mod style;
pub(crate) mod svg;
