//! What a page and the server say to each other.
//!
//! A page sends short JSON texts, each one [`Request`]. The server answers with JSON texts ([`Answer`]) and
//! binary frames. A frame is sent only when the page asks for one: a slow page gets fewer frames, never old
//! ones.
//!
//! A frame is a row of little-endian 32-bit numbers: the header of [`Header`], then for each of the two panes
//! the field, and if it has agents their places, their intensities, their velocities, and who is alive.

use serde::{Deserialize, Serialize};

/// Largest text a page may send.
pub const LARGEST_REQUEST: usize = 64 * 1024;
/// Most events of one set-up.
pub const MOST_EVENTS: usize = 1000;
/// Most agents of a simulation.
pub const MOST_AGENTS: usize = 5000;
/// Finest grid, in refinements of the trained one per axis.
pub const FINEST: usize = 4;

/// What a page asks for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// Starts this set-up from its beginning.
    Open {
        /// The set-up.
        setup: Setup,
    },
    /// Something happens, before the next step.
    Happen {
        /// What.
        what: What,
    },
    /// Runs.
    Play {},
    /// Stops.
    Pause {},
    /// Does one control step.
    Step {},
    /// Sets the speed.
    Speed {
        /// Control steps per second; 0 for as many as possible.
        steps: f64,
    },
    /// Asks for a frame.
    Frame {},
}

/// All that decides what a simulation shows: the same set-up gives the same bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The task.
    pub task: String,
    /// The policy on the left, or none.
    pub policy: Option<String>,
    /// The policy on the right, or none.
    #[serde(default)]
    pub beside: Option<String>,
    /// Agents; those of the training if it is not said.
    #[serde(default)]
    pub agents: Option<usize>,
    /// Number of the validation case.
    #[serde(default)]
    pub case: usize,
    /// Seed of noise and failures.
    #[serde(default)]
    pub seed: u64,
    /// Grid cells per cell of the trained grid, on every axis.
    #[serde(default = "one")]
    pub refine: usize,
    /// What happens, in the order of the steps.
    #[serde(default)]
    pub events: Vec<Event>,
}

fn one() -> usize {
    1
}

/// What happens, and before which control step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The control step.
    pub step: u64,
    /// What happens.
    pub what: What,
}

/// What can happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// An agent falls silent.
    Kill(usize),
    /// An agent works again.
    Revive(usize),
    /// An agent is put elsewhere.
    Move(usize, [f32; 2]),
    /// There is one more agent.
    Add([f32; 2]),
    /// A bump is added to the field: where, and how high in units of the field's size.
    Disturb([f32; 2], f32),
    /// There are so many agents, at their start positions.
    Agents(usize),
    /// This share of the agents, drawn at random, falls silent; the others work.
    Fail(f64),
    /// A setting has another value: noise, coefficients of the physics, or the width of the actuators.
    Set(String, f64),
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The policies that can be chosen.
    Policies(Vec<Choice>),
    /// A simulation has begun, or its settings have changed.
    Scene(Box<Scene>),
    /// An event has happened.
    Happened(Event),
    /// A policy learns.
    Learning(Learning),
    /// The request cannot be met; everything is as before.
    Refused(String),
}

/// A policy to choose.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Its name.
    pub name: String,
    /// Its task.
    pub task: String,
    /// The task in words.
    pub title: String,
}

/// How far a training is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Learning {
    /// The policy that is trained.
    pub policy: String,
    /// Updates after which its parameters of the moment were taken.
    pub shown: usize,
    /// Updates of the whole training.
    pub of: usize,
    /// Update and loss.
    pub loss: Vec<[f64; 2]>,
    /// Update and loss on validation cases.
    pub validation: Vec<[f64; 2]>,
}

/// What a simulation looks like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scene {
    /// The set-up, without its events.
    pub setup: Setup,
    /// The task in words.
    pub title: String,
    /// Symbol of the field.
    pub field: String,
    /// Number of axes.
    pub dims: usize,
    /// Grid points along every axis.
    pub shape: [usize; 2],
    /// Lengths of the axes.
    pub lengths: [f64; 2],
    /// Whether the domain is periodic.
    pub periodic: bool,
    /// Whether the field is never negative.
    pub positive: bool,
    /// Whether there is a target to track.
    pub tracks: bool,
    /// The target.
    pub target: Vec<f32>,
    /// Largest magnitude of the first field and the target.
    pub scale: f32,
    /// Agents.
    pub agents: usize,
    /// Agents in training.
    pub trained_agents: usize,
    /// Whether agents move.
    pub mobile: bool,
    /// Bound of the intensity, if there is one.
    pub u_max: Option<f64>,
    /// Bound of the velocity, if there is one.
    pub v_max: Option<f64>,
    /// Time of a control step.
    pub dt: f64,
    /// Control steps of the horizon.
    pub horizon: usize,
    /// Settings that can be changed.
    pub settings: Vec<Setting>,
    /// Discs that agents keep out of: x, y, radius.
    pub discs: Vec<[f64; 3]>,
}

/// A setting that can be changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Its name, `section.key`.
    pub key: String,
    /// What it means.
    pub meaning: String,
    /// Its value.
    pub value: f64,
    /// The value it was trained with.
    pub trained: f64,
}

/// What stands at the beginning of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Header {
    /// Control steps done.
    pub step: u32,
    /// Mean square errors of the two panes.
    pub errors: [f32; 2],
    /// Mean square of the actions on the left.
    pub effort: f32,
    /// Time of a decision of all agents on the left, in microseconds.
    pub decision: f32,
    /// Numbers of a field.
    pub points: u32,
    /// Agents.
    pub agents: u32,
    /// What every pane has: 1 agents, 2 intensities, 4 velocities.
    pub parts: [u32; 2],
}

impl Header {
    /// Numbers of a header.
    pub const LENGTH: usize = 9;

    /// Appends the header to a frame.
    pub fn put(&self, frame: &mut Vec<u8>) {
        let numbers = [self.errors[0], self.errors[1], self.effort, self.decision];
        frame.extend(self.step.to_le_bytes());
        numbers.iter().for_each(|number| frame.extend(number.to_le_bytes()));
        let counts = [self.points, self.agents, self.parts[0], self.parts[1]];
        counts.iter().for_each(|count| frame.extend(count.to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_pages_write_them() {
        let read = |text: &str| serde_json::from_str::<Request>(text);
        assert_eq!(read(r#"{"do":"play"}"#).unwrap(), Request::Play {});
        assert_eq!(read(r#"{"do":"speed","steps":60}"#).unwrap(), Request::Speed { steps: 60.0 });
        let moved = read(r#"{"do":"happen","what":{"move":[3,[0.25,0]]}}"#).unwrap();
        assert_eq!(moved, Request::Happen { what: What::Move(3, [0.25, 0.0]) });
        let open = r#"{"do":"open","setup":{"task":"heat1d","policy":"heat1d","events":[{"step":4,"what":{"kill":1}}]}}"#;
        let Request::Open { setup } = read(open).unwrap() else { panic!("no set-up") };
        assert_eq!((setup.refine, setup.events[0].what.clone()), (1, What::Kill(1)));
        for wrong in [r#"{"do":"dance"}"#, r#"{"do":"play","now":1}"#, r#"{"do":"speed","steps":"x"}"#, "[]"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_has_its_length() {
        let mut frame = Vec::new();
        Header { step: 7, points: 3, ..Header::default() }.put(&mut frame);
        assert_eq!((frame.len(), frame[0], frame[20]), (4 * Header::LENGTH, 7, 3));
    }
}
