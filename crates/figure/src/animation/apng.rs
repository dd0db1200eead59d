//! Animated PNG.

use super::Animation;
use crate::{Figure, FigureError};

impl<F: Fn(usize) -> Figure> Animation<F> {
    pub(super) fn to_apng(&self) -> Result<Vec<u8>, FigureError> {
        let count = u32::try_from(self.frames).ok().filter(|&count| count > 0);
        let count = count.ok_or(FigureError::FrameCount(self.frames))?;
        let first = self.frame(0)?;
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, first.width, first.height);
        encoder.set_color(png::ColorType::Rgb);
        // with many frames, time matters more than the last bytes
        encoder.set_compression(png::Compression::Balanced);
        encoder.set_animated(count, 0)?;
        encoder.set_frame_delay(self.delay(0), 100)?;
        let mut writer = encoder.write_header()?;
        writer.write_image_data(first.rgb.as_flattened())?;
        self.for_each_change(first, |frame, _, now, area| {
            let pixels: Vec<[u8; 3]> = area.indices(now.width).map(|i| now.rgb[i]).collect();
            // the writer checks every setting against the ones before it, so it starts from the whole image
            writer.reset_frame_position()?;
            writer.set_frame_dimension(area.width as u32, area.height as u32)?;
            writer.set_frame_position(area.left as u32, area.top as u32)?;
            writer.set_frame_delay(self.delay(frame), 100)?;
            writer.write_image_data(pixels.as_flattened())?;
            Ok(())
        })?;
        writer.finish()?;
        Ok(bytes)
    }
}
