//! A figure can be drawn from any numbers, and it contains no "NaN" or "inf".

use cinoc_figure::{ColourBar, ColourMap, Figure, Lines, Map, Marker, Series, Symbol};
use proptest::prelude::*;

fn assert_sound(figure: &Figure) {
    let svg = figure.to_svg();
    let document = roxmltree::Document::parse(&svg).expect("the document is well formed");
    let drawn = document.descendants().filter(|node| node.tag_name().name() != "style");
    for node in drawn {
        let attributes = node.attributes().filter(|attribute| attribute.name() != "href");
        for text in attributes.map(|attribute| attribute.value()).chain(node.text()) {
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
    figure.to_png(0.5).expect("the figure can be rasterised");
    let pdf = figure.to_pdf();
    assert!(pdf.starts_with(b"%PDF-") && pdf.ends_with(b"%%EOF"));
}

fn lines(xs: &[f64], ys: &[f64]) -> Lines {
    Lines::new()
        .labels("x", "y")
        .series(Series::new("s", xs, ys).deviation(ys))
        .reference(ys.first().copied().unwrap_or(0.0), "r")
}

#[test]
fn panels_without_data_are_empty() {
    let figure = Figure::new(2, 2)
        .panel(0, 0, Lines::new())
        .panel(0, 1, lines(&[], &[]).log_y())
        .panel(1, 0, Map::new(&[], 0, 0).colour_bar("z").equal_aspect())
        .panel(1, 1, Map::new(&[], 0, 5).path(&[], &[]).points(&[], &[], Marker::Cross));
    assert_sound(&figure);
}

#[test]
fn figures_far_too_small_are_still_drawn() {
    assert_sound(&Figure::new(3, 3).size(4.0, 3.0).title("t").panel(
        2,
        2,
        lines(&[0.0, 1.0], &[1.0, 2.0]).title("title"),
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_numbers_can_be_drawn(
        values in prop::collection::vec(prop::num::f64::ANY, 12),
        limits in prop::array::uniform4(prop::num::f64::ANY),
        marker in prop::sample::select(vec![Marker::Circle, Marker::Square, Marker::Triangle, Marker::Cross]),
    ) {
        let (xs, ys) = values.split_at(6);
        let map = |colours| {
            let map = Map::new(&values, 3, 4).colour_map(colours).colour_bar("z").equal_aspect();
            let places: Vec<[f64; 2]> = xs.iter().zip(ys).map(|(&x, &y)| [x, y]).collect();
            map.path(xs, ys)
                .points(xs, ys, marker)
                .contours(&values, 4, 3, &limits)
                .disc(places[0], limits[0], limits[1])
                .tail(&places)
                .dots(&places, 2.0, Some(xs))
        };
        let figure = Figure::new(2, 3)
            .size(300.0, 200.0)
            .panel(0, 0, lines(xs, ys))
            .panel(0, 1, lines(xs, ys).log_y())
            .panel(0, 2, lines(xs, ys).x_limits(limits[0], limits[1]).y_limits(limits[2], limits[3]))
            .panel(1, 0, map(ColourMap::Sequential))
            .panel(1, 1, map(ColourMap::Diverging).limits(limits[0], limits[1]))
            .panel(1, 2, map(ColourMap::Diverging).extent([limits[0], limits[1]], [limits[2], limits[3]]).ticks(false, false))
            .symbol(Symbol::Dot(Some(limits[3])), ColourMap::Sequential, "s")
            .lettered()
            .colour_bar(1..2, ColourBar::new("z", ColourMap::Diverging, limits[0], limits[1]))
            .progress(limits[2], "t");
        assert_sound(&figure);
        assert_sound(&figure.fit_height());
    }
}
