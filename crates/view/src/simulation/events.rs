//! What happens to a simulation while it runs.

use cinoc_control::agents::start_positions;
use cinoc_control::disturbance::RandomInput;
use cinoc_control::live::LiveState;
use cinoc_control::{Config, Disturbance};

use super::pane::Pane;
use super::{Refused, Simulation, changed, refused};
use crate::protocol::{Event, What};

/// Width of a bump that a user makes, as a share of the shortest axis.
const BUMP: f64 = 0.06;

impl Simulation {
    /// Lets something happen before the next step. Returns the event, and whether the scene has changed.
    pub fn happen(&mut self, what: What) -> Result<(Event, bool), Refused> {
        let scene = self.apply(&what)?;
        Ok((Event { step: self.step, what }, scene))
    }

    /// Events of the set-up for this step; those that cannot happen do not.
    pub(super) fn events_of_now(&mut self) {
        while self.coming.front().is_some_and(|event| event.step <= self.step) {
            if let Some(event) = self.coming.pop_front() {
                let _ = self.apply(&event.what);
            }
        }
    }

    fn apply(&mut self, what: &What) -> Result<bool, Refused> {
        match *what {
            What::Kill(agent) => self.wake(agent, false),
            What::Revive(agent) => self.wake(agent, true),
            What::Move(agent, to) => self.put(agent, to),
            What::Add(at) => self.add(at),
            What::Disturb(at, by) => self.disturb(at, by),
            What::Agents(agents) => self.swarm(agents),
            What::Fail(share) => self.fail(share),
            What::Set(ref key, value) => self.set(key, value),
        }
    }

    pub(super) fn agents(&self) -> usize {
        self.alive.len()
    }

    fn known(&self, agent: usize) -> Result<(), Refused> {
        if agent < self.agents() {
            return Ok(());
        }
        refused(format!("there is no agent {agent}: they count from 0 to {}", self.agents() - 1))
    }

    fn wake(&mut self, agent: usize, alive: bool) -> Result<bool, Refused> {
        self.known(agent)?;
        self.alive[agent] = alive;
        Ok(false)
    }

    /// A place inside the domain.
    fn inside(&self, at: [f32; 2]) -> Result<Vec<f32>, Refused> {
        let axes = self.trained.axes();
        if !at[..axes.len()].iter().all(|x| x.is_finite()) {
            return refused("a place must be finite");
        }
        Ok(axes.iter().zip(at).map(|(axis, x)| x.clamp(0.0, axis.length as f32)).collect())
    }

    fn put(&mut self, agent: usize, to: [f32; 2]) -> Result<bool, Refused> {
        self.known(agent)?;
        let (place, agents) = (self.inside(to)?, self.agents());
        for pane in self.panes.iter_mut().filter(|pane| pane.params.is_some()) {
            for (axis, &x) in place.iter().enumerate() {
                pane.state.xi[axis * agents + agent] = x;
            }
            pane.live.go_on(&pane.state);
        }
        Ok(false)
    }

    fn add(&mut self, at: [f32; 2]) -> Result<bool, Refused> {
        let (place, agents) = (self.inside(at)?, self.agents());
        let more = |xi: &[f32]| -> Vec<f32> {
            let rows = xi.chunks_exact(agents).zip(&place);
            rows.flat_map(|(row, &x)| row.iter().copied().chain([x])).collect()
        };
        self.rebuild(agents + 1, &self.sets.clone(), &more)?;
        self.alive.push(true);
        Ok(true)
    }

    fn swarm(&mut self, agents: usize) -> Result<bool, Refused> {
        let config = changed(&self.trained, agents, self.setup.refine, &[])?;
        let places: Vec<f32> = start_positions(&config).iter().map(|&x| x as f32).collect();
        self.rebuild(agents, &self.sets.clone(), &|_| places.clone())?;
        self.alive = vec![true; agents];
        Ok(true)
    }

    fn fail(&mut self, share: f64) -> Result<bool, Refused> {
        if !(0.0..=1.0).contains(&share) {
            return refused("the share of agents that fail lies between 0 and 1");
        }
        let mut config = changed(&self.trained, self.agents(), 1, &[])?;
        (config.failure.share, config.failure.step, config.time.steps) = (share, 0, 1);
        let drawn = Disturbance::evaluation(self.setup.seed, self.setup.case);
        let drawn = drawn.draw(&config, RandomInput::Alive, 0, 0);
        self.alive = drawn.iter().map(|&alive| alive > 0.0).collect();
        Ok(false)
    }

    fn disturb(&mut self, at: [f32; 2], by: f32) -> Result<bool, Refused> {
        if !(-10.0..=10.0).contains(&by) {
            return refused("a bump can be at most 10 times as high as the field");
        }
        let (place, config) = (self.inside(at)?, &self.panes[0].config);
        let height = f64::from(by) * f64::from(self.scale());
        let bump = bump(config, &place, height);
        let lowest = if config.task.fields[config.task.shown()].positive { 0.0 } else { f32::NEG_INFINITY };
        let offset = config.task.shown() * config.points();
        for pane in &mut self.panes {
            let field = &mut pane.state.z[offset..];
            field.iter_mut().zip(&bump).for_each(|(z, bump)| *z = (*z + bump).max(lowest));
            pane.live.go_on(&pane.state);
        }
        Ok(false)
    }

    fn set(&mut self, key: &str, value: f64) -> Result<bool, Refused> {
        if !self.adjustable().any(|known| known == key) {
            let known: Vec<String> = self.adjustable().collect();
            return refused(format!("{key} cannot be changed here; only {}", known.join(", ")));
        }
        let mut sets = self.sets.clone();
        sets.retain(|(known, _)| known != key);
        sets.push((key.to_string(), value));
        self.rebuild(self.agents(), &sets, &<[f32]>::to_vec)?;
        self.sets = sets;
        Ok(true)
    }

    /// Settings that can be changed while it runs.
    pub(super) fn adjustable(&self) -> impl Iterator<Item = String> {
        let Config { task, physics, .. } = &self.trained;
        let keys = task.keys.iter().chain(cinoc_control::config::KEYS);
        let physics: Vec<String> = keys
            .filter(|key| key.name.strip_prefix("physics.").is_some_and(|key| physics.get(key).is_some()))
            .map(|key| key.name.to_string())
            .collect();
        let common = ["noise.sensor", "noise.actuator", "actuation.sigma"];
        common.into_iter().map(String::from).chain(physics)
    }

    /// The same fields under other settings. If a pane does not allow them, nothing changes.
    fn rebuild(
        &mut self,
        agents: usize,
        sets: &[(String, f64)],
        places: &dyn Fn(&[f32]) -> Vec<f32>,
    ) -> Result<(), Refused> {
        let configs = [&self.panes[0], &self.panes[1]].map(|pane| changed(&pane.config, agents, 1, sets));
        let [left, right] = configs;
        for (pane, config) in self.panes.iter_mut().zip([left?, right?]) {
            let xi = if pane.params.is_some() { places(&pane.state.xi) } else { Vec::new() };
            let state = LiveState { z: std::mem::take(&mut pane.state.z), xi };
            let (error, params) = (pane.error, pane.params.take());
            *pane = Pane::new(config, params, state, &self.target);
            pane.error = error;
        }
        self.noise.forget();
        Ok(())
    }
}

/// A bump of the field at a place.
fn bump(config: &Config, place: &[f32], height: f64) -> Vec<f32> {
    let axes: Vec<_> = config.domain().axes().collect();
    let width = BUMP * axes.iter().map(|axis| axis.length).fold(f64::MAX, f64::min);
    let along: Vec<Vec<f64>> = axes
        .iter()
        .zip(place)
        .map(|(axis, &x)| {
            let shape = |point: f64| {
                let apart = (point - f64::from(x)).abs();
                let apart = axis.period().map_or(apart, |period| apart.min(period - apart));
                (-0.5 * (apart / width).powi(2)).exp()
            };
            axis.points().into_iter().map(shape).collect()
        })
        .collect();
    match &along[..] {
        [x] => x.iter().map(|x| (height * x) as f32).collect(),
        [x, y] => x.iter().flat_map(|x| y.iter().map(move |y| (height * x * y) as f32)).collect(),
        _ => unreachable!("domains have one or two axes"),
    }
}
