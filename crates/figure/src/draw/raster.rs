//! A drawing as pixels.

use tiny_skia::{
    Color, FillRule, FilterQuality, IntSize, LineCap, LineJoin, Mask, Paint, Path, PathBuilder, Pattern,
    Pixmap, SpreadMode, StrokeDash, Transform,
};

use super::drawing::{Anchor, Drawing, Fill, HALO_WIDTH, Item, Stroke, Text};
use super::font;
use super::geometry::{Rect, Size};
use super::image::Image;
use super::polyline::Point;
use crate::FigureError;
use crate::colour::Colour;

/// The drawing, of `size` points, as a PNG file with `scale` pixels per point.
pub(crate) fn png(drawing: &Drawing, size: Size, scale: f64) -> Result<Vec<u8>, FigureError> {
    Ok(encode(&pixels(drawing, size, scale)?, scale)?)
}

/// Opaque pixels, row by row from the top.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pixels {
    pub width: u32,
    pub height: u32,
    pub rgb: Vec<[u8; 3]>,
}

/// The drawing, of `size` points, with `scale` pixels per point.
pub(crate) fn pixels(drawing: &Drawing, size: Size, scale: f64) -> Result<Pixels, FigureError> {
    let (width, height) = ((size.width * scale).round() as u32, (size.height * scale).round() as u32);
    let mut pixmap = Pixmap::new(width, height).ok_or(FigureError::ImageSize { width, height })?;
    pixmap.fill(Color::WHITE);
    let mut raster =
        Raster { pixmap, to_pixels: Transform::from_scale(scale as f32, scale as f32), clip: None };
    raster.draw(&drawing.items);
    // The background is opaque, so premultiplied RGBA without its A is plain RGB.
    let rgba = raster.pixmap.data().chunks_exact(4);
    Ok(Pixels { width, height, rgb: rgba.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect() })
}

fn encode(pixels: &Pixels, scale: f64) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width, pixels.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    // Physical size, so that a paper shows the text at the size it was designed for.
    let per_metre = (scale * 72.0 / 0.0254).round() as u32;
    let unit = png::Unit::Meter;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_metre, yppu: per_metre, unit }));
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels.rgb.as_flattened())?;
    writer.finish()?;
    Ok(bytes)
}

struct Raster {
    pixmap: Pixmap,
    to_pixels: Transform,
    clip: Option<Mask>,
}

impl Raster {
    fn draw(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Path { lines, closed, fill, stroke } => {
                    self.paint(polylines(lines, *closed), *fill, *stroke, self.to_pixels);
                }
                Item::Circle { centre, radius, fill, stroke } => {
                    let circle = PathBuilder::from_circle(centre.0 as f32, centre.1 as f32, *radius as f32);
                    self.paint(circle, *fill, *stroke, self.to_pixels);
                }
                Item::Text(text) => self.text(text),
                Item::Image { rect, image, smooth } => self.image(*rect, image, *smooth),
                Item::Clipped { rect, items } => {
                    self.clip = self.mask(*rect);
                    self.draw(items);
                    self.clip = None;
                }
            }
        }
    }

    fn paint(
        &mut self,
        path: Option<Path>,
        fill: Option<Fill>,
        stroke: Option<Stroke>,
        to_pixels: Transform,
    ) {
        let Some(path) = path else { return };
        if let Some(Fill { colour, opacity }) = fill {
            let paint = solid(colour, opacity);
            self.pixmap.fill_path(&path, &paint, FillRule::Winding, to_pixels, self.clip.as_ref());
        }
        if let Some(stroke) = stroke {
            let paint = solid(stroke.colour, stroke.opacity);
            self.pixmap.stroke_path(&path, &paint, &pen(stroke), to_pixels, self.clip.as_ref());
        }
    }

    fn text(&mut self, text: &Text) {
        let (x, y) = text.at;
        let before = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        };
        let path =
            font::outline(&text.text, (x - before * font::text_width(&text.text, text.size), y), text.size);
        let turn = if text.upward {
            Transform::from_rotate_at(-90.0, x as f32, y as f32)
        } else {
            Transform::identity()
        };
        let to_pixels = turn.post_concat(self.to_pixels);
        if text.halo {
            self.paint(path.clone(), None, Some(Stroke::curve(Colour::WHITE, HALO_WIDTH)), to_pixels);
        }
        self.paint(path, Some(Fill { colour: text.colour, opacity: 1.0 }), None, to_pixels);
    }

    fn image(&mut self, rect: Rect, image: &Image, smooth: bool) {
        let rgba = image.pixels.iter().flat_map(|&pixel| {
            let colour = image.palette[usize::from(pixel)];
            [colour.red, colour.green, colour.blue, 255]
        });
        let size = IntSize::from_wh(image.width as u32, image.height as u32);
        let Some(pixels) = size.and_then(|size| Pixmap::from_vec(rgba.collect(), size)) else { return };
        let (across, down) = (rect.width / image.width as f64, rect.height / image.height as f64);
        let stretch = Transform::from_row(across as f32, 0.0, 0.0, down as f32, rect.x as f32, rect.y as f32);
        let quality = if smooth { FilterQuality::Bilinear } else { FilterQuality::Nearest };
        let shader = Pattern::new(pixels.as_ref(), SpreadMode::Pad, quality, 1.0, stretch);
        let paint = Paint { shader, ..Paint::default() };
        if let Some(path) = polylines(&[rect.corners()], true) {
            self.pixmap.fill_path(&path, &paint, FillRule::Winding, self.to_pixels, self.clip.as_ref());
        }
    }

    fn mask(&self, rect: Rect) -> Option<Mask> {
        let mut mask = Mask::new(self.pixmap.width(), self.pixmap.height())?;
        mask.fill_path(&polylines(&[rect.corners()], true)?, FillRule::Winding, true, self.to_pixels);
        Some(mask)
    }
}

fn polylines(lines: &[Vec<Point>], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for line in lines {
        for (i, &(x, y)) in line.iter().enumerate() {
            let (x, y) = (x as f32, y as f32);
            if i == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
        }
        if closed {
            path.close();
        }
    }
    path.finish()
}

fn solid(colour: Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(colour.red, colour.green, colour.blue, (255.0 * opacity).round() as u8);
    paint
}

fn pen(stroke: Stroke) -> tiny_skia::Stroke {
    tiny_skia::Stroke {
        width: stroke.width as f32,
        line_cap: if stroke.round { LineCap::Round } else { LineCap::Butt },
        line_join: if stroke.round { LineJoin::Round } else { LineJoin::Miter },
        dash: stroke.dash.and_then(|dash| StrokeDash::new(dash.map(|length| length as f32).to_vec(), 0.0)),
        ..tiny_skia::Stroke::default()
    }
}
