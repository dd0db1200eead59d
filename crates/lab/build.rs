//! Puts a hash of the source that decides numbers into the library, so that a results file can say which code
//! made it. No version control is needed for that.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What trainings and rollouts are made of, beside this crate. Presets are not: every measurement is known by all its settings.
const SOURCES: [&str; 5] = ["adjoint/src", "pde/src", "control/src", "control/data", "learn/src"];

fn main() -> io::Result<()> {
    let crates = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"));
    let crates = crates.parent().expect("the crate has neighbours").to_path_buf();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for source in SOURCES {
        let folder = crates.join(source);
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        list(&folder, &mut files)?;
        // the order of a folder's entries differs between machines
        files.sort();
        for file in files {
            let name = file.strip_prefix(&crates).expect("a file of a neighbour");
            let name: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
            hash = fnv1a(hash, name.join("/").as_bytes());
            hash = fnv1a(hash, &fs::read(&file)?);
        }
    }
    println!("cargo:rustc-env=CINOC_SOURCE={hash:016x}");
    Ok(())
}

/// All files below a folder; none where there is no such folder, as in a published crate.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a, 64 bits, as in `learn::files`; a build script cannot use that.
fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
