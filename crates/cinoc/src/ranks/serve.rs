//! What a follower does: its part of the trainings and jobs of the leader, until it is dismissed.

use super::{Crew, signals};
use crate::arguments::{Arguments, Command};
use crate::work::Device;
use cinoc_adjoint::Threads;
use cinoc_control::Tasks;
use cinoc_lab::workshop::follow;
use cinoc_learn::team::Order;
use cinoc_learn::team::follower::Follower;
use clap::Parser;

/// Obeys the leader.
pub(crate) fn serve(crew: &Crew, tasks: &Tasks) {
    // of a device that fails, the crew tells
    let _ = crew.bearing_device_errors(|| {
        obey(crew, tasks);
        Ok(())
    });
    signals::dismissed();
}

fn obey(crew: &Crew, tasks: &Tasks) {
    // what is wrong with the arguments is told by the leader
    let asked = asked();
    let mut threads = crew.threads(asked, Device::Cpu).unwrap_or_else(|_| Threads::one());
    let mut follower = Follower::new(&crew.team, tasks, &threads);
    loop {
        match follower.obey() {
            (Order::Jobs, about) => follow(&about, &crew.team, tasks, &threads, &signals::keep_going),
            // a leader that hears of a device that does not open gives no more work
            (Order::Device, name) => {
                threads = crew.follow_to(&name, asked).unwrap_or(threads);
                follower = Follower::new(&crew.team, tasks, &threads);
            }
            _ => break,
        }
    }
}

/// The threads that the command line asks for.
fn asked() -> Option<usize> {
    match Arguments::try_parse().ok()?.command {
        Command::Train(request) => request.on.threads,
        Command::Sweep(request) => request.on.threads,
        Command::Reproduce(request) => request.on.threads,
        _ => None,
    }
}
