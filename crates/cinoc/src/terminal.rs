//! What people see: colour, tables and progress on a terminal, none of them elsewhere.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;

/// Text in an ANSI style such as `1;31`, if standard error is a terminal that wants colour.
pub fn paint(text: &str, style: &str) -> String {
    if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        format!("\x1b[{style}m{text}\x1b[0m")
    } else {
        text.to_string()
    }
}

/// A bar on standard error with an estimate of the time left; it vanishes when done and never shows in a file or pipe.
pub fn progress(what: &str, all: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{prefix} {bar:32.cyan/blue} {pos}/{len} {msg} {elapsed} left {eta}")
            .expect("a valid template");
    ProgressBar::new(all as u64).with_style(style.progress_chars("━━─")).with_prefix(what.to_string())
}

/// A sign of life on standard error for work whose length is not known.
pub fn spinner(what: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what.to_string());
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

/// Prints rows with columns aligned; the first row is the heading.
pub fn table(rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for (r, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        if r == 0 {
            println!("{}", widths.iter().map(|w| "─".repeat(*w)).collect::<Vec<_>>().join("  "));
        }
    }
}

/// A number for people: four digits, scientific where that is shorter.
pub fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e4).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") }
}
