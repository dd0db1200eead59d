//! What people see: colour, tables and progress on a terminal, none of them elsewhere.

use cinoc_lab::workshop::Watch;
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// A bar for work whose parts differ in length; Ctrl-C asks it to stop.
pub struct Bar {
    bar: ProgressBar,
    /// Work of one tick.
    unit: Cell<f64>,
    done: Cell<f64>,
    stop: Arc<AtomicBool>,
}

impl Bar {
    pub fn new() -> Bar {
        let style = ProgressStyle::with_template(
            "{prefix} {bar:32.cyan/blue} {percent:>3} % {elapsed} left {eta}  {wide_msg}",
        )
        .expect("a valid template");
        let bar = ProgressBar::new(TICKS).with_style(style.progress_chars("━━─"));
        Bar { bar, unit: Cell::new(1.0), done: Cell::new(0.0), stop: stop_on_interrupt() }
    }

    /// Takes it off the terminal.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Ticks of a [`Bar`].
const TICKS: u64 = 10_000;

impl Watch for Bar {
    fn begin(&self, what: &str, work: f64) {
        self.unit.set(work.max(f64::MIN_POSITIVE) / TICKS as f64);
        self.done.set(0.0);
        self.bar.reset();
        self.bar.set_prefix(what.to_string());
    }

    fn done(&self, work: f64) {
        self.done.set(self.done.get() + work);
        self.bar.set_position((self.done.get() / self.unit.get()) as u64);
    }

    fn now(&self, what: &str) {
        self.bar.set_message(what.to_string());
    }

    fn keep_going(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }
}

/// Set when the user asks to stop; a second Ctrl-C does not wait.
pub fn stop_on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    let handler = ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
    if let Err(error) = handler {
        eprintln!("{} Ctrl-C will not save a checkpoint: {error}", paint("warning:", "1;33"));
    }
    stop
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
    let mut lines = String::new();
    for (r, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        lines += cells.collect::<Vec<_>>().join("  ").trim_end();
        lines.push('\n');
        if r == 0 {
            lines += &widths.iter().map(|w| "─".repeat(*w)).collect::<Vec<_>>().join("  ");
            lines.push('\n');
        }
    }
    // a pager that is closed early is no failure
    let _ = write!(std::io::stdout(), "{lines}");
}

/// A number for people: four digits, scientific where that is shorter.
pub fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e4).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") }
}
