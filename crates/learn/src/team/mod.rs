//! Processes that do one piece of work together: a leader, which is rank 0, and its followers.
//!
//! The leader runs the program as if it were alone: it reads the arguments, writes the files and prints.
//! Where others can help it gives an [`Order`], which all of them hear; the followers do nothing but obey
//! orders ([`follower`]). The batch of a training is cut into the chunks of a single process, and every rank
//! takes some of them ([`share`]). What chunks contribute to a gradient is added in the order of the chunks
//! (`gradient.rs`). Any number of ranks and threads therefore gives the same bits. On GPUs it is any number
//! of threads only: a GPU adds up its samples itself.
//!
//! How bytes get from one rank to another is behind the trait [`Ranks`]; this crate knows nothing of MPI.

pub mod follower;
pub(crate) mod gradient;
pub(crate) mod message;
pub mod share;

#[cfg(test)]
mod in_memory;
#[cfg(test)]
mod tests;

use std::sync::Arc;

/// A way for several processes to exchange bytes. Every method is called by all ranks in the same order.
pub trait Ranks: Send + Sync {
    /// Number of this process, from 0.
    fn rank(&self) -> usize;
    /// Number of processes.
    fn size(&self) -> usize;
    /// Processes that share this machine's memory, this one included.
    fn on_this_machine(&self) -> usize;
    /// Gives all ranks the message of rank 0; what others pass in is replaced. It may take hours until rank 0
    /// speaks: the others wait without keeping a core busy.
    fn broadcast(&self, message: &mut Vec<u8>);
    /// Brings a message of every rank to rank 0, in the order of ranks; others get nothing. Rank 0 waits like
    /// the listeners of [`Ranks::broadcast`].
    fn gather(&self, message: &[u8]) -> Vec<Vec<u8>>;
    /// Sends the first `to[0]` numbers to rank 0, the next `to[1]` to rank 1, and so on. Gives what was sent
    /// to this rank, `from[r]` numbers by rank `r`, in the order of ranks.
    fn exchange(&self, numbers: &[f32], to: &[usize], from: &[usize]) -> Vec<f32>;
    /// Gives all ranks the numbers of all, `from[r]` by rank `r`, in the order of ranks.
    fn collect(&self, numbers: &[f32], from: &[usize]) -> Vec<f32>;
}

/// This process and those it works with. A clone is another handle to the same team.
///
/// ```
/// use cinoc_learn::team::Team;
///
/// let alone = Team::alone();
/// assert_eq!((alone.rank(), alone.size(), alone.has_followers()), (0, 1, false));
/// ```
#[derive(Clone, Default)]
pub struct Team {
    ranks: Option<Arc<dyn Ranks>>,
}

/// What the leader asks of all ranks. The numbers are those of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Order {
    /// The work is done: followers end.
    Quit = 0,
    /// A training begins; checkpoint and cases follow.
    Training = 1,
    /// It is validated on the cases that follow.
    Validation = 2,
    /// One update.
    Update = 3,
    /// Tell where the rollouts of the last update ended.
    Ends = 4,
    /// One validation.
    Validate = 5,
    /// The training is over.
    Ended = 6,
    /// Work of the layers above, which they describe.
    Jobs = 7,
    /// Run programs on a device from now on; the layers above know which.
    Device = 8,
}

impl Order {
    const ALL: [Order; 9] = [
        Order::Quit,
        Order::Training,
        Order::Validation,
        Order::Update,
        Order::Ends,
        Order::Validate,
        Order::Ended,
        Order::Jobs,
        Order::Device,
    ];
}

impl Team {
    /// A process by itself.
    pub fn alone() -> Team {
        Team::default()
    }

    /// Ranks that work together.
    pub fn of(ranks: Arc<dyn Ranks>) -> Team {
        Team { ranks: Some(ranks).filter(|ranks| ranks.size() > 1) }
    }

    /// Number of this process; the leader is 0.
    pub fn rank(&self) -> usize {
        self.ranks.as_ref().map_or(0, |ranks| ranks.rank())
    }

    /// Number of processes.
    pub fn size(&self) -> usize {
        self.ranks.as_ref().map_or(1, |ranks| ranks.size())
    }

    /// Processes of the team on this machine, this one included.
    pub fn on_this_machine(&self) -> usize {
        self.ranks.as_ref().map_or(1, |ranks| ranks.on_this_machine())
    }

    /// Whether this process leads others.
    pub fn has_followers(&self) -> bool {
        self.size() > 1 && self.rank() == 0
    }

    /// Whether this process obeys another.
    pub fn follows(&self) -> bool {
        self.rank() > 0
    }

    /// As the leader: gives an order, with what belongs to it. Nothing happens in a process by itself.
    pub fn order(&self, order: Order, about: impl FnOnce() -> Vec<u8>) {
        if let Some(ranks) = self.ranks.as_ref().filter(|_| self.has_followers()) {
            let mut message = about();
            // behind the rest: a pool of cases is not moved
            message.push(order as u8);
            ranks.broadcast(&mut message);
        }
    }

    /// As a follower: waits for the next order. Without a leader there is none but to quit.
    pub fn hear(&self) -> (Order, Vec<u8>) {
        let Some(ranks) = self.ranks.as_ref().filter(|_| self.follows()) else {
            return (Order::Quit, Vec::new());
        };
        let mut message = Vec::new();
        ranks.broadcast(&mut message);
        let order = message.pop().and_then(|code| Order::ALL.get(usize::from(code)).copied());
        (order.expect("a leader of the same program gives known orders"), message)
    }

    /// Brings what every rank says to the leader, in the order of ranks; followers get nothing.
    pub fn gather(&self, message: Vec<u8>) -> Vec<Vec<u8>> {
        match &self.ranks {
            Some(ranks) => ranks.gather(&message),
            None => vec![message],
        }
    }

    /// The ranks of a team with more than one.
    pub(crate) fn ranks(&self) -> Option<&dyn Ranks> {
        self.ranks.as_deref()
    }
}
