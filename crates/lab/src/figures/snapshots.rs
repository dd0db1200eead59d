//! One 1D case at a few times.

use cinoc_figure::{Figure, Legend, Lines, Series};

use super::look::{CONTROLLED, TARGET, UNCONTROLLED, columns, in_rows, short};
use crate::Evaluated;
use crate::evaluated::Control;

/// The field with and without control, and the target, at the start, after a tenth and a third of the time,
/// and at the end. Triangles on the axis are the agents.
pub fn snapshots(evaluated: &Evaluated, case: usize, width: f64) -> Figure {
    let (n, agents, steps) = (evaluated.config.points(), evaluated.config.agents, evaluated.steps());
    let (positions, times) = (evaluated.positions(), evaluated.times());
    let (uncontrolled, controlled) =
        (evaluated.field(Control::Off, case), evaluated.field(Control::On, case));
    let target: Vec<f64> = (0..=steps).flat_map(|state| evaluated.target(case, state)).copied().collect();
    let xi = evaluated.agents(case);
    let all = || uncontrolled.iter().chain(&controlled).chain(&target).copied();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let air = 0.06 * (high - low);

    let mut moments = vec![0, steps / 10, steps / 3, steps];
    moments.dedup(); // a rollout of a few steps has fewer
    let panel = |step: usize| {
        let at = |field: &[f64]| field[step * n..(step + 1) * n].to_vec();
        Lines::new()
            .title(format!("t = {}", short(times[step])))
            .labels("position x", "z")
            .x_limits(0.0, evaluated.config.grid.length)
            .y_limits(low - air, high + air)
            .series(Series::new("uncontrolled", &positions, &at(&uncontrolled)).colour(UNCONTROLLED))
            .series(Series::new("target z*", &positions, &at(&target)).colour(TARGET).dashed())
            .series(Series::new("controlled", &positions, &at(&controlled)).colour(CONTROLLED))
            .axis_marks(&xi[step * agents..(step + 1) * agents])
            .legend(Legend::Shared)
    };
    let columns = columns(moments.len(), width, 240.0);
    in_rows(moments.into_iter().map(panel).collect(), columns, width, 210.0)
}
