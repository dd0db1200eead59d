//! A table of results.

use serde::{Deserialize, Serialize};

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
    /// Measured to all its digits; shown with three.
    Number(f64),
    /// A word, or a number as somebody printed it.
    Text(String),
    /// Not measured, or not finite.
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
    /// If it has another number of cells than there are columns.
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

    /// As CSV, with all digits.
    pub fn csv(&self) -> String {
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let rows = self.rows.iter().map(|row| line(row.iter().map(Cell::exact).collect()));
        line(self.columns.iter().map(|column| quoted(column)).collect()) + &rows.collect::<String>()
    }

    /// Rows as people read them, the heading first.
    pub fn shown(&self) -> Vec<Vec<String>> {
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::shown).collect());
        std::iter::once(self.columns.clone()).chain(rows).collect()
    }
}

impl Cell {
    pub(super) fn shown(&self) -> String {
        match self {
            Cell::Number(value) if value.fract() == 0.0 && value.abs() < 1e7 => format!("{value}"),
            Cell::Number(value) => number(*value),
            Cell::Text(text) => text.clone(),
            Cell::Nothing => "-".to_string(),
        }
    }

    fn exact(&self) -> String {
        match self {
            Cell::Number(value) if (1e-3..1e7).contains(&value.abs()) || *value == 0.0 => value.to_string(),
            Cell::Number(value) => format!("{value:e}"),
            Cell::Text(text) => quoted(text),
            Cell::Nothing => String::new(),
        }
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
    fn what_is_not_finite_is_nothing() {
        assert_eq!(Cell::from(f64::NAN), Cell::Nothing);
        let json = serde_json::to_string(&[Cell::Nothing, Cell::Number(2.5), "x".into()]).unwrap();
        assert_eq!(json, "[null,2.5,\"x\"]");
        assert_eq!(serde_json::from_str::<Vec<Cell>>(&json).unwrap()[0], Cell::Nothing);
    }
}
