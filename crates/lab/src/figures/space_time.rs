//! One case over space and time.

use cinoc_figure::{ColourMap, Figure, Map};

use super::look::{columns, field_colours, in_rows};
use crate::Evaluated;
use crate::evaluated::Control;
use crate::over_cases::quantile;

/// Fraction of the error magnitudes inside the colour limits: with the largest errors, at the start, the
/// remaining error would be invisible.
const ERRORS_SHOWN: f64 = 0.95;

/// Maps of a case: the field without control, the field with control and the agents' paths, the target if it
/// moves, and the remaining error. All but the last share their colours.
pub fn space_time(evaluated: &Evaluated, case: usize, width: f64) -> Figure {
    let uncontrolled = evaluated.field(Control::Off, case);
    let controlled = evaluated.field(Control::On, case);
    let target: Vec<f64> =
        (0..=evaluated.steps()).flat_map(|state| evaluated.target(case, state)).copied().collect();
    let error: Vec<f64> = controlled.iter().zip(&target).map(|(z, t)| z - t).collect();

    let moving: &[f64] = if evaluated.targets_move() { &target } else { &[] };
    let all = || uncontrolled.iter().chain(&controlled).chain(moving).copied();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let largest_error = quantile(error.iter().map(|e| e.abs()), ERRORS_SHOWN);
    let colours = field_colours(evaluated.config);
    let field = |z: &[f64], title: &str| map(evaluated, z).title(title).colour_map(colours).limits(low, high);
    let mut panels = vec![
        field(&uncontrolled, "uncontrolled"),
        with_paths(field(&controlled, "controlled, with agents"), evaluated, case),
    ];
    if evaluated.targets_move() {
        panels.push(field(&target, "target z*"));
    }
    // one colour bar, at the end of the maps that share it
    let last = panels.pop().expect("maps of the field").colour_bar("z");
    panels.push(last);
    panels.push(
        map(evaluated, &error)
            .title("error, controlled")
            .colour_map(ColourMap::Diverging)
            .limits(-largest_error, largest_error)
            .colour_bar("z − z*"),
    );
    let columns = columns(panels.len(), width, 160.0);
    let named = |(i, map): (usize, Map)| {
        map.labels("time t", if i.is_multiple_of(columns) { "position x" } else { "" })
    };
    let panels: Vec<Map> = panels.into_iter().enumerate().map(named).collect();
    in_rows(panels, columns, width, 210.0)
}

/// Time along x, position along y, every value at the centre of its cell.
fn map(evaluated: &Evaluated, field: &[f64]) -> Map {
    let (times, positions) = (evaluated.times(), evaluated.positions());
    let n = positions.len();
    let by_position: Vec<f64> =
        (0..n).flat_map(|x| (0..times.len()).map(move |t| field[t * n + x])).collect();
    Map::new(&by_position, n, times.len()).extent(edges(&times), edges(&positions))
}

/// From half a cell before the first of equally spaced points to half a cell after the last.
fn edges(points: &[f64]) -> [f64; 2] {
    let (first, last) = (points[0], points[points.len() - 1]);
    let half = (last - first) / (2 * (points.len() - 1)) as f64;
    [first - half, last + half]
}

fn with_paths(map: Map, evaluated: &Evaluated, case: usize) -> Map {
    let (times, positions, agents) = (evaluated.times(), evaluated.agents(case), evaluated.config.agents);
    (0..agents).fold(map, |map, agent| {
        let path: Vec<f64> = positions.iter().skip(agent).step_by(agents).copied().collect();
        map.path(&times, &path)
    })
}
