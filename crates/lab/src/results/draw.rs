//! Charts as figures.

use cinoc_figure::{Colour, Figure, Legend, Lines, Series};

use super::{Chart, Curve};

/// Width and height in points.
const SIZE: (f64, f64) = (420.0, 300.0);

impl Chart {
    /// The chart as a figure.
    pub fn figure(&self) -> Figure {
        let mut lines = Lines::new().title(&self.title).labels(&self.x, &self.y).legend(Legend::Below);
        if self.log_x {
            lines = lines.log_x();
        }
        if self.log_y {
            lines = lines.log_y();
        }
        if let Some((value, label)) = &self.reference {
            lines = lines.reference(*value, label);
        }
        let labels = self.colours();
        for curve in &self.curves {
            let colour =
                labels.iter().position(|label| *label == curve.key()).expect("every curve has a colour");
            lines = lines.series(curve.series(Colour::palette(colour)));
        }
        Figure::new(1, 1).size(SIZE.0, SIZE.1).panel(0, 0, lines)
    }

    /// One colour per label, so that a published curve has the colour of ours.
    fn colours(&self) -> Vec<&str> {
        let mut labels: Vec<&str> = Vec::new();
        for curve in &self.curves {
            if !labels.contains(&curve.key()) {
                labels.push(curve.key());
            }
        }
        labels
    }
}

impl Curve {
    /// The label without the part that says who measured it.
    fn key(&self) -> &str {
        self.label.strip_suffix(", published").unwrap_or(&self.label)
    }

    fn series(&self, colour: Colour) -> Series {
        let drawn = |values: &[Option<f64>]| -> Vec<f64> {
            values.iter().map(|value| value.unwrap_or(f64::NAN)).collect()
        };
        let series = Series::new(&self.label, &self.x, &drawn(&self.y)).colour(colour).dots();
        let series = if self.published { series.dashed() } else { series };
        match &self.band {
            Some((low, high)) => series.band(&drawn(low), &drawn(high)),
            None => series,
        }
    }
}
