//! One 2D case at a few times.

use cinoc_figure::Figure;

use super::picture::Pictures;
use crate::figures::look::{WIDTH, short};
use crate::run_2d::Run2d;

/// Number of times shown.
const MOMENTS: usize = 5;

/// The field without control (above) and with control (below) from start to end, all in the same colours,
/// with agents and their trails, obstacles, and contour lines of the target (dashed where it is negative).
/// The target itself is at the end of the lower row, next to the final field.
///
/// # Panics
///
/// If lists of the run do not have the documented lengths.
pub fn snapshots_2d(run: &Run2d) -> Figure {
    run.assert_consistent();
    let steps = moments(run.steps());
    let columns = steps.len() + usize::from(run.target.is_some());
    let pictures = Pictures::new(run, &steps, WIDTH / columns as f64);
    let figure = Figure::new(2, columns).size(WIDTH, 300.0).colour_bar(0..2, pictures.colour_bar());
    let mut figure = steps.iter().enumerate().fold(figure, |figure, (column, &step)| {
        let [above, below] = if column == 0 { ["uncontrolled", "controlled"] } else { ["", ""] };
        let title = format!("t = {}", short(run.times[step]));
        figure.panel(0, column, pictures.uncontrolled(step).labels("", above).title(title)).panel(
            1,
            column,
            pictures.controlled(step).labels("", below),
        )
    });
    if let Some(target) = pictures.target() {
        figure = figure.panel(1, columns - 1, target.title("target"));
    }
    figure.fit_height()
}

/// Steps from start to end. The field changes most at the beginning, so the first interval is the shortest.
fn moments(steps: usize) -> Vec<usize> {
    let place = |i: usize| (i as f64 / (MOMENTS - 1) as f64).powf(1.5);
    let mut moments: Vec<usize> = (0..MOMENTS).map(|i| (place(i) * steps as f64).round() as usize).collect();
    moments.dedup(); // a run of a few steps has fewer
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_begin_dense_and_end_at_the_end() {
        assert_eq!(moments(300), [0, 38, 106, 195, 300]);
        assert_eq!(moments(1), [0, 1]);
        assert_eq!(moments(0), [0]);
    }
}
