//! `marl`: operator policies trained by RL on turbulence, with other numbers of agents, compared with the
//! policy trained through the physics.

use super::{Found, mean_loss};
use crate::numbers::number;
use crate::results::{Chart, Curve, Table};
use crate::workshop::{LabError, Measured, Outcome, Point, Workshop};

const TASK: &str = "turb2d";
const AGENTS: [usize; 8] = [36, 49, 64, 100, 144, 196, 256, 400];
/// The network of the paper's comparison; small batches, because a state is a field that is convolved.
const NETWORK: [&str; 3] = ["method.network=operator", "policy.fusion=product", "train.updates=150"];
const ON_POLICY: [&str; 4] =
    ["train.batch=32", "method.on_policy.envs=8", "method.on_policy.horizon=20", "method.on_policy.epochs=2"];
const OFF_POLICY: [&str; 6] = [
    "train.batch=32",
    "method.off_policy.envs=8",
    "method.off_policy.interval=5",
    "method.off_policy.gradient_steps=8",
    "method.off_policy.first=1000",
    "method.off_policy.warmup=500",
];

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let learning = |method: &str, own: &[&str]| {
        let sets: Vec<String> = NETWORK.iter().chain(own).map(|set| set.to_string()).collect();
        workshop.baseline(TASK, method, &sets)
    };
    let policies = [
        ("through the physics", workshop.preset(TASK)?),
        ("MAPPO", learning("mappo", &ON_POLICY)?),
        ("MATD3", learning("matd3", &OFF_POLICY)?),
    ];
    workshop.prepare("marl", &policies.each_ref().map(|(_, config)| config.clone()))?;
    let cases = workshop.size.pick(50, 1);
    let agents = workshop.size.pick(AGENTS.to_vec(), vec![64, 100]);
    let mut sweep = Table::new(
        "sweep",
        "Enstrophy at the last step with M agents, one policy per method.",
        &["trained by", "M", "loss", "% of M = 64", "steps in training (1000)", "training (s)"],
    );
    let mut chart =
        Chart::new("agents", "turbulence: operator policies", "agents", "enstrophy at the end").log_y();
    let mut findings = Vec::new();
    for (name, config) in policies {
        let log = match workshop.outcome(&config)? {
            Outcome::Finished(log) => log,
            Outcome::Diverged(what) => {
                findings.push(format!("{name}: {what}"));
                continue;
            }
        };
        let points =
            agents.iter().map(|m| Point::new(&config, cases).agents(*m)).collect::<Result<Vec<_>, _>>()?;
        let measured: Vec<Measured> = workshop.measure("marl", &points)?;
        let losses: Vec<f64> = measured.iter().map(|m| mean_loss(TASK, m)).collect();
        let home = agents.iter().position(|m| *m == 64).map_or(f64::NAN, |i| losses[i]);
        for (m, loss) in agents.iter().zip(&losses) {
            sweep.row([
                name.into(),
                (*m).into(),
                (*loss).into(),
                (100.0 * loss / home).into(),
                log.steps.last().map(|steps| steps / 1000.0).into(),
                measured[0].training_seconds.into(),
            ]);
        }
        let x: Vec<f64> = agents.iter().map(|m| *m as f64).collect();
        chart = chart.curve(Curve::new(name, &x, &losses));
        let worst = losses.iter().copied().fold(0.0, f64::max);
        findings.push(format!(
            "{name}: {} with the 64 agents of training, at most {} from {} to {} agents.",
            number(home),
            number(worst),
            agents[0],
            agents[agents.len() - 1]
        ));
    }
    Ok(Found {
        protocol: format!(
            "{TASK}, one policy per method (one seed: no verdict between methods) and {cases} held-out \
             cases; the operator network trained by RL has product fusion: `{}`, MAPPO `{}`, MATD3 `{}`; \
             through the physics: the preset's policy.",
            NETWORK.join(" "),
            ON_POLICY.join(" "),
            OFF_POLICY.join(" ")
        ),
        findings,
        tables: vec![sweep],
        charts: vec![chart],
    })
}
