//! Counts the rows of COPY and LOAD DATA, wherever their messages end.

/// What stands before the rows of the binary form: a signature of 11 bytes and flags of 4.
const BINARY_HEADER_BYTES: usize = 15;

/// Counts rows as their data come.
#[derive(Debug)]
pub(super) enum Counter {
    /// Text or CSV: each line is a row.
    Lines {
        /// Lines that have ended.
        rows: u64,
        /// Whether the last line has not.
        open: bool,
    },
    /// Binary form.
    Binary(Binary),
}

impl Counter {
    /// A counter for data in binary form, or for lines.
    pub(super) fn new(binary: bool) -> Self {
        if binary {
            Self::Binary(Binary::new())
        } else {
            let (rows, open) = (0, false);
            Self::Lines { rows, open }
        }
    }

    /// Takes the next piece.
    pub(super) fn take(&mut self, data: &[u8]) {
        match self {
            Self::Lines { rows, open } => {
                #[expect(clippy::naive_bytecount, reason = "the compiler makes it fast enough")]
                let ends = data.iter().filter(|byte| **byte == b'\n').count();
                *rows += ends as u64;
                *open = data.last().map_or(*open, |last| *last != b'\n');
            }
            Self::Binary(binary) => binary.take(data),
        }
    }

    /// The rows so far.
    pub(super) fn rows(&self) -> u64 {
        match self {
            Self::Lines { rows, open } => rows + u64::from(*open),
            Self::Binary(binary) => binary.rows,
        }
    }
}

/// What comes next in the binary form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The length of the header's extension.
    Extension,
    /// The number of fields of a row; -1 at the end.
    Row,
    /// The length of a field; -1 for a NULL.
    Field,
    /// Nothing that counts.
    Ended,
}

/// Reads the binary form (PostgreSQL documentation, COPY, "Binary Format") as far as its lengths.
#[derive(Debug)]
pub(super) struct Binary {
    rows: u64,
    part: Part,
    fields_left: u16,
    /// Bytes to pass over.
    skip: usize,
    /// The bytes of a number that have come, and how many those are.
    number: u32,
    number_bytes: u8,
}

impl Binary {
    fn new() -> Self {
        Self {
            rows: 0,
            part: Part::Extension,
            fields_left: 0,
            skip: BINARY_HEADER_BYTES,
            number: 0,
            number_bytes: 0,
        }
    }

    fn take(&mut self, mut data: &[u8]) {
        loop {
            let skipped = self.skip.min(data.len());
            self.skip -= skipped;
            data = &data[skipped..];
            let bytes = if self.part == Part::Row { 2 } else { 4 };
            if self.part == Part::Ended {
                return;
            }
            let Some(number) = self.number(&mut data, bytes) else {
                return;
            };
            match self.part {
                Part::Row => self.row(number),
                Part::Field => {
                    // A NULL has the length -1 and no bytes.
                    self.skip =
                        i32::try_from(number).map_or(0, |length| length.unsigned_abs() as usize);
                    self.fields_left -= 1;
                    if self.fields_left == 0 {
                        self.part = Part::Row;
                    }
                }
                Part::Extension => {
                    self.skip = number as usize;
                    self.part = Part::Row;
                }
                Part::Ended => {}
            }
        }
    }

    fn row(&mut self, fields: u32) {
        match u16::try_from(fields) {
            Ok(u16::MAX) | Err(_) => self.part = Part::Ended,
            Ok(fields) => {
                self.rows += 1;
                self.fields_left = fields;
                if fields > 0 {
                    self.part = Part::Field;
                }
            }
        }
    }

    /// The number of that many bytes, when all of them have come.
    fn number(&mut self, data: &mut &[u8], bytes: u8) -> Option<u32> {
        while self.number_bytes < bytes {
            let (first, rest) = data.split_first()?;
            *data = rest;
            self.number = self.number << 8 | u32::from(*first);
            self.number_bytes += 1;
        }
        self.number_bytes = 0;
        Some(std::mem::take(&mut self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rows in binary form, one of no fields, with NULLs, an extension of the header and something behind the end.
    fn binary() -> Vec<u8> {
        let parts: [&[u8]; 8] = [
            b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\x03ext",
            b"\0\x02\0\0\0\x04\0\0\0\x01\xff\xff\xff\xff",
            b"\0\0",
            b"\0\x01\0\0\0\0",
            b"\xff\xff",
            b"",
            b"\0\x01\0\0\0\0",
            b"",
        ];
        parts.concat()
    }

    #[test]
    fn rows_are_counted_wherever_the_data_are_cut() {
        for (form, data, rows) in [
            (true, binary(), 3),
            (false, b"1\ta\n2\tb\n3".to_vec(), 3),
            (false, b"1\ta\n2\tb\n".to_vec(), 2),
            (false, vec![], 0),
        ] {
            for first in 0..=data.len() {
                for second in first..=data.len() {
                    let mut counter = Counter::new(form);
                    for piece in [&data[..first], &data[first..second], &data[second..]] {
                        counter.take(piece);
                    }
                    assert_eq!(counter.rows(), rows, "cut at {first} and {second}");
                }
            }
        }
    }
}
