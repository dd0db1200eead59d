//! `theory`: the gradient of M agents compared with that of the mean-field limit, for heat1d in its published
//! form with the weight of every agent divided by M.

use cinoc_control::config::Preset;
use cinoc_control::policy::initial_params;
use cinoc_control::random::{Purpose, stream};
use cinoc_control::{Cases, Pool};
use cinoc_learn::mean_field::{MeanField, Placement};
use cinoc_learn::slope::log_log;

use super::{Found, set};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Workshop};

const AGENTS: [usize; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
/// Exponents are fitted from this number of agents. Fewer agents are too far apart for the shortest wave of
/// the policy, a quarter of the domain.
const SMALLEST: usize = 16;
const PLACEMENTS: [&str; 3] = ["regular", "ends included", "random"];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![16, 32, 64]);
    let (cases, order, draws) = workshop.size.pick((2, 64, 24), (1, 4, 2));
    let sampling = set("observe.sampling", "linear");
    let steps = workshop.size.pick(None, Some("time.steps=5".to_string()));
    let sets: Vec<String> = [sampling].into_iter().chain(steps).collect();
    let preset = workshop.preset_of(Preset::Paper, "heat1d", 0)?;
    workshop.prepare("theory", std::slice::from_ref(&preset))?;
    let trained = workshop.policy(&preset)?.policy;
    let fresh = initial_params(&trained.config, &mut stream(0, Purpose::Parameters, 0));
    let single = trained.params.iter().map(|&p| f64::from(p)).collect();
    let config = trained.config.with_sets(&sets)?;

    let mut errors = Table::new(
        "errors",
        "Distance of the gradients, |g_M − g| / |g|; for random placements the root mean square over draws.",
        &["policy", "M", PLACEMENTS[0], PLACEMENTS[1], PLACEMENTS[2]],
    );
    let mut slopes = Table::new(
        "slopes",
        "Exponent of M, fitted from M = 16 on, with its 95 % confidence interval.",
        &["policy", "placement", "power", "from", "to"],
    );
    let mut chart = Chart::new("errors", "gradient of M agents", "agents", "|g_M − g| / |g|").log_x().log_y();
    let mut findings = Vec::new();
    workshop.watch.begin("theory", 2.0 * agents.iter().sum::<usize>() as f64);
    for (name, params) in [("fresh", fresh), ("trained", single)] {
        let drawn = Cases::draw(&config, 0, Pool::Validation, cases, &workshop.threads, &|_, _| {});
        workshop.watch.now(&format!("the limit of the {name} policy"));
        let mean_field = MeanField::new(&config, params, drawn, &workshop.threads);
        let limit = mean_field.limit(order);
        let change = mean_field.limit(order / 2).distance(&limit);
        let mut found: [Vec<f64>; 3] = Default::default();
        for m in &agents {
            workshop.check()?;
            workshop.watch.now(&format!("{m} agents of the {name} policy"));
            let placed = |placement| mean_field.finite(placement, *m).distance(&limit);
            let distances = [
                placed(Placement::Regular),
                placed(Placement::Preset),
                mean_field.random_distance(&limit, *m, draws),
            ];
            errors.row([name.into(), (*m).into()].into_iter().chain(distances.map(Into::into)));
            found.iter_mut().zip(distances).for_each(|(found, distance)| found.push(distance));
            workshop.watch.done(*m as f64);
        }
        let x: Vec<f64> = agents.iter().map(|&m| m as f64).collect();
        let first = agents.iter().position(|m| *m >= SMALLEST).unwrap_or(0);
        for (placement, distances) in PLACEMENTS.iter().zip(&found) {
            chart = chart.curve(Curve::new(&format!("{name}, {placement}"), &x, distances));
            let slope = log_log(&x[first..], &distances[first..]);
            slopes.row([
                name.into(),
                (*placement).into(),
                slope.slope.into(),
                slope.low.into(),
                slope.high.into(),
            ]);
            let falls = distances[first..].is_sorted_by(|a, b| a > b);
            findings.push(format!(
                "{name} policy, {placement}: the error falls {} from M = {} on, as M to the power {} ({} to \
                 {}).",
                if falls { "monotonically" } else { "NOT monotonically" },
                agents[first],
                number(slope.slope),
                number(slope.low),
                number(slope.high)
            ));
        }
        findings.push(format!(
            "{name} policy: halving the order of the quadrature changes the limit by {} of its norm.",
            number(change)
        ));
    }
    Ok(Found {
        protocol: format!(
            "heat1d in double precision, observe.sampling = \"linear\", every agent's weight divided by M \
             (all swarms have the authority of 8 agents), no collision penalty; {cases} held-out cases, \
             {draws} random placements; the limit by Gauss-Legendre quadrature over start positions, {order} \
             nodes per cell. Expected: -1/2 for random positions (Monte Carlo), -1 with both ends of the \
             span included, -2 for midpoints until the kinks of the observation at cell edges dominate, then \
             -1."
        ),
        findings,
        tables: vec![slopes, errors],
        charts: vec![chart],
    })
}
