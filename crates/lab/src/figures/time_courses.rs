//! Error and actions over time, over all cases.

use cinoc_figure::{Colour, Figure, Legend, Lines, Series};

use super::look::{CONTROLLED, METRIC, UNCONTROLLED, columns, in_rows};
use crate::Evaluated;
use crate::evaluated::Control;
use crate::over_cases::Spread;

/// Median and 10-90 % band over the cases of the error with and without control, of the mean speed `|v|`
/// where agents move, and of the mean intensity `|u|`.
pub fn time_courses(evaluated: &Evaluated, width: f64) -> Figure {
    let mut panels = vec![error(evaluated)];
    let all = |of_case: &dyn Fn(usize) -> Option<Vec<f64>>| cases(evaluated).map(of_case).collect();
    let velocities: Option<Vec<_>> = all(&|case| evaluated.velocities(case));
    let intensities: Option<Vec<_>> = all(&|case| evaluated.intensities(case));
    panels.extend(velocities.map(|v| action(evaluated, &v, "agents' speed", "mean |v|")));
    panels.extend(intensities.map(|u| action(evaluated, &u, "agents' intensity", "mean |u|")));
    let columns = columns(panels.len(), width, 160.0);
    in_rows(panels, columns, width, 230.0)
}

fn error(evaluated: &Evaluated) -> Lines {
    let times = evaluated.times();
    let spread = |control| {
        let all: Vec<_> = cases(evaluated).map(|case| evaluated.error(control, case)).collect();
        Spread::of(&all)
    };
    let (off, on) = (spread(Control::Off), spread(Control::On));
    let (low, high) = shown(&[&off, &on]);
    Lines::new()
        .title("distance to the target")
        .labels("time t", METRIC)
        .log_y()
        .legend(Legend::Shared)
        .y_limits(low, high)
        .series(banded("uncontrolled", &times, &off, UNCONTROLLED))
        .series(banded("controlled", &times, &on, CONTROLLED))
}

/// Of the actions in all cases.
fn action(evaluated: &Evaluated, actions: &[Vec<f64>], title: &str, label: &str) -> Lines {
    // an action acts from its time on, so the last time has none
    let times = &evaluated.times()[..evaluated.steps()];
    let all: Vec<_> = actions.iter().map(|actions| evaluated.mean_magnitude(actions)).collect();
    let spread = Spread::of(&all);
    let high = spread.high.iter().copied().fold(0.0, f64::max);
    Lines::new()
        .title(title)
        .labels("time t", label)
        .x_limits(0.0, evaluated.steps() as f64 * evaluated.config.control_dt())
        .y_limits(0.0, 1.05 * high)
        .series(banded("", times, &spread, CONTROLLED))
}

fn cases(evaluated: &Evaluated) -> std::ops::Range<usize> {
    0..evaluated.cases.count
}

/// Limits of a logarithmic axis that contain the bands, down to a decade below the medians.
fn shown(spreads: &[&Spread]) -> (f64, f64) {
    let least = |of: fn(&Spread) -> &Vec<f64>| {
        spreads
            .iter()
            .flat_map(|spread| of(spread))
            .copied()
            .filter(|&y| y > 0.0)
            .fold(f64::INFINITY, f64::min)
    };
    let low = least(|spread| &spread.low).max(least(|spread| &spread.median) / 10.0);
    let high = spreads.iter().flat_map(|spread| &spread.high).copied().fold(0.0, f64::max);
    (low / 1.2, high * 1.2)
}

fn banded(label: &str, times: &[f64], spread: &Spread, colour: Colour) -> Series {
    Series::new(label, times, &spread.median).band(&spread.low, &spread.high).colour(colour)
}
