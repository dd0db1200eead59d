//! Numbers and text as bytes, for messages between ranks of the same program on machines of the same kind.

use cinoc_control::Cases;

/// A message being written.
#[derive(Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn count(mut self, count: usize) -> Writer {
        self.0.extend((count as u64).to_le_bytes());
        self
    }

    pub fn bytes(self, bytes: &[u8]) -> Writer {
        let mut writer = self.count(bytes.len());
        writer.0.extend_from_slice(bytes);
        writer
    }

    pub fn singles(self, numbers: &[f32]) -> Writer {
        let mut writer = self.count(numbers.len());
        writer.0.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        writer
    }

    pub fn doubles(self, numbers: &[f64]) -> Writer {
        let mut writer = self.count(numbers.len());
        writer.0.reserve(8 * numbers.len());
        writer.0.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
        writer
    }

    pub fn cases(self, cases: &Cases) -> Writer {
        let writer = self.count(cases.count).count(cases.n).doubles(&cases.z0).doubles(&cases.zt);
        match &cases.xi0 {
            Some(xi0) => writer.count(1).doubles(xi0),
            None => writer.count(0),
        }
    }
}

/// A message being read, from its start.
///
/// # Panics
/// If less is left than is asked for: messages are written by the same program.
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(bytes);
        self.0 = rest;
        taken
    }

    pub fn count(&mut self) -> usize {
        u64::from_le_bytes(self.take(8).try_into().expect("eight bytes")) as usize
    }

    pub fn bytes(&mut self) -> &'a [u8] {
        let count = self.count();
        self.take(count)
    }

    pub fn singles(&mut self) -> Vec<f32> {
        let count = self.count();
        let bytes = self.take(4 * count).chunks_exact(4);
        bytes.map(|b| f32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
    }

    pub fn doubles(&mut self) -> Vec<f64> {
        let count = self.count();
        let bytes = self.take(8 * count).chunks_exact(8);
        bytes.map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect()
    }

    pub fn cases(&mut self) -> Cases {
        let (count, n, z0, zt) = (self.count(), self.count(), self.doubles(), self.doubles());
        let xi0 = (self.count() == 1).then(|| self.doubles());
        Cases { count, n, z0, zt, xi0 }
    }
}
