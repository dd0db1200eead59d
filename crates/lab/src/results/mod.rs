//! What an experiment found: tables, charts and findings, as one file that everything else is made from.
//!
//! `NAME.json` is the truth. Markdown, CSV and figures are drawn from it (`markdown`, `draw`), so that a page of results can be
//! made again from committed files without measuring anything. A results file holds no date and no path.

mod chart;
mod draw;
mod markdown;
mod page;
mod table;

pub use chart::{Chart, Curve};
pub use markdown::markdown;
pub use page::page;
pub use table::{Cell, Table};

use std::fs;
use std::path::{Path, PathBuf};

use learn::files::{FileError, write_atomically};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::figures::SaveError;

/// All that an experiment found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the experiment.
    pub name: String,
    /// What it is about, as a heading.
    pub title: String,
    /// The command that makes it again.
    pub command: String,
    /// What was measured, how, on what.
    pub protocol: String,
    /// What the numbers say, also where that contradicts the paper.
    pub findings: Vec<String>,
    /// The numbers.
    pub tables: Vec<Table>,
    /// The numbers, drawn.
    pub charts: Vec<Chart>,
    /// What it cost.
    pub cost: Cost,
}

/// What an experiment cost, as if nothing it needs had been there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Policies that were trained.
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
    /// A file is none of ours.
    #[error("{}: not a results file ({error}); make it again with cinoc reproduce", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
}

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
            crate::figures::save(&chart.figure(), folder, &self.file_of(&chart.name))?;
        }
        // last: where it is, everything is
        Ok(text(format!("{}.json", self.name), &json)?)
    }

    /// Reads `NAME.json`.
    pub fn read(path: &Path) -> Result<Results, ResultsError> {
        let text = fs::read_to_string(path).map_err(|error| FileError::io("read", path, error))?;
        serde_json::from_str(&text).map_err(|error| ResultsError::Damaged { path: path.to_path_buf(), error })
    }

    /// Puts back what an earlier run of the whole experiment found about other tasks than those measured now, in its order. Rows, curves
    /// and findings say first which task they are about. What the experiment costs is what the whole of it did.
    pub fn beside(mut self, earlier: Results, measured: &[String]) -> Results {
        let of_row = |row: &Vec<Cell>| row[0].shown();
        let of_finding = |finding: &String| finding.split(' ').next().unwrap_or_default().to_string();
        let of_curve = |curve: &Curve| curve.label.split(',').next().unwrap_or_default().to_string();
        let order: Vec<String> =
            earlier.tables.iter().flat_map(|table| table.rows.iter().map(of_row)).collect();
        let place = |task: String| order.iter().position(|known| *known == task).unwrap_or(order.len());
        let other = |task: String| !measured.contains(&task);

        self.findings.extend(earlier.findings.into_iter().filter(|finding| other(of_finding(finding))));
        self.findings.sort_by_key(|finding| place(of_finding(finding)));
        for (table, earlier) in self.tables.iter_mut().zip(earlier.tables) {
            table.rows.extend(earlier.rows.into_iter().filter(|row| other(of_row(row))));
            table.rows.sort_by_key(|row| place(of_row(row)));
        }
        for (chart, earlier) in self.charts.iter_mut().zip(earlier.charts) {
            chart.curves.extend(earlier.curves.into_iter().filter(|curve| other(of_curve(curve))));
            chart.curves.sort_by_key(|curve| place(of_curve(curve)));
        }
        self.cost = earlier.cost;
        self
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
        let chart = Chart::new("curve", "Loss", "M", "loss").log_x().log_y().curve(Curve::new(
            "heat2d",
            &[16.0, 64.0],
            &[6.75e-5, f64::NAN],
        ));
        Results {
            name: "cardinality".into(),
            title: "Other numbers of agents".into(),
            command: "cinoc reproduce cardinality".into(),
            protocol: "50 held-out cases.".into(),
            findings: vec!["It holds.".into()],
            tables: vec![table],
            charts: vec![chart],
            cost: Cost { trainings: 1, training_seconds: 61.0, measuring_seconds: 2.0, threads: 2 },
        }
    }

    #[test]
    fn tasks_measured_again_take_the_place_of_their_earlier_rows() {
        let of = |tasks: &[(&str, f64)]| {
            let mut table = Table::new("curve", "Loss.", &["task", "loss"]);
            tasks.iter().for_each(|(task, loss)| table.row([(*task).into(), (*loss).into()]));
            let curve = |(task, loss): &(&str, f64)| Curve::new(&format!("{task}, gentle"), &[1.0], &[*loss]);
            let mut chart = Chart::new("curve", "Loss", "M", "loss");
            chart.curves = tasks.iter().map(curve).collect();
            let findings = tasks.iter().map(|(task, loss)| format!("{task} (preset): {loss}")).collect();
            Results { findings, tables: vec![table], charts: vec![chart], ..results() }
        };
        let earlier = of(&[("fkpp1d", 1.0), ("heat1d", 2.0), ("heat1d", 3.0), ("heat2d", 4.0)]);
        let merged = of(&[("heat1d", 5.0)]).beside(earlier, &["heat1d".to_string()]);
        assert_eq!(merged, of(&[("fkpp1d", 1.0), ("heat1d", 5.0), ("heat2d", 4.0)]));
    }

    #[test]
    fn a_file_says_the_same_when_read_again() {
        let folder = tempfile::tempdir().unwrap();
        results().write(folder.path()).unwrap();
        let read = Results::read(&folder.path().join("cardinality.json")).unwrap();
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
