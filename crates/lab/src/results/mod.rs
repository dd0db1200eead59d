//! Results of an experiment: tables, charts and findings in one file. Everything else is generated from it.
//!
//! `NAME.json` is the source. Markdown, CSV and figures are generated from it (`markdown`, `draw`), so a page
//! of results can be generated again from committed files without new measurements. A results file contains
//! no date and no path.

mod chart;
mod draw;
mod markdown;
mod page;
mod provenance;
mod table;

pub(crate) use provenance::{file_hash, shipped_name};

pub use chart::{Chart, Curve};
pub use markdown::markdown;
pub use page::page;
pub use provenance::{Provenance, State, numerics, version};
pub use table::{Cell, Table};

use std::fs;
use std::path::{Path, PathBuf};

use cinoc_control::Tasks;
use cinoc_control::config::methods;
use cinoc_learn::files::{FileError, write_atomically};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::experiments::TABLE_ROWS;
use crate::figures::{Format, SaveError};

/// The results of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the experiment.
    pub name: String,
    /// The heading.
    pub title: String,
    /// The command that reproduces it.
    pub command: String,
    /// What was measured, how, and on which cases.
    pub protocol: String,
    /// Conclusions from the numbers, also where they contradict the paper.
    pub findings: Vec<String>,
    /// The numbers.
    pub tables: Vec<Table>,
    /// The charts.
    pub charts: Vec<Chart>,
    /// Its cost.
    pub cost: Cost,
    /// Code, policies and settings that produced it; `None` in files from before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
}

/// The cost of an experiment, as if no cached training or measurement had existed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Number of trained policies.
    pub trainings: usize,
    /// Seconds of their training.
    pub training_seconds: f64,
    /// Seconds of everything else.
    pub measuring_seconds: f64,
    /// Threads that were used.
    pub threads: usize,
}

/// Why results could not be written or read.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// A file cannot be written or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A figure cannot be drawn or written.
    #[error(transparent)]
    Figure(#[from] SaveError),
    /// A file is not a results file.
    #[error("{}: not a results file ({error}); make it again with cinoc reproduce", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// An earlier file has other columns, so nothing of it can be kept.
    #[error(
        "{name}.json was made by other code and its table {table:?} has other columns: move it away, or \
         measure all tasks (what was measured now is kept in the folder of runs)"
    )]
    OtherForm {
        /// The experiment.
        name: String,
        /// The table.
        table: String,
    },
}

/// The column with the name of a preset.
pub const PRESET: &str = "preset";
/// The column with the name of a method.
pub const METHOD: &str = "method";

impl Results {
    /// Writes `NAME.json`, `NAME.md`, a CSV file per table and figures per chart into a folder.
    pub fn write(&self, folder: &Path) -> Result<(), ResultsError> {
        fs::create_dir_all(folder).map_err(|error| FileError::io("create", folder, error))?;
        let json = serde_json::to_string_pretty(self).expect("results are plain data") + "\n";
        let text = |name: String, text: &str| {
            write_atomically(&folder.join(name), |file| file.write_all(text.as_bytes()))
        };
        text(format!("{}.md", self.name), &markdown(self, "#", ""))?;
        for table in &self.tables {
            text(format!("{}.csv", self.file_of(&table.name)), &table.csv())?;
        }
        for chart in &self.charts {
            let (name, dpi) = (self.file_of(&chart.name), Format::default().dpi);
            crate::figures::save(&chart.figure(), folder, &name, dpi)?;
        }
        // written last: if it exists, all other files exist
        Ok(text(format!("{}.json", self.name), &json)?)
    }

    /// Reads `NAME.json`.
    pub fn read(path: &Path) -> Result<Results, ResultsError> {
        let text = fs::read_to_string(path).map_err(|error| FileError::io("read", path, error))?;
        serde_json::from_str(&text).map_err(|error| ResultsError::Damaged { path: path.to_path_buf(), error })
    }

    /// Adds the results of an earlier complete run for the tasks that were not measured now, in the order in
    /// which tasks are listed. Rows, curves and findings start with the name of their task; a chart whose
    /// title starts with one is about that task only. Where the second column is a preset or a method, `rows`
    /// names those that were measured; without it all were. Of presets findings start with `TASK (PRESET)`,
    /// and curves in charts of one task have the names of methods. Command and cost are those of the complete
    /// run.
    pub fn beside(
        mut self,
        earlier: Results,
        measured: &[String],
        rows: Option<&[String]>,
    ) -> Result<Results, ResultsError> {
        let of_row = |row: &Vec<Cell>| row[0].shown();
        let first_word = |text: &str| text.split([' ', ':', ',']).next().unwrap_or_default().to_string();
        let built_in = Tasks::built_in().iter().map(|task| task.name.clone());
        let of_before = earlier.tables.iter().flat_map(|table| table.rows.iter().map(of_row));
        let order: Vec<String> = built_in.chain(of_before).collect();
        let place = |task: String| order.iter().position(|known| *known == task).unwrap_or(order.len());
        let parts = |column: &str| -> Vec<&str> {
            match column {
                PRESET => TABLE_ROWS.to_vec(),
                METHOD => methods().iter().map(|method| method.name).collect(),
                _ => Vec::new(),
            }
        };
        let other_part = |part: &str| rows.is_some_and(|rows| !rows.iter().any(|row| row == part));
        let other = |task: String| !measured.contains(&task);
        let of_one_task = |chart: &Chart| order.contains(&first_word(&chart.title));
        let of_chart = |chart: &Chart| {
            let label = || chart.curves.first().map_or_else(String::new, |c| first_word(&c.label));
            if of_one_task(chart) { first_word(&chart.title) } else { label() }
        };

        for table in &mut self.tables {
            let before = earlier.tables.iter().find(|before| before.name == table.name);
            let Some(before) = before.filter(|before| before.columns == table.columns) else {
                return Err(ResultsError::OtherForm { name: self.name, table: table.name.clone() });
            };
            let parts = table.columns.get(1).map_or_else(Vec::new, |column| parts(column));
            let is_other = |row: &[Cell]| !parts.is_empty() && other_part(row[1].text());
            let kept = before.rows.iter().filter(|row| other(of_row(row)) || is_other(row));
            table.rows.extend(kept.cloned());
            let part = |row: &[Cell]| parts.iter().position(|known| *known == row[1].text());
            table.rows.sort_by_key(|row| (place(of_row(row)), part(row)));
        }
        let preset_of = |finding: &str| Some(finding.split_once(" (")?.1.split_once(')')?.0.to_string());
        let other_preset = |finding: &str| preset_of(finding).is_some_and(|preset| other_part(&preset));
        let kept = earlier.findings.into_iter().filter(|text| other(first_word(text)) || other_preset(text));
        self.findings.extend(kept);
        let preset = |finding: &str| {
            let preset = preset_of(finding)?;
            TABLE_ROWS.iter().position(|known| *known == preset)
        };
        self.findings.sort_by_key(|finding| (place(first_word(finding)), preset(finding)));
        for mut before in earlier.charts {
            let measured_again = of_one_task(&before) && !other(of_chart(&before));
            before.curves.retain(|curve| match measured_again {
                true => other_part(&curve.label),
                false => other(first_word(&curve.label)),
            });
            match self.charts.iter_mut().find(|chart| chart.name == before.name) {
                Some(chart) => {
                    chart.curves.extend(before.curves);
                    chart.curves.sort_by_key(|curve| place(first_word(&curve.label)));
                }
                None if !before.curves.is_empty() => self.charts.push(before),
                None => {}
            }
        }
        self.charts.sort_by_key(|chart| place(of_chart(chart)));
        (self.command, self.cost) = (earlier.command, earlier.cost);
        self.provenance = self.provenance.map(|now| now.beside(earlier.provenance));
        Ok(self)
    }

    /// Whether this code produced it.
    pub fn state(&self) -> State {
        self.provenance.as_ref().map_or(State::Unrecorded, Provenance::state)
    }

    /// Tasks whose policy in the folder `shipped` is not the one that was measured.
    pub fn replaced(&self, shipped: &Path) -> Vec<&str> {
        self.provenance.as_ref().map_or_else(Vec::new, |provenance| provenance.replaced(shipped))
    }

    /// File name, without its ending, of a table or chart.
    fn file_of(&self, part: &str) -> String {
        format!("{}-{part}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Results {
        let mut table = Table::new("curve", "Loss against M.", &["M", "loss", "published"]);
        table.row([16.into(), 6.75e-5.into(), "1.5e-4".into()]);
        table.row([64.into(), Cell::from(None), "".into()]);
        // a swarm whose rollout became infinite or NaN has neither a loss nor an interval
        let curve = Curve::new("heat2d", &[16.0, 64.0], &[6.75e-5, f64::NAN])
            .band(vec![5e-5, f64::NAN], vec![8e-5, f64::NAN]);
        let chart = Chart::new("curve", "Loss", "M", "loss").log_x().log_y().curve(curve);
        Results {
            name: "cardinality".into(),
            title: "Other numbers of agents".into(),
            command: "cinoc reproduce cardinality".into(),
            protocol: "50 held-out cases.".into(),
            findings: vec!["It holds.".into()],
            tables: vec![table],
            charts: vec![chart],
            cost: Cost { trainings: 1, training_seconds: 61.0, measuring_seconds: 2.0, threads: 2 },
            provenance: None,
        }
    }

    #[test]
    fn tasks_measured_again_take_the_place_of_their_earlier_rows() {
        let of = |tasks: &[(&str, f64)]| {
            let mut table = Table::new("curve", "Loss.", &["task", "loss"]);
            tasks.iter().for_each(|(task, loss)| table.row([(*task).into(), (*loss).into()]));
            let curve = |(task, loss): &(&str, f64)| Curve::new(&format!("{task}, gentle"), &[1.0], &[*loss]);
            let mut all = Chart::new("curve", "Loss", "M", "loss");
            all.curves = tasks.iter().map(curve).collect();
            // its curves need not name the task
            let by_method = |of: &(&str, f64)| Curve::new("ppo", &[1.0], &[of.1]);
            let own = |of: &(&str, f64)| {
                let title = format!("{}: all methods", of.0);
                Chart::new(of.0, &title, "M", "loss").curve(by_method(of))
            };
            let charts = std::iter::once(all).chain(tasks.iter().map(own)).collect();
            let findings = tasks.iter().map(|(task, loss)| format!("{task}: {loss}")).collect();
            Results { findings, tables: vec![table], charts, ..results() }
        };
        // whatever the order of the earlier file, tasks come in that of their list
        let earlier = of(&[("heat2d", 4.0), ("fkpp1d", 1.0), ("heat1d", 2.0)]);
        let merged = of(&[("heat1d", 5.0)]).beside(earlier, &["heat1d".to_string()], None).unwrap();
        assert_eq!(merged, of(&[("fkpp1d", 1.0), ("heat1d", 5.0), ("heat2d", 4.0)]));
    }

    #[test]
    fn presets_measured_again_leave_the_others_of_their_task() {
        let of = |rows: &[(&str, &str, f64)]| {
            let mut table = Table::new("main", "Loss.", &["task", PRESET, "loss"]);
            rows.iter().for_each(|(task, preset, loss)| {
                table.row([(*task).into(), (*preset).into(), (*loss).into()]);
            });
            let findings =
                rows.iter().map(|(task, preset, loss)| format!("{task} ({preset}): {loss}")).collect();
            Results { findings, tables: vec![table], charts: Vec::new(), ..results() }
        };
        let (heat, paper) = (["heat2d".to_string()], ["paper".to_string()]);
        let earlier = of(&[("ks1d", "paper", 1.0), ("heat2d", "default", 2.0), ("heat2d", "paper", 3.0)]);
        let merged = of(&[("heat2d", "paper", 4.0)]).beside(earlier, &heat, Some(&paper)).unwrap();
        assert_eq!(merged.findings, ["heat2d (default): 2", "heat2d (paper): 4", "ks1d (paper): 1"]);
        let all = of(&[("heat2d", "default", 2.0), ("heat2d", "paper", 4.0), ("ks1d", "paper", 1.0)]);
        assert_eq!(merged.tables, all.tables);
    }

    #[test]
    fn methods_measured_again_leave_the_others_of_their_task() {
        let of = |rows: &[(&str, &str, f64)]| {
            let mut table = Table::new("budgets", "Loss.", &["task", METHOD, "loss"]);
            rows.iter().for_each(|(task, method, loss)| {
                table.row([(*task).into(), (*method).into(), (*loss).into()]);
            });
            let mut chart = Chart::new("heat2d-steps", "heat2d: reinforcement learning", "steps", "cost");
            let by_trial = rows.iter().filter(|(task, method, _)| *task == "heat2d" && *method == "ppo");
            chart.curves = by_trial.map(|(_, method, loss)| Curve::new(method, &[1.0], &[*loss])).collect();
            let charts = [chart].into_iter().filter(|chart| !chart.curves.is_empty()).collect();
            Results { findings: Vec::new(), tables: vec![table], charts, ..results() }
        };
        let again = |rows: &[(&str, &str, f64)], method: &str| {
            let earlier = of(&[("heat2d", "dpc", 1.0), ("heat2d", "ppo", 2.0), ("ks1d", "dpc", 3.0)]);
            of(rows).beside(earlier, &["heat2d".to_string()], Some(&[method.to_string()])).unwrap()
        };
        let dpc = again(&[("heat2d", "dpc", 4.0)], "dpc");
        assert_eq!(dpc, of(&[("heat2d", "dpc", 4.0), ("heat2d", "ppo", 2.0), ("ks1d", "dpc", 3.0)]));
        let ppo = again(&[("heat2d", "ppo", 4.0)], "ppo");
        assert_eq!(ppo, of(&[("heat2d", "dpc", 1.0), ("heat2d", "ppo", 4.0), ("ks1d", "dpc", 3.0)]));
    }

    #[test]
    fn an_earlier_file_of_another_form_is_refused() {
        let mut earlier = results();
        earlier.tables[0].columns[1] = "error".into();
        let message = results().beside(earlier, &[], None).unwrap_err().to_string();
        assert!(message.contains("cardinality.json was made by other code"), "{message}");
    }

    #[test]
    fn a_file_says_the_same_when_read_again() {
        let folder = tempfile::tempdir().unwrap();
        results().write(folder.path()).unwrap();
        let read = Results::read(&folder.path().join("cardinality.json")).unwrap();
        assert_eq!(read, results());
        assert_eq!(markdown(&read, "#", ""), markdown(&results(), "#", ""));
        for file in
            ["cardinality.md", "cardinality-curve.csv", "cardinality-curve.svg", "cardinality-curve.png"]
        {
            assert!(folder.path().join(file).exists(), "{file}");
        }
        let csv = fs::read_to_string(folder.path().join("cardinality-curve.csv")).unwrap();
        assert_eq!(csv, "M,loss,published\n16,6.75e-5,1.5e-4\n64,,\n");
    }

    #[test]
    fn other_files_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scale.json");
        fs::write(&path, "{\"name\": 1}").unwrap();
        let message = Results::read(&path).unwrap_err().to_string();
        assert!(message.contains("scale.json: not a results file"), "{message}");
    }
}
