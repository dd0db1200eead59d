//! Figures of runs, one per file.

mod learning_curve;
mod look;
mod plane;
mod snapshots;
mod space_time;
mod time_courses;

pub use cinoc_figure::AnimationFormat;
pub use learning_curve::learning_curve;
pub use plane::{animation, save_animation, snapshots_2d};
pub use snapshots::snapshots;
pub use space_time::space_time;
pub use time_courses::time_courses;

use std::path::Path;

use cinoc_figure::{Figure, FigureError};
use cinoc_learn::files::{FileError, write_atomically};
use thiserror::Error;

/// Size and resolution of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// Width in points (1/72 inch). Texts keep their size; panels go into more rows where it is narrow.
    pub width: f64,
    /// Pixels per inch of PNG files.
    pub dpi: f64,
}

impl Default for Format {
    /// The column of a report.
    fn default() -> Self {
        Format { width: 760.0, dpi: 144.0 }
    }
}

/// Why a figure could not be written.
#[derive(Debug, Error)]
pub enum SaveError {
    /// It could not be drawn.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Writes `NAME.svg`, `NAME.pdf` and `NAME.png` into a folder, the last with `dpi` pixels per inch.
pub fn save(figure: &Figure, folder: &Path, name: &str, dpi: f64) -> Result<(), SaveError> {
    let (svg, pdf, png) = (figure.to_svg(), figure.to_pdf(), figure.to_png(dpi / 72.0)?);
    for (ending, bytes) in [("svg", svg.as_bytes()), ("pdf", &pdf), ("png", &png)] {
        write_atomically(&folder.join(format!("{name}.{ending}")), |file| file.write_all(bytes))?;
    }
    Ok(())
}
