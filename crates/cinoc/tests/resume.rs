//! A run that is killed at any moment and resumed ends with the bytes of one that was never interrupted, on
//! any number of threads.

mod common;

use common::{TINY, cinoc, command, text, train};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn policy(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("run/policy.safetensors")).expect("a finished policy")
}

fn best(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("run/best.safetensors")).expect("a validated policy")
}

/// The bytes of an uninterrupted run: its policy, and the best one by validation.
fn reference(task: &str, more: &[&str]) -> [Vec<u8>; 2] {
    let folder = tempfile::tempdir().unwrap();
    let output = train(folder.path(), task, &[&["--threads", "1"], more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    [policy(folder.path()), best(folder.path())]
}

#[test]
fn threads_do_not_change_the_policy() {
    for task in ["fkpp1d", "ks1d"] {
        let quick = if task == "ks1d" { vec!["--set", "data.spin_up=5"] } else { vec![] };
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (folder, threads) in folders.iter().zip(["1", "2"]) {
            let more = [&quick[..], &["--threads", threads, "--set", "train.batch=40"]].concat();
            let output = train(folder.path(), task, &more);
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        assert!(policy(folders[0].path()) == policy(folders[1].path()), "{task}");
    }
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let validated = ["--set", "train.validate_every=1", "--set", "train.validation_cases=2"];
    let expected = reference("heat1d", &validated);
    // before the first checkpoint, between checkpoints, and while files are being written: wait for update k,
    // then kill
    for lines in [0, 1, 2, 3, 5] {
        let folder = tempfile::tempdir().unwrap();
        let arguments =
            [&["train", "heat1d", "--out", "run", "--updates", "6", "--threads", "1"], &TINY[..], &validated]
                .concat();
        let mut child =
            command(folder.path(), &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        let metrics = folder.path().join("run/metrics.jsonl");
        while fs::read_to_string(&metrics).unwrap_or_default().lines().count() < lines
            && child.try_wait().unwrap().is_none()
            && start.elapsed() < Duration::from_secs(20)
        {
            std::thread::sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        if !folder.path().join("run/config.toml").exists() {
            continue; // killed before it had begun
        }
        let output = cinoc(folder.path(), &[&arguments[..], &["--resume"]].concat());
        assert!(output.status.success(), "killed at {lines}: {}", text(&output.stderr));
        assert!([policy(folder.path()), best(folder.path())] == expected, "killed at {lines}");
        let lines = fs::read_to_string(&metrics).unwrap();
        assert_eq!(lines.lines().count(), 6, "no update is written twice");
    }
}

/// A disk that is full, as far as a test can fill one: no file may grow beyond 64 kB.
#[cfg(unix)]
#[test]
fn a_checkpoint_that_finds_no_room_loses_nothing() {
    let [expected, _] = reference("heat1d", &[]);
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        [&["train", "heat1d", "--out", "run", "--updates", "6", "--threads", "1"], &TINY[..]].concat();
    let without_room = |arguments: &[&str]| {
        let shell = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
        let output = std::process::Command::new("bash")
            .args(["-c", shell, env!("CARGO_BIN_EXE_cinoc")])
            .args(arguments)
            .current_dir(folder.path())
            .env("CINOC_CACHE", folder.path().join("cache"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let message = text(&output.stderr);
        let told =
            ["run/checkpoint.safetensors", "raise the limit"].iter().all(|part| message.contains(part));
        assert!(told && message.trim().lines().count() == 1, "{message}");
    };
    // the first checkpoint does not fit: the run is there, and goes on from its start
    without_room(&arguments);
    let files = fs::read_dir(folder.path().join("run")).unwrap();
    let names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.ends_with(".tmp") || name.contains("checkpoint")), "{names:?}");
    let resumed = [&arguments[..], &["--resume"]].concat();
    without_room(&resumed);
    let output = cinoc(folder.path(), &resumed);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(policy(folder.path()) == expected);
}

#[test]
fn an_interrupted_run_saves_a_checkpoint_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let endless = ["train", "heat1d", "--out", "run", "--updates", "100000", "--threads", "1"];
    // an update takes longer than two signals
    let arguments = [&endless, &TINY[..], &["--set", "train.batch=4096"]].concat();
    let child =
        command(folder.path(), &arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let metrics = folder.path().join("run/metrics.jsonl");
    let start = Instant::now();
    while fs::read_to_string(&metrics).unwrap_or_default().is_empty()
        && start.elapsed() < Duration::from_secs(20)
    {
        std::thread::sleep(Duration::from_millis(2));
    }
    // `timeout` sends its signal twice: this is one wish, not impatience
    let twice = "kill -INT $0; sleep 0.001; kill -INT $0 2> /dev/null; true";
    let asked = std::process::Command::new("sh").args(["-c", twice, &child.id().to_string()]).status();
    assert!(asked.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("--resume"), "{}", text(&output.stderr));
    assert!(folder.path().join("run/checkpoint.safetensors").exists());
}

#[test]
fn a_first_update_of_many_parts_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let td3 = ["train", "heat1d", "--method", "td3", "--out", "run", "--threads", "1"];
    let endless = ["--set", "method.off_policy.warmup=100000000"];
    let arguments = [&td3, &TINY[..], &endless].concat();
    let child =
        command(folder.path(), &arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while !folder.path().join("run/metrics.jsonl").exists() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(2));
    }
    // the first question whether to go on comes right after that file
    std::thread::sleep(Duration::from_millis(500));
    let asked = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(asked.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stderr).contains("stopped: after 0 of"), "{}", text(&output.stderr));
}

#[test]
fn resuming_needs_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(train(folder.path(), "heat1d", &["--resume"]).status.code(), Some(2));
    assert!(train(folder.path(), "heat1d", &[]).status.success());
    let before = policy(folder.path());
    let again = train(folder.path(), "heat1d", &[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--resume or choose another --out"), "{}", text(&again.stderr));
    let other = train(folder.path(), "heat1d", &["--resume", "--set", "train.lr=0.5"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("lr = "), "{}", text(&other.stderr));
    // resuming a finished run changes nothing
    assert!(train(folder.path(), "heat1d", &["--resume"]).status.success());
    assert!(policy(folder.path()) == before);
}
