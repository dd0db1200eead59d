//! A drawing as an SVG document. It uses no ids, so that several figures can share one page.

use base64::prelude::{BASE64_STANDARD, Engine};

use super::drawing::{Anchor, Drawing, Fill, HALO_WIDTH, Item, Stroke, Text};
use super::font;
use super::geometry::{Rect, Size};
use super::image::Image;
use super::polyline::Point;

/// The document, of `size` points, with the font that its texts need.
pub(crate) fn document(drawing: &Drawing, size: Size) -> String {
    let (width, height) = (number(size.width), number(size.height));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}pt\" height=\"{height}pt\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{family}\">\n<style>{style}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        family = font::FAMILY,
        style = font::style_sheet(),
    );
    svg += &elements(&drawing.items);
    svg += "</svg>\n";
    svg
}

/// One element per line.
fn elements(items: &[Item]) -> String {
    items.iter().map(|item| element(item) + "\n").collect()
}

fn element(item: &Item) -> String {
    match item {
        Item::Path { lines, closed, fill, stroke } => {
            let end = if *closed { "Z" } else { "" };
            let data: String = lines.iter().map(|line| path_data(line) + end).collect();
            format!("<path d=\"{data}\"{}{}/>", fill_attributes(*fill), stroke_attributes(*stroke))
        }
        Item::Circle { centre, radius, fill, stroke } => {
            let (x, y, radius) = (number(centre.0), number(centre.1), number(*radius));
            let paint = fill_attributes(*fill) + &stroke_attributes(*stroke);
            format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{paint}/>")
        }
        Item::Text(text) => text_element(text),
        Item::Image { rect, image, smooth } => image_element(*rect, image, *smooth),
        Item::Clipped { rect, items } => {
            // A nested document clips without an id.
            let view = [rect.x, rect.y, rect.width, rect.height].map(number).join(" ");
            format!("<svg {} viewBox=\"{view}\">\n{}</svg>", bounds(*rect), elements(items))
        }
    }
}

fn text_element(text: &Text) -> String {
    let (x, y) = (number(text.at.0), number(text.at.1));
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let turn = if text.upward { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let halo = if text.halo {
        format!(
            " stroke=\"#ffffff\" stroke-width=\"{HALO_WIDTH}\" stroke-linejoin=\"round\" \
             paint-order=\"stroke\""
        )
    } else {
        String::new()
    };
    let (size, fill, characters) = (number(text.size), text.colour.hex(), escape(&text.text));
    format!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" \
         fill=\"{fill}\"{anchor}{turn}{halo}>{characters}</text>"
    )
}

fn image_element(rect: Rect, image: &Image, smooth: bool) -> String {
    let rendering = if smooth { "" } else { " style=\"image-rendering:pixelated\"" };
    let png = image.to_png().expect("a palette image can be encoded in memory");
    format!(
        "<image {} preserveAspectRatio=\"none\"{rendering} href=\"data:image/png;base64,{}\"/>",
        bounds(rect),
        BASE64_STANDARD.encode(png)
    )
}

fn bounds(Rect { x, y, width, height }: Rect) -> String {
    format!(
        "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
        number(x),
        number(y),
        number(width),
        number(height)
    )
}

fn fill_attributes(fill: Option<Fill>) -> String {
    let Some(Fill { colour, opacity }) = fill else { return " fill=\"none\"".to_owned() };
    format!(" fill=\"{}\"{}", colour.hex(), opacity_attribute("fill", opacity))
}

fn stroke_attributes(stroke: Option<Stroke>) -> String {
    let Some(stroke) = stroke else { return String::new() };
    let mut attributes =
        format!(" stroke=\"{}\" stroke-width=\"{}\"", stroke.colour.hex(), number(stroke.width));
    attributes += &opacity_attribute("stroke", stroke.opacity);
    if let Some([dash, gap]) = stroke.dash {
        attributes += &format!(" stroke-dasharray=\"{dash} {gap}\"");
    }
    if stroke.round {
        attributes += " stroke-linejoin=\"round\" stroke-linecap=\"round\"";
    }
    attributes
}

fn opacity_attribute(of: &str, opacity: f64) -> String {
    if opacity < 1.0 { format!(" {of}-opacity=\"{}\"", number(opacity)) } else { String::new() }
}

fn path_data(points: &[Point]) -> String {
    let mut data = String::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        data.push(if i == 0 { 'M' } else { 'L' });
        data += &number(x);
        data.push(' ');
        data += &number(y);
    }
    data
}

/// Two decimals (1/7200 inch) are finer than any screen or printer; trailing zeros only cost bytes.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    match text.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

/// Text as XML character data. Control characters are not allowed in XML at all: they become spaces.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(1.0), "1");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(0.125), "0.12");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(-2.5), "-2.5");
    }

    #[test]
    fn text_cannot_break_the_document() {
        assert_eq!(escape("a<b & c>d\n\0"), "a&lt;b &amp; c&gt;d  ");
    }
}
