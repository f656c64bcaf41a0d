//! The packets that the null server answers with (MySQL's internals manual, "Client/Server Protocol").

/// What the server's greeting says it can do, and what a client answers of it.
pub(super) mod capability {
    pub(in super::super) const FOUND_ROWS: u32 = 1 << 1;
    pub(in super::super) const WITH_DATABASE: u32 = 1 << 3;
    pub(in super::super) const LOCAL_FILES: u32 = 1 << 7;
    pub(in super::super) const PROTOCOL_41: u32 = 1 << 9;
    pub(in super::super) const TRANSACTIONS: u32 = 1 << 13;
    pub(in super::super) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(in super::super) const MULTI_STATEMENTS: u32 = 1 << 16;
    pub(in super::super) const MULTI_RESULTS: u32 = 1 << 17;
    pub(in super::super) const PREPARED_MULTI_RESULTS: u32 = 1 << 18;
    pub(in super::super) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(in super::super) const CONNECT_ATTRIBUTES: u32 = 1 << 20;
    pub(in super::super) const LONG_AUTH: u32 = 1 << 21;
    pub(in super::super) const DEPRECATE_EOF: u32 = 1 << 24;
    /// LONG_PASSWORD and LONG_FLAG, which every client since 4.1 has.
    const OLD: u32 = 1 | 1 << 2;

    pub(in super::super) const OF_SERVER: u32 = OLD
        | FOUND_ROWS
        | WITH_DATABASE
        | LOCAL_FILES
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PREPARED_MULTI_RESULTS
        | PLUGIN_AUTH
        | CONNECT_ATTRIBUTES
        | LONG_AUTH
        | DEPRECATE_EOF;
}

/// Bits of a session's state.
pub(super) mod status {
    pub(in super::super) const IN_TRANSACTION: u16 = 1;
    pub(in super::super) const AUTOCOMMIT: u16 = 1 << 1;
    pub(in super::super) const MORE_RESULTS: u16 = 1 << 3;
}

const VERSION: &[u8] = b"8.4.0-dbdyno-null\0";
/// The plugin that servers since 8.0 use by default.
pub(super) const CACHING_SHA2: &[u8] = b"caching_sha2_password";
/// The plugin that every client has.
pub(super) const NATIVE: &[u8] = b"mysql_native_password";
/// What passwords are scrambled with. Nobody's is looked at, so it is always the same.
const SCRAMBLE: &[u8; 20] = b"null server of dyno!";
/// latin1_swedish_ci.
const LATIN1: u8 = 8;
/// The character set of what is no text.
const BINARY: u16 = 63;

const TYPE_LONG: u8 = 3;
const TYPE_LONGLONG: u8 = 8;
const NOT_NULL: u16 = 1;

/// The packets of one answer.
pub(super) struct Reply<'a> {
    out: &'a mut Vec<u8>,
    /// The number of the next packet.
    pub(super) number: u8,
    /// Whether result sets end with an OK packet, and their columns with nothing (CLIENT_DEPRECATE_EOF).
    pub(super) without_eof: bool,
    /// The session's state.
    pub(super) status: u16,
}

impl<'a> Reply<'a> {
    /// An answer that follows the packet of that number.
    pub(super) fn new(out: &'a mut Vec<u8>, follows: u8) -> Self {
        Self {
            out,
            number: follows.wrapping_add(1),
            without_eof: false,
            status: status::AUTOCOMMIT,
        }
    }

    #[inline]
    fn packet(&mut self, body: impl FnOnce(&mut Vec<u8>)) {
        let at = self.out.len();
        self.out.extend_from_slice(&[0, 0, 0, self.number]);
        self.number = self.number.wrapping_add(1);
        body(self.out);
        // Nothing here comes near 16 MiB.
        let length = u32::try_from(self.out.len() - at - 4).unwrap_or(u32::MAX);
        self.out[at..at + 3].copy_from_slice(&length.to_le_bytes()[..3]);
    }

    /// OK, with the rows that were changed.
    #[inline]
    pub(super) fn ok(&mut self, affected: u64, info: &[u8]) {
        let status = self.status;
        self.packet(|out| {
            out.push(0);
            write_length(out, affected);
            out.push(0);
            out.extend_from_slice(&status.to_le_bytes());
            out.extend_from_slice(&[0, 0]);
            // Servers put its length in front, where the documentation has it without.
            if !info.is_empty() {
                write_length(out, info.len() as u64);
                out.extend_from_slice(info);
            }
        });
    }

    /// ERR.
    #[cold]
    pub(super) fn error(
        &mut self,
        Refusal {
            code,
            state,
            problem,
        }: Refusal,
    ) {
        self.packet(|out| {
            out.push(0xff);
            out.extend_from_slice(&code.to_le_bytes());
            out.push(b'#');
            out.extend_from_slice(state);
            out.extend_from_slice(problem.as_bytes());
        });
    }

    /// The greeting, which is the first packet of all.
    pub(super) fn greeting(&mut self) {
        let [low_1, low_2, high_1, high_2] = capability::OF_SERVER.to_le_bytes();
        let id = std::process::id().to_le_bytes();
        let (scramble_1, scramble_2) = SCRAMBLE.split_at(8);
        let status = self.status.to_le_bytes();
        self.packet(|out| {
            out.push(10);
            out.extend_from_slice(VERSION);
            out.extend_from_slice(&id);
            out.extend_from_slice(scramble_1);
            out.extend_from_slice(&[0, low_1, low_2, LATIN1, status[0], status[1]]);
            // The scramble's length counts the NUL behind it.
            out.extend_from_slice(&[high_1, high_2, 21]);
            out.extend_from_slice(&[0; 10]);
            out.extend_from_slice(scramble_2);
            out.push(0);
            out.extend_from_slice(CACHING_SHA2);
            out.push(0);
        });
    }

    /// The server knows the password already: caching_sha2_password's fast path.
    pub(super) fn fast_path(&mut self) {
        self.packet(|out| out.extend_from_slice(&[1, 3]));
    }

    /// The client is to answer by the plugin that it has.
    pub(super) fn switch(&mut self) {
        self.packet(|out| {
            out.push(0xfe);
            out.extend_from_slice(NATIVE);
            out.push(0);
            out.extend_from_slice(SCRAMBLE);
            out.push(0);
        });
    }

    /// A result set of one int column and one row, 0.
    #[inline]
    pub(super) fn row(&mut self, binary: bool) {
        self.packet(|out| out.push(1));
        self.column(b"0", TYPE_LONG);
        self.columns_end();
        self.packet(|out| {
            out.extend_from_slice(if binary {
                &[0, 0, 0, 0, 0, 0]
            } else {
                b"\x010"
            });
        });
        self.rows_end();
    }

    /// A statement has been prepared.
    pub(super) fn prepared(&mut self, id: u32, columns: u16, parameters: u16) {
        self.packet(|out| {
            out.push(0);
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&columns.to_le_bytes());
            out.extend_from_slice(&parameters.to_le_bytes());
            out.extend_from_slice(&[0, 0, 0]);
        });
        for _ in 0..parameters {
            self.column(b"?", TYPE_LONGLONG);
        }
        if parameters > 0 {
            self.columns_end();
        }
        for _ in 0..columns {
            self.column(b"0", TYPE_LONG);
        }
        if columns > 0 {
            self.columns_end();
        }
    }

    /// Asks for the data of a LOAD DATA LOCAL INFILE.
    pub(super) fn ask_for(&mut self, file: &[u8]) {
        self.packet(|out| {
            out.push(0xfb);
            out.extend_from_slice(file);
        });
    }

    /// What COM_STATISTICS is answered with: a text without any frame.
    pub(super) fn text(&mut self, text: &[u8]) {
        self.packet(|out| out.extend_from_slice(text));
    }

    /// EOF.
    pub(super) fn eof(&mut self) {
        let status = self.status;
        self.packet(|out| {
            out.extend_from_slice(&[0xfe, 0, 0]);
            out.extend_from_slice(&status.to_le_bytes());
        });
    }

    #[inline]
    fn column(&mut self, name: &[u8], of_type: u8) {
        self.packet(|out| {
            out.extend_from_slice(b"\x03def\0\0\0");
            write_length(out, name.len() as u64);
            out.extend_from_slice(name);
            out.extend_from_slice(&[0, 0x0c]);
            out.extend_from_slice(&BINARY.to_le_bytes());
            out.extend_from_slice(&[1, 0, 0, 0, of_type]);
            out.extend_from_slice(&NOT_NULL.to_le_bytes());
            out.extend_from_slice(&[0, 0, 0]);
        });
    }

    #[inline]
    fn columns_end(&mut self) {
        if !self.without_eof {
            self.eof();
        }
    }

    #[inline]
    fn rows_end(&mut self) {
        if !self.without_eof {
            return self.eof();
        }
        let status = self.status;
        self.packet(|out| {
            out.extend_from_slice(&[0xfe, 0, 0]);
            out.extend_from_slice(&status.to_le_bytes());
            out.extend_from_slice(&[0, 0]);
        });
    }
}

/// Why something is refused: MySQL's number, the SQLSTATE and words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) state: &'static [u8; 5],
    pub(super) problem: &'static str,
}

/// An integer of up to nine bytes, the first of which says how many there are.
fn write_length(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    match number {
        0..=250 => out.push(bytes[0]),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}
