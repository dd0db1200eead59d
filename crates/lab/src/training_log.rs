//! `metrics.jsonl` of a run, read back.
//!
//! A run that was killed may leave half a line at the end; lines that are no JSON object are passed over.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

/// What the updates of a training did, one value per update in every list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingLog {
    /// Numbers of the updates, from 1.
    pub updates: Vec<f64>,
    /// The loss before each.
    pub loss: Vec<f64>,
    /// What each term contributed to the loss, by name.
    pub terms: Vec<(String, Vec<f64>)>,
    /// Norm of the gradient before clipping.
    pub gradient_norm: Vec<f64>,
    /// Learning rate.
    pub rate: Vec<f64>,
    /// Wall time of each update.
    pub seconds: Vec<f64>,
    /// Control steps simulated up to each.
    pub steps: Vec<f64>,
    /// Validations, one value per validation in every list.
    pub validation: ValidationLog,
}

/// What the validations of a training found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValidationLog {
    /// Numbers of the updates after which they took place.
    pub updates: Vec<f64>,
    /// The loss, mean over validation cases.
    pub loss: Vec<f64>,
    /// Wall time of each.
    pub seconds: Vec<f64>,
}

impl ValidationLog {
    /// The update with the lowest loss, and that loss; `None` if no loss was finite.
    pub fn best(&self) -> Option<(f64, f64)> {
        let finite = self.updates.iter().copied().zip(self.loss.iter().copied());
        finite.filter(|(_, loss)| loss.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl TrainingLog {
    /// Reads a file.
    pub fn read(path: &Path) -> io::Result<TrainingLog> {
        // bytes, because a line may be cut in the middle of a character
        Ok(TrainingLog::parse(&String::from_utf8_lossy(&fs::read(path)?)))
    }

    /// Reads the text of a file; a value that is missing or not finite is NaN.
    pub fn parse(text: &str) -> TrainingLog {
        let lines: Vec<Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|line: &Value| line.get("update").is_some())
            .collect();
        let list = |at: &dyn Fn(&Value) -> Option<f64>| -> Vec<f64> {
            lines.iter().map(|line| at(line).unwrap_or(f64::NAN)).collect()
        };
        let key = |key: &str| list(&|line| line[key].as_f64());
        let names: Vec<String> = lines
            .first()
            .and_then(|line| line["terms"].as_object())
            .map(|terms| terms.keys().cloned().collect())
            .unwrap_or_default();
        let terms = names.into_iter().map(|name| {
            let values = list(&|line| line["terms"][&name].as_f64());
            (name, values)
        });
        let validated: Vec<&Value> = lines.iter().filter(|line| line.get("validation").is_some()).collect();
        let validation = |at: &dyn Fn(&Value) -> Option<f64>| -> Vec<f64> {
            validated.iter().map(|line| at(line).unwrap_or(f64::NAN)).collect()
        };
        TrainingLog {
            updates: key("update"),
            loss: key("loss"),
            terms: terms.collect(),
            gradient_norm: key("gradient_norm"),
            rate: key("lr"),
            steps: key("steps"),
            seconds: key("updates_per_s").into_iter().map(|rate| 1.0 / rate).collect(),
            validation: ValidationLog {
                updates: validation(&|line| line["update"].as_f64()),
                loss: validation(&|line| line["validation"]["loss"].as_f64()),
                seconds: validation(&|line| line["validation"]["seconds"].as_f64()),
            },
        }
    }

    /// Whether no update is in it.
    pub fn is_empty(&self) -> bool {
        self.updates.is_empty()
    }

    /// Wall time of all updates that have one.
    pub fn total_seconds(&self) -> f64 {
        finite_sum(&self.seconds)
    }

    /// Wall time of all validations.
    pub fn validation_seconds(&self) -> f64 {
        finite_sum(&self.validation.seconds)
    }
}

fn finite_sum(values: &[f64]) -> f64 {
    values.iter().filter(|value| value.is_finite()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = concat!(
        r#"{"update":1,"loss":2.0,"terms":{"track":1.5,"effort_u":0.5},"gradient_norm":3.0,"lr":0.1,"updates_per_s":4.0}"#,
        "\n",
        r#"{"update":2,"loss":1.0,"terms":{"track":0.8,"effort_u":null},"gradient_norm":2.0,"lr":0.1,"updates_per_s":2.0}"#,
        "\n",
    );

    #[test]
    fn lines_become_curves() {
        let log = TrainingLog::parse(LINES);
        assert_eq!((log.updates, log.loss, log.rate), (vec![1.0, 2.0], vec![2.0, 1.0], vec![0.1, 0.1]));
        assert_eq!(log.terms[1], ("track".to_string(), vec![1.5, 0.8]));
        assert!(log.terms[0].0 == "effort_u" && log.terms[0].1[0] == 0.5 && log.terms[0].1[1].is_nan());
        assert_eq!(log.seconds, [0.25, 0.5]);
    }

    #[test]
    fn validations_stand_in_the_lines_of_their_updates() {
        let validated = |loss: &str| {
            format!(
                r#"{{"update":2,"validation":{{"loss":{loss},"final":0.1,"time_mean":0.2,"seconds":0.5}}}}"#
            )
        };
        let log = TrainingLog::parse(&[r#"{"update":1}"#, &validated("3.0"), &validated("null")].join("\n"));
        assert_eq!((log.updates.len(), log.validation.updates.len()), (3, 2));
        assert_eq!((log.validation.best(), log.validation_seconds()), (Some((2.0, 3.0)), 1.0));
        assert_eq!(TrainingLog::parse(LINES).validation.best(), None);
    }

    #[test]
    fn half_a_line_is_passed_over() {
        let first = LINES.find('\n').unwrap() + 1;
        for end in first..LINES.len() - 1 {
            let log = TrainingLog::parse(&LINES[..end]);
            assert_eq!(log.updates, [1.0], "cut at {end}");
        }
        assert!(TrainingLog::parse("").is_empty());
        assert!(TrainingLog::parse("3\n[]\nnull\n").is_empty());
    }
}
