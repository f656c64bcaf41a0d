//! The packets that the null server answers with (MySQL's internals manual, "Client/Server Protocol").

/// What the server can do, and what of it a client can.
pub(super) mod capability {
    pub(in super::super) const PROTOCOL_41: u32 = 1 << 9;
    pub(in super::super) const DEPRECATE_EOF: u32 = 1 << 24;
}

/// What the greeting says: LONG_PASSWORD, FOUND_ROWS, LONG_FLAG, CONNECT_WITH_DB, TRANSACTIONS, SECURE_CONNECTION,
/// PLUGIN_AUTH, CONNECT_ATTRS and LONG_AUTH beside the two.
const OF_SERVER: u32 = capability::PROTOCOL_41
    | capability::DEPRECATE_EOF
    | 0b1111
    | 1 << 13
    | 1 << 15
    | 1 << 19
    | 1 << 20
    | 1 << 21;

/// Bits of a session's state.
pub(super) const IN_TRANSACTION: u16 = 1;
pub(super) const AUTOCOMMIT: u16 = 1 << 1;

const VERSION: &[u8] = b"8.4.0-dbdyno-null\0";
/// The plugin that takes one answer, whatever the password.
const PLUGIN: &[u8] = b"mysql_native_password\0";
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
    /// Begins an answer that follows the packet of that number.
    pub(super) fn new(out: &'a mut Vec<u8>, follows: u8) -> Self {
        Self {
            out,
            number: follows.wrapping_add(1),
            without_eof: false,
            status: AUTOCOMMIT,
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

    /// Appends OK, with the rows that were changed.
    #[inline]
    pub(super) fn ok(&mut self, changed: u8) {
        let [low, high] = self.status.to_le_bytes();
        self.packet(|out| out.extend_from_slice(&[0, changed, 0, low, high, 0, 0]));
    }

    /// Appends an error.
    #[cold]
    pub(super) fn error(&mut self, number: u16, state: &str, problem: &str) {
        self.packet(|out| {
            out.push(0xff);
            out.extend_from_slice(&number.to_le_bytes());
            out.push(b'#');
            out.extend_from_slice(state.as_bytes());
            out.extend_from_slice(problem.as_bytes());
        });
    }

    /// Appends the greeting, which is the first packet of all.
    pub(super) fn greeting(&mut self) {
        let [low_1, low_2, high_1, high_2] = OF_SERVER.to_le_bytes();
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
            out.extend_from_slice(PLUGIN);
        });
    }

    /// Appends a result set of one int column and one row, 0.
    #[inline]
    pub(super) fn row(&mut self, binary: bool) {
        self.packet(|out| out.push(1));
        self.column(b'0', TYPE_LONG);
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

    /// Appends what a statement that has been prepared is like.
    pub(super) fn prepared(&mut self, id: u32, columns: u16, parameters: u16) {
        self.packet(|out| {
            out.push(0);
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(&columns.to_le_bytes());
            out.extend_from_slice(&parameters.to_le_bytes());
            out.extend_from_slice(&[0, 0, 0]);
        });
        for _ in 0..parameters {
            self.column(b'?', TYPE_LONGLONG);
        }
        if parameters > 0 {
            self.columns_end();
        }
        for _ in 0..columns {
            self.column(b'0', TYPE_LONG);
        }
        if columns > 0 {
            self.columns_end();
        }
    }

    fn eof(&mut self) {
        let status = self.status;
        self.packet(|out| {
            out.extend_from_slice(&[0xfe, 0, 0]);
            out.extend_from_slice(&status.to_le_bytes());
        });
    }

    #[inline]
    fn column(&mut self, name: u8, of_type: u8) {
        self.packet(|out| {
            out.extend_from_slice(&[3, b'd', b'e', b'f', 0, 0, 0, 1, name, 0, 0x0c]);
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
