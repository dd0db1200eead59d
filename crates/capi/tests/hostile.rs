//! Policy files that somebody has changed: each is refused with a code, or decides.
//!
//! `CINOC_HOSTILE=100000 cargo test --release -p cinoc-c --test hostile` tries more of them.

mod common;

use cinoc_c::CinocStatus::*;
use cinoc_c::{CinocOptions, CinocStatus};
use cinoc_control::random::{Purpose, stream};
use cinoc_learn::files::{Data, Tensors};
use common::{Handle, field, options, policy};
use rand::Rng;
use rand::seq::IndexedRandom;
use std::collections::BTreeMap;

const VALUES: [&str; 22] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "64",
    "1000",
    "-1",
    "1000000001",
    "9223372036854775807",
    "99999999999999999999",
    "0.0",
    "1e-300",
    "1e300",
    "nan",
    "-inf",
    "true",
    "\"\"",
    "\"crowd\"",
    "[]",
    "[1, 2, 3]",
    "{a = 1}",
];

/// A file without a checksum: damage is not noticed by it.
fn unchecked(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = bytes.windows(10).position(|part| part == b"\"checksum\"").expect("our files have one");
    bytes[at + 1] = b'C';
    bytes
}

/// One of `bytes` becomes another.
fn change(bytes: &mut [u8], upto: usize, rng: &mut impl Rng) {
    for _ in 0..rng.random_range(1..=8) {
        let at = rng.random_range(0..upto.min(bytes.len()));
        bytes[at] = match rng.random_range(0..3) {
            0 => bytes[at] ^ (1 << rng.random_range(0..8)),
            1 => *b"0123456789[]{}\",:-\0\xff".choose(rng).unwrap(),
            _ => rng.random(),
        };
    }
}

/// A whole file, with its checksum, whose settings or arrays are wrong.
fn wrong_contents(good: &Tensors, rng: &mut impl Rng) -> Vec<u8> {
    let mut file = good.clone();
    if rng.random_bool(0.7) {
        let mut lines: Vec<String> = file.metadata["config"].lines().map(str::to_string).collect();
        for _ in 0..rng.random_range(1..=2) {
            let line = rng.random_range(0..lines.len());
            lines[line] = match (lines[line].split_once('='), rng.random_range(0..5)) {
                (_, 0) => String::new(),
                (Some((key, _)), 1) => format!("{key}x = 1"),
                (Some((key, _)), _) => format!("{key}= {}", VALUES.choose(rng).unwrap()),
                (None, _) => "[other]".to_string(),
            };
        }
        file.metadata.insert("config".into(), lines.join("\n"));
        return file.to_bytes();
    }
    let names: Vec<String> = file.tensors.keys().cloned().collect();
    let name = names.choose(rng).unwrap();
    let tensor = file.tensors.get_mut(name).unwrap();
    match (rng.random_range(0..5), &mut tensor.data) {
        (0, _) => drop(file.tensors.remove(name)),
        (1, _) => tensor.shape.reverse(),
        (2, Data::F32(values)) => values[0] = f32::NAN,
        (3, Data::F32(values)) => values.iter_mut().for_each(|x| *x *= 1e30),
        (_, data) => *data = Data::U8(vec![0; 3]),
    }
    if file.tensors.get(name).is_some_and(|tensor| matches!(tensor.data, Data::U8(_))) {
        file.tensors.get_mut(name).unwrap().shape = vec![3];
    }
    file.to_bytes()
}

fn mutation(good: &[u8], contents: &Tensors, rng: &mut impl Rng) -> (&'static str, Vec<u8>) {
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    match rng.random_range(0..10) {
        0 => ("truncated", good[..rng.random_range(0..good.len())].to_vec()),
        1 => ("truncated header", unchecked(good)[..rng.random_range(0..header)].to_vec()),
        2 => {
            let mut bytes = good.to_vec();
            change(&mut bytes, good.len(), rng);
            ("changed bytes", bytes)
        }
        3 => {
            let mut bytes = unchecked(good);
            change(&mut bytes, good.len(), rng);
            ("changed bytes, no checksum", bytes)
        }
        4..=6 => {
            let mut bytes = unchecked(good);
            change(&mut bytes, header, rng);
            ("changed header, no checksum", bytes)
        }
        7 => {
            let mut bytes = unchecked(good);
            let (from, to) = (rng.random_range(0..header), rng.random_range(0..header));
            match rng.random_bool(0.5) {
                true => drop(bytes.drain(from.min(to)..from.max(to))),
                false => {
                    let part = bytes[from.min(to)..from.max(to)].to_vec();
                    bytes.splice(from..from, part);
                }
            }
            ("cut or doubled parts", bytes)
        }
        _ => ("wrong contents", wrong_contents(contents, rng)),
    }
}

/// What comes of a file: a code of loading, or one of deciding.
fn tried(bytes: &[u8]) -> CinocStatus {
    let limited = CinocOptions { max_memory_mb: 200, ..options(3) };
    let handle = match Handle::from_bytes(bytes, limited) {
        Ok(handle) => handle,
        Err((status, text)) => {
            assert!(!text.is_empty() && !text.contains('\n'), "{status:?}: {text:?}");
            return status;
        }
    };
    let (numbers, xi) = (handle.info().numbers, handle.start(3));
    let (mut u, mut v) = ([0.0; 3], [0.0; 6]);
    handle.aim(&field(numbers, 1.0));
    let status = handle.decide(&field(numbers, 0.0), &xi, None, 3, &mut u, &mut v);
    assert!(u.iter().chain(&v).all(|x| x.is_finite()), "{status:?} {u:?} {v:?}");
    status
}

#[test]
fn hostile_files_are_refused_or_decide() {
    let count: usize =
        std::env::var("CINOC_HOSTILE").ok().and_then(|number| number.parse().ok()).unwrap_or(10_000);
    let files = ["heat1d", "ks1d", "heat2d"].map(|task| std::fs::read(policy(task)).unwrap());
    let contents = files.each_ref().map(|bytes| Tensors::from_bytes(bytes).unwrap());
    let rng = &mut stream(1, Purpose::Checks, 0);
    let mut seen: BTreeMap<(&str, i32), usize> = BTreeMap::new();
    for k in 0..count {
        // files of 2D tasks are large: a few of them will do
        let which = if k % 50 == 0 { 2 } else { k % 2 };
        let (kind, bytes) = mutation(&files[which], &contents[which], rng);
        let status = tried(&bytes);
        assert_ne!(status, CINOC_ERROR_INTERNAL, "number {k}: {kind}");
        *seen.entry((kind, status as i32)).or_default() += 1;
    }
    println!("{seen:?}");
    // the test tests something: files come as far as every stage
    let with = |status: CinocStatus| seen.iter().filter(|((_, code), _)| *code == status as i32).count();
    assert!([CINOC_OK, CINOC_ERROR_FILE].into_iter().all(|status| with(status) > 0), "{seen:?}");
}
