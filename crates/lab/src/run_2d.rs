//! One case on a rectangle, rolled out with and without control, as figures and animations need it.
//!
//! Everything that depends on time has T + 1 values, the first at t = 0; only actions, which lead from one
//! state to the next, have T. Fields are `[nx][ny]`, axis 0 is x; pictures have x to the right and y upwards.

use thiserror::Error;

use crate::Evaluated;
use crate::evaluated::Control;
use cinoc_control::obstacles::Discs;

/// The task is on an interval.
#[derive(Debug, Error)]
#[error("animations are for 2D tasks; {task} is on an interval")]
pub struct NotInThePlane {
    /// Its name.
    pub task: String,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Of both signs: colours diverge from zero.
    Signed,
    /// Never negative: colours begin at zero.
    Density,
}

/// A disc that agents may not enter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    /// Where it is.
    pub centre: [f64; 2],
    /// Its size.
    pub radius: f64,
    /// Width of the ring around it that agents should leave free.
    pub margin: f64,
}

/// A case with and without control.
#[derive(Clone, Debug, PartialEq)]
pub struct Run2d {
    /// Points along x and y.
    pub n: [usize; 2],
    /// Lengths of the rectangle, which begins at 0.
    pub lengths: [f64; 2],
    /// Whether opposite sides are the same; otherwise both ends of an axis are grid points.
    pub periodic: bool,
    /// What the values are.
    pub kind: FieldKind,
    /// Name of the field on a colour bar, such as "z".
    pub field: String,
    /// Times of the states, `[T + 1]`.
    pub times: Vec<f64>,
    /// The field without agents, `[T + 1][nx][ny]`.
    pub uncontrolled: Vec<Vec<f64>>,
    /// The field with the policy, `[T + 1][nx][ny]`.
    pub controlled: Vec<Vec<f64>>,
    /// What the field should be: one target for all times, or `[T + 1]` if it moves, each `[nx][ny]`. Empty
    /// where the field should come to rest.
    pub targets: Vec<Vec<f64>>,
    /// Where agents are, `[T + 1][agents]`.
    pub positions: Vec<Vec<[f64; 2]>>,
    /// Their intensities, `[T][agents]`; `None` where they have none.
    pub u: Option<Vec<Vec<f64>>>,
    /// What agents may not enter.
    pub obstacles: Vec<Disc>,
}

/// Positions of agents from their record of one step, `[2][agents]`.
pub fn positions(record: &[f64]) -> Vec<[f64; 2]> {
    let (x, y) = record.split_at(record.len() / 2);
    x.iter().zip(y).map(|(&x, &y)| [x, y]).collect()
}

fn discs_of(discs: &Discs) -> Vec<Disc> {
    let disc = |&centre| Disc { centre, radius: discs.radius, margin: discs.margin };
    discs.centres.iter().map(disc).collect()
}

impl Run2d {
    /// A case of an evaluation, where its task is on a rectangle.
    pub fn of_case(evaluated: &Evaluated, case: usize) -> Result<Run2d, NotInThePlane> {
        let config = evaluated.config;
        let [x, y]: [_; 2] =
            config.axes().try_into().map_err(|_| NotInThePlane { task: config.task.to_string() })?;
        let (task, agents) = (&config.task, config.agents);
        let field = &task.fields[task.shown()];
        let states = |control: Control| {
            evaluated
                .field(control, case)
                .chunks_exact(config.points())
                .map(<[f64]>::to_vec)
                .collect::<Vec<_>>()
        };
        let targets = match (task.tracks, evaluated.targets_move()) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => evaluated.steps() + 1,
        };
        Ok(Run2d {
            n: [x.n, y.n],
            lengths: [x.length, y.length],
            periodic: x.periodic(),
            kind: if field.positive { FieldKind::Density } else { FieldKind::Signed },
            field: field.name.clone(),
            times: evaluated.times(),
            uncontrolled: states(Control::Off),
            controlled: states(Control::On),
            targets: (0..targets).map(|state| evaluated.target(case, state).to_vec()).collect(),
            positions: evaluated.agents(case).chunks_exact(2 * agents).map(positions).collect(),
            u: evaluated.intensities(case).map(|u| u.chunks_exact(agents).map(<[f64]>::to_vec).collect()),
            obstacles: Discs::of(config).map_or_else(Vec::new, |discs| discs_of(&discs)),
        })
    }

    /// What the field should be at a state, from 0 at t = 0; `None` where it should come to rest.
    pub fn target(&self, state: usize) -> Option<&[f64]> {
        let last = self.targets.len().checked_sub(1)?;
        Some(&self.targets[state.min(last)])
    }

    /// Control steps.
    pub fn steps(&self) -> usize {
        self.times.len().saturating_sub(1)
    }

    /// Number of agents.
    pub fn agents(&self) -> usize {
        self.positions.first().map_or(0, Vec::len)
    }

    /// Whether an agent is ever elsewhere than at the start.
    pub fn mobile(&self) -> bool {
        self.positions.iter().any(|now| Some(now) != self.positions.first())
    }

    /// Panics with what does not fit where lists differ in length from what the fields of this struct
    /// promise.
    pub(crate) fn assert_consistent(&self) {
        let (states, points) = (self.times.len(), self.n[0] * self.n[1]);
        assert!(states > 0 && points > 0, "a run has a state and a field has a point");
        let moving = self.targets.len() > 1;
        let counts = [
            ("fields without control", self.uncontrolled.len(), states),
            ("fields with control", self.controlled.len(), states),
            ("positions", self.positions.len(), states),
            ("moving targets", if moving { self.targets.len() } else { states }, states),
            ("intensities", self.u.as_ref().map_or(states - 1, Vec::len), states - 1),
        ];
        for (what, count, expected) in counts {
            assert_eq!(count, expected, "number of {what}");
        }
        let fields = self.uncontrolled.iter().chain(&self.controlled).chain(&self.targets);
        assert!(fields.map(Vec::len).all(|count| count == points), "every field has {points} points");
        let agents = self.agents();
        let lists = self.positions.iter().map(Vec::len).chain(self.u.iter().flatten().map(Vec::len));
        assert!(lists.into_iter().all(|count| count == agents), "every list is of {agents} agents");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moving(periodic: bool) -> Run2d {
        Run2d {
            n: [1, 1],
            lengths: [1.0, 2.0],
            periodic,
            kind: FieldKind::Signed,
            field: "z".into(),
            times: vec![0.0, 0.5],
            uncontrolled: vec![vec![0.0]; 2],
            controlled: vec![vec![0.0]; 2],
            targets: vec![],
            positions: vec![vec![[0.1, 0.1], [0.5, 0.5]], vec![[0.1, 1.9], [0.8, 0.9]]],
            u: Some(vec![vec![-3.0, 1.0]]),
            obstacles: vec![],
        }
    }

    #[test]
    fn records_become_positions() {
        assert_eq!(positions(&[1.0, 2.0, 3.0, 4.0]), [[1.0, 3.0], [2.0, 4.0]]);
    }

    #[test]
    fn agents_that_stand_elsewhere_move() {
        let run = moving(false);
        run.assert_consistent();
        assert!(run.mobile());
    }

    #[test]
    #[should_panic(expected = "number of intensities")]
    fn an_inconsistent_run_is_a_mistake() {
        Run2d { u: Some(vec![]), ..moving(false) }.assert_consistent();
    }
}
