//! Whether a launcher started this process as one of several.

/// What a launcher says about this process.
#[derive(Debug, PartialEq)]
pub struct Launch {
    /// The launcher, in words.
    pub launcher: &'static str,
    /// Number of this process.
    pub rank: usize,
    /// Number of processes.
    pub size: usize,
}

/// Launchers, with the variables that give the number of processes and that of this one. The variables of
/// srun are those of a job step: a batch script, which has some too, runs once.
const LAUNCHERS: [(&str, &str, &str); 3] = [
    ("mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("mpiexec", "PMI_SIZE", "PMI_RANK"),
    ("srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
];

/// The launcher of this process, if it started more than one; `CINOC_MPI=off` hides it.
pub fn launch() -> Option<Launch> {
    launch_in(&|name| std::env::var(name).ok())
}

fn launch_in(variable: &dyn Fn(&str) -> Option<String>) -> Option<Launch> {
    if variable("CINOC_MPI").is_some_and(|value| value == "off") {
        return None;
    }
    let number = |name: &str| variable(name)?.parse::<usize>().ok();
    LAUNCHERS.iter().find_map(|&(launcher, size, rank)| {
        let size = number(size).filter(|&size| size > 1)?;
        Some(Launch { launcher, rank: number(rank).unwrap_or(0), size })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched(variables: &[(&str, &str)]) -> Option<Launch> {
        launch_in(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, v)| v.to_string()))
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        let open_mpi = [("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3")];
        assert_eq!(launched(&open_mpi), Some(Launch { launcher: "mpirun", rank: 3, size: 4 }));
        assert_eq!(launched(&[("PMI_SIZE", "2"), ("PMI_RANK", "1")]).unwrap().rank, 1);
        assert_eq!(launched(&[("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "7")]).unwrap().size, 8);
    }

    #[test]
    fn one_process_is_a_process_by_itself() {
        assert_eq!(launched(&[]), None);
        assert_eq!(launched(&[("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0")]), None);
        // the script of sbatch, which is run once
        assert_eq!(launched(&[("SLURM_NTASKS", "16"), ("SLURM_PROCID", "0")]), None);
        let off = [("OMPI_COMM_WORLD_SIZE", "4"), ("CINOC_MPI", "off")];
        assert_eq!(launched(&off), None);
    }
}
