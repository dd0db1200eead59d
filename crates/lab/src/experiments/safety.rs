//! `safety`: obstacles with and without a filter, and a density with and without exact conservation of mass.

use cinoc_learn::evaluate::{Metric, Spread};

use super::{Found, loss_cases, set};
use crate::intervals::{estimate, mean};
use crate::numbers::number;
use crate::results::{Cell, Table};
use crate::workshop::{LabError, Measured, Point, Workshop};

const OBSTACLES: &str = "heat2d-obstacles";
const FILTERS: [&str; 2] = ["none", "project"];
const DENSITY: &str = "density2d";
const TRANSPORTS: [&str; 2] = ["advective", "conservative"];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let obstacles = measured(workshop, OBSTACLES, "obstacles.filter", FILTERS)?;
    let density = measured(workshop, DENSITY, "physics.transport", TRANSPORTS)?;
    Ok(Found {
        protocol: "the policies of the default preset (seed 0), not retrained; 100 cases of the test pool, \
                   the same for both rows. Percentages are of all agents, control steps and cases. Losses \
                   have 95 % bootstrap intervals over cases, other numbers ± one standard deviation over \
                   cases."
            .to_string(),
        findings: vec![about_obstacles(&obstacles), about_mass(&density)],
        tables: vec![discs_table(&obstacles), mass_table(&density)],
        charts: Vec::new(),
    })
}

/// A task with two values of a setting.
fn measured(
    workshop: &Workshop<'_>,
    task: &str,
    key: &str,
    values: [&str; 2],
) -> Result<Vec<Measured>, LabError> {
    let config = workshop.preset(task)?;
    let point = |value: &str| {
        let point = Point::new(&config, workshop.size.pick(100, 2)).with(&[set(key, value)])?;
        Ok::<_, LabError>(point.beside_uncontrolled())
    };
    let points = values.into_iter().map(point).collect::<Result<Vec<_>, _>>()?;
    workshop.measure("safety", &points)
}

/// Loss with and without control.
fn losses(task: &str, measured: &Measured) -> [Cell; 2] {
    [&measured.per_case, &measured.uncontrolled_per_case]
        .map(|per_case| estimate(&[loss_cases(task, per_case).to_vec()], mean).into())
}

fn discs_table(measured: &[Measured]) -> Table {
    let mut table = Table::new(
        "obstacles",
        "heat2d-obstacles: positions of agents with and without a filter that moves them to the edge of a \
         disc.",
        &["obstacles.filter", "in a disc (%)", "in a disc or its margin (%)", "loss", "uncontrolled"],
    );
    for (filter, measured) in FILTERS.iter().zip(measured) {
        let violations = measured.violations;
        let shares = [
            violations.map(|found| 100.0 * found.disc).into(),
            violations.map(|found| 100.0 * found.margin).into(),
        ];
        table.row([(*filter).into()].into_iter().chain(shares).chain(losses(OBSTACLES, measured)));
    }
    table
}

fn mass_table(measured: &[Measured]) -> Table {
    let mut table = Table::new(
        "mass",
        "density2d: change of the mass over a rollout, and distance of centroid and spread from those of \
         the target at its end.",
        &[
            "physics.transport",
            "mass change (%)",
            "mass change, uncontrolled (%)",
            "moment distance",
            "loss",
            "uncontrolled",
        ],
    );
    let shown = |spread: Option<Spread>, factor: f64| {
        spread.map_or(Cell::Nothing, |Spread { mean, std }| {
            format!("{} ± {}", number(factor * mean), number(factor * std)).into()
        })
    };
    for (transport, measured) in TRANSPORTS.iter().zip(measured) {
        let change = |metric: Option<Metric>| metric.and_then(|metric| metric.mass_change);
        let head = [
            (*transport).into(),
            shown(change(measured.metric), 100.0),
            shown(change(measured.uncontrolled), 100.0),
            shown(measured.metric.and_then(|metric| metric.moment), 1.0),
        ];
        table.row(head.into_iter().chain(losses(DENSITY, measured)));
    }
    table
}

fn about_obstacles(measured: &[Measured]) -> String {
    let share = |measured: &Measured| measured.violations.map_or(f64::NAN, |found| 100.0 * found.disc);
    let loss = |measured: &Measured| mean(loss_cases(OBSTACLES, &measured.per_case));
    let [without, with] = [0, 1].map(|i| (number(share(&measured[i])), number(loss(&measured[i]))));
    format!(
        "{OBSTACLES}: agents are inside a disc in {} % of their steps without a filter (loss {}) and in {} % \
         with obstacles.filter = \"project\" (loss {}).",
        without.0, without.1, with.0, with.1
    )
}

fn about_mass(measured: &[Measured]) -> String {
    let change = |measured: &Measured| {
        let change = measured.metric.and_then(|metric| metric.mass_change);
        change.map_or(f64::NAN, |change| 100.0 * change.mean)
    };
    let loss = |measured: &Measured| mean(loss_cases(DENSITY, &measured.per_case));
    let [advective, conservative] =
        [0, 1].map(|i| (number(change(&measured[i])), number(loss(&measured[i]))));
    format!(
        "{DENSITY}: the mass changes by {} % on average with advective transport (loss {}) and by {} % with \
         conservative transport (loss {}).",
        advective.0, advective.1, conservative.0, conservative.1
    )
}
