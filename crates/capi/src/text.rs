//! Text of a fixed size, written without an allocation.

use std::ffi::c_char;
use std::fmt;

/// Bytes of a text, the zero at its end included.
const SIZE: usize = 256;

/// The text of the last error. What does not fit is cut off.
pub struct Text {
    bytes: [u8; SIZE],
    length: usize,
}

impl Text {
    /// An empty text.
    pub fn new() -> Text {
        Text { bytes: [0; SIZE], length: 0 }
    }

    /// Replaces the text.
    pub fn set(&mut self, arguments: fmt::Arguments<'_>) {
        self.length = 0;
        // what does not fit is left out, so writing never fails
        let _ = fmt::write(self, arguments);
        self.bytes[self.length] = 0;
    }

    /// It ends with a zero.
    pub fn as_ptr(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = SIZE - 1 - self.length;
        let fits = text.floor_char_boundary(room.min(text.len()));
        self.bytes[self.length..self.length + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn read(text: &Text) -> &str {
        CStr::from_bytes_until_nul(&text.bytes).unwrap().to_str().unwrap()
    }

    #[test]
    fn a_text_is_replaced_and_cut_between_characters() {
        let mut text = Text::new();
        assert_eq!(read(&text), "");
        text.set(format_args!("agent {} is at {:?}", 3, 1.5));
        assert_eq!(read(&text), "agent 3 is at 1.5");
        text.set(format_args!("{}", "é".repeat(200)));
        assert_eq!(read(&text), "é".repeat(127));
        text.set(format_args!("short"));
        assert_eq!(read(&text), "short");
    }
}
