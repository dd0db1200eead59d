//! Replacing a file in one step, so that a crash leaves the old one or the new one, never a piece.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::FileError;

/// Writes a file under a temporary name beside `path`, brings it to the disk, and renames it to `path`.
///
/// If anything fails the temporary file is removed and what was at `path` is untouched.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    replace(path, write).map_err(|error| FileError::io("write", path, error))
}

fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let temporary = Temporary::beside(path)?;
    let mut writer = BufWriter::new(File::create(&temporary.0)?);
    write(&mut writer)?;
    writer.into_inner()?.sync_all()?;
    fs::rename(&temporary.0, path)?;
    sync_directory(path)
}

/// A name that is removed when dropped, unless it has been renamed away.
struct Temporary(PathBuf);

impl Temporary {
    /// In the same directory, because renaming is one step only within a file system.
    fn beside(path: &Path) -> io::Result<Temporary> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{}.tmp", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        Ok(Temporary(path.with_file_name(temporary)))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Gone already after the rename; and after a failure that failure is the one to report.
        let _ = fs::remove_file(&self.0);
    }
}

/// Brings the rename itself to the disk.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

/// Other systems cannot open a directory.
#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn replaces_the_file_and_leaves_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        for text in ["first, and longer", "second"] {
            write_atomically(&path, |file| file.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(directory.path()), ["a.txt"]);
    }

    #[test]
    fn a_failure_keeps_the_old_file_and_names_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let error = write_atomically(&path, |file| {
            file.write_all(&[0; 100_000])?;
            Err(io::ErrorKind::StorageFull.into())
        })
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot write {}: no space left; free some and try again", path.display())
        );
        assert!(matches!(error, FileError::Io { kind: io::ErrorKind::StorageFull, .. }));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(directory.path()), ["a.txt"]);
    }

    #[test]
    fn a_panic_while_writing_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        let result = std::panic::catch_unwind(|| write_atomically(&path, |_| panic!("on purpose")));
        assert!(result.is_err());
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn a_rename_that_fails_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        fs::create_dir(&path).unwrap();
        let error = write_atomically(&path, |file| file.write_all(b"x")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot write {}: ", path.display())), "{error}");
        assert_eq!(names(directory.path()), ["a.txt"]);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none").join("a.txt");
        let error = write_atomically(&path, |file| file.write_all(b"x")).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("cannot write {}: its directory does not exist; create it first", path.display())
        );
        assert!(write_atomically(Path::new("/"), |_| Ok(())).is_err());
    }

    #[test]
    fn writers_of_one_file_do_not_mix() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        std::thread::scope(|scope| {
            for letter in [b'a', b'b'] {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..20 {
                        write_atomically(path, |file| file.write_all(&[letter; 5000])).unwrap();
                    }
                });
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 5000 && bytes.iter().all(|&byte| byte == bytes[0]));
        assert_eq!(names(directory.path()), ["a.txt"]);
    }
}
