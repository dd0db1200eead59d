//! GIF. All frames share one palette, so no colour flickers. Unchanged pixels are transparent.

use std::collections::HashMap;

use gif::{DisposalMethod, Encoder, Frame, Repeat};

use super::Animation;
use super::palette::Palette;
use crate::{Figure, FigureError};

/// The palette is computed from this many frames, evenly spread.
const SAMPLED: usize = 16;
/// The last palette entry marks an unchanged pixel.
const UNCHANGED: u8 = 255;

impl<F: Fn(usize) -> Figure> Animation<F> {
    pub(super) fn to_gif(&self) -> Result<Vec<u8>, FigureError> {
        let palette = self.palette()?;
        let mut nearest = Nearest { palette: &palette, known: HashMap::new() };
        let first = self.frame(0)?;
        let size = |pixels: u32| u16::try_from(pixels).ok();
        let (Some(width), Some(height)) = (size(first.width), size(first.height)) else {
            return Err(FigureError::ImageSize { width: first.width, height: first.height });
        };
        let mut colours = palette.entries().to_vec();
        colours.resize(256, [0; 3]);
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, width, height, colours.as_flattened())?;
        encoder.set_repeat(Repeat::Infinite)?;
        let buffer: Vec<u8> = first.rgb.iter().map(|&colour| nearest.entry(colour)).collect();
        encoder.write_frame(&Frame {
            delay: self.delay(0),
            dispose: DisposalMethod::Keep,
            width,
            height,
            buffer: buffer.into(),
            ..Frame::default()
        })?;
        self.for_each_change(first, |frame, before, now, area| {
            let pixel = |i: usize| {
                if before.rgb[i] == now.rgb[i] { UNCHANGED } else { nearest.entry(now.rgb[i]) }
            };
            let buffer: Vec<u8> = area.indices(now.width).map(pixel).collect();
            encoder.write_frame(&Frame {
                delay: self.delay(frame),
                dispose: DisposalMethod::Keep,
                transparent: Some(UNCHANGED),
                left: area.left as u16,
                top: area.top as u16,
                width: area.width as u16,
                height: area.height as u16,
                buffer: buffer.into(),
                ..Frame::default()
            })?;
            Ok(())
        })?;
        drop(encoder); // writes the end of the file
        Ok(bytes)
    }

    fn palette(&self) -> Result<Palette, FigureError> {
        let Some(last) = self.frames.checked_sub(1) else { return Err(FigureError::FrameCount(0)) };
        let mut counts: HashMap<[u8; 3], u64> = HashMap::new();
        let mut sampled: Vec<usize> = (0..SAMPLED).map(|i| i * last / (SAMPLED - 1)).collect();
        sampled.dedup();
        for frame in sampled {
            for colour in self.frame(frame)?.rgb {
                *counts.entry(colour).or_default() += 1;
            }
        }
        Ok(Palette::of(counts.into_iter().collect(), usize::from(UNCHANGED)))
    }
}

/// Nearest palette entries, with a cache: each colour is looked up once.
struct Nearest<'a> {
    palette: &'a Palette,
    known: HashMap<[u8; 3], u8>,
}

impl Nearest<'_> {
    fn entry(&mut self, colour: [u8; 3]) -> u8 {
        *self.known.entry(colour).or_insert_with(|| self.palette.nearest(colour))
    }
}
