//! Replay memory: a ring buffer of transitions, sampled at random.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::rows;

/// Transitions; the oldest are replaced first.
pub struct Replay {
    capacity: usize,
    state_size: usize,
    action_size: usize,
    /// Number of transitions added so far.
    seen: usize,
    states: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    next: Vec<f32>,
    /// 0 if the step led to a terminal state, else 1.
    goes_on: Vec<f32>,
}

/// A minibatch of transitions, `[count][..]` each.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// States before.
    pub states: Vec<f32>,
    /// Actions.
    pub actions: Vec<f32>,
    /// Rewards.
    pub rewards: Vec<f32>,
    /// States after.
    pub next: Vec<f32>,
    /// 0 if the step led to a terminal state, else 1.
    pub goes_on: Vec<f32>,
}

impl Replay {
    /// A memory for `capacity` transitions.
    pub fn new(capacity: usize, state_size: usize, action_size: usize) -> Replay {
        Replay {
            capacity,
            state_size,
            action_size,
            seen: 0,
            states: Vec::new(),
            actions: Vec::new(),
            rewards: Vec::new(),
            next: Vec::new(),
            goes_on: Vec::new(),
        }
    }

    /// Number of stored transitions.
    pub fn len(&self) -> usize {
        self.seen.min(self.capacity)
    }

    /// Whether there are no transitions.
    pub fn is_empty(&self) -> bool {
        self.seen == 0
    }

    /// Adds a transition; replaces the oldest if the memory is full.
    pub fn push(&mut self, state: &[f32], action: &[f32], reward: f32, next: &[f32], terminated: bool) {
        let at = self.seen % self.capacity;
        put(&mut self.states, at, self.state_size, state);
        put(&mut self.actions, at, self.action_size, action);
        put(&mut self.rewards, at, 1, &[reward]);
        put(&mut self.next, at, self.state_size, next);
        put(&mut self.goes_on, at, 1, &[if terminated { 0.0 } else { 1.0 }]);
        self.seen += 1;
    }

    /// `count` transitions, sampled uniformly.
    ///
    /// # Panics
    /// If the memory is empty.
    pub fn draw(&self, count: usize, rng: &mut ChaCha8Rng) -> Drawn {
        let picked: Vec<usize> = (0..count).map(|_| rng.random_range(0..self.len())).collect();
        Drawn {
            states: rows(&self.states, self.state_size, &picked),
            actions: rows(&self.actions, self.action_size, &picked),
            rewards: rows(&self.rewards, 1, &picked),
            next: rows(&self.next, self.state_size, &picked),
            goes_on: rows(&self.goes_on, 1, &picked),
        }
    }
}

fn put(table: &mut Vec<f32>, at: usize, size: usize, row: &[f32]) {
    assert_eq!(row.len(), size, "numbers of a transition");
    if table.len() <= at * size {
        table.extend_from_slice(row);
    } else {
        table[at * size..(at + 1) * size].copy_from_slice(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cinoc_control::random::{Purpose, stream};

    #[test]
    fn the_oldest_goes_and_rows_stay_together() {
        let mut replay = Replay::new(4, 2, 1);
        for k in 0..7 {
            let x = k as f32;
            replay.push(&[x, -x], &[10.0 * x], 100.0 * x, &[x + 1.0, -x - 1.0], k % 2 == 1);
        }
        assert_eq!(replay.len(), 4);
        let drawn = replay.draw(200, &mut stream(0, Purpose::Minibatches, 0));
        let mut found = [0; 7];
        for i in 0..200 {
            let x = drawn.states[2 * i];
            found[x as usize] += 1;
            assert_eq!(drawn.states[2 * i + 1], -x);
            assert_eq!((drawn.actions[i], drawn.rewards[i]), (10.0 * x, 100.0 * x));
            assert_eq!(drawn.next[2 * i..2 * i + 2], [x + 1.0, -x - 1.0]);
            assert_eq!(drawn.goes_on[i], if x as usize % 2 == 1 { 0.0 } else { 1.0 });
        }
        assert_eq!(found[..3], [0; 3]);
        assert!(found[3..].iter().all(|&n| n > 25), "{found:?}");
    }
}
