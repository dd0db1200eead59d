//! Rollouts as figures see them: physical positions and times, beginning with the initial state.
//!
//! A rollout records what is there after each of its T control steps. A picture begins at t = 0, so
//! everything here that depends on time has T + 1 values, the first from the case itself; only actions, which
//! lead from one state to the next, have T.

use cinoc_control::agents::start_positions;
use cinoc_control::{Cases, Config, Targets, Trajectories};
use cinoc_learn::evaluate::Rollouts;

/// Cases of a task, rolled out with and without control.
#[derive(Clone, Copy)]
pub struct Evaluated<'a> {
    /// The config of the rollouts.
    pub config: &'a Config,
    /// The cases.
    pub cases: &'a Cases,
    /// What happened in them.
    pub rollouts: &'a Rollouts,
}

/// One of the two rollouts of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Without agents.
    Off,
    /// With the policy.
    On,
}

impl<'a> Evaluated<'a> {
    /// Grid points, from 0.
    pub fn positions(&self) -> Vec<f64> {
        self.config.domain().x.points()
    }

    /// Times of the states: 0 and the end of every control step.
    pub fn times(&self) -> Vec<f64> {
        (0..=self.steps()).map(|step| step as f64 * self.config.control_dt()).collect()
    }

    /// Control steps.
    pub fn steps(&self) -> usize {
        self.rollouts.controlled.steps
    }

    /// The field of a case that figures show, `[T + 1][n]`.
    pub fn field(&self, control: Control, case: usize) -> Vec<f64> {
        let recorded = self.of_case(self.trajectories(control).z(), case);
        let states = std::iter::once(self.cases.z0(case)).chain(recorded.chunks_exact(self.cases.n));
        states.flat_map(|state| self.shown(state)).copied().collect()
    }

    /// What that field should be at a state, from 0 at t = 0, `[n]`.
    pub fn target(&self, case: usize, state: usize) -> &'a [f64] {
        self.shown(self.target_of_state(case, state))
    }

    /// Whether what the field should be changes with time.
    pub fn targets_move(&self) -> bool {
        self.cases.targets() == Targets::Moving
    }

    /// A control step leads to its target: at a state, it is that of the step before. The first state has
    /// that of the first step.
    fn target_of_state(&self, case: usize, state: usize) -> &'a [f64] {
        self.cases.target(case, state.saturating_sub(1))
    }

    /// The field of a state that figures show.
    fn shown<'s>(&self, state: &'s [f64]) -> &'s [f64] {
        let (field, points) = (self.config.task.shown(), self.config.points());
        &state[field * points..(field + 1) * points]
    }

    /// Mean of `(z - z*)²` of a case, `[T + 1]`.
    pub fn error(&self, control: Control, case: usize) -> Vec<f64> {
        let (points, fields) = (self.config.points(), &self.config.task.fields);
        let squares = self.cases.z0(case).iter().zip(self.target_of_state(case, 0)).enumerate();
        let tracked = squares.filter(|(i, _)| fields[i / points].tracked);
        let tracked: Vec<f64> = tracked.map(|(_, (z, target))| (z - target).powi(2)).collect();
        let mut error = vec![tracked.iter().sum::<f64>() / tracked.len() as f64];
        error.extend(self.trajectories(control).error(case));
        error
    }

    /// Mean over the agents of the magnitude of their actions, `[T]`.
    pub fn mean_magnitude(&self, actions: &[f64]) -> Vec<f64> {
        let agents = self.config.agents;
        let components = actions.len() / (agents * self.steps());
        let magnitude = |step: &[f64], agent: usize| {
            (0..components).map(|k| step[k * agents + agent].powi(2)).sum::<f64>().sqrt()
        };
        let mean =
            |step: &[f64]| (0..agents).map(|agent| magnitude(step, agent)).sum::<f64>() / agents as f64;
        actions.chunks_exact(components * agents).map(mean).collect()
    }

    /// Intensities of the agents in a case, `[T][agents]`, where agents have any.
    pub fn intensities(&self, case: usize) -> Option<Vec<f64>> {
        Some(self.of_case(self.rollouts.controlled.u()?, case))
    }

    /// Velocities of the agents in a case, `[T][dims][agents]`, where agents move.
    pub fn velocities(&self, case: usize) -> Option<Vec<f64>> {
        Some(self.of_case(self.rollouts.controlled.v()?, case))
    }

    /// Positions of the agents in a case, `[T + 1][dims][agents]`.
    pub fn agents(&self, case: usize) -> Vec<f64> {
        let mut xi = self.cases.xi0(case).map_or_else(|| start_positions(self.config), <[f64]>::to_vec);
        xi.extend(self.rollouts.controlled.xi().into_iter().flat_map(|xi| self.of_case(xi, case)));
        xi
    }

    /// The case whose final error with control is the median (of an even number of cases, the lower of the
    /// two in the middle).
    pub fn median_case(&self) -> usize {
        let last = |case: usize| *self.error(Control::On, case).last().expect("a state at t = 0");
        let mut ranked: Vec<(f64, usize)> = (0..self.cases.count).map(|case| (last(case), case)).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked[(ranked.len() - 1) / 2].1
    }

    fn trajectories(&self, control: Control) -> &'a Trajectories<f32> {
        match control {
            Control::Off => &self.rollouts.uncontrolled,
            Control::On => &self.rollouts.controlled,
        }
    }

    /// The part of a record that is about one case, `[T][size]`.
    fn of_case(&self, record: &[f32], case: usize) -> Vec<f64> {
        let size = record.len() / self.cases.count;
        record[case * size..(case + 1) * size].iter().map(|&value| f64::from(value)).collect()
    }
}
