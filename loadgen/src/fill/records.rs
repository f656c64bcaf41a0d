//! What a program writes or a file holds, as whole records of CSV with what is known of them.
//!
//! A record ends at a newline outside of quotes; a quote within quotes is written twice (RFC 4180, section 2), so every
//! quote turns the meaning of what follows it.

use super::Halt;
use super::pieces::MESSAGE_BYTES;
use super::supply::Supply;
use crate::session::SessionError;
use sha2::{Digest, Sha256};

/// The most bytes of a record: what is longer has a quote that nothing closes.
const RECORD_BYTES_MAX: usize = 16 << 20;

/// The records of a part.
pub(super) struct Records {
    supply: Supply,
    /// What has been read and not yet been taken.
    buffer: Vec<u8>,
    /// The end of the records that were taken last, within the buffer.
    taken: usize,
    scan: Scan,
    sha256: Sha256,
    bytes: u64,
    /// Whether the supply is at its end.
    ended: bool,
}

/// What a part gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gave {
    /// Its records, without a header.
    pub(crate) rows: u64,
    /// All of its bytes.
    pub(crate) bytes: u64,
    /// Their SHA-256, in hexadecimal.
    pub(crate) sha256: String,
}

impl Records {
    /// Returns the records of a supply; the first one is none where it is a `header`.
    pub(super) fn new(supply: Supply, header: bool) -> Self {
        Self {
            supply,
            buffer: Vec::with_capacity(2 * MESSAGE_BYTES),
            taken: 0,
            scan: Scan {
                header,
                ..Scan::default()
            },
            sha256: Sha256::new(),
            bytes: 0,
            ended: false,
        }
    }

    /// Returns the next records, whole ones, with how many they are; none at the end, or where the load is halted.
    ///
    /// # Errors
    /// `Protocol` where the supply has failed, `Io` where it cannot be read.
    pub(super) fn next(&mut self, halt: &Halt) -> Result<Option<(&[u8], u64)>, SessionError> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let before = self.scan.rows;
        while self.taken == 0 && !self.ended {
            let start = self.buffer.len();
            if start > RECORD_BYTES_MAX {
                return Err(SessionError::Protocol(format!(
                    "{} gave a record of more than {RECORD_BYTES_MAX} bytes; is a quote never closed?",
                    self.supply.name()
                )));
            }
            match self.supply.read(&mut self.buffer, halt)? {
                None => return Ok(None),
                Some(0) => {
                    if !self.supply.finish(halt)? {
                        return Ok(None);
                    }
                    self.ended = true;
                    // The last record may lack its newline.
                    if !self.buffer.is_empty() && !self.scan.header {
                        self.scan.rows += 1;
                        self.taken = self.buffer.len();
                    }
                }
                Some(count) => {
                    self.bytes += count as u64;
                    self.sha256.update(&self.buffer[start..]);
                    let headed = self.scan.header;
                    let (header_end, end) = self.scan.pass(&self.buffer[start..]);
                    if headed && !self.scan.header {
                        self.buffer.drain(..start + header_end);
                        self.taken = end.saturating_sub(header_end);
                    } else if end > 0 {
                        self.taken = start + end;
                    }
                }
            }
        }
        let rows = self.scan.rows - before;
        Ok((self.taken > 0).then(|| (&self.buffer[..self.taken], rows)))
    }

    /// What has come, at the end of all of it.
    pub(super) fn gave(self) -> Gave {
        use std::fmt::Write;
        let mut sha256 = String::new();
        for byte in self.sha256.finalize() {
            let _ = write!(sha256, "{byte:02x}");
        }
        Gave {
            rows: self.scan.rows,
            bytes: self.bytes,
            sha256,
        }
    }
}

/// Where the records end, byte by byte.
#[derive(Debug, Default)]
struct Scan {
    /// Whether the header has not yet come to its end.
    header: bool,
    quoted: bool,
    rows: u64,
}

impl Scan {
    /// Passes over further bytes; returns the end of the header in them, and that of the last whole record (0: none ends).
    fn pass(&mut self, bytes: &[u8]) -> (usize, usize) {
        let (mut header_end, mut end) = (0, 0);
        for (index, byte) in bytes.iter().enumerate() {
            match byte {
                b'"' => self.quoted = !self.quoted,
                b'\n' if !self.quoted => {
                    end = index + 1;
                    if self.header {
                        (self.header, header_end) = (false, end);
                    } else {
                        self.rows += 1;
                    }
                }
                _ => {}
            }
        }
        (header_end, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::SourcePart;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    /// What is taken of a program that writes this by `printf`, and what it gave.
    fn taken(text: &str, header: bool) -> Result<(Vec<(String, u64)>, Gave), SessionError> {
        let words = ["printf", "%b", text].map(str::to_owned).to_vec();
        let supply = Supply::open(&SourcePart::Command(words), "/")?;
        let (stop, mut parts) = (AtomicBool::new(false), Vec::new());
        let halt = Halt {
            stop: &stop,
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        let mut records = Records::new(supply, header);
        while let Some((bytes, rows)) = records.next(&halt)? {
            parts.push((String::from_utf8_lossy(bytes).into_owned(), rows));
        }
        Ok((parts, records.gave()))
    }

    #[test]
    fn records_end_at_newlines_outside_of_quotes() {
        let text = "1,\"a\\nb\"\n2,\"say \"\"\\n\"\"\"\n3,";
        let (parts, gave) = taken(text, false).expect("read");
        let (texts, rows): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        assert_eq!(texts.concat(), "1,\"a\nb\"\n2,\"say \"\"\n\"\"\"\n3,");
        assert_eq!((rows.iter().sum::<u64>(), gave.rows), (3, 3));
        assert_eq!(gave.bytes, 24);
    }

    #[test]
    fn a_header_is_no_record_and_is_hashed() {
        let (parts, gave) = taken("a,b\\n1,2\\n", true).expect("read");
        assert_eq!(parts, [("1,2\n".to_owned(), 1)]);
        let bare = taken("1,2\\n", false).expect("read").1;
        assert_eq!((gave.rows, gave.bytes, bare.bytes), (1, 8, 4));
        assert_ne!(gave.sha256, bare.sha256);
        assert_eq!(taken("a,b", true).expect("read").0, []);
    }

    #[test]
    fn a_program_that_fails_gives_no_last_record() {
        let words = ["sh", "-c", "echo 1; echo why >&2; exit 3"].map(str::to_owned);
        let supply = Supply::open(&SourcePart::Command(words.to_vec()), "/").expect("started");
        let stop = AtomicBool::new(false);
        let halt = Halt {
            stop: &stop,
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        let mut records = Records::new(supply, false);
        let error = loop {
            match records.next(&halt) {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it has failed"),
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(error, "`sh` ended with exit status 3: why");
    }
}
