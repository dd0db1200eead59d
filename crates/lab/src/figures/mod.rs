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

/// Pixels per point of a PNG.
const SCALE: f64 = 2.0;

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

/// Writes `NAME.svg` and `NAME.png` into a folder.
pub fn save(figure: &Figure, folder: &Path, name: &str) -> Result<(), SaveError> {
    let (svg, png) = (figure.to_svg(), figure.to_png(SCALE)?);
    write_atomically(&folder.join(format!("{name}.svg")), |file| file.write_all(svg.as_bytes()))?;
    write_atomically(&folder.join(format!("{name}.png")), |file| file.write_all(&png))?;
    Ok(())
}
