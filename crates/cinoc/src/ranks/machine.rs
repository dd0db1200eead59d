//! The machines of a job: which ranks share one, and how many cores each rank may use.

#![cfg_attr(not(feature = "mpi"), allow(dead_code))] // tested without MPI too

use std::collections::BTreeSet;

/// What a rank tells of itself.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Hello {
    /// The program and the numbers it computes.
    pub version: String,
    /// Instruction set of its kernels.
    pub isa: String,
    /// Its machine.
    pub host: String,
    /// Its process.
    pub pid: u32,
    /// Cores that it may run on.
    pub cores: BTreeSet<usize>,
    /// Threads that may run at a time; less than the cores where a container has a quota.
    pub parallelism: usize,
}

impl Hello {
    /// Of this process, on the machine of that name.
    pub fn of_this_process(host: String) -> Hello {
        let parallelism = std::thread::available_parallelism().map_or(1, usize::from);
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        Hello {
            version: cinoc_lab::results::version(),
            isa: format!("{:?}", cinoc_adjoint::Isa::best()),
            host,
            pid: std::process::id(),
            cores: allowed.and_then(list).unwrap_or_else(|| (0..parallelism).collect()),
            parallelism,
        }
    }
}

/// The numbers of a list such as `0-3,8`.
fn list(text: &str) -> Option<BTreeSet<usize>> {
    let mut all = BTreeSet::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        all.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(all)
}

/// All ranks, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machines(pub Vec<Hello>);

impl Machines {
    /// Ranks on the machine of a rank, itself included.
    pub fn neighbours(&self, rank: usize) -> usize {
        self.0.iter().filter(|other| other.host == self.0[rank].host).count()
    }

    /// Number of a rank among those of its machine, from 0.
    pub fn place(&self, rank: usize) -> usize {
        self.0.iter().take(rank).filter(|other| other.host == self.0[rank].host).count()
    }

    /// A machine with more than one rank, and how many it has.
    pub fn crowded(&self) -> Option<(&str, usize)> {
        let ranks = (0..self.0.len()).map(|rank| (self.0[rank].host.as_str(), self.neighbours(rank)));
        ranks.into_iter().find(|(_, ranks)| *ranks > 1)
    }

    /// Threads of a rank: its share of the cores that it may run on.
    pub fn threads(&self, rank: usize) -> usize {
        let me = &self.0[rank];
        let rivals = |core: &usize| {
            self.0.iter().filter(|other| other.host == me.host && other.cores.contains(core)).count()
        };
        let share: f64 = me.cores.iter().map(|core| 1.0 / rivals(core) as f64).sum();
        let of_its_cores = share / me.cores.len().max(1) as f64;
        // a third of three cores is one, also after rounding
        ((me.parallelism as f64 * of_its_cores + 1e-9) as usize).max(1)
    }

    /// Two programs that must not work together: the first rank that differs from rank 0.
    pub fn stranger(&self) -> Option<usize> {
        self.0.iter().position(|other| other.version != self.0[0].version)
    }

    /// The first other rank on the machine of rank 0, which speaks if rank 0 is lost.
    pub fn deputy(&self) -> Option<usize> {
        (1..self.0.len()).find(|&rank| self.0[rank].host == self.0[0].host)
    }

    /// What the user should know.
    pub fn doubts(&self) -> Vec<String> {
        let other = self.0.iter().position(|other| other.isa != self.0[0].isa);
        let told = |other: usize| {
            let (first, other) = (&self.0[0], &self.0[other]);
            format!(
                "{} computes with {}, {} with {}: the policy will depend on which rank runs where; ask for \
                 machines of one kind",
                first.host, first.isa, other.host, other.isa
            )
        };
        other.map(told).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(host: &str, cores: &str) -> Hello {
        let (cores, host) = (list(cores).unwrap(), host.to_string());
        let (version, isa) = ("1".to_string(), "Avx2".to_string());
        Hello { version, isa, host, pid: 1, parallelism: cores.len(), cores }
    }

    #[test]
    fn lists_of_cores_are_read() {
        assert_eq!(list("0-3,8\n").unwrap(), BTreeSet::from([0, 1, 2, 3, 8]));
        assert_eq!(list("x"), None);
    }

    #[test]
    fn ranks_share_the_cores_of_their_machine() {
        let threads = |all: &[Hello]| {
            let machines = Machines(all.to_vec());
            (0..all.len()).map(|rank| machines.threads(rank)).collect::<Vec<_>>()
        };
        let free = hello("a", "0-7");
        assert_eq!(threads(&[free.clone(), free.clone()]), [4, 4]);
        // bound to a core each, to a socket each, alone on a machine
        assert_eq!(threads(&[hello("a", "0"), hello("a", "1")]), [1, 1]);
        let socket = hello("a", "0-3");
        assert_eq!(threads(&[socket.clone(), socket, hello("a", "4-7"), hello("b", "0-7")]), [2, 2, 4, 8]);
        // more ranks than cores; a container that may use half of the cores
        assert_eq!(threads(&vec![hello("a", "0-1"); 3]), [1, 1, 1]);
        let quota = Hello { parallelism: 4, ..free };
        assert_eq!(threads(&[quota.clone(), quota]), [2, 2]);
        assert_eq!(threads(&vec![hello("a", "0-2"); 3]), [1, 1, 1]);
    }

    #[test]
    fn strangers_and_unlike_machines_are_noticed() {
        let all = Machines(vec![hello("a", "0"), hello("b", "0"), hello("a", "1")]);
        assert_eq!((all.stranger(), all.deputy(), all.neighbours(0)), (None, Some(2), 2));
        assert!(all.doubts().is_empty());
        assert_eq!([0, 1, 2].map(|rank| all.place(rank)), [0, 0, 1]);
        assert_eq!((all.crowded(), Machines(all.0[..2].to_vec()).crowded()), (Some(("a", 2)), None));
        let mut other = all.clone();
        other.0[1].isa = "Avx512".into();
        assert!(other.doubts()[0].contains("b with Avx512"), "{:?}", other.doubts());
        other.0[1].version = "2".into();
        assert_eq!(other.stranger(), Some(1));
    }
}
