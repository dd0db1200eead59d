//! Sequences of figures as animated PNG or GIF files.
//!
//! After the first frame, only the rectangle in which pixels have changed is stored.

mod apng;
mod gif;
mod palette;

use crate::draw::raster::Pixels;
use crate::{Figure, FigureError};

/// The file formats of an animation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnimationFormat {
    /// Animated PNG: exact colours. Programs that do not support it show the first frame.
    Apng,
    /// GIF: 256 colours, supported everywhere.
    Gif,
}

impl AnimationFormat {
    /// The file extension. An animated PNG is a PNG.
    pub fn extension(self) -> &'static str {
        match self {
            AnimationFormat::Apng => "png",
            AnimationFormat::Gif => "gif",
        }
    }
}

/// A sequence of figures of the same size, in an endless loop. Frames are drawn when needed, so a long
/// animation takes no more memory than a short one.
///
/// ```
/// use cinoc_figure::{Animation, AnimationFormat, Figure, Lines};
///
/// let frame = |i: usize| Figure::new(1, 1).size(60.0, 40.0).progress(i as f64 / 4.0, format!("{i}"));
/// let bytes = Animation::new(5, frame).to_bytes(AnimationFormat::Gif)?;
/// assert!(bytes.starts_with(b"GIF89a"));
/// # Ok::<(), cinoc_figure::FigureError>(())
/// ```
pub struct Animation<F> {
    frames: usize,
    draw: F,
    scale: f64,
    frame_time: u16,
    hold: u16,
}

impl<F: Fn(usize) -> Figure> Animation<F> {
    /// An animation of `frames` figures; `draw(i)` makes frame `i`. One pixel per point, 15 frames per
    /// second.
    pub fn new(frames: usize, draw: F) -> Self {
        Animation { frames, draw, scale: 1.0, frame_time: 7, hold: 7 }
    }

    /// Pixels per point.
    pub fn scale(self, scale: f64) -> Self {
        Animation { scale, ..self }
    }

    /// How long each frame and the last frame are shown, in hundredths of a second. Browsers slow down
    /// animations with frame times below 2.
    pub fn frame_time(self, each: u16, last: u16) -> Self {
        Animation { frame_time: each, hold: last, ..self }
    }

    /// The animation as a file.
    pub fn to_bytes(&self, format: AnimationFormat) -> Result<Vec<u8>, FigureError> {
        match format {
            AnimationFormat::Apng => self.to_apng(),
            AnimationFormat::Gif => self.to_gif(),
        }
    }

    fn frame(&self, frame: usize) -> Result<Pixels, FigureError> {
        (self.draw)(frame).to_pixels(self.scale)
    }

    /// In hundredths of a second.
    fn delay(&self, frame: usize) -> u16 {
        if frame + 1 == self.frames { self.hold } else { self.frame_time }
    }

    /// Visits the frames after the first: each with its number, the previous frame and the area that changed.
    fn for_each_change(
        &self,
        first: Pixels,
        mut each: impl FnMut(usize, &Pixels, &Pixels, Area) -> Result<(), FigureError>,
    ) -> Result<(), FigureError> {
        let mut before = first;
        for frame in 1..self.frames {
            let now = self.frame(frame)?;
            if (now.width, now.height) != (before.width, before.height) {
                return Err(FigureError::FrameSize { frame });
            }
            each(frame, &before, &now, Area::changed(&before, &now))?;
            before = now;
        }
        Ok(())
    }
}

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Area {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl Area {
    /// The smallest area that contains all differences; one pixel if there are none, because no format has
    /// empty frames.
    fn changed(before: &Pixels, now: &Pixels) -> Area {
        let width = now.width as usize;
        let differs = |(a, b): (&[u8; 3], &[u8; 3])| a != b;
        let mut area: Option<(usize, usize, usize, usize)> = None;
        for (y, (old, new)) in before.rgb.chunks_exact(width).zip(now.rgb.chunks_exact(width)).enumerate() {
            let Some(first) = old.iter().zip(new).position(differs) else { continue };
            let last = old.iter().zip(new).rposition(differs).unwrap_or(first);
            let (left, top, right, _) = area.unwrap_or((first, y, last, y));
            area = Some((left.min(first), top, right.max(last), y));
        }
        let (left, top, right, bottom) = area.unwrap_or_default();
        Area { left, top, width: right - left + 1, height: bottom - top + 1 }
    }

    /// Numbers of the pixels inside, row by row, in an image of this width.
    fn indices(self, image_width: u32) -> impl Iterator<Item = usize> {
        let start = move |y: usize| y * image_width as usize + self.left;
        (self.top..self.top + self.height).flat_map(move |y| start(y)..start(y) + self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changed_area_holds_all_differences() {
        let before = Pixels { width: 5, height: 4, rgb: vec![[9; 3]; 20] };
        let mut now = before.clone();
        assert_eq!(Area::changed(&before, &now), Area { left: 0, top: 0, width: 1, height: 1 });
        now.rgb[5 + 3] = [0; 3];
        assert_eq!(Area::changed(&before, &now), Area { left: 3, top: 1, width: 1, height: 1 });
        now.rgb[3 * 5 + 1] = [9, 9, 8];
        let area = Area::changed(&before, &now);
        assert_eq!(area, Area { left: 1, top: 1, width: 3, height: 3 });
        assert_eq!(area.indices(5).collect::<Vec<_>>(), [6, 7, 8, 11, 12, 13, 16, 17, 18]);
    }
}
