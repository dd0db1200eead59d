//! When the episodes of copies begin: on request, or by themselves as Gymnasium defines it.

use cinoc::learn::rl::episodes::Episodes;
use cinoc::learn::rl::views::Views;

/// What happens to a copy whose episode has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Autoreset {
    /// The next step begins its next episode instead of stepping it.
    NextStep,
    /// The same step begins its next episode; the last observation is handed out separately.
    SameStep,
    /// The caller resets it.
    Disabled,
}

impl Autoreset {
    /// The mode of a name.
    pub fn named(name: &str) -> Result<Autoreset, String> {
        match name {
            "NextStep" => Ok(Autoreset::NextStep),
            "SameStep" => Ok(Autoreset::SameStep),
            "Disabled" => Ok(Autoreset::Disabled),
            other => {
                Err(format!("autoreset mode {other:?} is not known; use NextStep, SameStep or Disabled"))
            }
        }
    }
}

/// Where a copy is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before its first reset.
    New,
    Running,
    /// After the last step of an episode.
    Over,
}

/// A copy's place in the sequence of episodes that its seed defines.
#[derive(Clone, Copy)]
struct Sequence {
    seed: u64,
    /// Number of the next episode.
    next: u64,
    phase: Phase,
}

/// Copies with the state of their episodes.
pub struct Copies {
    episodes: Episodes,
    /// Where observations are those of agents: computes them.
    views: Option<Views>,
    autoreset: Autoreset,
    sequences: Vec<Sequence>,
}

/// What is known of all copies at one time.
pub struct Seen {
    /// Observations, one after the other.
    pub observations: Vec<f32>,
    /// Mean of `(z - z*)^2`.
    pub errors: Vec<f64>,
    /// Mean of `u^2`, or of `|v|^2`.
    pub efforts: Vec<f64>,
}

/// What a step leads to.
pub struct Stepped {
    /// After the step, and after the episodes that it begins.
    pub seen: Seen,
    /// Rewards.
    pub rewards: Vec<f64>,
    /// Whether a field was lost.
    pub terminated: Vec<bool>,
    /// Whether the time was over.
    pub truncated: Vec<bool>,
    /// Before the episodes that the step begins, if it begins any.
    pub last: Option<Seen>,
}

impl Copies {
    /// Copies before their first reset; `local` observations are those of each agent.
    pub fn new(episodes: Episodes, autoreset: Autoreset, local: bool) -> Copies {
        let views = local.then(|| Views::of_task(episodes.config(), episodes.copies().min(16)));
        let fresh = Sequence { seed: 0, next: 0, phase: Phase::New };
        Copies { sequences: vec![fresh; episodes.copies()], episodes, views, autoreset }
    }

    /// Begins episodes in the chosen copies: the first of a seed, or the next one.
    pub fn reset(&mut self, seeds: &[Option<u64>], mask: &[bool]) -> Result<Seen, String> {
        if self.sequences.iter().zip(mask).any(|(copy, chosen)| !chosen && copy.phase == Phase::New) {
            return Err("not every copy has been reset; call reset() without a mask first".to_string());
        }
        for copy in (0..mask.len()).filter(|&copy| mask[copy]) {
            if let Some(seed) = seeds[copy] {
                self.sequences[copy] = Sequence { seed, next: 0, phase: Phase::New };
            }
            self.begin(copy);
        }
        let states = self.states();
        let errors = (0..mask.len()).map(|copy| f64::from(self.episodes.first_error(copy)));
        let errors = errors.zip(mask).map(|(error, begun)| if *begun { error } else { 0.0 }).collect();
        Ok(Seen { observations: self.observed(states), errors, efforts: vec![0.0; mask.len()] })
    }

    /// One decision in all copies, in units of the bounds.
    pub fn step(&mut self, actions: &[f32]) -> Result<Stepped, String> {
        let mut waiting = Vec::new();
        for copy in 0..self.sequences.len() {
            match (self.sequences[copy].phase, self.autoreset) {
                (Phase::Running, _) => {}
                (Phase::New, _) => {
                    return Err("the environment has not been reset; call reset() before step()".to_string());
                }
                (Phase::Over, Autoreset::NextStep) => waiting.push(copy),
                (Phase::Over, _) => {
                    return Err(format!("the episode of copy {copy} is over; call reset() before step()"));
                }
            }
        }
        // all copies are stepped together; those that wait are begun again after it
        waiting.iter().for_each(|&copy| self.begin(copy));
        let mut transition = self.episodes.step(actions);
        let double = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<f64>>();
        let (mut errors, mut efforts) = (double(self.episodes.errors()), double(self.episodes.efforts()));
        let mut rewards = double(std::mem::take(&mut transition.rewards));
        for &copy in &waiting {
            self.episodes.rewind(copy);
            rewards[copy] = 0.0;
            (transition.terminated[copy], transition.truncated[copy]) = (false, false);
            self.first(copy, &mut transition.next, &mut errors, &mut efforts);
        }

        let over: Vec<usize> = (0..self.sequences.len()).filter(|&copy| transition.ended(copy)).collect();
        over.iter().for_each(|&copy| self.sequences[copy].phase = Phase::Over);
        let mut last = None;
        if self.autoreset == Autoreset::SameStep && !over.is_empty() {
            let observations = self.observed(transition.next.clone());
            last = Some(Seen { observations, errors: errors.clone(), efforts: efforts.clone() });
            for &copy in &over {
                self.begin(copy);
                self.first(copy, &mut transition.next, &mut errors, &mut efforts);
            }
        }
        Ok(Stepped {
            seen: Seen { observations: self.observed(transition.next), errors, efforts },
            terminated: transition.terminated,
            truncated: transition.truncated,
            rewards,
            last,
        })
    }

    /// Begins the next episode of a copy.
    fn begin(&mut self, copy: usize) {
        let sequence = &mut self.sequences[copy];
        self.episodes.begin(copy, sequence.seed, sequence.next);
        (sequence.next, sequence.phase) = (sequence.next + 1, Phase::Running);
    }

    /// Writes down what is known of a copy that has just begun.
    fn first(&self, copy: usize, states: &mut [f32], errors: &mut [f64], efforts: &mut [f64]) {
        let size = self.episodes.state_size();
        self.episodes.first_state(copy, &mut states[copy * size..(copy + 1) * size]);
        (errors[copy], efforts[copy]) = (f64::from(self.episodes.first_error(copy)), 0.0);
    }

    /// The current states; those of a field that was lost are 0.
    pub fn states(&self) -> Vec<f32> {
        let mut states = self.episodes.states();
        for state in states.chunks_exact_mut(self.episodes.state_size()) {
            if state.iter().any(|x| !x.is_finite()) {
                state.fill(0.0);
            }
        }
        states
    }

    /// 1 for agents at work, 0 for others, of all copies.
    pub fn alive(&self) -> Vec<f32> {
        let agents = self.episodes.config().agents;
        let mut alive = vec![1.0; self.sequences.len() * agents];
        for (copy, alive) in alive.chunks_exact_mut(agents).enumerate() {
            if self.sequences[copy].phase != Phase::New {
                alive.iter_mut().zip(self.episodes.alive(copy)).for_each(|(to, from)| *to = *from);
            }
        }
        alive
    }

    /// The observations of states: the states, or `[copies][agents][view_size]`.
    fn observed(&self, states: Vec<f32>) -> Vec<f32> {
        let Some(views) = &self.views else { return states };
        let seen = views.of_working(&states, &self.alive(), self.episodes.threads());
        let agents = self.episodes.config().agents;
        let size = seen.len() / (self.sequences.len() * agents);
        let mut by_agent = Vec::with_capacity(seen.len());
        for copy in seen.chunks_exact(size * agents) {
            for agent in 0..agents {
                by_agent.extend((0..size).map(|row| copy[row * agents + agent]));
            }
        }
        by_agent
    }
}
