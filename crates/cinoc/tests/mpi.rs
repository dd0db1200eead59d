//! Several processes, started by mpirun: the bytes of one process, whatever happens to a rank. Run by
//! `scripts/test-mpi`; `CINOC_KILLS=20` kills more ranks.
#![cfg(feature = "mpi")]

mod common;

use common::{TINY, cinoc, text};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// `cinoc` as so many ranks, not yet started.
fn ranks(folder: &Path, count: usize, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "--bind-to", "none", "-n", &count.to_string()]);
    command.arg(env!("CARGO_BIN_EXE_cinoc")).args(arguments).current_dir(folder);
    command.env("CINOC_CACHE", folder.join("cache"));
    // Open MPI keeps its sockets in one folder of the user under TMPDIR. The first mpirun makes it, the last
    // one removes it, and of two that start at once one may fail: jobs of other tests have their own.
    command.env("TMPDIR", folder);
    // tests run as any user, in containers too, with more ranks than cores
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command
        .envs([("OMPI_MCA_btl_vader_single_copy_mechanism", "none"), ("OMPI_MCA_mpi_yield_when_idle", "1")]);
    command
}

fn run_ranks(folder: &Path, count: usize, arguments: &[&str]) -> Output {
    ranks(folder, count, arguments).output().expect("mpirun runs")
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// All that a training leaves, but for times.
fn left(folder: &Path, run: &str) -> Vec<Vec<u8>> {
    let file = |name: &str| fs::read(folder.join(run).join(name)).unwrap_or_else(|_| panic!("{run}/{name}"));
    let mut all: Vec<_> =
        ["policy.safetensors", "best.safetensors", "checkpoint.safetensors"].map(file).to_vec();
    for line in text(&file("metrics.jsonl")).lines() {
        let mut update: serde_json::Value = serde_json::from_str(line).unwrap();
        update["updates_per_s"].take();
        if update["validation"].is_object() {
            update["validation"]["seconds"].take();
        }
        all.push(update.to_string().into_bytes());
    }
    all
}

/// A training with all that looks at places in the batch: rollouts that go on, lost agents, scattered starts,
/// noise, validation. Its batch is three chunks, the last one not full.
fn training<'a>(task: &'a str, run: &'a str, updates: &'a str) -> Vec<&'a str> {
    let batch = if task.ends_with("1d") { "train.batch=40" } else { "train.batch=9" };
    let mut arguments = vec!["train", task, "--out", run, "--updates", updates];
    arguments.extend(TINY);
    for set in [
        batch,
        "time.steps=8",
        "train.hold=0.5",
        "train.failure=[0.1, 0.5]",
        "train.scatter=0.5",
        "noise.actuator=0.01",
        "train.validate_every=2",
        "train.validation_cases=18",
    ] {
        arguments.extend(["--set", set]);
    }
    match task {
        "ks1d" => arguments.extend(["--set", "data.spin_up=5"]),
        "heat2d" | "density2d" => arguments.extend(["--set", "time.steps=4"]),
        _ => {}
    }
    arguments
}

fn same_bytes(task: &str) {
    let folder = tempfile::tempdir().unwrap();
    succeeded(&cinoc(folder.path(), &[&training(task, "alone", "4")[..], &["--threads", "1"]].concat()));
    let expected = left(folder.path(), "alone");
    for count in 1..=4 {
        for threads in ["1", "2"] {
            let run = format!("run-{count}-{threads}");
            let arguments = [&training(task, &run, "4")[..], &["--threads", threads]].concat();
            succeeded(&run_ranks(folder.path(), count, &arguments));
            assert!(
                left(folder.path(), &run) == expected,
                "{task}, {count} ranks of {threads} threads: other bytes than one process"
            );
        }
    }
}

#[test]
fn any_number_of_ranks_and_threads_gives_the_same_bytes_in_1d() {
    ["fkpp1d", "ks1d"].into_iter().for_each(same_bytes);
}

#[test]
fn any_number_of_ranks_and_threads_gives_the_same_bytes_in_2d() {
    ["heat2d", "density2d"].into_iter().for_each(same_bytes);
}

/// The processes of the ranks, by rank.
fn processes(mpirun: &Child, count: usize) -> Vec<u32> {
    let start = Instant::now();
    loop {
        let mut found = vec![None; count];
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
            if parent != Some(&mpirun.id().to_string()) {
                continue;
            }
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let rank = environment.split(|byte| *byte == 0).find_map(|variable| {
                let value = variable.strip_prefix(b"OMPI_COMM_WORLD_RANK=")?;
                std::str::from_utf8(value).ok()?.parse::<usize>().ok()
            });
            if let Some(place) = rank.and_then(|rank| found.get_mut(rank)) {
                *place = Some(pid);
            }
        }
        if let Some(all) = found.iter().copied().collect::<Option<Vec<u32>>>() {
            return all;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "no ranks");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kill(pid: u32, signal: &str) {
    Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill runs");
}

fn updates_in(folder: &Path) -> usize {
    fs::read_to_string(folder.join("run/metrics.jsonl")).unwrap_or_default().lines().count()
}

/// What a job leaves behind, and whether mpirun had to be killed: seldom, that of Open MPI 4.1 never ends
/// although all its ranks have.
fn ended(mut job: Child, ranks: &[u32]) -> (Output, bool) {
    let gone = |rank: &u32| {
        let state = fs::read_to_string(format!("/proc/{rank}/stat")).unwrap_or_default();
        state.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.starts_with(" Z"))
    };
    let (mut since, mut killed) = (None, false);
    while job.try_wait().unwrap().is_none() {
        if ranks.iter().all(gone) {
            let since: &mut Instant = since.get_or_insert_with(Instant::now);
            if since.elapsed() > Duration::from_secs(30) && !killed {
                kill(job.id(), "-KILL");
                killed = true;
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    (job.wait_with_output().unwrap(), killed)
}

#[test]
fn a_lost_rank_ends_the_job_and_resume_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let long = |run| [&training("fkpp1d", run, "40")[..], &["--threads", "1"]].concat();
    succeeded(&cinoc(folder.path(), &long("alone")));
    let expected = left(folder.path(), "alone");
    let kills: u32 = std::env::var("CINOC_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(4);
    for attempt in 0..kills {
        let _ = fs::remove_dir_all(folder.path().join("run"));
        let mut job = ranks(folder.path(), 3, &long("run"));
        let job = job.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let all = processes(&job, 3);
        // at other moments every time: during the start, between updates, while files are written
        let updates = (attempt as usize * 7) % 30;
        let start = Instant::now();
        while updates_in(folder.path()) < updates && start.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_micros(100));
        }
        std::thread::sleep(Duration::from_millis(u64::from(attempt * 13 % 29)));
        // every fourth time the job is cancelled instead
        match attempt % 4 {
            3 => kill(job.id(), "-TERM"),
            rank => kill(all[rank as usize], "-KILL"),
        }
        let (output, killed) = ended(job, &all);
        let message = text(&output.stderr);
        let finished = folder.path().join("run/policy.safetensors").exists();
        if !finished {
            assert!(!output.status.success(), "attempt {attempt}: {message}");
            let told = message.lines().filter(|line| line.contains("with --resume")).count();
            // of a rank that is lost before it has joined the others, mpirun tells; what the ranks said may
            // be lost with an mpirun that was killed
            let began = folder.path().join("run/config.toml").exists();
            assert!(
                told == 1 || killed || (!began && message.contains("exited on signal")),
                "{attempt}: {message}"
            );
            assert!(!message.contains("panicked"), "{message}");
        }
        // a run that was killed before it began is begun
        let resume: &[&str] =
            if folder.path().join("run/config.toml").exists() { &["--resume"] } else { &[] };
        succeeded(&run_ranks(folder.path(), 2, &[&long("run")[..], resume].concat()));
        assert!(left(folder.path(), "run") == expected, "attempt {attempt}: other bytes");
    }
}

/// The tables of results, without times and costs.
fn tables(json: &[u8]) -> serde_json::Value {
    let results: serde_json::Value = serde_json::from_str(text(json).trim()).expect("one JSON object");
    results["tables"].clone()
}

#[test]
fn sweeps_and_experiments_are_spread_and_give_the_same_tables() {
    let folder = tempfile::tempdir().unwrap();
    let policies = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies");
    let policy = format!("{policies}/heat1d.safetensors");
    let sweep = ["sweep", "agents", &policy, "--values", "2,4,8,16", "--cases", "3", "--json"];
    let (alone, together) = (cinoc(folder.path(), &sweep), run_ranks(folder.path(), 3, &sweep));
    succeeded(&alone);
    succeeded(&together);
    assert_eq!(tables(&together.stdout), tables(&alone.stdout));

    let experiment =
        |runs: &'static str| ["reproduce", "noise", "--quick", "--runs", runs, "--out", "results", "--json"];
    let alone = cinoc(folder.path(), &experiment("alone"));
    succeeded(&alone);
    let together = run_ranks(folder.path(), 3, &experiment("together"));
    succeeded(&together);
    let without_times = |output: &Output| tables(&output.stdout).to_string();
    assert_eq!(without_times(&together), without_times(&alone));
}

#[test]
fn one_rank_speaks_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let help = run_ranks(folder.path(), 3, &["train", "--help"]);
    succeeded(&help);
    assert_eq!(text(&help.stdout).matches("Usage:").count(), 1);

    let refused = |arguments: &[&str], part: &str| {
        let output = run_ranks(folder.path(), 3, arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        let message = text(&output.stderr);
        assert_eq!(message.matches("error:").count(), 1, "{message}");
        assert!(message.contains(part), "{message}");
    };
    refused(&["train", "heat1d", "--set", "train.lr=-1"], "train.lr");
    refused(&["train", "heat1d", "--method", "ppo"], "ppo trains in one process");
    refused(&["train", "nowhere"], "nowhere");
    // one GPU for three ranks, with and without a GPU here
    refused(&["train", "heat1d", "--device", "cuda:0"], "--device cuda gives each rank its own");
    refused(&["--no-such-option"], "--no-such-option");
    assert!(!folder.path().join("runs").exists(), "nothing is begun");
}

/// Without a GPU every rank fails, and the leader alone tells it; with one, the training is shared.
#[test]
fn every_rank_opens_a_device_or_the_job_ends_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies/heat1d.safetensors");
    let train = training("heat1d", "run", "2");
    let sweep = vec!["sweep", "agents", policy, "--values", "2,4", "--cases", "2"];
    let reproduce = vec!["reproduce", "noise", "--quick", "--runs", "runs", "--out", "results"];
    for command in [train, sweep, reproduce] {
        let output = run_ranks(folder.path(), 3, &[&command[..], &["--device", "cuda"]].concat());
        let message = text(&output.stderr);
        if output.status.success() {
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert_eq!(message.matches("error:").count(), 1, "{message}");
        assert!(message.contains("error: no CUDA device: "), "{message}");
        assert!(!folder.path().join("run").exists(), "nothing is begun");
    }
}

#[test]
fn ranks_without_work_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let small = [&training("heat1d", "run", "2")[..], &["--set", "train.batch=16"]].concat();
    let output = run_ranks(folder.path(), 3, &small);
    succeeded(&output);
    let message = text(&output.stderr);
    assert!(message.contains("2 of 3 ranks have nothing to do"), "{message}");
}

#[test]
fn a_launcher_of_another_mpi_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = common::command(folder.path(), &["tasks"]);
    let output = command.envs([("PMI_SIZE", "4"), ("PMI_RANK", "0")]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("MPI sees 1"), "{}", text(&output.stderr));
}
