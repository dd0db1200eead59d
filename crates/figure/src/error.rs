//! Errors of rendering and writing a figure.

use std::path::PathBuf;

/// A figure could not be rendered or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// The file could not be written.
    #[error("cannot write {path}")]
    Write {
        /// The file that was asked for.
        path: PathBuf,
        /// The reason the system gave.
        source: std::io::Error,
    },
    /// The requested PNG has no pixels, or too many.
    #[error("cannot make an image of {width} x {height} pixels")]
    ImageSize {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// The pixels could not be encoded as PNG.
    #[error("cannot encode the image as PNG")]
    Encode(#[from] png::EncodingError),
    /// The pixels could not be encoded as GIF.
    #[error("cannot encode the images as GIF")]
    EncodeGif(#[from] gif::EncodingError),
    /// An animation has no frames, or too many.
    #[error("cannot make an animation of {0} frames")]
    FrameCount(usize),
    /// The frames of an animation differ in size.
    #[error("frame {frame} differs in size from the first")]
    FrameSize {
        /// Number of the frame, from 0.
        frame: usize,
    },
}
