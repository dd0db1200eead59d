//! The axes of a sweep, and the settings that the values on them stand for.

use std::fmt;
use std::str::FromStr;

use cinoc_control::Config;
use thiserror::Error;

use crate::numbers::number;
use crate::workshop::{failure, noise, refined};

/// What is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The number of agents.
    Agents,
    /// Standard deviation of the sensors' noise; that of the actuators is twice as much.
    Noise,
    /// Share of the agents that fail from the start.
    Failure,
    /// The resolution of the grid.
    Grid,
    /// Every coefficient of the equation in turn.
    Physics,
    /// One coefficient of the equation.
    Coefficient(String),
}

/// A value on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// The value itself, such as `20`.
    Absolute(f64),
    /// A multiple of the value in training, such as `x0.5`.
    Multiple(f64),
}

/// Why a policy cannot be measured along an axis.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SweepError {
    /// No task has an axis of this name.
    #[error("no axis is called {0}; there are agents, noise, failure, grid, physics, and physics.NAME")]
    UnknownAxis(String),
    /// The task does not have it.
    #[error("{task} has no axis {axis}; it has {known}")]
    NoSuchAxis {
        /// The task.
        task: String,
        /// The given axis.
        axis: String,
        /// What the task has.
        known: String,
    },
    /// A value that is no number.
    #[error("--values {0}: must be a number such as 20, or a multiple of the training value such as x0.5")]
    NoNumber(String),
    /// A value that the axis cannot take.
    #[error("--values {value}: {reason}")]
    Value {
        /// The given value.
        value: String,
        /// What is wrong with it, and what to use instead.
        reason: String,
    },
}

/// One setting on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stop {
    /// The key that is changed.
    pub key: String,
    /// Its value.
    pub value: f64,
    /// Its value in training.
    pub trained: f64,
    /// The value as a multiple of that in training, if that is not 0.
    pub multiple: Option<f64>,
    /// All settings that change.
    pub sets: Vec<String>,
    /// What had to be rounded.
    pub note: Option<String>,
}

impl FromStr for Value {
    type Err = SweepError;

    fn from_str(text: &str) -> Result<Value, SweepError> {
        let number = |digits: &str| digits.parse::<f64>().map_err(|_| SweepError::NoNumber(text.to_string()));
        let (value, found) = match text.strip_prefix('x') {
            Some(factor) => number(factor).map(|factor| (Value::Multiple(factor), factor))?,
            None => number(text).map(|value| (Value::Absolute(value), value))?,
        };
        if found.is_finite() && found >= 0.0 {
            Ok(value)
        } else {
            Err(value.refused("must be 0 or more, and finite"))
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Absolute(value) => write!(f, "{value}"),
            Value::Multiple(factor) => write!(f, "x{factor}"),
        }
    }
}

impl Value {
    /// The value itself, where the one in training is `trained`.
    fn of(self, trained: f64) -> f64 {
        match self {
            Value::Absolute(value) => value,
            Value::Multiple(factor) => factor * trained,
        }
    }

    fn refused(self, reason: impl Into<String>) -> SweepError {
        SweepError::Value { value: self.to_string(), reason: reason.into() }
    }
}

impl Axis {
    /// Refuses an axis that a policy with this config does not have.
    pub fn check(&self, config: &Config) -> Result<(), SweepError> {
        let known = Axis::all(config);
        if known.contains(self) {
            return Ok(());
        }
        let known: Vec<String> = known.iter().map(Axis::to_string).collect();
        Err(SweepError::NoSuchAxis {
            task: config.task.to_string(),
            axis: self.to_string(),
            known: known.join(", "),
        })
    }

    /// The axes that a policy has. A centralised policy runs only with the agents and the grid of its
    /// training.
    pub fn all(config: &Config) -> Vec<Axis> {
        let mut axes = vec![Axis::Noise, Axis::Failure];
        if !config.centralised() {
            axes = [&[Axis::Agents][..], &axes, &[Axis::Grid]].concat();
        }
        let coefficients: Vec<&str> = coefficients(config).collect();
        if !coefficients.is_empty() {
            axes.push(Axis::Physics);
            axes.extend(coefficients.into_iter().map(|name| Axis::Coefficient(name.to_string())));
        }
        axes
    }

    /// Where it is measured unless somebody says otherwise.
    pub fn usual(&self) -> Vec<Value> {
        let multiples = |factors: &[f64]| factors.iter().map(|&factor| Value::Multiple(factor)).collect();
        let absolute = |values: &[f64]| values.iter().map(|&value| Value::Absolute(value)).collect();
        match self {
            Axis::Agents => multiples(&[0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0]),
            Axis::Noise => absolute(&[0.0, 0.01, 0.05, 0.25]),
            Axis::Failure => absolute(&[0.0, 0.1, 0.2, 0.3, 0.5, 0.7]),
            Axis::Grid => multiples(&[1.0, 2.0, 4.0]),
            Axis::Physics | Axis::Coefficient(_) => multiples(&[0.5, 0.75, 1.0, 1.5, 2.0]),
        }
    }

    /// Whether it changes the field without control.
    pub(super) fn changes_the_field(&self) -> bool {
        matches!(self, Axis::Grid | Axis::Physics | Axis::Coefficient(_))
    }

    /// The settings of a value: one, or one per coefficient.
    pub(super) fn stops(&self, config: &Config, value: Value) -> Result<Vec<Stop>, SweepError> {
        let one = |stop: Stop| Ok(vec![stop]);
        match self {
            Axis::Agents => one(agents(config, value)?),
            Axis::Noise => one(noisy(config, value)?),
            Axis::Failure => one(failed(config, value)?),
            Axis::Grid => one(finer(config, value)?),
            Axis::Coefficient(name) => one(coefficient(config, name, value)),
            Axis::Physics => {
                let names: Vec<&str> = coefficients(config).collect();
                if let (Value::Absolute(_), [first, _, ..]) = (value, &names[..]) {
                    return Err(value.refused(format!(
                        "there are {} coefficients ({}); use multiples such as x0.5, or sweep one of them, \
                         such as physics.{first}",
                        names.len(),
                        names.join(", ")
                    )));
                }
                Ok(names.iter().map(|name| coefficient(config, name, value)).collect())
            }
        }
    }
}

impl FromStr for Axis {
    type Err = SweepError;

    fn from_str(name: &str) -> Result<Axis, SweepError> {
        match name {
            "agents" => Ok(Axis::Agents),
            "noise" => Ok(Axis::Noise),
            "failure" => Ok(Axis::Failure),
            "grid" => Ok(Axis::Grid),
            "physics" => Ok(Axis::Physics),
            _ => match name.strip_prefix("physics.") {
                Some(coefficient) => Ok(Axis::Coefficient(coefficient.to_string())),
                None => Err(SweepError::UnknownAxis(name.to_string())),
            },
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Axis::Agents => write!(f, "agents"),
            Axis::Noise => write!(f, "noise"),
            Axis::Failure => write!(f, "failure"),
            Axis::Grid => write!(f, "grid"),
            Axis::Physics => write!(f, "physics"),
            Axis::Coefficient(name) => write!(f, "physics.{name}"),
        }
    }
}

fn agents(config: &Config, value: Value) -> Result<Stop, SweepError> {
    let (trained, wanted) = (config.agents as f64, value.of(config.agents as f64));
    let count = wanted.round().max(1.0);
    if let (Value::Absolute(_), true) = (value, count != wanted) {
        return Err(value.refused("agents are counted in whole numbers, from 1"));
    }
    let note = (count != wanted).then(|| {
        let what = if wanted.round() < 1.0 { "at least 1 is needed" } else { "rounded to a whole number" };
        format!("{value} of {trained} agents is {}: {what}, {count}", number(wanted))
    });
    let (key, multiple, sets) = ("agents".into(), Some(count / trained), vec![format!("agents={count}")]);
    Ok(Stop { key, value: count, trained, multiple, sets, note })
}

fn noisy(config: &Config, value: Value) -> Result<Stop, SweepError> {
    let Value::Absolute(sensor) = value else {
        return Err(value.refused("noise takes standard deviations such as 0.05, not multiples"));
    };
    let (key, sets, trained) = ("noise.sensor".into(), noise(2.0 * sensor, sensor), config.noise.sensor);
    Ok(Stop { key, value: sensor, trained, multiple: multiple(sensor, trained), sets, note: None })
}

fn failed(config: &Config, value: Value) -> Result<Stop, SweepError> {
    let Value::Absolute(share) = value else {
        return Err(value.refused("failure takes shares of the agents such as 0.3, not multiples"));
    };
    let (agents, wanted) = (config.agents, share * config.agents as f64);
    let count = wanted.round();
    // a share such as 0.7 of 10 is 7 up to the last bit
    let note = ((count - wanted).abs() > 1e-9 * wanted)
        .then(|| format!("{share} of {agents} agents is {}: {count} fail", number(wanted)));
    let (key, sets, trained) = ("failure.share".into(), failure(config, share, 0.0), config.failure.share);
    Ok(Stop { key, value: share, trained, multiple: multiple(share, trained), sets, note })
}

fn finer(config: &Config, value: Value) -> Result<Stop, SweepError> {
    let axis = config.axes()[0];
    let (n, ends) = (axis.n as f64, if axis.periodic() { 0.0 } else { 1.0 });
    let points = |factor: f64| (n - ends) * factor + ends;
    let factor = match value {
        Value::Multiple(factor) => factor,
        Value::Absolute(wanted) => (wanted - ends) / (n - ends),
    };
    if factor < 1.0 || factor.fract() != 0.0 || factor > 1e6 {
        return Err(value.refused(format!(
            "a grid is refined by a whole number: x1, x2, x3, ..., which is {}, {}, {}, ... points",
            points(1.0),
            points(2.0),
            points(3.0)
        )));
    }
    let sets = if factor == 1.0 { Vec::new() } else { refined(config, factor as usize) };
    let (key, value, multiple) = ("grid.n".into(), points(factor), Some(factor));
    Ok(Stop { key, value, trained: n, multiple, sets, note: None })
}

fn coefficient(config: &Config, name: &str, value: Value) -> Stop {
    let trained = config.physics.get(name).expect("a coefficient of the task");
    let (key, value) = (format!("physics.{name}"), value.of(trained));
    let (sets, multiple) = (vec![format!("{key}={value:?}")], multiple(value, trained));
    Stop { key, value, trained, multiple, sets, note: None }
}

fn multiple(value: f64, trained: f64) -> Option<f64> {
    Some(value / trained).filter(|multiple| multiple.is_finite())
}

/// Names of the coefficients of the equation. A bound of the scheme is none of them.
fn coefficients(config: &Config) -> impl Iterator<Item = &str> {
    let physics = &config.physics;
    physics.names().filter(|name| *name != "limit" && physics.get(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(task: &str) -> Config {
        Config::preset(task).unwrap()
    }

    fn stop(axis: Axis, task: &str, value: &str) -> Result<Stop, String> {
        let stops = value.parse().and_then(|value| axis.stops(&config(task), value));
        stops.map(|stops| stops[0].clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_absolute_or_multiples() {
        assert_eq!("20".parse(), Ok(Value::Absolute(20.0)));
        assert_eq!("x0.5".parse(), Ok(Value::Multiple(0.5)));
        for wrong in ["", "x", "half", "2x", "-1", "x-1", "nan", "inf"] {
            assert!(wrong.parse::<Value>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_task_has_the_axes_that_it_can_change() {
        let known = |task: &str| Axis::all(&config(task)).iter().map(Axis::to_string).collect::<Vec<_>>();
        assert_eq!(known("ks1d"), ["agents", "noise", "failure", "grid"]);
        assert_eq!(known("fkpp1d")[4..], ["physics", "physics.nu", "physics.rho"]);
        assert!(!known("density2d").contains(&"physics.limit".to_string()));
        let check = |axis: &str, task: &str| axis.parse::<Axis>().and_then(|axis| axis.check(&config(task)));
        assert_eq!(check("physics.nu", "fkpp1d"), Ok(()));
        let error = check("physics", "ks1d").unwrap_err().to_string();
        assert_eq!(error, "ks1d has no axis physics; it has agents, noise, failure, grid");
        assert!(check("physics.mu", "fkpp1d").unwrap_err().to_string().ends_with("physics.nu, physics.rho"));
        assert!(check("colour", "fkpp1d").unwrap_err().to_string().contains("no axis is called colour"));
    }

    #[test]
    fn what_is_rounded_is_said() {
        let agents = |value: &str| stop(Axis::Agents, "heat1d", value);
        assert_eq!((agents("x2").unwrap().value, agents("x2").unwrap().note), (16.0, None));
        assert_eq!((agents("5").unwrap().value, agents("5").unwrap().note), (5.0, None));
        let rounded = agents("x0.3").unwrap();
        assert_eq!(rounded.value, 2.0);
        assert_eq!(rounded.note.unwrap(), "x0.3 of 8 agents is 2.40: rounded to a whole number, 2");
        assert_eq!(
            agents("x0.01").unwrap().note.unwrap(),
            "x0.01 of 8 agents is 0.0800: at least 1 is needed, 1"
        );
        assert!(agents("2.5").unwrap_err().contains("whole numbers"));
        assert!(agents("0").unwrap_err().contains("from 1"));
        let failed = |value: &str| stop(Axis::Failure, "fkpp1d", value).unwrap().note;
        assert_eq!(failed("0.33").unwrap(), "0.33 of 20 agents is 6.60: 7 fail");
        assert!([0.0, 0.1, 0.3, 0.5, 0.7, 1.0].iter().all(|share| failed(&share.to_string()).is_none()));
    }

    #[test]
    fn grids_are_refined_by_whole_numbers() {
        let grid = |value: &str| stop(Axis::Grid, "fkpp1d", value);
        assert_eq!(grid("x2").unwrap().value, grid("199").unwrap().value);
        assert_eq!(grid("x1").unwrap().sets, Vec::<String>::new());
        for wrong in ["x0.5", "x1.5", "150", "0"] {
            assert!(grid(wrong).unwrap_err().ends_with("which is 100, 199, 298, ... points"), "{wrong}");
        }
    }

    #[test]
    fn several_coefficients_have_no_common_value() {
        assert!(stop(Axis::Physics, "fkpp1d", "3").unwrap_err().contains("(nu, rho)"));
        assert_eq!(stop(Axis::Physics, "heat1d", "0.3").unwrap().value, 0.3);
        let rho = stop(Axis::Coefficient("rho".into()), "fkpp1d", "x2").unwrap();
        assert_eq!((rho.value, rho.trained, &rho.sets[0][..]), (6.0, 3.0, "physics.rho=6.0"));
        assert!(stop(Axis::Noise, "heat1d", "x2").unwrap_err().contains("not multiples"));
    }
}
