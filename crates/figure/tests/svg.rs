//! The SVG document: well formed, complete, and the same every time.

use cinoc_figure::{Colour, ColourBar, ColourMap, Figure, Legend, Lines, Map, Marker, Series, Symbol};
use roxmltree::{Document, Node};

fn texts<'a>(document: &'a Document) -> Vec<&'a str> {
    elements(document, "text").filter_map(|node| node.text()).collect()
}

fn elements<'a>(document: &'a Document, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.has_tag_name(("http://www.w3.org/2000/svg", name)))
}

fn one_curve(ys: &[f64]) -> Lines {
    let xs: Vec<f64> = (0..ys.len()).map(|i| i as f64).collect();
    Lines::new().series(Series::new("curve", &xs, ys).colour(Colour::rgb(1, 2, 3)))
}

/// The path of the curve that `one_curve` draws, if any.
fn curve_path(lines: Lines) -> Option<String> {
    let svg = Figure::new(1, 1).panel(0, 0, lines.legend(Legend::Hidden)).to_svg();
    let document = Document::parse(&svg).unwrap();
    let curve = elements(&document, "path").find(|node| node.attribute("stroke") == Some("#010203"));
    curve.and_then(|node| node.attribute("d")).map(str::to_owned)
}

#[test]
fn every_label_appears_once_and_unharmed() {
    let labels = ["a < b & c > d", "\"time\"", "mean (z − z*)²", "x & y", "'z'", "ξ ∈ [0, 1]", "<tolerance>"];
    let lines = Lines::new()
        .title(labels[0])
        .labels(labels[1], labels[2])
        .series(Series::new(labels[3], &[0.0, 1.0], &[1.0, 2.0]))
        .reference(1.5, labels[6]);
    let map = Map::new(&[1.0], 1, 1).colour_bar(labels[4]);
    let svg = Figure::new(1, 2).title(labels[5]).panel(0, 0, lines).panel(0, 1, map).to_svg();
    let document = Document::parse(&svg).unwrap();
    for label in labels {
        assert_eq!(texts(&document).iter().filter(|text| **text == label).count(), 1, "{label}");
    }
}

#[test]
fn the_document_has_the_size_in_points_and_its_font() {
    let svg = Figure::new(1, 1).size(300.0, 200.5).to_svg();
    let document = Document::parse(&svg).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("width"), Some("300pt"));
    assert_eq!(root.attribute("viewBox"), Some("0 0 300 200.5"));
    assert_eq!(root.attribute("font-family"), Some("DejaVu Sans, Verdana, sans-serif"));
    assert!(svg.contains("@font-face") && svg.len() < 40_000);
}

#[test]
fn log_axes_label_decades_and_skip_what_is_not_positive() {
    let lines = one_curve(&[1e-3, 1e-2, 0.0, -1.0, 1e-1, 1.0]).log_y();
    let svg = Figure::new(1, 1).panel(0, 0, lines.clone()).to_svg();
    let document = Document::parse(&svg).unwrap();
    for label in ["10⁻³", "10⁻²", "10⁻¹", "10⁰"] {
        assert!(texts(&document).contains(&label), "{label} is missing from {:?}", texts(&document));
    }
    assert_eq!(curve_path(lines).unwrap().matches('M').count(), 2, "one piece on each side of the gap");
}

#[test]
fn values_that_are_not_finite_leave_gaps() {
    assert_eq!(curve_path(one_curve(&[0.0, 1.0, 2.0, 3.0, 4.0])).unwrap().matches('M').count(), 1);
    let broken = one_curve(&[0.0, 1.0, f64::NAN, 3.0, 4.0, f64::INFINITY, 5.0, 6.0]);
    assert_eq!(curve_path(broken).unwrap().matches('M').count(), 3);
    assert_eq!(curve_path(one_curve(&[f64::NAN; 4])), None);
}

#[test]
fn a_map_is_one_image_with_its_overlays_on_top() {
    let map = Map::new(&[0.0; 6], 2, 3)
        .colour_map(ColourMap::Diverging)
        .path(&[0.0, 1.0, f64::NAN, 2.0, 3.0], &[0.0; 5])
        .points(&[1.0, 2.0, f64::NAN], &[1.0, 1.0, 1.0], Marker::Circle);
    let svg = Figure::new(1, 1).panel(0, 0, map.clone()).to_svg();
    let document = Document::parse(&svg).unwrap();
    assert_eq!(elements(&document, "image").count(), 1);
    assert_eq!(elements(&document, "circle").count(), 2);
    let image = svg.find("<image").unwrap();
    assert!(image < svg.find("<circle").unwrap());
    let with_bar = Figure::new(1, 1).panel(0, 0, map.colour_bar("z")).to_svg();
    assert_eq!(elements(&Document::parse(&with_bar).unwrap(), "image").count(), 2);
}

#[test]
fn a_plane_has_its_discs_lines_and_dots() {
    let cone: Vec<f64> = (0..400).map(|i| ((i % 20) as f64 - 9.5).hypot((i / 20) as f64 - 9.5)).collect();
    let map = Map::new(&cone, 20, 20)
        .equal_aspect()
        .ticks(false, false)
        .contours(&cone, 20, 20, &[3.0, 6.0, 99.0])
        .disc([5.0, 5.0], 2.0, 1.0)
        .tail(&[[1.0, 1.0], [2.0, 2.0], [3.0, 2.0]])
        .dots(&[[3.0, 2.0], [f64::NAN, 1.0], [8.0, 8.0]], 2.0, Some(&[-1.0, 0.0, 1.0]));
    let bar = ColourBar::new("distance", ColourMap::Sequential, 0.0, 14.0);
    let figure = Figure::new(1, 2).panel(0, 0, map.clone()).panel(0, 1, map).colour_bar(0..1, bar);
    let svg = figure.to_svg();
    let document = Document::parse(&svg).unwrap();
    let circles =
        |fill| elements(&document, "circle").filter(|node| node.attribute("fill") == Some(fill)).count();
    assert_eq!((circles("#ffffff"), circles("#000000")), (2, 2), "white and black dots");
    assert_eq!(circles("none"), 2, "rings around the discs");
    assert_eq!(elements(&document, "image").count(), 3, "two maps share a bar");
    assert_eq!(texts(&document).iter().filter(|text| **text == "distance").count(), 1);
    let numbers = texts(&document).len() - 1;
    assert!((3..12).contains(&numbers), "only the bar has {numbers} numbers");
}

#[test]
fn a_fitted_page_is_as_high_as_its_maps() {
    let map =
        || Map::new(&[0.0; 20], 5, 4).extent([0.0, 1.0], [0.0, 1.25]).equal_aspect().ticks(false, false);
    let figure = (0..3).fold(Figure::new(1, 3).size(600.0, 50.0), |figure, i| figure.panel(0, i, map()));
    let svg = figure.fit_height().to_svg();
    let document = Document::parse(&svg).unwrap();
    let number = |node: Node, name| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let images: Vec<Node> = elements(&document, "image").collect();
    for image in &images {
        assert!((number(*image, "height") / number(*image, "width") - 1.25).abs() < 1e-3);
    }
    // borders of 8 and gutters of 12 leave 560 points to three maps
    assert!((number(images[0], "width") - 560.0 / 3.0).abs() < 0.5, "{:?}", images[0]);
}

#[test]
fn a_long_curve_makes_a_small_file() {
    let xs: Vec<f64> = (0..200_000).map(f64::from).collect();
    let ys: Vec<f64> = xs.iter().map(|x| (x * 0.37).sin()).collect();
    let svg = Figure::new(1, 1).panel(0, 0, Lines::new().series(Series::new("noise", &xs, &ys))).to_svg();
    assert!(svg.len() < 120_000, "{} bytes", svg.len());
}

#[test]
fn a_panel_replaces_the_one_before_it() {
    let svg = Figure::new(1, 1)
        .panel(0, 0, Lines::new().title("first"))
        .panel(0, 0, Lines::new().title("second"))
        .to_svg();
    let document = Document::parse(&svg).unwrap();
    assert!(texts(&document).contains(&"second") && !texts(&document).contains(&"first"));
}

#[test]
fn a_crowded_legend_moves_below_the_chart() {
    let xs: Vec<f64> = (0..400).map(|i| i as f64 / 10.0).collect();
    let crowded = (0..5).fold(Lines::new(), |lines, i| {
        let ys: Vec<f64> = xs.iter().map(|x| (x * (1.0 + f64::from(i))).sin()).collect();
        lines.series(Series::new(format!("mode {i}"), &xs, &ys))
    });
    let roomy = Lines::new().series(Series::new("mode 0", &[0.0, 1.0], &[0.0, 1.0]));
    let height_of_legend = |lines: Lines| {
        let svg = Figure::new(1, 1).size(240.0, 180.0).panel(0, 0, lines).to_svg();
        let document = Document::parse(&svg).unwrap();
        let entry = elements(&document, "text").find(|node| node.text() == Some("mode 0")).unwrap();
        entry.attribute("y").unwrap().parse::<f64>().unwrap()
    };
    assert!(height_of_legend(crowded) > 140.0);
    assert!(height_of_legend(roomy) < 60.0);
}

#[test]
#[should_panic(expected = "no cell (0, 2)")]
fn a_panel_outside_the_grid_is_a_mistake() {
    let _ = Figure::new(1, 2).panel(0, 2, Lines::new());
}

#[test]
fn a_shared_legend_names_every_series_once() {
    let chart = |labels: &[&str]| {
        let series = labels.iter().map(|label| Series::new(*label, &[0.0, 1.0], &[0.0, 1.0]));
        series.fold(Lines::new().legend(Legend::Shared), Lines::series)
    };
    let figure =
        Figure::new(2, 1).panel(0, 0, chart(&["first", "second"])).panel(1, 0, chart(&["second", "third"]));
    let svg = figure.to_svg();
    let document = Document::parse(&svg).unwrap();
    for label in ["first", "second", "third"] {
        let found: Vec<Node> =
            elements(&document, "text").filter(|node| node.text() == Some(label)).collect();
        assert_eq!(found.len(), 1, "{label}");
        let y: f64 = found[0].attribute("y").unwrap().parse().unwrap();
        assert!((340.0..360.0).contains(&y), "{label} at {y}, not at the foot of the page");
    }
}

#[test]
fn panels_have_letters_in_reading_order_and_rows_have_labels() {
    let map = |title: &str| Map::new(&[0.0; 4], 2, 2).title(title);
    let svg = Figure::new(2, 2)
        .panel(1, 0, map("third"))
        .panel(0, 1, map(""))
        .panel(0, 0, map("first"))
        .row_label(1, "below")
        .lettered()
        .to_svg();
    let document = Document::parse(&svg).unwrap();
    for title in ["(a) first", "(b)", "(c) third"] {
        assert!(texts(&document).contains(&title), "{title} in {:?}", texts(&document));
    }
    let label = elements(&document, "text").find(|node| node.text() == Some("below")).unwrap();
    assert!(label.attribute("transform").unwrap().starts_with("rotate(-90 "));
    let height = |node: Node| node.attribute("y").unwrap().parse::<f64>().unwrap();
    let third = elements(&document, "text").find(|node| node.text() == Some("(c) third")).unwrap();
    assert!(height(label) > height(third), "the label stands beside its row");
}

#[test]
fn the_legend_explains_the_symbols_of_maps() {
    let plain = Figure::new(1, 1).panel(0, 0, Map::new(&[0.0; 4], 2, 2).ticks(false, true));
    let figure = [
        (Symbol::Dot(Some(-1.0)), "white"),
        (Symbol::Dot(None), "plain"),
        (Symbol::Tail, "trail"),
        (Symbol::Contour(-1.0), "negative"),
        (Symbol::DiscWithMargin, "obstacle"),
    ]
    .into_iter()
    .fold(plain.clone(), |figure, (symbol, label)| figure.symbol(symbol, ColourMap::Diverging, label));
    let (before, after) = (plain.to_svg(), figure.to_svg());
    let (before, after) = (Document::parse(&before).unwrap(), Document::parse(&after).unwrap());
    for label in ["white", "plain", "trail", "negative", "obstacle"] {
        assert_eq!(texts(&after).iter().filter(|text| **text == label).count(), 1, "{label}");
    }
    let count = |document: &Document, name: &'static str| elements(document, name).count();
    assert_eq!(count(&after, "circle") - count(&before, "circle"), 1 + 1 + 2, "dots, a disc and its ring");
    let white = elements(&after, "circle").find(|node| node.attribute("fill") == Some("#ffffff"));
    assert!(white.is_some(), "the shade of the dot");
    let dashed = elements(&after, "path").filter(|node| node.attribute("stroke-dasharray").is_some());
    assert_eq!(dashed.count(), 1, "the contour of a negative level");
}
