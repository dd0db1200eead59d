//! Long work, called from Python: without the interpreter lock, with progress, and stopped by Ctrl-C.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use cinoc::Failure;
use cinoc::lab::workshop::Watch;
use cinoc::learn::train::Update;
use cinoc::learn::validation::Validated;
use cinoc::work::Watcher;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::errors::{raised, unwound};

/// Time between two looks at signals, and between two moves of a progress bar.
const PAUSE: Duration = Duration::from_millis(50);
/// Steps of the progress bar of work that is not counted in steps.
const TICKS: usize = 1000;

/// Tells an object of the class `Watch` in `cinoc/progress.py` how the work goes, and stops the work when
/// that object or a signal raises an exception.
pub struct Observer {
    front: Option<Py<PyAny>>,
    error: Mutex<Option<PyErr>>,
    /// Whether a callback asked to stop, which is no error.
    asked_to_stop: AtomicBool,
    last: Mutex<Instant>,
    /// Work in all and done, where it is not counted in steps.
    amount: Mutex<(f64, f64)>,
}

/// Unwinds work that has no other way to be stopped.
struct Stopped;

impl Observer {
    fn new(front: Option<Py<PyAny>>) -> Observer {
        Observer {
            front,
            error: Mutex::new(None),
            asked_to_stop: AtomicBool::new(false),
            last: Mutex::new(Instant::now()),
            amount: Mutex::new((1.0, 0.0)),
        }
    }

    /// Tells the object in Python; what it raises stops the work.
    fn tell(&self, tell: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<()>) {
        let Some(front) = &self.front else { return };
        Python::attach(|py| {
            if let Err(error) = tell(front.bind(py)) {
                self.keep(error);
            }
        });
    }

    fn keep(&self, error: PyErr) {
        locked(&self.error).get_or_insert(error);
    }

    fn is_due(&self) -> bool {
        let mut last = locked(&self.last);
        let due = last.elapsed() >= PAUSE;
        if due {
            *last = Instant::now();
        }
        due
    }

    /// Moves the bar; in between, looks at signals.
    fn move_to(&self, step: usize) {
        if self.is_due() {
            self.tell(|front| front.call_method1("reached", (step,)).map(drop));
            self.look_at_signals();
        }
    }

    fn look_at_signals(&self) {
        if let Err(error) = Python::attach(|py| py.check_signals()) {
            self.keep(error);
        }
    }

    /// Whether a callback asked to stop, and nothing went wrong.
    pub fn asked_to_stop(&self) -> bool {
        self.asked_to_stop.load(Ordering::Relaxed) && locked(&self.error).is_none()
    }

    fn stopped(&self) -> bool {
        self.asked_to_stop.load(Ordering::Relaxed) || locked(&self.error).is_some()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // what is inside is whole at all times
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Watcher for Observer {
    fn begin(&self, what: &str, steps: usize) {
        self.tell(|front| front.call_method1("begin", (what, steps)).map(drop));
    }

    fn reached(&self, step: usize) {
        self.move_to(step);
        if self.stopped() {
            resume_unwind(Box::new(Stopped));
        }
    }

    fn end(&self) {
        self.tell(|front| front.call_method0("end").map(drop));
    }

    fn warn(&self, message: &str) {
        let warned = Python::attach(|py| {
            static WARNING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            let category = WARNING.import(py, "cinoc.errors", "CinocWarning")?;
            let message = CString::new(message.replace('\0', "")).expect("no byte is 0");
            PyErr::warn(py, category, &message, 2)
        });
        if let Err(error) = warned {
            self.keep(error);
        }
    }

    fn updated(&self, update: &Update, validated: Option<&Validated>) {
        self.tell(|front| {
            let go_on =
                front.call_method1("updated", (update.update, metrics(front.py(), update, validated)?))?;
            if !go_on.is_none() && !go_on.is_truthy()? {
                self.asked_to_stop.store(true, Ordering::Relaxed);
            }
            Ok(())
        });
    }

    fn keep_going(&self) -> bool {
        self.look_at_signals();
        !self.stopped()
    }
}

impl Watch for Observer {
    fn begin(&self, what: &str, work: f64) {
        *locked(&self.amount) = (work.max(f64::MIN_POSITIVE), 0.0);
        Watcher::begin(self, what, TICKS);
    }

    fn done(&self, work: f64) {
        let (all, done) = {
            let mut amount = locked(&self.amount);
            amount.1 += work;
            *amount
        };
        self.move_to((TICKS as f64 * done / all) as usize);
    }

    fn now(&self, _what: &str) {}

    fn keep_going(&self) -> bool {
        Watcher::keep_going(self)
    }
}

/// What `metrics.jsonl` says about an update.
fn metrics<'py>(
    py: Python<'py>,
    update: &Update,
    validated: Option<&Validated>,
) -> PyResult<Bound<'py, PyDict>> {
    let metrics = PyDict::new(py);
    metrics.set_item("loss", update.loss)?;
    let terms = PyDict::new(py);
    update.terms.iter().try_for_each(|(name, value)| terms.set_item(name, value))?;
    metrics.set_item("terms", terms)?;
    metrics.set_item("gradient_norm", update.gradient_norm)?;
    metrics.set_item("parameter_norm", update.parameter_norm)?;
    metrics.set_item("lr", update.rate)?;
    metrics.set_item("steps", update.steps)?;
    if let Some(validated) = validated {
        let found = PyDict::new(py);
        found.set_item("loss", validated.loss)?;
        found.set_item("final", validated.last)?;
        found.set_item("time_mean", validated.time_mean)?;
        metrics.set_item("validation", found)?;
    }
    Ok(metrics)
}

/// Does long work without the interpreter lock. `front` is an object of the class `Watch`, or none.
pub fn work<R: Send>(
    py: Python<'_>,
    front: Option<Py<PyAny>>,
    task: impl FnOnce(&Observer) -> Result<R, Failure> + Send,
) -> PyResult<R> {
    let observer = Observer::new(front);
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(|| task(&observer))));
    Watcher::end(&observer);
    let error = locked(&observer.error).take();
    match (outcome, error) {
        (Ok(Ok(result)), None) => Ok(result),
        (Ok(Err(Failure::Interrupted(how_to_go_on))), Some(error))
            if error.is_instance_of::<PyKeyboardInterrupt>(py) =>
        {
            Err(PyKeyboardInterrupt::new_err(how_to_go_on))
        }
        (_, Some(error)) => Err(error),
        (Ok(Err(failure)), None) => Err(raised(failure)),
        (Err(payload), None) => Err(unwound(payload)),
    }
}
