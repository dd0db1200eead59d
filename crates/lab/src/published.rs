//! Numbers of the paper to stand beside ours.
//!
//! From the main table of "CINOC: Cardinality-Invariant Neural Operator Policies for Scalable PDE Control" (ICML 2026). They are
//! text, because how many digits were printed is part of what was published.

/// The paper, as a report names it.
pub const PAPER: &str = "\"CINOC: Cardinality-Invariant Neural Operator Policies for Scalable PDE Control\" \
                         (ICML 2026), main table";

/// Which number of a rollout the paper prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// At the last control step.
    Final,
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
        _ => None,
    }
}
