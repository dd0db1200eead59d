//! `optimum`: how good could any policy be? Compares the shipped policies with plans: all actions of a case,
//! optimised through the solver from the same state.

use std::time::Instant;

use cinoc_adjoint::Real;
use cinoc_control::{Cases, Config, policy};
use cinoc_learn::evaluate::controlled;
use serde::{Deserialize, Serialize};

use super::{Found, cases_at, name_of, set};
use crate::intervals::{estimate, mean, ratio};
use crate::numbers::number;
use crate::open_loop::{Descent, Goal, Problem, Settings, Start, code_hash, decided, descend, pulse};
use crate::published::Reported;
use crate::results::{Cell, Table};
use crate::workshop::{LabError, Point, Trained, Workshop, work};

/// Steps of a quick rollout.
const QUICK_STEPS: usize = 6;

/// One optimisation problem.
struct Setting {
    task: &'static str,
    agents: usize,
    /// Other settings that differ from the preset.
    sets: &'static [&'static str],
    goal: Goal,
    /// Test cases.
    cases: usize,
    settings: Settings,
}

/// All optimisation problems, task by task.
fn all() -> Vec<Setting> {
    use Goal::{Final, TimeMean};
    let row = |task, agents, sets, goal| {
        let (cases, iterations, polish, rate) = match (task, goal) {
            ("ks1d" | "heat1d", TimeMean) => (16, 1500, 0, 0.03),
            ("ks1d" | "heat1d", Final) => (16, 1000, 600, 0.03),
            ("ks2d", _) => (4, 200, 0, 0.05),
            ("heat2d" | "density2d", _) => (4, 400, 0, 0.05),
            _ => (2, 100, 0, 0.05),
        };
        Setting { task, agents, sets, goal, cases, settings: Settings { iterations, polish, rate } }
    };
    vec![
        row("ks1d", 8, &[], TimeMean),
        row("ks1d", 8, &[], Final),
        row("ks1d", 6, &[], TimeMean),
        row("ks1d", 6, &["actuation.starts=staggered"], TimeMean),
        row("heat1d", 4, &[], Final),
        row("heat1d", 8, &[], Final),
        row("heat2d", 9, &[], Final),
        row("heat2d", 16, &[], Final),
        row("heat2d", 16, &["failure.share=0.3"], Final),
        row("ks2d", 100, &["time.steps=25"], Final),
        row("ks2d", 100, &[], Final),
        row("ks2d", 60, &["time.steps=25"], Final),
        row("ks2d", 60, &[], Final),
        row("ks2d", 100, &["time.steps=25", "failure.share=0.3"], Final),
        row("turb2d", 36, &[], Final),
        row("turb2d", 64, &[], Final),
        row("turb2d", 64, &["failure.share=0.3"], Final),
        row("density2d", 4, &[], Final),
        row("density2d", 9, &[], Final),
        row("density2d", 9, &["failure.share=0.3"], Final),
    ]
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let chosen: Vec<Setting> = all().into_iter().filter(|row| workshop.has_task(row.task)).collect();
    let not_shipped = chosen.iter().filter(|row| workshop.shipped_policy(row.task).is_none());
    let presets = not_shipped.map(|row| workshop.preset(row.task)).collect::<Result<Vec<_>, _>>()?;
    workshop.prepare("optimum", &presets)?;
    let problems = chosen.iter().map(|row| row.posed(workshop)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for posed in &problems {
        rows.push(posed.measured(workshop)?);
    }
    workshop.watch.begin("optimum", problems.iter().map(Posed::work).sum());
    let mut table = table();
    let mut findings = Vec::new();
    for (posed, policy) in problems.iter().zip(rows) {
        let starts = posed.starts();
        let descents = starts.iter().map(|&start| Ok((start, posed.descent(workshop, start)?)));
        let best = Best::of(&descents.collect::<Result<Vec<_>, LabError>>()?, policy);
        findings.push(best.finding(posed));
        table.row(best.row(posed));
    }
    Ok(Found { protocol: protocol(), findings, tables: vec![table], charts: Vec::new() })
}

/// A setting, its policy and its cases.
struct Posed<'a> {
    setting: &'a Setting,
    trained: Trained,
    point: Point,
    cases: Cases,
    settings: Settings,
}

impl Setting {
    /// The shipped policy with these settings; if none is shipped, the policy of the preset.
    fn posed(&self, workshop: &Workshop<'_>) -> Result<Posed<'_>, LabError> {
        let trained = match workshop.shipped_policy(self.task) {
            Some(trained) => trained,
            None => workshop.policy(&workshop.preset(self.task)?)?,
        };
        let count = workshop.size.pick(self.cases, 1);
        let mut sets: Vec<String> = self.sets.iter().map(|set| set.to_string()).collect();
        sets.push(set("agents", self.agents));
        sets.extend(workshop.size.pick(None, Some(set("time.steps", QUICK_STEPS))));
        let point = Point::new(&trained.policy.config, count).with(&sets)?;
        let quick = Settings { iterations: 2, polish: self.settings.polish.min(1), ..self.settings };
        let settings = workshop.size.pick(self.settings, quick);
        let cases = workshop.cases(&point);
        Ok(Posed { setting: self, trained, point, cases, settings })
    }
}

/// A descent and the seconds it took.
#[derive(Serialize, Deserialize)]
struct Timed {
    descent: Descent,
    seconds: f64,
}

impl Posed<'_> {
    fn config(&self) -> &Config {
        &self.point.circumstances
    }

    fn starts(&self) -> Vec<Start> {
        match self.setting.task {
            "ks1d" => vec![Start::Policy, Start::Zero, Start::Pulse],
            _ => vec![Start::Policy, Start::Zero],
        }
    }

    /// Work of all descents; one iteration is forward, recomputed forward and backward.
    fn iteration_work(&self) -> f64 {
        4.0 * self.cases.count as f64 * work(self.config())
    }

    fn work(&self) -> f64 {
        (self.starts().len() * self.settings.all()) as f64 * self.iteration_work()
    }

    /// Description of the problem.
    fn told(&self) -> String {
        let sets = self.setting.sets.iter().map(|set| format!(", {set}")).collect::<String>();
        let when = name_of(self.setting.goal.reported());
        format!("{}, {} agents{sets}, {when}", self.setting.task, self.setting.agents)
    }

    /// The error of the policy; empty if it became infinite or NaN.
    fn measured(&self, workshop: &Workshop<'_>) -> Result<Vec<f64>, LabError> {
        let measured =
            workshop.measure_policy("optimum", &self.trained, std::slice::from_ref(&self.point))?;
        Ok(cases_at(self.setting.goal.reported(), &measured[0].per_case).to_vec())
    }

    /// A descent. It is cached until the code or the start changes.
    fn descent(&self, workshop: &Workshop<'_>, start: Start) -> Result<Descent, LabError> {
        let config = self.config();
        let settled = config.regardless_of_speed().to_toml();
        let fields = self.cases.z0.iter().chain(&self.cases.zt);
        let fields: Vec<u8> = fields.flat_map(|z| z.to_le_bytes()).collect();
        let (fields, goal) = (cinoc_learn::files::fnv1a(&fields), self.setting.goal);
        let code = code_hash();
        let mut key = format!("optimum {code:x} {goal:?} {:?} {start:?} {settled} {fields:x}", self.settings);
        workshop.book_settings(&key);
        if start == Start::Policy {
            let params: Vec<u8> = self.trained.policy.params.iter().flat_map(|p| p.to_le_bytes()).collect();
            key += &format!(" {:x}", cinoc_learn::files::fnv1a(&params));
        }
        let make = || {
            let begun = Instant::now();
            // in 1D errors end far below what single precision resolves
            let descent = match config.task.dims {
                1 => self.descend::<f64>(workshop, start),
                _ => self.descend::<f32>(workshop, start),
            };
            Ok(Timed { descent: descent?, seconds: begun.elapsed().as_secs_f64() })
        };
        let (Timed { descent, seconds }, now) = workshop.kept_if(&key, make)?;
        workshop.book_rollout(seconds, now);
        if !now {
            workshop.watch.done(self.settings.all() as f64 * self.iteration_work());
        }
        Ok(descent)
    }

    fn descend<T: Real>(&self, workshop: &Workshop<'_>, start: Start) -> Result<Descent, LabError> {
        let problem = Problem::<T>::new(self.config(), &self.cases, self.setting.goal, &workshop.threads);
        let actions = self.actions(workshop, start);
        let (told, all) = (self.told(), self.settings.all());
        let mut before = 0;
        let watch = |done: usize| {
            workshop.watch.now(&format!("{told}, from {}: {done} of {all}", start.name()));
            workshop.watch.done((done - before) as f64 * self.iteration_work());
            before = done;
            workshop.watch.keep_going()
        };
        descend(&problem, &actions, self.settings, watch).ok_or(LabError::Stopped)
    }

    /// The initial actions of a descent, `[cases][steps][actions][agents]` in units of their bounds.
    fn actions(&self, workshop: &Workshop<'_>, start: Start) -> Vec<f64> {
        let (config, count) = (self.config(), self.cases.count);
        let per_case = config.time.steps * policy::actions(config) * config.agents;
        let zero = || vec![0.0; count * per_case];
        match start {
            Start::Zero => zero(),
            Start::Pulse => (0..count).flat_map(|case| pulse(config, case)).collect(),
            // a policy whose rollout becomes infinite or NaN cannot be a start
            Start::Policy => controlled(config, &self.trained.policy.params, &self.cases, &workshop.threads)
                .map_or_else(|_| zero(), |rollouts| decided(config, &rollouts)),
        }
    }
}

impl Goal {
    fn reported(self) -> Reported {
        match self {
            Goal::TimeMean => Reported::TimeMean,
            Goal::Final => Reported::Final,
        }
    }
}

/// The best of several descents, case by case.
struct Best {
    /// Error of the policy.
    policy: Vec<f64>,
    /// Least error found.
    least: Vec<f64>,
    /// The same after nine tenths of the winning descent.
    late: Vec<f64>,
    /// Number of cases that each start won.
    won: Vec<(Start, usize)>,
}

impl Best {
    fn of(descents: &[(Start, Descent)], policy: Vec<f64>) -> Best {
        let cases = descents[0].1.best.len();
        let mut won: Vec<(Start, usize)> = descents.iter().map(|(start, _)| (*start, 0)).collect();
        let (mut least, mut late) = (Vec::new(), Vec::new());
        for case in 0..cases {
            let of = |index: &usize| descents[*index].1.best[case];
            let winner = (0..descents.len()).min_by(|a, b| of(a).total_cmp(&of(b))).expect("a start");
            won[winner].1 += 1;
            least.push(of(&winner));
            late.push(descents[winner].1.late[case]);
        }
        Best { policy, least, late, won }
    }

    /// Decrease of the least errors in the last tenth of the iterations, in per cent.
    fn still_moving(&self) -> f64 {
        100.0 * (1.0 - mean(&self.least) / mean(&self.late))
    }

    fn winners(&self) -> String {
        let won = self.won.iter().filter(|(_, cases)| *cases > 0);
        won.map(|(start, cases)| format!("{} {cases}", start.name())).collect::<Vec<_>>().join(", ")
    }

    fn row(&self, posed: &Posed<'_>) -> Vec<Cell> {
        let (setting, config) = (posed.setting, posed.config());
        vec![
            setting.task.into(),
            setting.agents.into(),
            setting.sets.join(" ").into(),
            name_of(setting.goal.reported()).into(),
            (config.time.steps as f64 * config.control_dt()).into(),
            self.least.len().into(),
            estimate(std::slice::from_ref(&self.policy), mean).into(),
            estimate(std::slice::from_ref(&self.least), mean).into(),
            ratio(&self.policy, &self.least).into(),
            self.winners().into(),
            self.still_moving().into(),
            posed.settings.all().into(),
        ]
    }

    fn finding(&self, posed: &Posed<'_>) -> String {
        format!(
            "{}: the policy has an error of {}, the best plans found {} ({} times less). In the last tenth \
             of the descent the error of the plans still fell by {} %.",
            posed.told(),
            number(mean(&self.policy)),
            number(mean(&self.least)),
            number(mean(&self.policy) / mean(&self.least)),
            number(self.still_moving())
        )
    }
}

fn table() -> Table {
    Table::new(
        "optimum",
        "Error of the shipped policy and of the best open-loop plan found, on the same cases.",
        &[
            "task",
            "agents",
            "settings",
            "error",
            "until t",
            "cases",
            "policy",
            "best plan",
            "policy / plan",
            "winning starts (cases)",
            "fell in the last tenth (%)",
            "iterations",
        ],
    )
}

fn protocol() -> String {
    "shipped policies on the first cases of the test pool, the same cases for policy and plan. A plan is a \
     sequence of actions of all agents in all control steps, within the bounds of the task. It is \
     optimised for the error only, with the initial field known, by projected Adam through the solver \
     (cosine rate; the logarithm of the error; 1D in double, 2D in single precision). The error at the \
     last step in 1D is then optimised further by projected L-BFGS. Descents start from the policy's own \
     actions and from zero, for ks1d also from a pulse in the second Fourier mode; for every case the \
     best descent counts. The problem is not convex: the error of a plan is an upper bound of the optimal \
     error, not a proof that nothing lower exists. A policy also does not know the field elsewhere, and \
     was trained with a cost of effort. Where agents fail, the same ones do for policy and plan. \
     Intervals are 95 % bootstrap over cases."
        .to_string()
}
