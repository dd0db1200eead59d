//! A drawing as a PDF document of one page: vectors, text that can be selected, and the embedded font.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{
    CidFontType, FontFlags, LineCapStyle, LineJoinStyle, SystemInfo, TextRenderingMode, UnicodeCmap,
};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect as Box, Ref, Str};

use super::drawing::{Anchor, Drawing, Fill, HALO_WIDTH, Item, Stroke, Text};
use super::font;
use super::geometry::{Rect, Size};
use super::image::Image;
use super::polyline::Point;
use crate::colour::Colour;

/// Name of the font in the page.
const FONT: Name = Name(b"F");
/// Name of the font in the document: a tag of six letters marks a subset.
const FONT_NAME: Name = Name(b"CINOCF+DejaVuSans");
/// How a Bézier curve approximates a quarter of a circle.
const QUARTER: f64 = 0.552_284_749_8;
/// Coordinates beyond this are far outside of every page.
const FARTHEST: f64 = 1e6;

/// The document, of `size` points. The same drawing always gives the same bytes.
pub(crate) fn document(drawing: &Drawing, size: Size) -> Vec<u8> {
    let mut page = Page {
        content: Content::new(),
        images: Vec::new(),
        opacities: BTreeSet::new(),
        glyphs: BTreeMap::new(),
    };
    // y grows downwards, as in the drawing
    page.content.transform([1.0, 0.0, 0.0, -1.0, 0.0, short(size.height)]);
    page.draw(&drawing.items);
    page.document(size)
}

/// The content of the page and what it refers to.
struct Page<'a> {
    content: Content,
    images: Vec<(&'a Image, bool)>,
    /// Opacities, in hundredths.
    opacities: BTreeSet<u8>,
    /// Glyphs that are used and the characters that they show.
    glyphs: BTreeMap<u16, char>,
}

impl<'a> Page<'a> {
    fn draw(&mut self, items: &'a [Item]) {
        for item in items {
            match item {
                Item::Path { lines, closed, fill, stroke } => {
                    self.paint(*fill, *stroke, |content| polylines(content, lines, *closed));
                }
                Item::Circle { centre, radius, fill, stroke } => {
                    self.paint(*fill, *stroke, |content| circle(content, *centre, *radius));
                }
                Item::Text(text) => self.text(text),
                Item::Image { rect, image, smooth } => self.image(*rect, image, *smooth),
                Item::Clipped { rect, items } => {
                    self.content.save_state();
                    let [x, y, width, height] = [rect.x, rect.y, rect.width, rect.height].map(short);
                    self.content.rect(x, y, width, height).clip_nonzero().end_path();
                    self.draw(items);
                    self.content.restore_state();
                }
            }
        }
    }

    fn paint(&mut self, fill: Option<Fill>, stroke: Option<Stroke>, path: impl Fn(&mut Content)) {
        if let Some(Fill { colour, opacity }) = fill {
            self.content.save_state();
            self.opacity(opacity);
            let [red, green, blue] = rgb(colour);
            self.content.set_fill_rgb(red, green, blue);
            path(&mut self.content);
            self.content.fill_nonzero();
            self.content.restore_state();
        }
        if let Some(stroke) = stroke {
            self.content.save_state();
            self.pen(stroke);
            path(&mut self.content);
            self.content.stroke();
            self.content.restore_state();
        }
    }

    fn pen(&mut self, stroke: Stroke) {
        self.opacity(stroke.opacity);
        let [red, green, blue] = rgb(stroke.colour);
        self.content.set_stroke_rgb(red, green, blue).set_line_width(short(stroke.width));
        if stroke.round {
            self.content.set_line_cap(LineCapStyle::RoundCap).set_line_join(LineJoinStyle::RoundJoin);
        }
        if let Some(dash) = stroke.dash {
            self.content.set_dash_pattern(dash.map(short), 0.0);
        }
    }

    fn opacity(&mut self, opacity: f64) {
        let hundredths = (100.0 * opacity).round().clamp(0.0, 100.0) as u8;
        if hundredths < 100 {
            self.opacities.insert(hundredths);
            self.content.set_parameters(Name(opacity_name(hundredths).as_bytes()));
        }
    }

    fn text(&mut self, text: &Text) {
        let before = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        } * font::text_width(&text.text, text.size);
        let (x, y) = text.at;
        let matrix = if text.upward {
            [0.0, -1.0, -1.0, 0.0, short(x), short(y + before)]
        } else {
            [1.0, 0.0, 0.0, -1.0, short(x - before), short(y)]
        };
        let glyphs: Vec<u16> = text.text.chars().map(font::glyph_number).collect();
        self.glyphs.extend(glyphs.iter().copied().zip(text.text.chars()));
        let bytes: Vec<u8> = glyphs.iter().flat_map(|glyph| glyph.to_be_bytes()).collect();
        self.content.save_state();
        if text.halo {
            self.pen(Stroke::curve(Colour::WHITE, HALO_WIDTH));
            self.show(&bytes, matrix, text.size, TextRenderingMode::Stroke);
        }
        let [red, green, blue] = rgb(text.colour);
        self.content.set_fill_rgb(red, green, blue);
        self.show(&bytes, matrix, text.size, TextRenderingMode::Fill);
        self.content.restore_state();
    }

    fn show(&mut self, glyphs: &[u8], matrix: [f32; 6], size: f64, mode: TextRenderingMode) {
        self.content.begin_text().set_font(FONT, short(size)).set_text_rendering_mode(mode);
        self.content.set_text_matrix(matrix).show(Str(glyphs)).end_text();
    }

    /// An image fills the unit square with its last row at the bottom.
    fn image(&mut self, rect: Rect, image: &'a Image, smooth: bool) {
        let name = image_name(self.images.len());
        self.images.push((image, smooth));
        let [x, bottom, width, height] = [rect.x, rect.bottom(), rect.width, rect.height].map(short);
        self.content.save_state();
        self.content.transform([width, 0.0, 0.0, -height, x, bottom]);
        self.content.x_object(Name(name.as_bytes()));
        self.content.restore_state();
    }

    fn document(self, size: Size) -> Vec<u8> {
        let Page { content, images, opacities, glyphs } = self;
        let mut numbers = 1..;
        let mut next = || Ref::new(numbers.next().expect("numbers do not end"));
        let (catalog, pages, page, stream, font) = (next(), next(), next(), next(), next());
        let images: Vec<(Ref, &Image, bool)> =
            images.into_iter().map(|(image, smooth)| (next(), image, smooth)).collect();
        let opacities: Vec<(Ref, u8)> = opacities.into_iter().map(|opacity| (next(), opacity)).collect();

        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page]).count(1);
        let mut sheet = pdf.page(page);
        sheet.parent(pages).contents(stream);
        sheet.media_box(Box::new(0.0, 0.0, short(size.width), short(size.height)));
        let mut resources = sheet.resources();
        resources.fonts().pair(FONT, font);
        let mut states = resources.ext_g_states();
        for (id, opacity) in &opacities {
            states.pair(Name(opacity_name(*opacity).as_bytes()), *id);
        }
        states.finish();
        let mut objects = resources.x_objects();
        for (number, (id, ..)) in images.iter().enumerate() {
            objects.pair(Name(image_name(number).as_bytes()), *id);
        }
        objects.finish();
        resources.finish();
        sheet.finish();

        pdf.stream(stream, &compressed(&content.finish())).filter(Filter::FlateDecode);
        for (id, opacity) in opacities {
            let opacity = f32::from(opacity) / 100.0;
            pdf.ext_graphics(id).non_stroking_alpha(opacity).stroking_alpha(opacity);
        }
        for (id, image, smooth) in images {
            write_image(&mut pdf, id, image, smooth);
        }
        write_font(&mut pdf, font, [next(), next(), next(), next()], &glyphs);
        pdf.finish()
    }
}

fn write_image(pdf: &mut Pdf, id: Ref, image: &Image, smooth: bool) {
    let pixels = compressed(&image.pixels);
    let mut written = pdf.image_xobject(id, &pixels);
    written.filter(Filter::FlateDecode);
    written.width(image.width as i32).height(image.height as i32);
    written.bits_per_component(8).interpolate(smooth);
    let palette: Vec<u8> = image.palette.iter().flat_map(|c| [c.red, c.green, c.blue]).collect();
    written.color_space().indexed(Name(b"DeviceRGB"), image.palette.len() as i32 - 1, &palette);
}

/// The font: its glyphs are addressed by their numbers, and a table gives the characters they show, for
/// search and copy.
fn write_font(pdf: &mut Pdf, id: Ref, parts: [Ref; 4], glyphs: &BTreeMap<u16, char>) {
    let [descendant, descriptor, file, characters] = parts;
    let system = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
    let mut font = pdf.type0_font(id);
    font.base_font(FONT_NAME).encoding_predefined(Name(b"Identity-H"));
    font.descendant_font(descendant).to_unicode(characters);
    font.finish();

    let mut cid = pdf.cid_font(descendant);
    cid.subtype(CidFontType::Type2).base_font(FONT_NAME).system_info(system).font_descriptor(descriptor);
    cid.cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = cid.widths();
    for (&glyph, &character) in glyphs {
        widths.consecutive(glyph, [short(font::text_width(&character.to_string(), 1000.0))]);
    }
    widths.finish();
    cid.finish();

    let shape = font::shape();
    let mut described = pdf.font_descriptor(descriptor);
    described.name(FONT_NAME).flags(FontFlags::SYMBOLIC).italic_angle(0.0).stem_v(80.0);
    let [left, bottom, right, top] = shape.bounds.map(short);
    described.bbox(Box::new(left, bottom, right, top));
    described.ascent(short(shape.ascent)).descent(short(shape.descent)).cap_height(short(shape.ascent));
    described.font_file2(file);
    described.finish();

    let bytes = compressed(font::TRUE_TYPE);
    let mut embedded = pdf.stream(file, &bytes);
    embedded.filter(Filter::FlateDecode).pair(Name(b"Length1"), font::TRUE_TYPE.len() as i32);
    embedded.finish();

    let mut unicode = UnicodeCmap::new(Name(b"Characters"), system);
    for (&glyph, &character) in glyphs {
        unicode.pair(glyph, character);
    }
    pdf.cmap(characters, &unicode.finish()).finish();
}

fn polylines(content: &mut Content, lines: &[Vec<Point>], closed: bool) {
    for line in lines {
        for (i, &(x, y)) in line.iter().enumerate() {
            let (x, y) = (short(x), short(y));
            if i == 0 {
                content.move_to(x, y)
            } else {
                content.line_to(x, y)
            };
        }
        if closed && !line.is_empty() {
            content.close_path();
        }
    }
}

/// Four quarters, from the right end on.
fn circle(content: &mut Content, (x, y): Point, radius: f64) {
    let at = |right: f64, down: f64| (short(x + radius * right), short(y + radius * down));
    let (start_x, start_y) = at(1.0, 0.0);
    content.move_to(start_x, start_y);
    for (cos, sin) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)] {
        let (x1, y1) = at(cos - QUARTER * sin, sin + QUARTER * cos);
        let (x2, y2) = at(-sin + QUARTER * cos, cos + QUARTER * sin);
        let (x3, y3) = at(-sin, cos);
        content.cubic_to(x1, y1, x2, y2, x3, y3);
    }
    content.close_path();
}

fn rgb(colour: Colour) -> [f32; 3] {
    [colour.red, colour.green, colour.blue].map(|part| short(f64::from(part) / 255.0))
}

fn opacity_name(hundredths: u8) -> String {
    format!("O{hundredths}")
}

fn image_name(number: usize) -> String {
    format!("I{number}")
}

/// A number that PDF can hold, with three decimals: finer than any printer.
fn short(value: f64) -> f32 {
    let value = if value.is_nan() { 0.0 } else { value.clamp(-FARTHEST, FARTHEST) };
    ((value * 1000.0).round() / 1000.0) as f32
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory can be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        assert_eq!([0.12345, -2.5, f64::NAN].map(short), [0.123, -2.5, 0.0]);
        assert!(short(f64::INFINITY).is_finite() && short(-1e300).is_finite());
    }

    #[test]
    fn a_circle_goes_around_its_centre() {
        let mut content = Content::new();
        circle(&mut content, (10.0, 20.0), 4.0);
        let text = String::from_utf8(content.finish().to_vec()).unwrap();
        assert!(text.starts_with("14 20 m\n14 22.209 12.209 24 10 24 c\n"), "{text}");
        assert!(text.ends_with("14 20 c\nh"), "{text}");
    }
}
