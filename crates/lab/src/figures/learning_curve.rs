//! Learning curve of a training.

use cinoc_figure::{Colour, Figure, Lines, Series};

use super::look::{columns, in_rows};
use crate::over_cases::quantile;
use crate::training_log::TrainingLog;

/// Terms below this fraction of the lowest loss are not shown: they have no effect on the optimiser.
const SMALLEST_SHARE: f64 = 1e-4;
/// Number of palette colours before black; black is the validation loss, grey the loss of the batches.
const TERM_COLOURS: usize = 6;

/// Loss and terms, gradient norm with the bound it is clipped to, and learning rate against updates.
pub fn learning_curve(log: &TrainingLog, clip: f64, width: f64) -> Figure {
    let rate = Series::new("", &log.updates, &log.rate);
    let rate = Lines::new().title("learning rate").labels("updates", "learning rate").series(rate);
    let columns = columns(3, width, 160.0);
    let figure = in_rows(vec![losses(log), gradient(log, clip), rate], columns, width, 260.0);
    if columns == 3 { figure.column_widths(&[1.4, 1.0, 1.0]) } else { figure }
}

fn losses(log: &TrainingLog) -> Lines {
    let (lowest, highest) = range(&[&log.loss[..], &log.validation.loss].concat());
    let floor = SMALLEST_SHARE * lowest;
    let median = |values: &[f64]| quantile(values.iter().copied().filter(|value| value.is_finite()), 0.5);
    let mut terms: Vec<&(String, Vec<f64>)> =
        log.terms.iter().filter(|(_, values)| range(values).1 > floor).collect();
    terms.sort_by(|a, b| median(&b.1).total_cmp(&median(&a.1)));

    let smallest = terms.iter().map(|(_, values)| range(values).0).fold(lowest, f64::min);
    let chart = Lines::new()
        .title("loss and its terms")
        .labels("updates", "contribution to the loss")
        .log_y()
        .y_limits(smallest.max(floor) / 1.5, highest * 1.5)
        .series(Series::new("loss", &log.updates, &log.loss).colour(Colour::GREY));
    let chart = terms.into_iter().enumerate().fold(chart, |chart, (index, (name, values))| {
        let term = Series::new(name, &log.updates, values).colour(Colour::palette(index % TERM_COLOURS));
        chart.series(if index < TERM_COLOURS { term } else { term.dashed() })
    });
    if log.validation.updates.is_empty() {
        return chart;
    }
    // last, so that it lies above the noise of the batches
    let validation = Series::new("validation loss", &log.validation.updates, &log.validation.loss);
    chart.series(validation.colour(Colour::BLACK))
}

fn gradient(log: &TrainingLog, clip: f64) -> Lines {
    let chart = Lines::new()
        .title("gradient")
        .labels("updates", "norm before clipping")
        .log_y()
        .series(Series::new("", &log.updates, &log.gradient_norm));
    // a bound far above the curve would compress it
    let near = range(&log.gradient_norm).1 * 10.0 > clip;
    if near { chart.reference(clip, "clip") } else { chart }
}

/// Smallest and largest of the positive values; an empty interval if there are none.
fn range(values: &[f64]) -> (f64, f64) {
    let positive = values.iter().copied().filter(|&value| value > 0.0 && value.is_finite());
    positive.fold((f64::INFINITY, 0.0), |(low, high), value| (low.min(value), high.max(value)))
}
