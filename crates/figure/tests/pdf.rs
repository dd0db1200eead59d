//! The PDF document: its size, its text, its images, and the same bytes every time.

use std::io::Read;

use cinoc_figure::{ColourMap, Figure, Lines, Map, Series};
use flate2::read::ZlibDecoder;

fn figure() -> Figure {
    let lines = Lines::new().title("decay").series(Series::new("error", &[0.0, 1.0], &[1.0, 0.5]));
    let map = Map::new(&[0.0, 1.0, 2.0, 3.0], 2, 2).colour_map(ColourMap::Diverging).smooth();
    Figure::new(1, 2).size(300.0, 120.5).panel(0, 0, lines).panel(0, 1, map.dots(&[[1.0, 1.0]], 3.0, None))
}

fn find(bytes: &[u8], what: &str) -> Vec<usize> {
    let found = bytes.windows(what.len()).enumerate().filter(|(_, window)| *window == what.as_bytes());
    found.map(|(at, _)| at).collect()
}

/// Every stream of the document that can be decompressed.
fn streams(pdf: &[u8]) -> Vec<Vec<u8>> {
    let starts = find(pdf, "stream\n").into_iter().filter(|&at| !pdf[..at].ends_with(b"end"));
    let decoded = starts.map(|at| {
        let mut bytes = Vec::new();
        ZlibDecoder::new(&pdf[at + "stream\n".len()..]).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    });
    decoded.flatten().collect()
}

#[test]
fn the_page_has_the_size_of_the_figure() {
    let pdf = figure().to_pdf();
    assert!(pdf.starts_with(b"%PDF-1.7") && pdf.ends_with(b"%%EOF"));
    assert_eq!(find(&pdf, "/MediaBox [0 0 300 120.5]").len(), 1);
    assert_eq!(find(&pdf, "/Type /Page\n").len() + find(&pdf, "/Type /Page ").len(), 1);
}

#[test]
fn text_is_text_and_can_be_searched() {
    let pdf = figure().to_pdf();
    let text = String::from_utf8_lossy(&pdf).into_owned();
    // characters behind the glyphs, as hexadecimal UTF-16
    for letter in "decay".chars() {
        assert!(text.contains(&format!("<{:04X}>", u32::from(letter))), "{letter}");
    }
    let page = &streams(&pdf)[0];
    assert!(find(page, " Tj").len() >= 4, "title, label and ticks");
    assert!(streams(&pdf).iter().any(|stream| stream.starts_with(&[0, 1, 0, 0])), "the font is embedded");
}

#[test]
fn maps_are_images_and_the_rest_is_vectors() {
    let pdf = figure().to_pdf();
    assert_eq!(find(&pdf, "/Subtype /Image").len(), 1);
    assert_eq!(find(&pdf, "/Interpolate true").len(), 1);
    assert!(streams(&pdf).iter().any(|stream| stream.len() == 4), "one byte per cell");
    let page = &streams(&pdf)[0];
    assert_eq!(find(page, " cm\n/I0 Do").len(), 1);
    assert_eq!(find(page, " c\n").len(), 2 * 4, "a dot is filled and outlined");
    assert_eq!(find(page, "\nq").len(), find(page, "\nQ").len(), "every saved state is restored");
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    assert_eq!(figure().to_pdf(), figure().to_pdf());
}
