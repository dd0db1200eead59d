//! `metrics.jsonl` and the TensorBoard events of a run: what every update did.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::events::EventWriter;
use crate::files::{FileError, write_atomically};
use crate::train::Update;
use crate::validation::Validated;

/// Name of the metrics in a run directory.
pub const METRICS: &str = "metrics.jsonl";

/// Both logs, open for the next update.
pub(crate) struct Metrics {
    path: PathBuf,
    lines: Vec<u8>,
    events: EventWriter,
    /// The lowest validation loss so far, infinite before the first.
    pub best: f64,
}

impl Metrics {
    /// Opens both, cut to the first `done` updates.
    pub fn open(folder: &Path, done: usize) -> Result<Metrics, FileError> {
        let path = folder.join(METRICS);
        let old = fs::read_to_string(&path).unwrap_or_default();
        let kept: String = old.split_inclusive('\n').take(done).collect();
        write_atomically(&path, |file| file.write_all(kept.as_bytes()))?;
        let validated = kept
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["validation"]["loss"].as_f64());
        let best = validated.fold(f64::INFINITY, f64::min);
        Ok(Metrics { path, lines: Vec::new(), events: EventWriter::append(folder, done as u64 + 1)?, best })
    }

    pub fn write(
        &mut self,
        update: &Update,
        seconds: f64,
        validated: Option<&Validated>,
    ) -> Result<(), FileError> {
        let terms: serde_json::Map<_, _> =
            update.terms.iter().map(|(name, value)| (name.to_string(), json!(value))).collect();
        let mut line = json!({
            "update": update.update, "loss": update.loss, "terms": terms,
            "gradient_norm": update.gradient_norm, "parameter_norm": update.parameter_norm, "lr": update.rate,
            "steps": update.steps,
            "updates_per_s": 1.0 / seconds,
        });
        let step = update.update as u64;
        for (tag, value) in [
            ("loss/total", update.loss),
            ("gradient_norm", update.gradient_norm),
            ("parameter_norm", update.parameter_norm),
            ("lr", update.rate),
            ("updates_per_s", 1.0 / seconds),
        ] {
            self.events.scalar(tag, step, value)?;
        }
        for (name, value) in &update.terms {
            self.events.scalar(&format!("loss/{name}"), step, *value)?;
        }
        if let Some(Validated { loss, last, time_mean, seconds }) = validated {
            line["validation"] =
                json!({ "loss": loss, "final": last, "time_mean": time_mean, "seconds": seconds });
            for (tag, value) in [("loss", loss), ("final", last), ("time_mean", time_mean)] {
                self.events.scalar(&format!("validation/{tag}"), step, *value)?;
            }
        }
        self.lines.extend_from_slice(line.to_string().as_bytes());
        self.lines.push(b'\n');
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), FileError> {
        let append = || {
            let mut file = fs::OpenOptions::new().append(true).open(&self.path)?;
            file.write_all(&self.lines)
        };
        append().map_err(|error| FileError::io("write", &self.path, error))?;
        self.lines.clear();
        self.events.flush()
    }
}
