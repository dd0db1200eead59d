//! What people see: colour, tables and progress on a terminal, none of them elsewhere.

use crate::work::Watcher;
use cinoc_lab::workshop::Watch;
use cinoc_learn::train::Update;
use cinoc_learn::validation::Validated;
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::cell::Cell;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Prints a line on standard output. A reader that has gone, such as `head` or a pager, is no failure.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}
pub(crate) use say;

/// Text in an ANSI style such as `1;31`, if standard error is a terminal that wants colour.
pub fn paint(text: &str, style: &str) -> String {
    if std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        format!("\x1b[{style}m{text}\x1b[0m")
    } else {
        text.to_string()
    }
}

/// A warning on standard error, in one line.
pub fn warn(message: &str) {
    eprintln!("{} {message}", paint("warning:", "1;33"));
}

/// How far some work is, on standard error: on a terminal a bar with an estimate of the time left, which
/// vanishes when done; elsewhere a line every ten seconds.
pub struct Progress {
    bar: ProgressBar,
    lines: Option<Lines>,
    pace: Arc<Pace>,
}

/// The mean pace since the first step that was told of: a run that goes on did the steps before it earlier. A
/// pace of the last seconds says nothing where steps take minutes.
#[derive(Default)]
struct Pace(Mutex<Option<(u64, Instant)>>);

impl Pace {
    /// Notes where the work stands, if it has just begun.
    fn begin(&self, position: u64) {
        self.0.lock().expect("no holder panics").get_or_insert_with(|| (position, Instant::now()));
    }

    /// Other work begins.
    fn forget(&self) {
        *self.0.lock().expect("no holder panics") = None;
    }

    /// Time left at this pace; `None` before there is one.
    fn left(&self, position: u64, all: u64) -> Option<Duration> {
        let (first, begun) = (*self.0.lock().expect("no holder panics"))?;
        let done = position.checked_sub(first).filter(|&done| done > 0)?;
        Some(begun.elapsed().mul_f64(all.saturating_sub(position) as f64 / done as f64))
    }

    /// The style of a bar that shows it as `{left}`.
    fn style(self: &Arc<Pace>, template: &str) -> ProgressStyle {
        let pace = self.clone();
        let left = move |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            let left = pace.left(state.pos(), state.len().unwrap_or(0));
            // a terminal that cannot be written to is not worth an error
            let _ = left.map_or(write!(text, "-"), |left| write!(text, "{:#}", HumanDuration(left)));
        };
        let style = ProgressStyle::with_template(template).expect("a valid template");
        style.with_key("left", left).progress_chars("━━─")
    }
}

impl Progress {
    /// Work of `all` steps.
    pub fn new(what: &str, all: usize) -> Progress {
        let pace = Arc::new(Pace::default());
        let style = pace.style("{prefix} {bar:32.cyan/blue} {pos}/{len} {msg} {elapsed} left {left}");
        Progress::of(ProgressBar::new(all as u64).with_style(style), what, pace)
    }

    /// Work whose length is not known.
    pub fn unknown(what: &str) -> Progress {
        let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed}").expect("a valid template");
        Progress::of(ProgressBar::no_length().with_style(style), what, Arc::default())
    }

    fn of(bar: ProgressBar, what: &str, pace: Arc<Pace>) -> Progress {
        let bar = bar.with_prefix(what.to_string());
        bar.enable_steady_tick(Duration::from_millis(200));
        let lines = || Lines::of(bar.clone(), pace.clone());
        Progress { lines: (!std::io::stderr().is_terminal()).then(lines), bar, pace }
    }

    /// So many steps are done.
    pub fn set_position(&self, done: usize) {
        self.pace.begin(done as u64);
        self.bar.set_position(done as u64);
    }

    /// What there is to say about the last step.
    pub fn set_message(&self, message: String) {
        self.bar.set_message(message);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.lines.take();
    }
}

/// The terminal as a watcher: a bar for the work in progress, and warnings.
#[derive(Default)]
pub struct Terminal {
    progress: Mutex<Option<Progress>>,
    /// Whether Ctrl-C asks the work to stop, instead of ending the program.
    stoppable: bool,
    stop: OnceLock<Arc<AtomicBool>>,
}

impl Terminal {
    /// For a training, which saves a checkpoint on Ctrl-C. Before its first update Ctrl-C ends the program.
    pub fn saving_on_interrupt() -> Terminal {
        Terminal { stoppable: true, ..Terminal::default() }
    }

    fn progress(&self) -> MutexGuard<'_, Option<Progress>> {
        self.progress.lock().expect("no holder panics")
    }
}

impl Watcher for Terminal {
    fn begin(&self, what: &str, steps: usize) {
        *self.progress() = Some(Progress::new(what, steps));
    }

    fn reached(&self, step: usize) {
        self.progress().iter().for_each(|progress| progress.set_position(step));
    }

    fn end(&self) {
        *self.progress() = None;
    }

    fn warn(&self, message: &str) {
        warn(message);
    }

    fn updated(&self, update: &Update, _validated: Option<&Validated>) {
        self.reached(update.update);
        let message = format!("loss {}", number(update.loss));
        self.progress().iter().for_each(|progress| progress.set_message(message.clone()));
    }

    fn keep_going(&self) -> bool {
        !self.stoppable || !self.stop.get_or_init(stop_on_interrupt).load(Ordering::SeqCst)
    }
}

/// Writes where a bar stands every ten seconds, until dropped.
struct Lines {
    done: Option<Sender<()>>,
    writer: Option<JoinHandle<()>>,
}

impl Lines {
    fn of(bar: ProgressBar, pace: Arc<Pace>) -> Lines {
        let (done, waits) = channel::<()>();
        let writer = std::thread::spawn(move || {
            while waits.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                eprintln!("{}", line(&bar, &pace));
            }
        });
        Lines { done: Some(done), writer: Some(writer) }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.done.take();
        if let Some(writer) = self.writer.take() {
            // it only writes lines; if it failed there is nothing to do about it
            let _ = writer.join();
        }
    }
}

/// Time between two lines.
const PAUSE: Duration = Duration::from_secs(10);

/// A bar in words.
fn line(bar: &ProgressBar, pace: &Pace) -> String {
    let (what, message, passed) = (bar.prefix(), bar.message(), bar.elapsed().as_secs());
    let message = if message.is_empty() { message } else { format!(", {message}") };
    match bar.length() {
        None => format!("{what}: {passed} s"),
        Some(_) if bar.position() == 0 => format!("{what}: {passed} s{message}"),
        Some(all) => {
            let share = bar.position() as f64 / all.max(1) as f64;
            let left = pace.left(bar.position(), all);
            let left = left.map_or(String::new(), |left| format!(", about {} s left", left.as_secs()));
            format!("{what}: {:.0} %{message}, {passed} s{left}", 100.0 * share)
        }
    }
}

/// A bar for work whose parts differ in length; Ctrl-C asks it to stop.
pub struct Bar {
    progress: Progress,
    /// Work of one tick.
    unit: Cell<f64>,
    done: Cell<f64>,
    stop: Arc<AtomicBool>,
}

impl Bar {
    pub fn new() -> Bar {
        let pace = Arc::new(Pace::default());
        let style =
            pace.style("{prefix} {bar:32.cyan/blue} {percent:>3} % {elapsed} left {left}  {wide_msg}");
        Bar {
            progress: Progress::of(ProgressBar::new(TICKS).with_style(style), "", pace),
            unit: Cell::new(1.0),
            done: Cell::new(0.0),
            stop: stop_on_interrupt(),
        }
    }

    /// Takes it off the terminal.
    pub fn clear(&self) {
        self.progress.bar.finish_and_clear();
    }
}

/// Ticks of a [`Bar`].
const TICKS: u64 = 10_000;

impl Watch for Bar {
    fn begin(&self, what: &str, work: f64) {
        self.unit.set(work.max(f64::MIN_POSITIVE) / TICKS as f64);
        self.done.set(0.0);
        self.progress.bar.reset();
        self.progress.pace.forget();
        self.progress.pace.begin(0);
        self.progress.bar.set_prefix(what.to_string());
    }

    fn done(&self, work: f64) {
        self.done.set(self.done.get() + work);
        self.progress.set_position((self.done.get() / self.unit.get()) as usize);
    }

    fn now(&self, what: &str) {
        self.progress.set_message(what.to_string());
    }

    fn keep_going(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }
}

/// Set by Ctrl-C. A process has one handler.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// Whether somebody looks at it.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Signals that come this close together are one: `timeout`, for example, sends each of its signals twice.
const ONE_SIGNAL: Duration = Duration::from_millis(500);

/// Set when the user asks to stop; a second Ctrl-C does not wait.
pub fn stop_on_interrupt() -> Arc<AtomicBool> {
    WATCHED.store(true, Ordering::SeqCst);
    STOP.get_or_init(|| catch_interrupts(None)).clone()
}

/// From now on the message is told on Ctrl-C and its like, before the program ends or the work is asked to
/// stop.
#[cfg_attr(not(feature = "mpi"), allow(dead_code))] // processes by themselves end silently
pub fn announce_interrupts(message: String) {
    STOP.get_or_init(|| catch_interrupts(Some(message)));
}

fn catch_interrupts(message: Option<String>) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    let mut since: Option<Instant> = None;
    let handler = ctrlc::set_handler(move || {
        let first = since.is_none();
        let again = since.get_or_insert_with(Instant::now).elapsed() > ONE_SIGNAL;
        asked.store(true, Ordering::SeqCst);
        if let Some(message) = message.as_ref().filter(|_| first) {
            eprintln!("{} {message}", paint("error:", "1;31"));
        }
        if again || !WATCHED.load(Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
    if let Err(error) = handler {
        warn(&format!("Ctrl-C will not save a checkpoint: {error}"));
    }
    stop
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
    say!("{}", lines.trim_end());
}

/// A number for people: four digits, scientific where that is shorter.
pub fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e4).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_that_of_the_mean_pace() {
        let pace = Pace::default();
        assert_eq!(pace.left(5, 10), None);
        let begun = Instant::now() - Duration::from_secs(30);
        *pace.0.lock().unwrap() = Some((100, begun));
        assert_eq!(pace.left(100, 400), None);
        // 30 steps in 30 s: 270 steps are left
        let left = pace.left(130, 400).unwrap().as_secs_f64();
        assert!((270.0..280.0).contains(&left), "{left}");
        assert_eq!(pace.left(400, 400), Some(Duration::ZERO));
    }
}
