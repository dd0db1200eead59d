//! One policy along one axis of circumstances: agents, noise, failures, physics, grid.

mod axis;

pub use axis::{Axis, SweepError, Value};

use cinoc_learn::memory::Needs;
use cinoc_learn::policy_file::PolicyFile;

use crate::results::{Cell, Chart, Curve, Results, Table};
use crate::workshop::{LabError, Measured, Point, Trained, Workshop};
use axis::Stop;

/// A sweep to be done.
pub struct Sweep {
    /// The policy.
    pub policy: PolicyFile,
    /// What is changed.
    pub axis: Axis,
    /// Where it is measured; `None` for the usual values of the axis that the task can take.
    pub values: Option<Vec<Value>>,
    /// Number of test cases per value.
    pub cases: usize,
}

/// The settings of a sweep, each with its point, and what a reader has to know about them.
struct Plan {
    stops: Vec<(Stop, Point)>,
    notes: Vec<String>,
}

impl Sweep {
    /// Measures the policy. The setting of the training is always among the settings.
    pub fn run(self, workshop: &Workshop<'_>) -> Result<Results, LabError> {
        let Plan { stops, notes } = self.plan()?;
        let trained_point = self.point(&[])?.beside_uncontrolled();
        // every setting is measured once, that of the training first
        let mut points = vec![trained_point.clone()];
        for (_, point) in &stops {
            if points.iter().all(|known| known.circumstances != point.circumstances) {
                points.push(point.clone());
            }
        }
        for point in &points {
            Needs::evaluation(&point.circumstances, self.cases, self.cases, workshop.threads.count())
                .check()?;
        }
        workshop.open_ledger();
        let trained = Trained { policy: self.policy.clone(), seconds: None };
        let measured = workshop.measure_once(&self.axis.to_string(), &trained, &points)?;
        let of = |point: &Point| {
            let known = points.iter().position(|known| known.circumstances == point.circumstances);
            &measured[known.expect("every point is measured")]
        };
        let rows: Vec<Row> = stops
            .iter()
            .map(|(stop, point)| Row {
                stop,
                as_trained: point.circumstances == self.policy.config,
                measured: of(point),
                trained: &measured[0],
            })
            .collect();
        let (axis, cases) = (&self.axis, self.cases);
        let title = format!("{}: {axis}", self.policy.config.task);
        let given: Option<Vec<String>> =
            self.values.as_ref().map(|values| values.iter().map(Value::to_string).collect());
        let values = given.map_or_else(String::new, |list| format!(" --values {}", list.join(",")));
        let mut protocol = vec![format!("{cases} test cases per setting, the same ones for every setting.")];
        protocol.extend(notes.into_iter().map(|note| note + "."));
        Ok(Results {
            name: format!("sweep-{axis}"),
            command: format!("cinoc sweep {axis} POLICY{values} --cases {cases}"),
            protocol: protocol.join("\n"),
            findings: Vec::new(),
            tables: vec![table(axis, &rows)],
            charts: vec![chart(axis, &title, &rows)],
            title,
            cost: workshop.close_ledger(),
            provenance: Some(workshop.provenance()),
        })
    }

    fn plan(&self) -> Result<Plan, LabError> {
        let config = &self.policy.config;
        let mut plan = Plan { stops: Vec::new(), notes: Vec::new() };
        for value in self.values.clone().unwrap_or_else(|| self.axis.usual()) {
            for stop in self.axis.stops(config, value)? {
                plan.notes.extend(stop.note.clone());
                match self.point(&stop.sets) {
                    Ok(point) => plan.push(stop, point, value),
                    // nobody asked for this value
                    Err(error) if self.values.is_none() => {
                        plan.notes.push(format!("{value} is left out: {error}"))
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        let has_trained = plan.stops.iter().any(|(_, point)| point.circumstances == *config);
        if let (false, Some((first, _))) = (has_trained, plan.stops.first()) {
            let multiple = first.multiple.map(|_| 1.0);
            let stop = Stop { value: first.trained, multiple, sets: Vec::new(), note: None, ..first.clone() };
            plan.stops.insert(0, (stop, self.point(&[])?));
        }
        Ok(plan)
    }

    fn point(&self, sets: &[String]) -> Result<Point, LabError> {
        let point = Point::new(&self.policy.config, self.cases).with(sets)?;
        Ok(if self.axis.changes_the_field() { point.beside_uncontrolled() } else { point })
    }
}

impl Plan {
    fn push(&mut self, stop: Stop, point: Point, value: Value) {
        let known = self.stops.iter().any(|(known, _)| (&known.key, known.value) == (&stop.key, stop.value));
        if known {
            let Stop { key, value: number, .. } = stop;
            self.notes.push(format!("{value} is the same setting as an earlier one, {key}={number}"));
        } else {
            self.stops.push((stop, point));
        }
    }
}

/// A row of the table.
struct Row<'a> {
    stop: &'a Stop,
    as_trained: bool,
    measured: &'a Measured,
    trained: &'a Measured,
}

impl Row<'_> {
    fn error(&self) -> Option<f64> {
        self.measured.metric.map(|metric| metric.last.mean)
    }

    /// Without control: agents, noise and failures do not change it.
    fn uncontrolled(&self) -> Option<f64> {
        self.measured.uncontrolled.or(self.trained.uncontrolled).map(|metric| metric.last.mean)
    }

    fn relative(&self) -> Option<f64> {
        Some(self.error()? / self.trained.metric?.last.mean)
    }
}

fn table(axis: &Axis, rows: &[Row]) -> Table {
    let efforts = || rows.iter().filter_map(|row| row.measured.effort);
    let pushes = efforts().any(|effort| effort.mean_u2 > 0.0);
    let moves = efforts().any(|effort| effort.mean_v2.is_some());
    let mut columns = vec!["setting", "value", "x training", "error at the last step", "std over cases"];
    columns.extend(["relative to trained", "uncontrolled", "mean over time"]);
    columns.extend(["mean u²", "sum of u²"].iter().filter(|_| pushes));
    columns.extend(["mean |v|²"].iter().filter(|_| moves));
    let caption = "The error is the mean of (z − z*)² over space.";
    let mut table = Table::new(&axis.to_string(), caption, &columns);
    for row in rows {
        let key = &row.stop.key;
        let setting = if row.as_trained { format!("{key} (as in training)") } else { key.clone() };
        let (metric, effort) = (row.measured.metric, row.measured.effort);
        let mut cells: Vec<Cell> = vec![
            setting.into(),
            row.stop.value.into(),
            row.stop.multiple.into(),
            row.error().map_or_else(|| "diverged".into(), Cell::from),
            metric.map(|metric| metric.last.std).into(),
            row.relative().into(),
            row.uncontrolled().into(),
            metric.map(|metric| metric.time_mean.mean).into(),
        ];
        if pushes {
            cells.push(effort.map(|effort| effort.mean_u2).into());
            cells.push(effort.map(|effort| effort.sum_u2).into());
        }
        if moves {
            cells.push(effort.and_then(|effort| effort.mean_v2).into());
        }
        table.row(cells);
    }
    table
}

/// Error against the value, one curve per key; several keys have only multiples in common.
fn chart(axis: &Axis, title: &str, rows: &[Row]) -> Chart {
    let mut keys: Vec<&str> = rows.iter().map(|row| &row.stop.key[..]).collect();
    keys.sort_unstable();
    keys.dedup();
    let several = keys.len() > 1;
    let x = |row: &Row| if several { row.stop.multiple.unwrap_or(f64::NAN) } else { row.stop.value };
    let name = if several { "multiple of the training value" } else { keys[0] };
    let mut chart = Chart::new(&axis.to_string(), title, name, "error at the last step").log_y();
    chart.log_x = rows.iter().all(|row| x(row) > 0.0);
    for key in &keys {
        let mut along: Vec<&Row> = rows.iter().filter(|row| row.stop.key == *key).collect();
        along.sort_by(|a, b| x(a).total_cmp(&x(b)));
        let xs: Vec<f64> = along.iter().map(|row| x(row)).collect();
        let ys = |of: fn(&Row) -> Option<f64>| -> Vec<f64> {
            along.iter().map(|row| of(row).unwrap_or(f64::NAN)).collect()
        };
        let label = if several { key } else { "controlled" };
        chart = chart.curve(Curve::new(label, &xs, &ys(|row| row.error())));
        if !several {
            chart = chart.curve(Curve::new("uncontrolled", &xs, &ys(|row| row.uncontrolled())));
        }
    }
    chart
}
