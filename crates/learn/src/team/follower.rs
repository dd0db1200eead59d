//! A process that helps with the trainings of its leader.

use super::message::Reader;
use super::{Order, Team};
use crate::train::Trainer;
use crate::validation::Validation;
use cinoc_adjoint::Threads;
use cinoc_control::Tasks;

/// Obeys the orders of a training: it holds the same parameters as the leader, and its part of the batch.
pub struct Follower<'a> {
    team: Team,
    tasks: &'a Tasks,
    threads: Threads,
    trainer: Option<Trainer>,
    validation: Option<Validation>,
}

impl<'a> Follower<'a> {
    /// One that knows these tasks.
    pub fn new(team: &Team, tasks: &'a Tasks, threads: &Threads) -> Follower<'a> {
        Follower { team: team.clone(), tasks, threads: threads.clone(), trainer: None, validation: None }
    }

    /// Obeys until an order comes that is not about trainings, and tells that.
    ///
    /// # Panics
    /// If the leader is another program.
    pub fn obey(&mut self) -> (Order, Vec<u8>) {
        loop {
            let (order, about) = self.team.hear();
            let mut about_training = Reader(&about);
            match order {
                Order::Training => {
                    self.trainer =
                        Some(Trainer::following(&mut about_training, self.tasks, &self.threads, &self.team));
                }
                Order::Validation => {
                    self.validation = Some(Validation::following(
                        &mut about_training,
                        self.tasks,
                        &self.threads,
                        &self.team,
                    ));
                }
                Order::Update => self.trainer().update_together(),
                Order::Ends => self.trainer().tell_ends(),
                Order::Validate => {
                    let validation = self.validation.as_ref().expect("cases come before a validation");
                    let trainer = self.trainer.as_ref().expect("a training comes before its validation");
                    validation.tell(trainer.current());
                }
                Order::Ended => (self.trainer, self.validation) = (None, None),
                Order::Quit | Order::Jobs | Order::Device => return (order, about),
            }
        }
    }

    fn trainer(&mut self) -> &mut Trainer {
        self.trainer.as_mut().expect("a training comes before its updates")
    }
}
