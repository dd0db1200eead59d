//! `physics`: the same policies with other coefficients than in training.

use cinoc_control::config::Preset;

use super::over_seeds::{SEEDS, by_item, carried, median_loss, told};
use super::{Found, loss_cases, mean_loss, set};
use crate::intervals::{Estimate, estimate, mean};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop};

const FKPP_NU: [f64; 6] = [0.0, 0.001, 0.002, 0.003, 0.004, 0.005];
const FKPP_RHO: [f64; 6] = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
const TURBULENCE_NU: [f64; 4] = [2e-4, 3e-4, 4e-4, 5e-4];
const TURBULENCE_AGENTS: [usize; 4] = [64, 100, 144, 225];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let seeds: Vec<u64> = workshop.seeds(SEEDS).collect();
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
    for seed in &seeds {
        let fkpp = workshop.preset_of(Preset::Default, "fkpp1d", *seed)?;
        for (key, value) in &fkpp_points {
            points.push(Point::new(&fkpp, fkpp_cases).with(&[set(key, value)])?.beside_uncontrolled());
        }
    }
    for nu in viscosities {
        for agents in agents {
            let sets = [set("physics.nu", nu), set("agents", agents)];
            points.push(Point::new(&turbulence, workshop.size.pick(16, 1)).with(&sets)?);
        }
    }
    let measured = workshop.measure("physics", &points)?;
    let (on_fkpp, on_turbulence) = measured.split_at(seeds.len() * fkpp_points.len());
    let by_value = by_item(on_fkpp, fkpp_points.len());
    let on_fkpp: Vec<Estimate> = by_value.iter().map(|seeds| median_loss("fkpp1d", seeds)).collect();

    let mut table = Table::new(
        "fkpp1d",
        "fkpp1d, trained with nu = 0.005 and rho = 3: loss at the last step with other coefficients.",
        &["coefficient", "value", "loss", "uncontrolled"],
    );
    for (((key, value), loss), seeds) in fkpp_points.iter().zip(&on_fkpp).zip(&by_value) {
        // the same for all seeds
        let free = estimate(&[loss_cases("fkpp1d", &seeds[0].uncontrolled_per_case).to_vec()], mean);
        table.row([(*key).into(), (*value).into(), (*loss).into(), free.into()]);
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
        let of_key = fkpp_points.iter().zip(&on_fkpp).filter(|((k, _), _)| *k == key);
        of_key.map(|(_, loss)| loss.value).fold(0.0, f64::max)
    };
    let findings = vec![format!(
        "fkpp1d: at worst {} over all nu and {} over all rho, {} in training.",
        number(worst("physics.nu")),
        number(worst("physics.rho")),
        number(
            fkpp_points
                .iter()
                .position(|(key, rho)| *key == "physics.rho" && *rho == 3.0)
                .map_or(f64::NAN, |i| on_fkpp[i].value)
        )
    )];
    Ok(Found {
        protocol: format!(
            "the policies of the default preset, not retrained; 100 (fkpp1d) and 16 (turb2d) cases of the \
             test pool. fkpp1d: {}. turb2d: seed 0 only.",
            told(seeds.len())
        ),
        findings: carried(seeds.len(), findings),
        tables: vec![table, flow],
        charts: vec![chart],
    })
}
