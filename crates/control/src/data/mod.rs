//! Cases: initial states and targets, drawn from a seed or published with the paper.
//!
//! How they are drawn is part of a task; what several tasks have in common is in `families`.

mod doubts;
pub(crate) mod families;
mod refine;

pub use doubts::NotFinite;

use crate::config::Config;
use crate::random::{Purpose, stream};
use crate::task::{Draw, Fields};
use cinoc_adjoint::Threads;
use safetensors::SafeTensors;
use thiserror::Error;

/// Initial states and targets of a task.
///
/// ```
/// use cinoc_adjoint::Threads;
/// use cinoc_control::{Cases, Config, Pool};
///
/// let config = Config::preset("heat1d").unwrap();
/// let cases = Cases::draw(&config, 0, Pool::Validation, 3, &Threads::one(), &|_, _| {});
/// assert_eq!((cases.count, cases.z0(2).len()), (3, config.grid.n));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cases {
    /// Number of cases.
    pub count: usize,
    /// Numbers of a state: its fields one after the other, each on all grid points.
    pub n: usize,
    /// Initial states, `[count][n]`; in 2D row by row.
    pub z0: Vec<f64>,
    /// Targets, `[count][n]`, or `[count][steps][n]` if they move; 0 for fields that are not tracked.
    pub zt: Vec<f64>,
    /// Start positions of the agents, `[count][dims][agents]`; `None` for those of the task.
    pub xi0: Option<Vec<f64>>,
}

/// Whether the target of a case is the same in every control step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// One target per case.
    Fixed,
    /// A target per case and control step.
    Moving,
}

/// What cases are for. The three never share a random number.
///
/// ```
/// use cinoc_adjoint::Threads;
/// use cinoc_control::{Cases, Config, Pool};
///
/// let config = Config::preset("heat1d").unwrap();
/// let draw = |pool| Cases::draw(&config, 0, pool, 1, &Threads::one(), &|_, _| {});
/// assert_ne!(draw(Pool::Validation), draw(Pool::Test));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// To train on.
    Training,
    /// To choose settings on; drawn independently whatever `data.pairs` says, like the next.
    Validation,
    /// To report results on: nothing is chosen on them.
    Test,
}

/// Told `(done, all)` while cases are drawn.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Why there are no published cases.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PaperCasesError {
    /// The paper published none for the task.
    #[error("no published cases for {0}; there are some for fkpp1d and heat1d")]
    NoneForTask(String),
    /// They live on another grid.
    #[error("grid.n = {0}: the published cases have 100 points")]
    OtherGrid(usize),
}

impl Cases {
    /// Draws cases. The first `k` of them are the same for every `count`.
    pub fn draw(
        config: &Config,
        seed: u64,
        pool: Pool,
        count: usize,
        threads: &Threads,
        progress: Progress<'_>,
    ) -> Cases {
        let purpose = match pool {
            Pool::Training => Purpose::TrainingCases,
            Pool::Validation => Purpose::ValidationCases,
            Pool::Test => Purpose::TestCases,
        };
        let rng = &mut stream(seed, purpose, 0);
        let Fields { start, target } =
            config.task.draw_cases(config, Draw { rng, pool, count, threads, progress });
        let n = config.state_size();
        assert_eq!(
            (start.len(), target.len()),
            (count * n, count * n),
            "numbers that {} drew for {count} cases",
            config.task
        );
        Cases { count, n, z0: start, zt: target, xi0: None }
    }

    /// The 50 cases behind the paper's main table.
    pub fn paper(config: &Config) -> Result<Cases, PaperCasesError> {
        let Some(prefix) = config.task.published else {
            return Err(PaperCasesError::NoneForTask(config.task.to_string()));
        };
        let file = SafeTensors::deserialize(include_bytes!("../../data/paper_cases_1d.safetensors"))
            .expect("the file in the library is whole");
        let tensor = |part: &str| {
            file.tensor(&format!("{prefix}_{part}")).expect("the file has the cases of every published task")
        };
        let values = |part: &str| {
            let bytes = tensor(part).data().chunks_exact(4);
            bytes.map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect::<Vec<_>>()
        };
        let shape = tensor("z0").shape().to_vec();
        if config.points() != shape[1] {
            return Err(PaperCasesError::OtherGrid(config.grid.n));
        }
        Ok(Cases { count: shape[0], n: shape[1], z0: values("z0"), zt: values("zt"), xi0: None })
    }

    /// The first cases of these, at most `count`.
    pub fn first(&self, count: usize) -> Cases {
        let count = count.min(self.count);
        let cut = |all: &[f64]| all[..all.len() / self.count * count].to_vec();
        let xi0 = self.xi0.as_deref().map(cut);
        Cases { count, n: self.n, z0: cut(&self.z0), zt: cut(&self.zt), xi0 }
    }

    /// Initial field of a case.
    pub fn z0(&self, case: usize) -> &[f64] {
        &self.z0[case * self.n..(case + 1) * self.n]
    }

    /// Whether targets move.
    pub fn targets(&self) -> Targets {
        if self.target_steps() > 1 { Targets::Moving } else { Targets::Fixed }
    }

    /// Control steps that have a target of their own; 1 if targets are fixed.
    pub fn target_steps(&self) -> usize {
        self.zt.len() / (self.count * self.n)
    }

    /// Target of a case whose target is fixed.
    ///
    /// # Panics
    /// If targets move.
    pub fn zt(&self, case: usize) -> &[f64] {
        assert_eq!(self.targets(), Targets::Fixed, "one target of case {case}");
        self.target(case, 0)
    }

    /// Target of a control step of a case, counted from 0. After the last step that has one, it stays.
    pub fn target(&self, case: usize, step: usize) -> &[f64] {
        let steps = self.target_steps();
        let at = case * steps + step.min(steps - 1);
        &self.zt[at * self.n..(at + 1) * self.n]
    }

    /// All targets of a case, `[steps][n]`.
    fn targets_of(&self, case: usize) -> &[f64] {
        let size = self.target_steps() * self.n;
        &self.zt[case * size..(case + 1) * size]
    }

    /// Start positions of a case, if it has its own.
    pub fn xi0(&self, case: usize) -> Option<&[f64]> {
        let all = self.xi0.as_ref()?;
        let agents = all.len() / self.count;
        Some(&all[case * agents..(case + 1) * agents])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(task: &str, sets: &[&str], pool: Pool, count: usize) -> Cases {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let config = Config::preset(task).unwrap().with_sets(&sets).unwrap();
        Cases::draw(&config, 3, pool, count, &Threads::one(), &|_, _| {})
    }

    fn correlation(cases: &Cases) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        dot(&cases.z0, &cases.zt) / (dot(&cases.z0, &cases.z0) * dot(&cases.zt, &cases.zt)).sqrt()
    }

    #[test]
    fn more_cases_begin_with_the_same_ones() {
        let (few, many) =
            (draw("fkpp1d", &[], Pool::Validation, 2), draw("fkpp1d", &[], Pool::Validation, 5));
        assert_eq!(few.z0(1), many.z0(1));
        assert_eq!(few.zt(1), many.zt(1));
        for other in [Pool::Training, Pool::Test] {
            assert_ne!(few.z0(0), draw("fkpp1d", &[], other, 1).z0(0));
        }
    }

    #[test]
    fn pairs_are_alike_only_in_a_shared_training_pool() {
        let shared = ["data.pairs=shared"];
        assert!(correlation(&draw("heat1d", &shared, Pool::Training, 200)) > 0.7);
        assert!(correlation(&draw("heat1d", &shared, Pool::Validation, 200)).abs() < 0.2);
        assert!(correlation(&draw("heat1d", &[], Pool::Training, 200)).abs() < 0.2);
    }

    #[test]
    fn spun_up_states_have_no_mean_and_the_energy_of_the_attractor() {
        let cases = draw("ks1d", &["data.spin_up=200"], Pool::Training, 4);
        for case in 0..4 {
            let z = cases.z0(case);
            let energy = z.iter().map(|z| z * z).sum::<f64>() / z.len() as f64;
            assert!((0.3..5.0).contains(&energy), "case {case}: {energy}");
            assert!(z.iter().sum::<f64>().abs() < 1e-9);
        }
        assert!(cases.zt.iter().all(|&z| z == 0.0));
    }

    #[test]
    fn the_published_cases_are_there() {
        for task in ["fkpp1d", "heat1d"] {
            let config = Config::preset(task).unwrap();
            let cases = Cases::paper(&config).unwrap();
            assert_eq!((cases.count, cases.n, cases.z0.len(), cases.zt.len()), (50, 100, 5000, 5000));
            assert_ne!(cases.z0, cases.zt);
        }
        let error = Cases::paper(&Config::preset("ks1d").unwrap()).unwrap_err();
        assert_eq!(error, PaperCasesError::NoneForTask("ks1d".to_string()));
    }
}
