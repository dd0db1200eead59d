//! The training pool, cached on disk under a key of everything that made it.
//!
//! Drawing the pool of a chaotic task means running every state onto the attractor; a second run of the same
//! task should not wait for that again. A cache that cannot be read is drawn anew, one that cannot be written
//! is done without.

use std::path::{Path, PathBuf};

use cinoc_adjoint::Threads;
use cinoc_control::data::Progress;
use cinoc_control::{Cases, Config, Pool};

use crate::files::{Data, FileError, Tensors, fnv1a};

/// Changes whenever cases of the same config would come out differently.
const VERSION: u32 = 1;

/// Folder of cached pools: `$CINOC_CACHE`, else `cinoc` in the user's cache folder.
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("CINOC_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("cinoc")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache").join("cinoc")))
}

/// Cases of a config for a purpose, from the cache or drawn.
pub fn cached(
    config: &Config,
    seed: u64,
    pool: Pool,
    count: usize,
    threads: &Threads,
    folder: Option<&Path>,
    progress: Progress<'_>,
) -> Cases {
    let key = key(config, seed, pool, count);
    let path = folder
        .map(|folder| folder.join(format!("{}-{:016x}.safetensors", config.task, fnv1a(key.as_bytes()))));
    if let Some(cases) = path.as_deref().and_then(|path| read(path, &key, config.state_size())) {
        return cases;
    }
    let mut cases = Cases::draw(config, seed, pool, count, threads, progress);
    if let Some(path) = path {
        // without a cache the next run draws again: slower, not wrong
        let _ = std::fs::create_dir_all(path.parent().expect("a folder")).is_ok()
            && write(&path, &key, &mut cases).is_ok();
    }
    cases
}

/// All that decides which cases are drawn.
fn key(config: &Config, seed: u64, pool: Pool, count: usize) -> String {
    let Config { task, grid, physics, data, .. } = config;
    let mut data = data.clone();
    data.pool = count;
    let cases = &task.cases_version;
    format!(
        "version {VERSION}{cases} {task} {grid:?} dt {:e} {physics:?} {data:?} {pool:?} seed {seed}",
        config.time.dt
    )
}

fn read(path: &Path, key: &str, n: usize) -> Option<Cases> {
    let mut file = Tensors::read(path).ok()?;
    if file.metadata.get("key").map(String::as_str) != Some(key) {
        return None;
    }
    let (z0, zt) = (take(&mut file, "z0")?, take(&mut file, "zt")?);
    Some(Cases { count: z0.len() / n, n, z0, zt, xi0: None })
}

/// Many cases are most of the memory: they are lent to the file, not copied.
fn write(path: &Path, key: &str, cases: &mut Cases) -> Result<(), FileError> {
    let mut file = Tensors::default();
    file.metadata.insert("key".into(), key.into());
    let shape = [cases.count, cases.n];
    file.insert("z0", &shape, std::mem::take(&mut cases.z0));
    file.insert("zt", &shape, std::mem::take(&mut cases.zt));
    let written = file.write(path);
    let mut back = |name| take(&mut file, name).expect("what was inserted");
    (cases.z0, cases.zt) = (back("z0"), back("zt"));
    written
}

/// The numbers of an array, without a copy.
fn take(file: &mut Tensors, name: &str) -> Option<Vec<f64>> {
    match file.tensors.remove(name)?.data {
        Data::F64(values) => Some(values),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(sets: &[&str], folder: &Path) -> Cases {
        let sets: Vec<String> = sets.iter().map(|s| s.to_string()).collect();
        let config = Config::preset("heat1d").unwrap().with_sets(&sets).unwrap();
        cached(&config, 1, Pool::Training, 4, &Threads::one(), Some(folder), &|_, _| {})
    }

    #[test]
    fn the_cache_gives_the_same_cases_and_knows_what_made_them() {
        let folder = tempfile::tempdir().unwrap();
        let first = draw(&[], folder.path());
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!((files(), draw(&[], folder.path())), (1, first.clone()));
        assert_ne!(draw(&["data.std=2"], folder.path()), first);
        assert_eq!(files(), 2);
        // a setting that does not matter for the cases
        assert_eq!(draw(&["train.lr=0.1"], folder.path()), first);
        assert_eq!(files(), 2);
    }

    #[test]
    fn cases_of_another_version_of_a_task_are_drawn_anew() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::preset("heat1d").unwrap();
        for version in ["", "2", "2"] {
            let mut task = config.task.as_ref().clone();
            task.cases_version = version.to_string();
            config.task = task.into();
            cached(&config, 1, Pool::Training, 4, &Threads::one(), Some(folder.path()), &|_, _| {});
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_damaged_cache_is_drawn_anew_and_an_unwritable_one_is_done_without() {
        let folder = tempfile::tempdir().unwrap();
        let first = draw(&[], folder.path());
        let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&path, b"garbage").unwrap();
        assert_eq!(draw(&[], folder.path()), first);
        assert_eq!(draw(&[], &path.join("below a file")), first);
    }
}
