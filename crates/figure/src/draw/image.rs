//! Palette images and their PNG encoding.

use crate::colour::Colour;

/// An image in which every pixel is an index into a palette. As a PNG file it takes a third of the bytes of a
/// full-colour image.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub width: usize,
    pub height: usize,
    pub palette: Vec<Colour>,
    /// Row by row from the top.
    pub pixels: Vec<u8>,
}

impl Image {
    /// The image as a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_palette(rgb(self.palette.iter().copied()));
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(bytes)
    }
}

fn rgb(colours: impl Iterator<Item = Colour>) -> Vec<u8> {
    colours.flat_map(|colour| [colour.red, colour.green, colour.blue]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_png_holds_the_colours() {
        let palette = vec![Colour::BLACK, Colour::rgb(1, 2, 3), Colour::WHITE];
        let image = Image { width: 3, height: 2, palette: palette.clone(), pixels: vec![0, 1, 2, 2, 1, 0] };
        let mut decoder = png::Decoder::new(std::io::Cursor::new(image.to_png().unwrap()));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut decoded = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut decoded).unwrap();
        assert_eq!((info.width, info.height), (3, 2));
        assert_eq!(decoded, rgb(image.pixels.iter().map(|&i| palette[usize::from(i)])));
    }
}
