//! Scalars for TensorBoard.
//!
//! An event file is a sequence of records (TFRecord): length (u64), its masked CRC-32C, the bytes, their
//! masked CRC-32C; all little-endian. The bytes are a protocol buffer, of which scalars need only
//!
//! ```text
//! Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
//! Summary { repeated Value value = 1; }        Value { string tag = 1; float simple_value = 2; }
//! ```

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::files::FileError;

/// TensorBoard reads every file whose name contains `tfevents`.
const FILE_NAME: &str = "events.out.tfevents.cinoc";

/// First byte of a field of a protocol buffer: its number, and how its value is stored.
const WALL_TIME: u8 = (1 << 3) | FIXED64;
const STEP: u8 = (2 << 3) | VARINT;
const FILE_VERSION: u8 = (3 << 3) | BYTES;
const SUMMARY: u8 = (5 << 3) | BYTES;
const VALUE: u8 = (1 << 3) | BYTES;
const TAG: u8 = (1 << 3) | BYTES;
const SIMPLE_VALUE: u8 = (2 << 3) | FIXED32;

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;
const FIXED32: u8 = 5;

/// Length of the field `wall_time`, with which every event written here starts.
const WALL_TIME_LEN: usize = 9;

/// An open event file.
pub struct EventWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl EventWriter {
    /// Opens the event file of a run directory, or creates it.
    ///
    /// Data after the last checkpoint is removed: an incomplete record, and scalars of `next_step` and later,
    /// which the resumed run will write again.
    pub fn append(directory: &Path, next_step: u64) -> Result<EventWriter, FileError> {
        let path = directory.join(FILE_NAME);
        let file = open(&path, next_step).map_err(|error| FileError::io("write", &path, error))?;
        Ok(EventWriter { path, file })
    }

    /// Adds a scalar; it is stored in single precision.
    pub fn scalar(&mut self, tag: &str, step: u64, value: f64) -> Result<(), FileError> {
        let event = scalar_event(wall_time(), tag, step, value as f32);
        write_record(&mut self.file, &event).map_err(|error| FileError::io("write", &self.path, error))
    }

    /// Hands all scalars to the operating system, so that TensorBoard sees them.
    pub fn flush(&mut self) -> Result<(), FileError> {
        self.file.flush().map_err(|error| FileError::io("write", &self.path, error))
    }
}

fn open(path: &Path, next_step: u64) -> io::Result<BufWriter<File>> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let kept = kept_len(&bytes, next_step) as u64;
    file.set_len(kept)?;
    file.seek(SeekFrom::Start(kept))?;
    let mut file = BufWriter::new(file);
    if kept == 0 {
        write_record(&mut file, &version_event(wall_time()))?;
    }
    Ok(file)
}

/// Length of the complete records that belong to steps before `next_step`.
fn kept_len(bytes: &[u8], next_step: u64) -> usize {
    let mut kept = 0;
    while let Some((event, len)) = first_record(&bytes[kept..])
        && step_of(event).is_none_or(|step| step < next_step)
    {
        kept += len;
    }
    kept
}

/// The first event and the length of its record, if it is complete and undamaged.
fn first_record(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (length_crc, rest) = rest.split_first_chunk::<4>()?;
    let (event, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let event_crc = rest.first_chunk::<4>()?;
    let whole =
        masked_crc(length).to_le_bytes() == *length_crc && masked_crc(event).to_le_bytes() == *event_crc;
    whole.then_some((event, 8 + 4 + event.len() + 4))
}

/// The step of an event written here; the event with the version has none.
fn step_of(event: &[u8]) -> Option<u64> {
    let field = event.get(WALL_TIME_LEN..)?.strip_prefix(&[STEP])?;
    let len = field.iter().position(|byte| byte & 0x80 == 0)? + 1;
    Some(field[..len].iter().rev().fold(0, |step, byte| (step << 7) | u64::from(byte & 0x7f)))
}

fn wall_time() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

fn version_event(wall_time: f64) -> Vec<u8> {
    let mut event = vec![WALL_TIME];
    event.extend(wall_time.to_le_bytes());
    put_bytes(&mut event, FILE_VERSION, b"brain.Event:2");
    event
}

fn scalar_event(wall_time: f64, tag: &str, step: u64, value: f32) -> Vec<u8> {
    let mut scalar = Vec::new();
    put_bytes(&mut scalar, TAG, tag.as_bytes());
    scalar.push(SIMPLE_VALUE);
    scalar.extend(value.to_le_bytes());
    let mut summary = Vec::new();
    put_bytes(&mut summary, VALUE, &scalar);

    let mut event = vec![WALL_TIME];
    event.extend(wall_time.to_le_bytes());
    event.push(STEP);
    put_varint(&mut event, step);
    put_bytes(&mut event, SUMMARY, &summary);
    event
}

fn put_bytes(message: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    message.push(field);
    put_varint(message, bytes.len() as u64);
    message.extend(bytes);
}

/// Seven bits per byte, lowest first; the top bit is set if more bytes follow.
fn put_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

fn write_record(file: &mut impl Write, event: &[u8]) -> io::Result<()> {
    let length = (event.len() as u64).to_le_bytes();
    file.write_all(&length)?;
    file.write_all(&masked_crc(&length).to_le_bytes())?;
    file.write_all(event)?;
    file.write_all(&masked_crc(event).to_le_bytes())
}

/// CRC-32C, masked as TFRecord requires: a plain CRC is weak for data that contains CRCs.
fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), bit by bit: records are short and few.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A scalar as a reader of the format sees it.
    #[derive(Debug, PartialEq)]
    struct Scalar {
        tag: String,
        step: u64,
        value: f32,
    }

    /// Any protocol buffer as fields `(number, kind, bytes)`, a varint as its eight bytes.
    fn fields(mut message: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
        fn varint(message: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = message[0];
                *message = &message[1..];
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return value;
                }
            }
        }
        let mut found = Vec::new();
        while !message.is_empty() {
            let key = varint(&mut message);
            let len = match key & 7 {
                0 => {
                    found.push((key >> 3, 0, varint(&mut message).to_le_bytes().to_vec()));
                    continue;
                }
                1 => 8,
                2 => varint(&mut message) as usize,
                5 => 4,
                kind => panic!("kind {kind}"),
            };
            found.push((key >> 3, key & 7, message[..len].to_vec()));
            message = &message[len..];
        }
        found
    }

    /// Reads a whole file, which must begin with the version, and checks every CRC and every wall time.
    fn read(directory: &Path) -> Vec<Scalar> {
        let bytes = fs::read(directory.join(FILE_NAME)).unwrap();
        let (mut rest, mut scalars, mut records) = (bytes.as_slice(), Vec::new(), 0);
        while !rest.is_empty() {
            let len = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
            assert_eq!(rest[8..12], masked_crc(&rest[..8]).to_le_bytes());
            let event = &rest[12..12 + len];
            assert_eq!(rest[12 + len..16 + len], masked_crc(event).to_le_bytes());
            rest = &rest[16 + len..];
            let event = fields(event);
            let wall_time = f64::from_le_bytes(event[0].2.clone().try_into().unwrap());
            assert!(event[0].0 == 1 && event[0].1 == 1 && wall_time > 1.7e9);
            if records == 0 {
                assert_eq!(event[1..], [(3, 2, b"brain.Event:2".to_vec())]);
            } else {
                assert_eq!((event.len(), event[1].0, event[1].1, event[2].0, event[2].1), (3, 2, 0, 5, 2));
                let value = fields(&fields(&event[2].2)[0].2);
                assert_eq!((value[0].0, value[0].1, value[1].0, value[1].1), (1, 2, 2, 5));
                scalars.push(Scalar {
                    tag: String::from_utf8(value[0].2.clone()).unwrap(),
                    step: u64::from_le_bytes(event[1].2.clone().try_into().unwrap()),
                    value: f32::from_le_bytes(value[1].2.clone().try_into().unwrap()),
                });
            }
            records += 1;
        }
        scalars
    }

    fn write(directory: &Path, next_step: u64, steps: std::ops::Range<u64>) {
        let mut events = EventWriter::append(directory, next_step).unwrap();
        for step in steps {
            events.scalar("loss/track", step, step as f64 / 4.0).unwrap();
        }
        events.flush().unwrap();
    }

    fn steps(directory: &Path) -> Vec<u64> {
        read(directory).iter().map(|scalar| scalar.step).collect()
    }

    #[test]
    fn crc_gives_the_published_values() {
        // RFC 3720, B.4, and the usual check string.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&ascending), 0x46dd_794e);
        // Every event file of TensorFlow begins with these bytes: a record of length 24.
        assert_eq!(masked_crc(&24_u64.to_le_bytes()).to_le_bytes(), [0xa3, 0x7f, 0x4b, 0x22]);
    }

    #[test]
    fn scalars_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let mut events = EventWriter::append(directory.path(), 0).unwrap();
        let written = [
            ("loss", 0, 0.5_f64),
            ("loss", 127, -1e-8),
            ("größe/x", 128, 3.0),
            ("loss", 1 << 40, f64::INFINITY),
        ];
        for (tag, step, value) in written {
            events.scalar(tag, step, value).unwrap();
        }
        events.flush().unwrap();
        let expected =
            written.map(|(tag, step, value)| Scalar { tag: tag.to_string(), step, value: value as f32 });
        assert_eq!(read(directory.path()), expected);
        let bytes = fs::read(directory.path().join(FILE_NAME)).unwrap();
        assert_eq!(bytes[..12], [24, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22]);
    }

    #[test]
    fn a_resumed_run_continues_the_file() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), 0, 0..200);
        write(directory.path(), 200, 200..300);
        assert_eq!(steps(directory.path()), (0..300).collect::<Vec<_>>());
        // Resumed from the checkpoint at 150: later scalars are written again, once.
        write(directory.path(), 150, 150..160);
        assert_eq!(steps(directory.path()), (0..160).collect::<Vec<_>>());
        write(directory.path(), 0, 0..2);
        assert_eq!(steps(directory.path()), [0, 1]);
    }

    #[test]
    fn an_incomplete_or_damaged_record_is_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        write(directory.path(), 0, 0..3);
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            write(directory.path(), 10, 10..11);
            let steps = steps(directory.path());
            assert_eq!(steps.last(), Some(&10), "at {length}");
            assert!(
                steps[..steps.len() - 1].iter().copied().eq(0..steps.len() as u64 - 1),
                "at {length}: {steps:?}"
            );
        }
        let mut damaged = whole.clone();
        *damaged.last_mut().unwrap() ^= 1;
        fs::write(&path, damaged).unwrap();
        write(directory.path(), 10, 10..11);
        assert_eq!(steps(directory.path()), [0, 1, 10]);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let message = EventWriter::append(Path::new("/nowhere"), 0).err().unwrap().to_string();
        assert_eq!(
            message,
            "cannot write /nowhere/events.out.tfevents.cinoc: its directory does not exist; create it first"
        );
    }
}
