//! Replacing a file in one step, so that a crash leaves the old one or the new one, never a piece.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::error::FileError;

/// Writes a file under a temporary name beside `path`, brings it to the disk, and renames it to `path`.
///
/// If anything fails the temporary file is removed and what was at `path` is untouched.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), FileError> {
    let replacement = Replacement::begin(path)?;
    let mut writer = BufWriter::new(replacement.file());
    let written = write(&mut writer).and_then(|()| writer.flush());
    drop(writer);
    written.map_err(|error| FileError::io("write", path, error))?;
    replacement.finish()
}

/// A file that takes the place of another when it is complete. Dropped before, it leaves nothing behind.
pub struct Replacement {
    file: NamedTempFile,
    path: PathBuf,
}

impl Replacement {
    /// An empty file in the directory of `path`, because renaming is one step only within a file system.
    pub fn begin(path: &Path) -> Result<Replacement, FileError> {
        let failed = |error| FileError::io("write", path, error);
        if path.file_name().is_none() {
            return Err(failed(io::Error::other("the path names no file")));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".cinoc-").suffix(".tmp");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the user's mask
        // the error of the crate carries the temporary path; the kind is what the message is made of
        let file = builder.tempfile_in(directory(path)).map_err(|error| failed(error.kind().into()))?;
        Ok(Replacement { file, path: path.to_path_buf() })
    }

    /// The file to write to.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Brings it to the disk under its own name.
    pub fn finish(self) -> Result<(), FileError> {
        let failed = |error| FileError::io("write", &self.path, error);
        self.file.as_file().sync_all().map_err(failed)?;
        self.file.persist(&self.path).map_err(|error| failed(error.error))?;
        sync_directory(&self.path).map_err(failed)
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Brings the rename itself to the disk.
#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

/// Other systems cannot open a directory.
#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
