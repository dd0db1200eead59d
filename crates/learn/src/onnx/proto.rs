//! Protocol Buffers, as much of the format as an ONNX file needs: a message is a list of fields, each a
//! number with a variable length or bytes behind their length.
//!
//! The format: <https://protobuf.dev/programming-guides/encoding/>.

/// A message while it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message(Vec<u8>);

/// How a field is stored, in the last three bits of its key.
const VARINT: u64 = 0;
const LENGTH_DELIMITED: u64 = 2;

impl Message {
    /// The same with a number.
    pub fn number(mut self, field: u64, value: i64) -> Message {
        self.varint(field << 3 | VARINT);
        self.varint(value as u64);
        self
    }

    /// The same with numbers of a repeated field.
    pub fn numbers(self, field: u64, values: impl IntoIterator<Item = i64>) -> Message {
        values.into_iter().fold(self, |message, value| message.number(field, value))
    }

    /// The same with bytes.
    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.varint(field << 3 | LENGTH_DELIMITED);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// The same with a text.
    pub fn text(self, field: u64, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    /// The same with a message inside.
    pub fn message(self, field: u64, inner: Message) -> Message {
        self.bytes(field, &inner.0)
    }

    /// The same with messages of a repeated field.
    pub fn messages(self, field: u64, inner: impl IntoIterator<Item = Message>) -> Message {
        inner.into_iter().fold(self, |message, inner| message.message(field, inner))
    }

    /// What is written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits per byte, the lowest first; the eighth says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification.
    #[test]
    fn messages_have_the_bytes_of_the_specification() {
        assert_eq!(Message::default().number(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing").into_bytes();
        assert_eq!(text, [&[0x12, 0x07][..], b"testing"].concat());
        let inner = Message::default().message(3, Message::default().number(1, 150)).into_bytes();
        assert_eq!(inner, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let negative = Message::default().number(1, -2).into_bytes();
        assert_eq!(negative, [0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
        let repeated = Message::default().numbers(6, [1, 300]).into_bytes();
        assert_eq!(repeated, [0x30, 0x01, 0x30, 0xac, 0x02]);
        assert_eq!(Message::default().number(20, 7).into_bytes(), [0xa0, 0x01, 0x07]);
    }
}
