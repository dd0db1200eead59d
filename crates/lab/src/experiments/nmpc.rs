//! `nmpc`: model predictive control of ks1d, which plans in every control step, compared with the policy,
//! which does not plan.

use cinoc_control::{Cases, Config, Trajectories};
use cinoc_learn::bench::decision_microseconds;
use cinoc_learn::evaluate::{Effort, controlled, uncontrolled};
use cinoc_learn::nmpc::{Method, Rollout, Settings, Solve, roll_out};

use super::{Found, set};
use crate::numbers::number;
use crate::results::{Cell, Chart, Curve, Table};
use crate::workshop::{LabError, Point, Workshop};

/// Bounds of the intensity: the task's and the published one.
const BOUNDS: [f64; 2] = [1.0, 50.0];
const METHODS: [(Method, &str); 2] = [(Method::Lbfgs, "L-BFGS"), (Method::GaussNewton, "Gauss-Newton")];
/// Number of states at the end of a rollout over which its energy is measured.
const LAST: usize = 50;
/// Published: bound, energy of the last states, milliseconds of a solve (CasADi with IPOPT), milliseconds of
/// the slowest solve.
const PUBLISHED: (f64, f64, f64, f64) = (50.0, 1.38e-4, 592.0, 1730.0);
/// Allowed duration of a solve in milliseconds.
const BAR: f64 = 100.0;

pub(super) fn run(workshop: &Workshop<'_>) -> Result<Found, LabError> {
    let (count, steps) = workshop.size.pick((10, 400), (1, 10));
    let preset = workshop.preset("ks1d")?;
    let point = Point::new(&preset, count).with(&[set("time.steps", steps)])?;
    let (config, cases) = (&point.circumstances, workshop.cases(&point));
    workshop.prepare("nmpc", std::slice::from_ref(&preset))?;
    workshop.watch.begin("nmpc", (BOUNDS.len() * METHODS.len() * count) as f64);

    let mut report = Report::new(config);
    if let Ok(nothing) = uncontrolled(config, &cases, &workshop.threads) {
        let course = Course::of(config, &nothing);
        report.draw("uncontrolled", &course);
        report.add("uncontrolled", None, &course, None);
    }
    let policy = workshop.policy(&preset)?.policy;
    let decision = decision_microseconds(config).map(|us| us / 1e3);
    if let Ok(rollouts) = controlled(config, &policy.params, &cases, &workshop.threads) {
        let (course, bound) = (Course::of(config, &rollouts), config.actuation.u_max);
        report.add(
            "policy",
            bound,
            &course,
            Some(Times { p50: decision[0], p99: decision[1], ..Times::NONE }),
        );
        report.draw("policy", &course);
        report.findings.push(format!(
            "The policy decides in {} ms (median) and ends at {}.",
            number(decision[0]),
            number(course.last())
        ));
    }
    for bound in BOUNDS {
        for (method, name) in METHODS {
            let bounded = config.with_sets(&[set("actuation.u_max", bound)])?;
            let rollouts = plan(workshop, &bounded, &cases, method, name)?;
            report.add_nmpc(name, bound, &rollouts);
            // the curves of both methods coincide
            if method == Method::Lbfgs {
                report.draw(&format!("NMPC, |u| ≤ {bound}"), &Course::of_plans(&rollouts));
            }
        }
    }
    let horizon = Settings::new(Method::Lbfgs).horizon;
    report.add_published();
    Ok(Found {
        protocol: format!(
            "ks1d, {count} held-out cases, {steps} control steps, horizon of {horizon} control steps, a \
             solve before every control step, one solve at a time on one thread, in double precision; the \
             model is the plant. Objective: track and effort_u of the task, summed over the horizon, no \
             terminal term. Timings vary by machine. The published milliseconds are in the column of the \
             median; the source does not say which mean they are."
        ),
        findings: report.findings,
        tables: vec![report.table],
        charts: vec![report.chart],
    })
}

/// All cases under model predictive control; each is cached, so that an interrupted experiment can resume.
fn plan(
    workshop: &Workshop<'_>,
    config: &Config,
    cases: &Cases,
    method: Method,
    name: &str,
) -> Result<Vec<Rollout>, LabError> {
    let settings = Settings::new(method);
    let one = |case: usize| {
        let bound = config.actuation.u_max.unwrap_or(0.0);
        workshop.watch.now(&format!("{name}, |u| <= {bound}, case {} of {}", case + 1, cases.count));
        let (z0, target) = (cases.z0(case), cases.zt(case));
        let field: Vec<String> = z0.iter().map(|z| format!("{:x}", z.to_bits())).collect();
        let settled = config.regardless_of_speed().to_toml();
        let key = format!("nmpc {settings:?} {settled} {}", field.join(" "));
        workshop.book_settings(&key);
        let (rollout, now) = workshop.kept(&key, || roll_out(config, z0, target, settings))?;
        workshop.book_rollout(rollout.solves.iter().map(|solve| solve.seconds).sum(), now);
        workshop.watch.done(1.0);
        Ok(rollout)
    };
    (0..cases.count).map(one).collect()
}

/// Means over cases.
struct Course {
    energy: Vec<f64>,
    mean_u2: Option<f64>,
}

impl Course {
    fn of(config: &Config, rollouts: &Trajectories<f32>) -> Course {
        let errors: Vec<Vec<f64>> = (0..rollouts.samples).map(|case| rollouts.error(case)).collect();
        let mean_u2 = rollouts.u().map(|_| Effort::of(config, rollouts).mean_u2);
        Course { energy: over_cases(&errors), mean_u2 }
    }

    fn of_plans(rollouts: &[Rollout]) -> Course {
        let over = |of: fn(&Rollout) -> &Vec<f64>| {
            over_cases(&rollouts.iter().map(|rollout| of(rollout).clone()).collect::<Vec<_>>())
        };
        Course {
            energy: over(|rollout| &rollout.error),
            mean_u2: Some(mean(&over(|rollout| &rollout.effort))),
        }
    }

    /// Mean over the last states.
    fn last(&self) -> f64 {
        mean(&self.energy[self.energy.len().saturating_sub(LAST)..])
    }
}

/// Duration of solves or decisions, in milliseconds.
struct Times {
    solves: Option<usize>,
    iterations: Option<f64>,
    p50: f64,
    /// Median of solves that changed the plan. The other solves only find that the previous plan, shifted by
    /// one step, is still good enough.
    iterating_p50: Option<f64>,
    /// Median of the first solves of the cases, which start without a plan.
    cold_p50: Option<f64>,
    p99: f64,
    slowest: Option<f64>,
}

impl Times {
    const NONE: Times = Times {
        solves: None,
        iterations: None,
        p50: f64::NAN,
        iterating_p50: None,
        cold_p50: None,
        p99: f64::NAN,
        slowest: None,
    };

    fn of(rollouts: &[Rollout]) -> Times {
        let solves = || rollouts.iter().flat_map(|rollout| &rollout.solves);
        let all = sorted(solves());
        let middle = |sorted: &[f64]| sorted.get(sorted.len() / 2).copied();
        let iterations: usize = solves().map(|solve| solve.iterations).sum();
        Times {
            solves: Some(all.len()),
            iterations: Some(iterations as f64 / all.len() as f64),
            p50: all[all.len() / 2],
            iterating_p50: middle(&sorted(solves().filter(|solve| solve.iterations > 0))),
            cold_p50: middle(&sorted(rollouts.iter().filter_map(|rollout| rollout.solves.first()))),
            p99: all[all.len() * 99 / 100],
            slowest: all.last().copied(),
        }
    }
}

/// Milliseconds of solves, fastest first.
fn sorted<'a>(solves: impl Iterator<Item = &'a Solve>) -> Vec<f64> {
    let mut times: Vec<f64> = solves.map(|solve| solve.seconds * 1e3).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The results.
struct Report {
    table: Table,
    chart: Chart,
    findings: Vec<String>,
    dt: f64,
}

impl Report {
    fn new(config: &Config) -> Report {
        let columns = [
            "method",
            "bound of u",
            "z², last 50 states",
            "z², all states",
            "mean u²",
            "solves",
            "iterations per solve",
            "median (ms)",
            "median of those that iterate (ms)",
            "median of cold ones (ms)",
            "99 % (ms)",
            "slowest (ms)",
        ];
        let caption = "Mean z² over space, states and cases; milliseconds of one solve, for the policy of \
                       one decision. Solves that do not iterate find that the previous plan, shifted by one \
                       step, is still good enough; cold ones are the first of every case.";
        Report {
            table: Table::new("methods", caption, &columns),
            chart: Chart::new("courses", "ks1d under model predictive control", "time", "mean z²").log_y(),
            findings: Vec::new(),
            dt: config.control_dt(),
        }
    }

    fn add(&mut self, name: &str, bound: Option<f64>, course: &Course, times: Option<Times>) {
        let times = times.unwrap_or(Times::NONE);
        self.table.row([
            name.into(),
            bound.into(),
            course.last().into(),
            mean(&course.energy).into(),
            course.mean_u2.into(),
            times.solves.map_or(Cell::Nothing, Cell::from),
            times.iterations.into(),
            times.p50.into(),
            times.iterating_p50.into(),
            times.cold_p50.into(),
            times.p99.into(),
            times.slowest.into(),
        ]);
    }

    /// Draws every tenth state.
    fn draw(&mut self, label: &str, course: &Course) {
        let states = course.energy.iter().enumerate().skip(9).step_by(10);
        let (times, energy): (Vec<f64>, Vec<f64>) =
            states.map(|(step, energy)| ((step + 1) as f64 * self.dt, *energy)).unzip();
        self.chart.curves.push(Curve::new(label, &times, &energy));
    }

    fn add_nmpc(&mut self, name: &str, bound: f64, rollouts: &[Rollout]) {
        let (course, times) = (Course::of_plans(rollouts), Times::of(rollouts));
        let verdict = if times.p99 <= BAR { "within" } else { "NOT within" };
        let unfinished = rollouts.iter().flat_map(|rollout| &rollout.solves).filter(|solve| !solve.converged);
        let unfinished = match unfinished.count() {
            0 => "all solves converged".to_string(),
            count => format!("{count} solves did NOT converge"),
        };
        let busy = times.iterating_p50.unwrap_or(times.p50);
        let mut finding = format!(
            "{name}, |u| ≤ {bound}: {} ms per solve (median; {} ms of those that iterate), 99 % of them \
             within {} ms, {verdict} {BAR} ms; the energy ends at {}; {unfinished}.",
            number(times.p50),
            number(busy),
            number(times.p99),
            number(course.last())
        );
        if bound == PUBLISHED.0 {
            finding += &format!(
                " Published: {} ms, {} times those that iterate, and {}, {} times the energy.",
                PUBLISHED.2,
                number(PUBLISHED.2 / busy),
                number(PUBLISHED.1),
                number(PUBLISHED.1 / course.last())
            );
        }
        self.findings.push(finding);
        self.add(&format!("NMPC, {name}"), Some(bound), &course, Some(times));
    }

    fn add_published(&mut self) {
        let (bound, energy, p50, slowest) = PUBLISHED;
        let mut row = vec![Cell::from("NMPC, published"), bound.into(), energy.into()];
        row.extend([(); 4].map(|()| Cell::Nothing));
        row.extend([p50.into(), Cell::Nothing, Cell::Nothing, Cell::Nothing, slowest.into()]);
        self.table.row(row);
    }
}

fn over_cases(courses: &[Vec<f64>]) -> Vec<f64> {
    let steps = courses.iter().map(Vec::len).min().unwrap_or(0);
    (0..steps).map(|step| mean(&courses.iter().map(|course| course[step]).collect::<Vec<_>>())).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
