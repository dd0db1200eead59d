//! `regulator`: what linear feedback reaches that knows the whole field and where every agent is. Compares
//! the shipped policies of the tasks that bring a field to rest with linear-quadratic regulators.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use cinoc_control::disturbance::RandomInput;
use cinoc_control::{Cases, Config, Disturbance, Pool};
use cinoc_learn::pool::{cache_folder, cached};
use cinoc_learn::regulator::{Cost, Growing, Plant, Regulator, Rest, code_hash, controlled};
use serde::{Deserialize, Serialize};

use super::{Found, cases_at, name_of, set};
use crate::intervals::{estimate, mean, ratio};
use crate::numbers::number;
use crate::published::Reported;
use crate::results::{Cell, Chart, Curve, Table};
use crate::workshop::{LabError, Point, Size, Trained, Workshop, work};

/// Weights of the effort that are tried, in units of the task's. A larger one gives smaller gains.
const EFFORTS: [f64; 6] = [1.0, 1e2, 1e4, 1e5, 1e6, 1e7];
/// Half of the horizon of ks2d, where the paper measures.
const HALF_WAY: &[&str] = &["time.steps=25"];
/// Steps of a quick rollout.
const QUICK_STEPS: usize = 3;

/// A task with some agents.
struct Setting {
    task: &'static str,
    agents: usize,
    sets: &'static [&'static str],
    when: Reported,
}

fn all() -> Vec<Setting> {
    let row = |task, agents, sets, when| Setting { task, agents, sets, when };
    let line = |agents, sets| row("ks1d", agents, sets, Reported::TimeMean);
    let plane = |agents| row("ks2d", agents, HALF_WAY, Reported::Final);
    vec![
        line(8, &[]),
        line(7, &[]),
        line(6, &[]),
        line(6, &["actuation.starts=staggered"]),
        line(8, &["failure.share=0.3"]),
        plane(200),
        plane(121),
        plane(100),
        plane(93),
        plane(90),
        plane(85),
        plane(81),
        plane(75),
        plane(70),
        plane(60),
        row("ks2d", 60, &["time.steps=25", "actuation.starts=rows"], Reported::Final),
        row("ks2d", 60, &[], Reported::Final),
        row("ks2d", 100, &["time.steps=25", "failure.share=0.3"], Reported::Final),
        row("turb2d", 64, &[], Reported::Final),
        row("turb2d", 36, &[], Reported::Final),
        row("turb2d", 64, &["failure.share=0.3"], Reported::Final),
    ]
}

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let mut chosen: Vec<Setting> = all().into_iter().filter(|row| workshop.has_task(row.task)).collect();
    if workshop.size == Size::Quick {
        chosen.dedup_by_key(|row| row.task);
    }
    let posed = chosen.iter().map(|row| row.posed(workshop)).collect::<Result<Vec<_>, _>>()?;
    let presets: Vec<Config> = posed.iter().map(|posed| posed.trained.policy.config.clone()).collect();
    workshop.prepare("regulator", &presets)?;
    let mut policies = Vec::new();
    for posed in &posed {
        policies.push(posed.measured(workshop)?);
    }
    let rests: BTreeMap<&str, OnceCell<Rest>> =
        posed.iter().map(|posed| (posed.setting.task, OnceCell::new())).collect();
    workshop.watch.begin("regulator", posed.iter().map(|posed| posed.work(workshop)).sum());
    let (mut table, mut findings, mut on_torus) = (table(), Vec::new(), Vec::new());
    for (posed, policy) in posed.iter().zip(policies) {
        workshop.watch.now(&posed.told());
        let reached = posed.reached(workshop, &rests[posed.setting.task])?;
        workshop.watch.done(posed.work(workshop));
        findings.push(reached.finding(posed, &policy));
        table.row(reached.row(posed, &policy));
        if posed.setting.task == "ks2d" && posed.setting.sets == HALF_WAY {
            on_torus.push((posed.setting.agents as f64, mean(&policy), mean(&reached.errors)));
        }
    }
    let charts = if on_torus.is_empty() { Vec::new() } else { vec![chart(on_torus)] };
    Ok(Found { protocol: protocol(), findings, tables: vec![table], charts })
}

/// The policy and the regulator of ks2d over the number of agents.
fn chart(mut rows: Vec<(f64, f64, f64)>) -> Chart {
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let agents: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let (policy, regulator): (Vec<f64>, Vec<f64>) = rows.iter().map(|row| (row.1, row.2)).unzip();
    Chart::new("ks2d", "ks2d: one policy, and a regulator for every swarm", "agents", "energy at t = 2.5")
        .log_x()
        .log_y()
        .curve(Curve::new("policy: sees a patch", &agents, &policy))
        .curve(Curve::new("regulator: knows everything", &agents, &regulator))
}

/// A setting, its policy and its cases.
struct Posed<'a> {
    setting: &'a Setting,
    trained: Trained,
    point: Point,
    /// The effort is chosen on these.
    validation: Cases,
    test: Cases,
}

/// What the regulator reaches.
#[derive(Serialize, Deserialize)]
struct Reached {
    growing: usize,
    out_of_reach: usize,
    /// Weight of the effort, in units of the task's, that is best on validation cases.
    effort: f64,
    /// Whether the best gains are those of a long horizon, for all steps, or follow the horizon to its end.
    held: bool,
    /// Errors of the test cases.
    errors: Vec<f64>,
}

/// One way to regulate.
#[derive(Clone, Copy)]
struct Way {
    effort: f64,
    held: bool,
}

impl Setting {
    fn posed(&self, workshop: &Workshop<'_>) -> Result<Posed<'_>, LabError> {
        let trained = match workshop.shipped_policy(self.task) {
            Some(trained) => trained,
            None => workshop.policy(&workshop.preset(self.task)?)?,
        };
        let mut sets: Vec<String> = self.sets.iter().map(|set| set.to_string()).collect();
        sets.push(set("agents", self.agents));
        sets.extend(workshop.size.pick(None, Some(set("time.steps", QUICK_STEPS))));
        let count = workshop.size.pick(if self.task == "ks1d" { 100 } else { 16 }, 1);
        let point = Point::new(&trained.policy.config, count).with(&sets)?;
        let tried = workshop.size.pick(if self.task == "ks1d" { 32 } else { 4 }, 1);
        let source = &point.trained;
        let folder = cache_folder();
        let draw = |pool| cached(source, 0, pool, tried, &workshop.threads, folder.as_deref(), &|_, _| {});
        let validation = draw(Pool::Validation).refined(source, &point.circumstances);
        let test = workshop.cases(&point);
        Ok(Posed { setting: self, trained, point, validation, test })
    }
}

impl Posed<'_> {
    fn config(&self) -> &Config {
        &self.point.circumstances
    }

    fn ways(&self, workshop: &Workshop<'_>) -> Vec<Way> {
        let efforts = workshop.size.pick(&EFFORTS[..], &EFFORTS[..1]);
        efforts.iter().flat_map(|&effort| [true, false].map(|held| Way { effort, held })).collect()
    }

    fn work(&self, workshop: &Workshop<'_>) -> f64 {
        let rollouts = self.ways(workshop).len() * self.validation.count + self.test.count;
        // double precision
        2.0 * rollouts as f64 * work(self.config())
    }

    fn told(&self) -> String {
        let sets = self.setting.sets.iter().map(|set| format!(", {set}")).collect::<String>();
        format!("{}, {} agents{sets}", self.setting.task, self.setting.agents)
    }

    /// The error of the policy; empty if it became infinite or NaN.
    fn measured(&self, workshop: &Workshop<'_>) -> Result<Vec<f64>, LabError> {
        let points = std::slice::from_ref(&self.point);
        let measured = workshop.measure_policy("regulator", &self.trained, points)?;
        Ok(cases_at(self.setting.when, &measured[0].per_case).to_vec())
    }

    /// Chooses how to regulate on validation cases and regulates the test cases. Cached.
    fn reached(&self, workshop: &Workshop<'_>, rest: &OnceCell<Rest>) -> Result<Reached, LabError> {
        let settled = self.config().regardless_of_speed().to_toml();
        let (code, tried, tested) = (code_hash(), self.validation.count, self.test.count);
        let key = format!("regulator {code:x} {:?} {tried} {tested} {settled}", self.setting.when);
        workshop.book_settings(&key);
        let make = || {
            // the field near rest is the same for any agents
            let rest = rest.get_or_init(|| Rest::of(self.config(), &workshop.threads));
            let plant = rest.with_agents(self.config(), &workshop.threads);
            let Growing { waves, out_of_reach } = plant.growing();
            let mut best: Option<(Way, f64)> = None;
            for way in self.ways(workshop) {
                workshop.check()?;
                let found = mean(&self.errors(workshop, &plant, way, &self.validation));
                if best.is_none_or(|(_, least)| found < least) {
                    best = Some((way, found));
                }
            }
            let (way, _) = best.expect("a way");
            let errors = self.errors(workshop, &plant, way, &self.test);
            Ok(Reached { growing: waves, out_of_reach, effort: way.effort, held: way.held, errors })
        };
        Ok(workshop.kept_if(&key, make)?.0)
    }

    /// The error of every case.
    fn errors(&self, workshop: &Workshop<'_>, plant: &Plant<'_>, way: Way, cases: &Cases) -> Vec<f64> {
        let (config, threads) = (self.config(), &workshop.threads);
        // the gains of a case depend on which agents are at work
        let failing = config.failure.share > 0.0;
        let swarms = if failing { cases.count } else { 1 };
        let left = |case: usize| match failing {
            true => plant.with_failures(&alive(config, case)),
            false => plant.with_failures(&vec![1.0; config.agents]),
        };
        let plants: Vec<Plant<'_>> = (0..swarms).map(left).collect();
        let regulators: Vec<_> = plants.iter().map(|plant| self.regulator(plant, way)).collect();
        let courses = controlled(config, cases, threads, |case, step, z| {
            let regulator = &regulators[if failing { case } else { 0 }];
            regulator.actions(if way.held { 0 } else { step }, z)
        });
        let error = |course: &Vec<f64>| match self.setting.when {
            Reported::TimeMean => mean(course),
            Reported::Half | Reported::Final => *course.last().expect("a step"),
        };
        courses.iter().map(error).collect()
    }

    fn regulator<'a>(&self, plant: &Plant<'a>, way: Way) -> Regulator<'a> {
        let config = self.config();
        let (steps, loss) = (config.time.steps, &config.loss);
        let u_max = config.actuation.u_max.expect("agents with intensities");
        let effort = way.effort * loss.effort_u.unwrap_or(1e-4) * u_max * u_max;
        // the loss has the mean over the steps
        let terminal = loss.terminal * steps as f64;
        let cost = Cost { track: loss.track, terminal, effort };
        match way.held {
            true => plant.regulator(Cost { terminal: 0.0, ..cost }, 3 * steps),
            false => plant.regulator(cost, steps),
        }
    }
}

/// Which agents are at work in a case, the same as for the policy.
fn alive(config: &Config, case: usize) -> Vec<f64> {
    let mut drawn = Disturbance::evaluation(0, 0).draw(config, RandomInput::Alive, case, 0);
    drawn.truncate(config.agents);
    drawn
}

impl Reached {
    fn row(&self, posed: &Posed<'_>, policy: &Vec<f64>) -> Vec<Cell> {
        let (setting, config) = (posed.setting, posed.config());
        vec![
            setting.task.into(),
            setting.agents.into(),
            setting.sets.join(" ").into(),
            name_of(setting.when).into(),
            (config.time.steps as f64 * config.control_dt()).into(),
            self.errors.len().into(),
            estimate(std::slice::from_ref(policy), mean).into(),
            estimate(std::slice::from_ref(&self.errors), mean).into(),
            ratio(&self.errors, policy).into(),
            self.growing.into(),
            self.out_of_reach.into(),
            self.effort.into(),
            if self.held { "long" } else { "to the end" }.into(),
        ]
    }

    fn finding(&self, posed: &Posed<'_>, policy: &[f64]) -> String {
        let reach = match self.out_of_reach {
            0 => String::new(),
            count => format!(" {count} of the {} growing waves are out of its reach.", self.growing),
        };
        format!(
            "{}, {}: the policy has an error of {}, the regulator {} ({} times).{reach}",
            posed.told(),
            name_of(posed.setting.when),
            number(mean(policy)),
            number(mean(&self.errors)),
            number(mean(&self.errors) / mean(policy)),
        )
    }
}

fn table() -> Table {
    Table::new(
        "regulator",
        "Error of the shipped policy and of the regulator, on the same cases.",
        &[
            "task",
            "agents",
            "settings",
            "error",
            "until t",
            "cases",
            "policy",
            "regulator",
            "regulator / policy",
            "growing waves",
            "out of reach",
            "effort weight",
            "horizon",
        ],
    )
}

fn protocol() -> String {
    "shipped policies and linear-quadratic regulators on the first cases of the test pool, the same cases for \
     both. A regulator knows the whole field without noise, where every agent is and which ones have failed; \
     its gains are the optimum for exactly these agents near rest (Riccati recursion, with the weights of the \
     task's loss, actions cut at their bounds). Six weights of the effort, in units of the task's, and two \
     horizons (three times the rollout, with the first gain held, or to the end of the rollout) are tried on 4 \
     validation cases (ks1d: 32) and the best is taken. Growing waves: Fourier waves of the field that grow by \
     themselves near rest. Out of reach: those that the agents cannot push, or not independently of others \
     that grow alike; no linear feedback brings them to rest, however it is found. Intervals are 95 % \
     bootstrap over cases."
        .to_string()
}
