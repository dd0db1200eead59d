//! `physics`: the same policies under other coefficients than they were trained with.

use super::{Found, mean_loss, set};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop};

const FKPP_NU: [f64; 6] = [0.0, 0.001, 0.002, 0.003, 0.004, 0.005];
const FKPP_RHO: [f64; 6] = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
const TURBULENCE_NU: [f64; 4] = [2e-4, 3e-4, 4e-4, 5e-4];
const TURBULENCE_AGENTS: [usize; 4] = [64, 100, 144, 225];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let fkpp = workshop.preset("fkpp1d")?;
    let turbulence = workshop.preset("turb2d")?;
    let count = workshop.size.pick(usize::MAX, 2);
    let (agents, viscosities) = (&TURBULENCE_AGENTS[..count.min(4)], &TURBULENCE_NU[..count.min(4)]);
    let fkpp_cases = workshop.size.pick(100, 2);
    let fkpp_points: Vec<(&str, f64)> = FKPP_NU[..count.min(6)]
        .iter()
        .map(|nu| ("physics.nu", *nu))
        .chain(FKPP_RHO[..count.min(6)].iter().map(|rho| ("physics.rho", *rho)))
        .collect();
    let mut points = Vec::new();
    for (key, value) in &fkpp_points {
        points.push(Point::new(&fkpp, fkpp_cases).with(&[set(key, value)])?.beside_uncontrolled());
    }
    for nu in viscosities {
        for agents in agents {
            let sets = [set("physics.nu", nu), set("agents", agents)];
            points.push(Point::new(&turbulence, workshop.size.pick(16, 1)).with(&sets)?);
        }
    }
    let measured = workshop.measure("physics", &points)?;
    let (on_fkpp, on_turbulence) = measured.split_at(fkpp_points.len());

    let mut table = Table::new(
        "fkpp1d",
        "fkpp1d, trained with nu = 0.005 and rho = 3: loss at the last step under other coefficients.",
        &["coefficient", "value", "loss", "std over cases", "uncontrolled"],
    );
    for ((key, value), m) in fkpp_points.iter().zip(on_fkpp) {
        table.row([
            (*key).into(),
            (*value).into(),
            mean_loss("fkpp1d", m).into(),
            m.metric.map(|metric| metric.last.std).into(),
            m.uncontrolled.map(|metric| metric.last.mean).into(),
        ]);
    }
    let mut columns = vec!["viscosity".to_string()];
    columns.extend(agents.iter().map(|agents| format!("M = {agents}")));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut flow = Table::new(
        "turb2d",
        "turb2d, trained with 64 agents and viscosity 5e-4: enstrophy at the last step.",
        &columns,
    );
    let mut chart =
        Chart::new("turb2d", "other viscosities", "agents", "enstrophy at the last step").log_x().log_y();
    let x: Vec<f64> = agents.iter().map(|&agents| agents as f64).collect();
    for (nu, measured) in viscosities.iter().zip(on_turbulence.chunks(agents.len())) {
        let losses: Vec<f64> = measured.iter().map(|m| mean_loss("turb2d", m)).collect();
        flow.row([(*nu).into()].into_iter().chain(losses.iter().map(|&loss| loss.into())));
        chart = chart.curve(Curve::new(&format!("viscosity {nu:e}"), &x, &losses));
    }
    let worst = |key: &str| {
        let of_key = fkpp_points.iter().zip(on_fkpp).filter(|((k, _), _)| *k == key);
        of_key.map(|(_, m)| mean_loss("fkpp1d", m)).fold(0.0, f64::max)
    };
    let findings = vec![format!(
        "fkpp1d: at worst {} over all nu and {} over all rho, {} in training.",
        number(worst("physics.nu")),
        number(worst("physics.rho")),
        number(
            fkpp_points
                .iter()
                .position(|(key, rho)| *key == "physics.rho" && *rho == 3.0)
                .map_or(f64::NAN, |i| mean_loss("fkpp1d", &on_fkpp[i]))
        )
    )];
    Ok(Found {
        protocol: "the policies of the main table (seed 0), not retrained; 100 (fkpp1d) and 16 (turb2d) held-out cases.".to_string(),
        findings,
        tables: vec![table, flow],
        charts: vec![chart],
    })
}
