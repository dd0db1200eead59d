//! `cinoc view` as a command; its server and its page have tests of their own.

mod common;

use common::{TINY, cinoc, command, text};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

/// A viewer; it ends with the test.
struct Viewer {
    child: Child,
    address: String,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn started(folder: &Path, arguments: &[&str]) -> Viewer {
    let mut command = command(folder, &[&["view", "--no-open"], arguments].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    Viewer { child, address: address.trim().to_string() }
}

#[test]
fn the_address_that_is_printed_serves_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = started(folder.path(), &["--token", "abcdefghijklmnop1"]);
    let rest = viewer.address.strip_prefix("http://127.0.0.1:").expect("the loopback interface");
    let (port, path) = rest.split_once('/').unwrap();
    assert_eq!(path, "abcdefghijklmnop1/");
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("<canvas"), "{page}");
}

#[test]
fn two_viewers_have_different_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (started(folder.path(), &[]), started(folder.path(), &[]));
    let token = |viewer: &Viewer| viewer.address.split('/').nth(3).unwrap().to_string();
    assert_eq!(token(&one).len(), 32);
    assert_ne!(token(&one), token(&two));
}

#[test]
fn wrong_requests_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (arguments, told) in [
        (&["--token", "short"][..], "16 letters and digits"),
        (&["nothing.safetensors"], "nothing.safetensors"),
        (&["--port", &port], "take another --port"),
        (&["--host", "nowhere"], "--host"),
        (&["--train", "nothing"], "nothing"),
        (&["--train", "heat1d", "--sed", "1"], "--sed"),
    ] {
        let output = cinoc(folder.path(), &[&["view", "--no-open"], arguments].concat());
        let message = text(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains(told), "{arguments:?}: {message}");
    }
}

#[test]
fn a_training_that_is_watched_is_the_training_of_train() {
    watched_as_trained(&["heat1d", "--updates", "4"]);
}

#[test]
fn learning_by_trial_is_watched_too() {
    watched_as_trained(&["heat1d", "--method", "ppo", "--updates", "4"]);
}

fn watched_as_trained(training: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let options = [training, &TINY[..]].concat();
    let viewer = started(folder.path(), &[&["--train"], &options[..], &["--out", "watched"]].concat());
    let plain = cinoc(folder.path(), &[&["train"], &options[..], &["--out", "plain"]].concat());
    assert!(plain.status.success(), "{}", text(&plain.stderr));
    let report = folder.path().join("watched").join("report.md");
    let ended = (0..1200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        report.exists()
    });
    assert!(ended, "a report within two minutes");
    let policy = |run: &str| std::fs::read(folder.path().join(run).join("policy.safetensors")).unwrap();
    assert_eq!(policy("watched"), policy("plain"));
    drop(viewer);
}
