//! The PNG file: its size, and what its pixels show.

use cinoc_figure::{Colour, ColourMap, Figure, FigureError, Legend, Lines, Map, Series};

struct Pixels {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Pixels {
    fn of(figure: &Figure, scale: f64) -> Self {
        let bytes = figure.to_png(scale).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut rgb).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        Pixels { width: info.width as usize, height: info.height as usize, rgb }
    }

    fn at(&self, x: usize, y: usize) -> Colour {
        let i = 3 * (y * self.width + x);
        Colour::rgb(self.rgb[i], self.rgb[i + 1], self.rgb[i + 2])
    }

    /// The positions of all pixels that satisfy a condition.
    fn find(&self, matches: impl Fn(Colour) -> bool) -> Vec<(usize, usize)> {
        let all = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        all.filter(|&(x, y)| matches(self.at(x, y))).collect()
    }
}

fn is_dark(colour: Colour) -> bool {
    colour.red < 100 && colour.green < 100 && colour.blue < 100
}

#[test]
fn the_size_is_points_times_scale() {
    for (scale, width, height) in [(1.0, 120, 80), (2.0, 240, 160), (1.5, 180, 120)] {
        let pixels = Pixels::of(&Figure::new(1, 1).size(120.0, 80.0), scale);
        assert_eq!((pixels.width, pixels.height), (width, height));
    }
}

#[test]
fn a_figure_without_panels_is_white() {
    let pixels = Pixels::of(&Figure::new(1, 1).size(50.0, 40.0), 1.0);
    assert!(pixels.rgb.iter().all(|&byte| byte == 255));
}

#[test]
fn the_title_is_visible_where_it_belongs() {
    let figure = |title: &str| Figure::new(1, 1).size(200.0, 100.0).title(title);
    assert!(Pixels::of(&figure(""), 2.0).find(is_dark).is_empty());
    let dark = Pixels::of(&figure("Figure ξ⁻³"), 2.0).find(is_dark);
    assert!(dark.len() > 200, "only {} dark pixels", dark.len());
    assert!(dark.iter().all(|&(x, y)| y < 50 && (100..300).contains(&x)), "text outside the title's place");
}

#[test]
fn axis_names_and_tick_labels_are_visible() {
    let dark = |x: &str, y: &str| {
        let lines = Lines::new().labels(x, y).series(Series::new("", &[0.0, 1.0], &[0.0, 1.0]));
        Pixels::of(&Figure::new(1, 1).size(200.0, 150.0).panel(0, 0, lines), 2.0).find(is_dark)
    };
    let names = dark("time", "error");
    let lowest = names.iter().map(|p| p.1).max().unwrap();
    let leftmost = names.iter().map(|p| p.0).min().unwrap();
    assert!(names.iter().filter(|p| p.1 > 260).count() > 40, "no name below the x axis");
    assert!(names.iter().filter(|p| p.0 < 36).count() > 40, "no name left of the y axis");
    assert!(lowest < 300 - 8 && leftmost > 8, "names touch the border");
}

#[test]
fn row_zero_is_at_the_bottom_and_missing_values_are_grey() {
    let map = Map::new(&[0.0, 0.0, 1.0, f64::NAN], 2, 2);
    let pixels = Pixels::of(&Figure::new(1, 1).size(200.0, 200.0).panel(0, 0, map), 1.0);
    let (low, high) = (ColourMap::Sequential.colour(0.0), ColourMap::Sequential.colour(1.0));
    let centre = |colour: Colour| {
        let found = pixels.find(|c| c == colour);
        assert!(found.len() > 500, "{colour:?} is missing");
        let sum = found.iter().fold((0, 0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
        (sum.0 / found.len(), sum.1 / found.len())
    };
    let (lower, upper, missing) = (centre(low), centre(high), centre(Colour::rgb(0xb0, 0xb0, 0xb0)));
    assert!(lower.1 > upper.1 + 50, "row 0 is not below row 1");
    assert!(missing.0 > upper.0 + 50, "column 1 is not right of column 0");
}

#[test]
fn curves_are_cut_at_the_limits() {
    let mark = Colour::rgb(255, 0, 255);
    let steep = Series::new("", &[0.0, 1.0], &[-1e9, 1e9]).colour(mark);
    let lines = Lines::new().series(steep).y_limits(0.0, 1.0).legend(Legend::Hidden);
    let pixels = Pixels::of(&Figure::new(1, 1).size(200.0, 150.0).title("above").panel(0, 0, lines), 1.0);
    let magenta = pixels.find(|c| c.red > 200 && c.green < 120 && c.blue > 200);
    let top = magenta.iter().map(|p| p.1).min().unwrap();
    let bottom = magenta.iter().map(|p| p.1).max().unwrap();
    assert!(magenta.len() > 80, "the curve is missing");
    assert!(top > 25 && bottom < 135, "the curve leaves its panel: {top} to {bottom}");
}

#[test]
fn axis_marks_stand_on_the_axis() {
    let dark = |marks: &[f64]| {
        let lines = Lines::new().x_limits(0.0, 1.0).y_limits(0.0, 1.0).axis_marks(marks);
        Pixels::of(&Figure::new(1, 1).size(200.0, 150.0).panel(0, 0, lines), 2.0).find(is_dark)
    };
    let without = dark(&[]);
    assert_eq!(dark(&[f64::NAN, 2.0]), without);
    let marks: Vec<_> = dark(&[0.5]).into_iter().filter(|pixel| !without.contains(pixel)).collect();
    let axis = without.iter().filter(|pixel| pixel.0 == 300).map(|pixel| pixel.1).max().unwrap();
    assert!(marks.len() > 20, "only {} dark pixels", marks.len());
    assert!(marks.iter().all(|&(x, y)| (150..280).contains(&x) && y < axis && y + 16 > axis), "{marks:?}");
}

#[test]
fn the_same_figure_gives_the_same_bytes() {
    let figure = || {
        let map = Map::new(&[0.1, 0.7, 0.3, 0.4], 2, 2).colour_bar("z").path(&[0.0, 2.0], &[0.0, 2.0]);
        Figure::new(1, 1).title("twice").panel(0, 0, map)
    };
    assert_eq!(figure().to_svg(), figure().to_svg());
    assert_eq!(figure().to_png(1.0).unwrap(), figure().to_png(1.0).unwrap());
}

#[test]
fn files_are_written_and_failures_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let figure = Figure::new(1, 1).panel(0, 0, Lines::new());
    figure.save_svg(folder.path().join("a.svg")).unwrap();
    figure.save_png(folder.path().join("a.png"), 1.0).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("a.svg")).unwrap(), figure.to_svg());
    assert_eq!(std::fs::read(folder.path().join("a.png")).unwrap(), figure.to_png(1.0).unwrap());
    let missing = folder.path().join("no such folder").join("a.svg");
    match figure.save_svg(&missing) {
        Err(FigureError::Write { path, .. }) => assert_eq!(path, missing),
        other => panic!("expected a write error, got {other:?}"),
    }
}

#[test]
fn impossible_sizes_are_refused() {
    let figure = Figure::new(1, 1);
    for scale in [0.0, -1.0, f64::NAN, 1e12] {
        assert!(matches!(figure.to_png(scale), Err(FigureError::ImageSize { .. })), "scale {scale}");
    }
}
