//! Numbers of the paper to stand beside ours.
//!
//! From the main table of "CINOC: Cardinality-Invariant Neural Operator Policies for Scalable PDE Control"
//! (ICML 2026). They are text, because how many digits were printed is part of what was published.

use cinoc_control::Config;

use crate::settings::changed_settings;

/// Settings that belong to the policy and its training: published numbers stand beside any of them.
const OF_THE_POLICY: [&str; 8] = [
    "train.",
    "policy.",
    "loss.",
    "observe.",
    "method.",
    "data.pool=",
    "actuation.starts=",
    "obstacles.filter=",
];

/// The settings of the problem that differ from those of the task: agents, grid, time, physics, actuation,
/// noise, failures, cases. With any of them, published numbers are about another problem.
pub fn departures(config: &Config) -> Vec<String> {
    let Ok(preset) = config.task.config() else { return Vec::new() };
    let changed = changed_settings(&preset, config).into_iter();
    changed.filter(|set| !OF_THE_POLICY.iter().any(|key| set.starts_with(key))).collect()
}

/// The paper, as a report names it.
pub const PAPER: &str = "\"CINOC: Cardinality-Invariant Neural Operator Policies for Scalable PDE Control\" \
                         (ICML 2026), main table";

/// Which number of a rollout the paper prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// At the last control step.
    Final,
    /// After half of the control steps.
    Half,
    /// Mean over all control steps.
    TimeMean,
}

/// Published results of a task, mean ± two standard deviations over cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Published {
    /// What they measure.
    pub reported: Reported,
    /// Without control.
    pub uncontrolled: &'static str,
    /// The paper's own method.
    pub cinoc: &'static str,
    /// The other method with the lowest mean; several where they tie.
    pub best_baseline: &'static str,
    /// Its result.
    pub baseline: &'static str,
}

/// What the paper says about a task.
pub fn published(task: &str) -> Option<Published> {
    match task {
        "fkpp1d" => Some(Published {
            reported: Reported::Final,
            uncontrolled: "0.103 ± 0.128",
            cinoc: "4.6e-5 ± 7.5e-5",
            best_baseline: "DPC",
            baseline: "1.4e-4 ± 1.9e-4",
        }),
        "heat1d" => Some(Published {
            reported: Reported::Final,
            uncontrolled: "0.390 ± 1.144",
            cinoc: "2.9e-4 ± 4.3e-4",
            best_baseline: "DPC",
            baseline: "7.9e-5 ± 1.1e-4",
        }),
        "ks1d" => Some(Published {
            reported: Reported::TimeMean,
            uncontrolled: "1.45 ± 0.69",
            cinoc: "0.13 ± 0.12",
            best_baseline: "PPO, TD3 and MAPPO",
            baseline: "0.13 ± 0.13",
        }),
        "heat2d" => Some(Published {
            reported: Reported::Final,
            uncontrolled: "0.176 ± 0.378",
            cinoc: "1.5e-4 ± 1.8e-4",
            best_baseline: "DPC",
            baseline: "2.1e-4 ± 2.2e-4",
        }),
        "heat2d-obstacles" => Some(Published {
            reported: Reported::Final,
            uncontrolled: "0.176 ± 0.378",
            cinoc: "1.2e-4 ± 1.7e-4",
            best_baseline: "DPC",
            baseline: "2.7e-4 ± 2.6e-4",
        }),
        "ks2d" => Some(Published {
            reported: Reported::Half,
            uncontrolled: "13.91 ± 4.61",
            cinoc: "0.37 ± 0.19",
            best_baseline: "MAPPO",
            baseline: "0.50 ± 0.24",
        }),
        "turb2d" => Some(Published {
            reported: Reported::Final,
            uncontrolled: "50.49 ± 13.29",
            cinoc: "3.23 ± 2.22",
            best_baseline: "DPC",
            baseline: "3.28 ± 2.19",
        }),
        "density2d" => Some(Published {
            reported: Reported::Final,
            uncontrolled: "0.027 ± 0.026",
            cinoc: "0.002 ± 0.002",
            best_baseline: "DPC",
            baseline: "0.002 ± 0.010",
        }),
        _ => None,
    }
}

/// Which number of a rollout is reported of a task: the paper's, else that at the last control step.
pub fn reported(task: &str) -> Reported {
    published(task).map_or(Reported::Final, |paper| paper.reported)
}

/// What the paper's main table says about the other methods: PPO, TD3, MAPPO, MATD3, DPC.
pub fn published_method(task: &str, method: &str) -> Option<&'static str> {
    let row = match task {
        "fkpp1d" => ["0.053 ± 0.091", "0.010 ± 0.016", "0.004 ± 0.010", "0.022 ± 0.050", "1.4e-4 ± 1.9e-4"],
        "heat1d" => ["0.016 ± 0.062", "0.006 ± 0.029", "0.001 ± 0.002", "0.016 ± 0.032", "7.9e-5 ± 1.1e-4"],
        "heat2d" => ["0.015 ± 0.026", "0.009 ± 0.016", "0.006 ± 0.016", "0.022 ± 0.016", "2.1e-4 ± 2.2e-4"],
        "heat2d-obstacles" => {
            ["0.016 ± 0.023", "0.012 ± 0.014", "0.004 ± 0.015", "0.015 ± 0.012", "2.7e-4 ± 2.6e-4"]
        }
        "ks1d" => ["0.13 ± 0.13", "0.13 ± 0.13", "0.13 ± 0.13", "0.18 ± 0.18", "0.16 ± 0.15"],
        "ks2d" => ["12.96 ± 4.24", "1.66 ± 0.58", "0.50 ± 0.24", "0.91 ± 0.27", "9.74 ± 2.32"],
        "turb2d" => ["34.52 ± 12.35", "5.57 ± 3.15", "4.48 ± 2.84", "3.71 ± 2.46", "3.28 ± 2.19"],
        "density2d" => ["0.005 ± 0.005", "0.021 ± 0.017", "0.008 ± 0.008", "0.021 ± 0.017", "0.002 ± 0.010"],
        _ => return None,
    };
    match method {
        "cinoc" => published(task).map(|paper| paper.cinoc),
        name => {
            ["ppo", "td3", "mappo", "matd3", "dpc"].iter().position(|known| *known == name).map(|i| row[i])
        }
    }
}

/// The mean of a published "mean ± spread".
pub fn leading(text: &str) -> Option<f64> {
    text.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_presets_are_the_published_problem() {
        for task in cinoc_control::Tasks::built_in().iter() {
            for config in [Config::preset(&task.name).unwrap(), Config::paper(&task.name).unwrap()] {
                assert_eq!(departures(&config), Vec::<String>::new(), "{task}");
            }
        }
    }

    #[test]
    fn another_problem_departs_from_it() {
        let sets = ["train.updates=5", "agents=5", "failure.share=0.25", "policy.softnorm=false"];
        let config = Config::resolve("fkpp1d", None, &sets.map(String::from)).unwrap();
        assert_eq!(departures(&config), ["agents=5", "failure.share=0.25"]);
    }
}
