//! One case on a rectangle over time: the error, what it costs, and how the policy was trained.

use figure::{Figure, Legend, Lines, Series};

use crate::figures::look::{CONTROLLED, UNCONTROLLED, WIDTH};
use crate::run_2d::Run2d;
use crate::training_log::TrainingLog;

/// The metric with and without control, the mean intensity `|u|` where agents have one, their mean speed where they move, and the
/// loss of the training where its log has updates.
///
/// # Panics
///
/// If lists of the run differ in length from what its documentation says.
pub fn panels_2d(run: &Run2d, log: &TrainingLog) -> Figure {
    run.assert_consistent();
    let mut panels = vec![error(run)];
    panels.extend(run.mean_intensity().map(|u| action(run, &u, "agents' intensity", "mean |u|")));
    if run.mobile() {
        panels.push(action(run, &run.mean_speed(), "agents' speed", "mean |dξ/dt|"));
    }
    if !log.is_empty() {
        panels.push(training(log));
    }
    let figure = Figure::new(1, panels.len()).size(WIDTH, 230.0);
    panels.into_iter().enumerate().fold(figure, |figure, (column, panel)| figure.panel(0, column, panel))
}

fn error(run: &Run2d) -> Lines {
    let curve = |label, error: &[f64], colour| Series::new(label, &run.times, error).colour(colour);
    Lines::new()
        .title(if run.target.is_some() { "distance to the target" } else { "distance to rest" })
        .labels("time t", &run.metric)
        .log_y()
        .legend(Legend::Shared)
        .series(curve("uncontrolled", &run.error_uncontrolled, UNCONTROLLED))
        .series(curve("controlled", &run.error_controlled, CONTROLLED))
}

fn action(run: &Run2d, values: &[f64], title: &str, label: &str) -> Lines {
    // an action is what happens from its time on, so that the last time has none
    let times = &run.times[..values.len()];
    let high = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    Lines::new()
        .title(title)
        .labels("time t", label)
        .x_limits(0.0, run.times[run.steps()])
        .y_limits(0.0, 1.05 * high)
        .series(Series::new("", times, values).colour(CONTROLLED))
}

fn training(log: &TrainingLog) -> Lines {
    Lines::new()
        .title("training")
        .labels("updates", "loss")
        .log_y()
        .series(Series::new("", &log.updates, &log.loss).colour(CONTROLLED))
}
