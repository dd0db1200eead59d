//! One 2D case at a few times.

use cinoc_figure::Figure;

use super::picture::Pictures;
use crate::figures::look::short;
use crate::run_2d::Run2d;

/// Largest number of times shown.
const MOMENTS: usize = 5;
/// Least width of a panel, in points.
const LEAST: f64 = 112.0;

/// The field without control (above) and with control (below) from start to end, all in the same colours,
/// with agents and their trails, obstacles, and contour lines of the target (dashed where it is negative).
/// The last column has the target (if it moves, that at the end) and the remaining error. A legend explains
/// what is drawn over the fields.
///
/// # Panics
///
/// If lists of the run do not have the documented lengths.
pub fn snapshots_2d(run: &Run2d, width: f64) -> Figure {
    run.assert_consistent();
    let beside = usize::from(!run.targets.is_empty());
    let fitting = ((width / LEAST) as usize).max(2);
    let steps = moments(run.steps(), (fitting - beside).min(MOMENTS));
    let columns = steps.len() + beside;
    let pictures = Pictures::new(run, &steps, width / columns as f64);
    let end = steps.len() - 1;
    let mut figure =
        Figure::new(2, columns).size(width, 300.0).row_label(0, "uncontrolled").row_label(1, "controlled");
    for (column, &step) in steps.iter().enumerate() {
        let time = format!("t = {}", short(run.times[step]));
        let (first, y) = (column == 0, if column == 0 { "y" } else { "" });
        let above = pictures.uncontrolled(step).ticks(false, first).labels("", y).title(&time);
        let below = pictures.controlled(step).ticks(true, first).labels("x", y).title(&time);
        figure = figure.panel(0, column, above).panel(1, column, below);
    }
    figure = match pictures.target(steps[end]).zip(pictures.error(steps[end])) {
        Some((target, error)) => {
            let field = &run.field;
            let moving = run.targets.len() > 1;
            let when = if moving { " at the end" } else { "" };
            let target = target.ticks(false, false).title(format!("target {field}*{when}")).colour_bar(field);
            let error = error.ticks(true, false).labels("x", "").title("error");
            let error = error.colour_bar(format!("{field} − {field}*"));
            figure.panel(0, columns - 1, target).panel(1, columns - 1, error)
        }
        None => figure.colour_bar(0..2, pictures.colour_bar()),
    };
    pictures.with_legend(figure).lettered().fit_height()
}

/// So many steps from start to end; one is the end. The field changes most at the beginning, so the first
/// interval is the shortest.
fn moments(steps: usize, count: usize) -> Vec<usize> {
    if count < 2 {
        return vec![steps];
    }
    let place = |i: usize| (i as f64 / (count - 1) as f64).powf(1.5);
    let mut moments: Vec<usize> = (0..count).map(|i| (place(i) * steps as f64).round() as usize).collect();
    moments.dedup(); // a run of a few steps has fewer
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_begin_dense_and_end_at_the_end() {
        assert_eq!(moments(300, 5), [0, 38, 106, 195, 300]);
        assert_eq!(moments(300, 2), [0, 300]);
        assert_eq!(moments(300, 1), [300]);
        assert_eq!(moments(1, 5), [0, 1]);
        assert_eq!(moments(0, 5), [0]);
    }
}
