//! What is said when a job ends from outside: a rank was lost, the job was cancelled, Ctrl-C.
//!
//! A launcher that loses a rank asks the others to end (SIGTERM) and kills them a second later. The leader
//! says in one line what happened and how to go on; if it can, it also saves a checkpoint in that second. If
//! the leader is the one that was lost, another rank of its machine speaks.

#![cfg_attr(not(feature = "mpi"), allow(dead_code))] // nobody leads without MPI

use super::machine::Machines;
use crate::terminal::{announce_interrupts, paint};
use cinoc_learn::team::Team;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether the work of followers is to end.
static STOP: AtomicBool = AtomicBool::new(false);
/// Whether the leader has dismissed this follower.
static DISMISSED: AtomicBool = AtomicBool::new(false);

const HOW_TO_GO_ON: &str = "a training goes on from its last checkpoint with --resume, an experiment with the \
                            same command";

/// Sets up what this rank says and does when the job ends from outside.
pub fn prepare(team: &Team, machines: &Machines) {
    if !team.follows() {
        announce_interrupts(format!(
            "the job of {} ranks ends: a rank was lost, or it was stopped from outside; {HOW_TO_GO_ON}",
            team.size()
        ));
        return;
    }
    let leader = machines.0[0].pid;
    let speaks = machines.deputy() == Some(team.rank());
    // followers do not end by themselves: the leader may want to save a checkpoint with their help
    let handler = ctrlc::set_handler(move || {
        if !STOP.swap(true, Ordering::SeqCst) && speaks {
            std::thread::sleep(Duration::from_millis(300));
            if !DISMISSED.load(Ordering::SeqCst) && !runs(leader) {
                let message = format!("rank 0, which leads the job, was lost; {HOW_TO_GO_ON}");
                eprintln!("{} {message}", paint("error:", "1;31"));
            }
        }
    });
    // then the system ends it at once, and the launcher tells
    let _ = handler;
}

/// Whether the work of a follower is to go on.
pub fn keep_going() -> bool {
    !STOP.load(Ordering::SeqCst)
}

/// The leader needs this follower no more.
pub fn dismissed() {
    DISMISSED.store(true, Ordering::SeqCst);
}

/// Whether a process of this machine is there and not just waiting to be buried.
fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}
