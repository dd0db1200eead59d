//! A table of results.

use serde::{Deserialize, Serialize};

use crate::intervals::Estimate;
use crate::numbers::number;

/// Rows of numbers and words under named columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Part of a file name.
    pub name: String,
    /// A sentence above it.
    pub caption: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// As many cells per row as columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A number, a word, or nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number with all digits; shown with three.
    Number(f64),
    /// A number with the ends of its 95 % interval.
    Interval([f64; 3]),
    /// A word, or a number as published.
    Text(String),
    /// Not measured, infinite or NaN.
    Nothing,
}

impl Table {
    /// A table without rows.
    pub fn new(name: &str, caption: &str, columns: &[&str]) -> Table {
        Table {
            name: name.to_string(),
            caption: caption.to_string(),
            columns: columns.iter().map(|column| column.to_string()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If the number of cells is not the number of columns.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "a row of {}", self.name);
        self.rows.push(cells);
    }

    /// As Markdown, without the caption.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let is_number = |c: usize| self.rows.iter().all(|row| !matches!(row[c], Cell::Text(_)));
        let rule = (0..self.columns.len()).map(|c| if is_number(c) { "---:" } else { "---" }.to_string());
        let rows = self.rows.iter().map(|row| line(row.iter().map(Cell::shown).collect()));
        line(self.columns.clone()) + &line(rule.collect()) + &rows.collect::<String>()
    }

    /// As CSV, with all digits. A column with intervals becomes three.
    pub fn csv(&self) -> String {
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let spread: Vec<bool> = (0..self.columns.len())
            .map(|c| self.rows.iter().any(|row| matches!(row[c], Cell::Interval(_))))
            .collect();
        let heading = self.columns.iter().zip(&spread).flat_map(|(name, spread)| {
            let ends = [format!("{name} from"), format!("{name} to")];
            std::iter::once(name.clone()).chain(ends.into_iter().filter(|_| *spread))
        });
        let rows = self.rows.iter().map(|row| {
            line(row.iter().zip(&spread).flat_map(|(cell, spread)| cell.columns(*spread)).collect())
        });
        line(heading.map(|name| quoted(&name)).collect()) + &rows.collect::<String>()
    }

    /// Rows as text for readers, the heading first.
    pub fn shown(&self) -> Vec<Vec<String>> {
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::shown).collect());
        std::iter::once(self.columns.clone()).chain(rows).collect()
    }
}

impl Cell {
    /// The number, if it is one.
    pub(crate) fn value(&self) -> Option<f64> {
        if let Cell::Number(value) | Cell::Interval([value, ..]) = self { Some(*value) } else { None }
    }

    /// The word; empty if it is none.
    pub(crate) fn text(&self) -> &str {
        if let Cell::Text(text) = self { text } else { "" }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Cell::Number(value) if value.fract() == 0.0 && value.abs() < 1e7 => format!("{value}"),
            Cell::Number(value) => number(*value),
            Cell::Interval([value, low, high]) => {
                format!("{} [{}, {}]", number(*value), number(*low), number(*high))
            }
            Cell::Text(text) => text.clone(),
            Cell::Nothing => "-".to_string(),
        }
    }

    fn exact(&self) -> String {
        match self {
            Cell::Number(value) if (1e-3..1e7).contains(&value.abs()) || *value == 0.0 => value.to_string(),
            Cell::Number(value) => format!("{value:e}"),
            Cell::Interval([value, ..]) => Cell::Number(*value).exact(),
            Cell::Text(text) => quoted(text),
            Cell::Nothing => String::new(),
        }
    }

    /// The cell as a CSV column and, if the column has intervals, the ends as two more.
    fn columns(&self, spread: bool) -> Vec<String> {
        let ends = match self {
            Cell::Interval([_, low, high]) => [low, high].map(|&end| Cell::Number(end).exact()),
            _ => [const { String::new() }; 2],
        };
        std::iter::once(self.exact()).chain(ends.into_iter().filter(|_| spread)).collect()
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Cell {
        if value.is_finite() { Cell::Number(value) } else { Cell::Nothing }
    }
}

impl From<Estimate> for Cell {
    fn from(Estimate { value, low, high }: Estimate) -> Cell {
        // ends equal to the number would mean that it is exact
        if value.is_finite() && low.is_finite() && high.is_finite() && low < high {
            Cell::Interval([value, low, high])
        } else {
            value.into()
        }
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Cell {
        Cell::Number(value as f64)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Cell {
        value.map_or(Cell::Nothing, Cell::from)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        if text.is_empty() { Cell::Nothing } else { Cell::Text(text.to_string()) }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::from(text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_and_rounded_words_are_not() {
        let mut table = Table::new("t", "", &["task", "M", "loss"]);
        table.row(["a, b".into(), 64.into(), 1.23456e-5.into()]);
        assert_eq!(table.markdown(), "| task | M | loss |\n| --- | ---: | ---: |\n| a, b | 64 | 1.23e-5 |\n");
        assert_eq!(table.csv(), "task,M,loss\n\"a, b\",64,1.23456e-5\n");
    }

    #[test]
    fn an_interval_is_shown_behind_its_number_and_has_columns_of_its_own() {
        let mut table = Table::new("t", "", &["loss", "M"]);
        table.row([Estimate { value: 0.5, low: 0.25, high: 0.75 }.into(), 8.into()]);
        table.row([Estimate::exact(0.125).into(), 9.into()]);
        assert!(table.markdown().ends_with("| 0.500 [0.250, 0.750] | 8 |\n| 0.125 | 9 |\n"));
        assert_eq!(table.csv(), "loss,loss from,loss to,M\n0.5,0.25,0.75,8\n0.125,,,9\n");
        let json = serde_json::to_string(&table.rows).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Vec<Cell>>>(&json).unwrap(), table.rows);
    }

    #[test]
    fn what_is_not_finite_is_nothing() {
        assert_eq!(Cell::from(f64::NAN), Cell::Nothing);
        let json = serde_json::to_string(&[Cell::Nothing, Cell::Number(2.5), "x".into()]).unwrap();
        assert_eq!(json, "[null,2.5,\"x\"]");
        assert_eq!(serde_json::from_str::<Vec<Cell>>(&json).unwrap()[0], Cell::Nothing);
    }
}
