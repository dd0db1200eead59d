//! One of the two fields of a simulation.

use std::time::{Duration, Instant};

use cinoc_control::live::{LiveLoop, LiveState};
use cinoc_control::{Config, Controller, Decision};

/// Time after which the time of a decision is measured again.
const REMEASURE: Duration = Duration::from_millis(500);

/// One field, with agents or without.
pub(super) struct Pane {
    pub(super) config: Config,
    pub(super) params: Option<Vec<f32>>,
    pub(super) state: LiveState,
    pub(super) live: LiveLoop,
    controller: Option<Controller<f32>>,
    /// When the time of a decision was last measured, and that time.
    decision: Option<(Instant, f32)>,
    pub(super) u: Vec<f32>,
    pub(super) v: Vec<f32>,
    pub(super) error: f64,
}

impl Pane {
    pub(super) fn new(config: Config, params: Option<Vec<f32>>, state: LiveState, target: &[f32]) -> Pane {
        let live = match &params {
            Some(params) => LiveLoop::controlled(&config, params, &state, target),
            None => LiveLoop::uncontrolled(&config, &state, target),
        };
        let controller =
            params.as_ref().map(|params| Decision::<f32>::new(&config).controller(params, target));
        let agents = if params.is_some() { config.agents } else { 0 };
        let u = vec![0.0; config.actuation.u_max.map_or(0, |_| agents)];
        let v = vec![0.0; config.actuation.v_max.map_or(0, |_| config.task.dims * agents)];
        let distance = state.z.iter().zip(target).map(|(z, target)| f64::from(z - target).powi(2));
        let error = distance.sum::<f64>() / state.z.len() as f64;
        Pane { config, params, state, live, controller, decision: None, u, v, error }
    }

    /// Reads what the last step has made.
    pub(super) fn look(&mut self) {
        self.state.z = self.live.z();
        if let Some(xi) = self.live.xi() {
            self.state.xi = xi;
        }
        self.u = self.live.u().unwrap_or_default();
        self.v = self.live.v().unwrap_or_default();
        self.error = self.live.error();
    }

    pub(super) fn parts(&self) -> u32 {
        match self.params {
            Some(_) => 1 + 2 * u32::from(!self.u.is_empty()) + 4 * u32::from(!self.v.is_empty()),
            None => 0,
        }
    }

    /// How long a decision of all agents takes here, in microseconds. With many agents it takes as long as a
    /// step, so it is not measured for every frame.
    pub(super) fn decision_time(&mut self) -> f32 {
        let Some(controller) = &mut self.controller else { return 0.0 };
        match self.decision {
            Some((when, time)) if when.elapsed() < REMEASURE => time,
            _ => {
                let start = Instant::now();
                controller.decide(&self.state.z, &self.state.xi);
                let time = start.elapsed().as_secs_f32() * 1e6;
                self.decision = Some((Instant::now(), time));
                time
            }
        }
    }
}
