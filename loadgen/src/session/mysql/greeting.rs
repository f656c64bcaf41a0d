//! The first packets of a session: the server's greeting, and what a client answers.
//!
//! (MySQL documentation, "Connection Phase": "Protocol::HandshakeV10", "Protocol::SSLRequest",
//! "Protocol::HandshakeResponse41".)

use crate::job::CharacterSet;
use crate::session::error::SessionError;
use crate::session::fields::Fields;
use crate::wire::MySqlChoice;
use crate::wire::mysql;

const LONG_PASSWORD: u32 = 1;
const FOUND_ROWS: u32 = 1 << 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DB: u32 = 1 << 3;
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const MULTI_STATEMENTS: u32 = 1 << 16;
const MULTI_RESULTS: u32 = 1 << 17;
const PS_MULTI_RESULTS: u32 = 1 << 18;
const PLUGIN_AUTH: u32 = 1 << 19;
const CONNECT_ATTRS: u32 = 1 << 20;
const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
const DEPRECATE_EOF: u32 = 1 << 24;

/// What every server has to be able to do.
const NEEDED: u32 = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH;
/// What is asked of a server that can do it. A connection's statements and results are those of sysbench's driver
/// (several statements in a text, several results), and its data of a LOAD DATA LOCAL come from the generator alone.
const WISHED: u32 = LONG_PASSWORD
    | LONG_FLAG
    | CONNECT_WITH_DB
    | LOCAL_FILES
    | TRANSACTIONS
    | MULTI_STATEMENTS
    | MULTI_RESULTS
    | PS_MULTI_RESULTS
    | CONNECT_ATTRS
    | PLUGIN_AUTH_LENENC
    | DEPRECATE_EOF;

/// The longest packet that a client is ready to take, as it says.
const PACKET_BYTES_MAX: u32 = 1 << 24;
/// The version of the greeting.
const VERSION: u8 = 10;
/// The bytes of the server's random text; one NUL more comes over the wire.
pub(super) const SCRAMBLE_BYTES: usize = 20;

/// What the server says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Its version, such as `8.4.6` or `5.5.5-10.11.14-MariaDB`.
    pub version: String,
    /// Its number of the connection.
    pub connection: u32,
    capabilities: u32,
    /// The random text that proofs of passwords are made with.
    pub(super) scramble: [u8; SCRAMBLE_BYTES],
    /// The name of the method by which it thinks that the user proves who they are.
    pub(super) method: String,
}

impl Greeting {
    /// Reads a greeting.
    ///
    /// # Errors
    /// `Protocol` for one of another version or that ends too early, `Connect` for a server that lacks something that
    /// is needed.
    pub fn of_packet(body: &[u8]) -> Result<Self, SessionError> {
        let mut fields = Fields(body);
        let version = fields.u8()?;
        if version != VERSION {
            let text = format!("its greeting is of version {version}, not {VERSION}");
            return Err(SessionError::Protocol(text));
        }
        let version = crate::session::error::one_line(fields.until_nul());
        let connection = fields.le_u32()?;
        let mut scramble = [0; SCRAMBLE_BYTES];
        scramble[..8].copy_from_slice(fields.bytes(8)?);
        fields.u8()?;
        let low = fields.le_u16()?;
        // Character set and status.
        fields.bytes(3)?;
        let capabilities = u32::from(low) | u32::from(fields.le_u16()?) << 16;
        if capabilities & NEEDED != NEEDED {
            return Err(SessionError::Connect(format!(
                "the server {version} is too old: it has no method of authentication by name"
            )));
        }
        // The length of the random text, and what is reserved.
        fields.bytes(1 + 10)?;
        scramble[8..].copy_from_slice(fields.bytes(SCRAMBLE_BYTES - 8)?);
        fields.bytes(1)?;
        let method = crate::session::error::one_line(fields.until_nul());
        Ok(Self {
            version,
            connection,
            capabilities,
            scramble,
            method,
        })
    }

    /// Tells whether it is MariaDB's.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }

    /// Tells whether the server can encrypt.
    pub(super) fn has_tls(&self) -> bool {
        self.capabilities & SSL != 0
    }

    /// Tells whether descriptions of columns are followed by a packet that ends them, as with servers before MySQL 5.7.5.
    pub(super) fn ends_descriptions(&self) -> bool {
        self.capabilities & DEPRECATE_EOF == 0
    }

    /// Appends the request to go on within TLS, as packet 1.
    pub(super) fn ask_for_tls(&self, out: &mut Vec<u8>, choice: MySqlChoice) {
        mysql::packet(out, 1, &self.head(choice, SSL));
    }

    /// Appends the answer to the greeting, as the packet of that number.
    pub(super) fn answer(&self, out: &mut Vec<u8>, number: u8, answer: &HandshakeAnswer) {
        let extra = if number > 1 { SSL } else { 0 };
        let mut payload = self.head(answer.choice, extra);
        text(&mut payload, answer.user);
        if self.capabilities & PLUGIN_AUTH_LENENC != 0 {
            mysql::text(&mut payload, |out| out.extend_from_slice(answer.proof));
        } else {
            // Proofs of all methods are shorter than 256 bytes.
            payload.push(u8::try_from(answer.proof.len()).unwrap_or(u8::MAX));
            payload.extend_from_slice(answer.proof);
        }
        text(&mut payload, answer.database);
        text(&mut payload, answer.method);
        if self.capabilities & CONNECT_ATTRS != 0 {
            mysql::text(&mut payload, |out| {
                for part in ["program_name", answer.application_name] {
                    mysql::text(out, |out| out.extend_from_slice(part.as_bytes()));
                }
            });
        }
        mysql::packet(out, number, &payload);
    }

    /// Returns capabilities, the longest packet, the character set, and room.
    fn head(&self, choice: MySqlChoice, extra: u32) -> Vec<u8> {
        let found = if choice.found_rows { FOUND_ROWS } else { 0 };
        let capabilities = (NEEDED | WISHED | found) & self.capabilities | extra;
        let mut head = capabilities.to_le_bytes().to_vec();
        head.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
        head.push(collation(choice.character_set));
        head.extend_from_slice(&[0; 23]);
        head
    }
}

/// What a client answers to the greeting.
#[derive(Debug)]
pub(super) struct HandshakeAnswer<'a> {
    pub(super) choice: MySqlChoice,
    pub(super) user: &'a str,
    pub(super) database: &'a str,
    pub(super) application_name: &'a str,
    pub(super) method: &'a str,
    pub(super) proof: &'a [u8],
}

/// Returns the number of a character set's usual collation: latin1_swedish_ci, utf8mb4_general_ci (which every version of both
/// servers has).
fn collation(character_set: CharacterSet) -> u8 {
    match character_set {
        CharacterSet::Latin1 => 8,
        CharacterSet::Utf8mb4 => 45,
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::constants::CapabilityFlags;
    use mysql_common::packets::{AuthPlugin, HandshakeResponse};
    use mysql_common::proto::MySerialize;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// MariaDB's greeting, as one came over the wire, with its random text made up.
    fn body(low: u16, high: u16) -> Vec<u8> {
        let mut body = b"\x0a5.5.5-10.11.14-MariaDB\0\x08\x01\0\0abcdefgh\0".to_vec();
        body.extend_from_slice(&low.to_le_bytes());
        body.extend_from_slice(b"\x08\x02\0");
        body.extend_from_slice(&high.to_le_bytes());
        body.extend_from_slice(b"\x15\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0");
        body
    }

    #[test]
    fn a_greeting_is_read() {
        let greeting = Greeting::of_packet(&body(0xfffe, 0x81bf)).expect("a greeting");
        assert_eq!(greeting.connection, 264);
        assert_eq!(&greeting.scramble, b"abcdefghijklmnopqrst");
        assert_eq!(greeting.method, "mysql_native_password");
        assert!(greeting.is_mariadb() && greeting.has_tls());
        assert!(!greeting.ends_descriptions());
        let older = Greeting::of_packet(&body(0xf7ff, 0x80bf)).expect("a greeting");
        assert!(!older.has_tls() && older.ends_descriptions());
    }

    #[test]
    fn a_greeting_that_is_none_or_too_old_is_refused() {
        let old = Greeting::of_packet(&body(0x01ff, 0));
        assert!(matches!(old, Err(SessionError::Connect(_))));
        for body in [&b""[..], b"\x09", b"\x0a9.7", b"\x0a9.7\0\x01"] {
            assert!(Greeting::of_packet(body).is_err(), "{body:?}");
        }
    }

    #[test]
    fn the_answer_is_that_of_the_reference() {
        let greeting = Greeting::of_packet(&body(0xffff, 0xffff)).expect("a greeting");
        let choice = MySqlChoice {
            character_set: CharacterSet::Utf8mb4,
            found_rows: true,
        };
        let mut out = Vec::new();
        greeting.answer(
            &mut out,
            1,
            &HandshakeAnswer {
                choice,
                user: "dyno",
                database: "ib",
                application_name: "x",
                method: "mysql_native_password",
                proof: b"proof",
            },
        );
        let capabilities = CapabilityFlags::from_bits_truncate(NEEDED | WISHED | FOUND_ROWS);
        let mut expected = Vec::new();
        HandshakeResponse::new(
            Some(&b"proof"[..]),
            (9, 7, 0),
            Some(&b"dyno"[..]),
            Some(&b"ib"[..]),
            Some(AuthPlugin::MysqlNativePassword),
            capabilities,
            Some(HashMap::from([("program_name".to_owned(), "x".to_owned())])),
            PACKET_BYTES_MAX,
        )
        .serialize(&mut expected);
        assert_eq!(
            out[..4],
            [u8::try_from(expected.len()).expect("short"), 0, 0, 1]
        );
        assert_eq!(out[4..], expected);
    }

    #[test]
    fn found_rows_and_the_character_set_are_as_chosen() {
        let greeting = Greeting::of_packet(&body(0xffff, 0xffff)).expect("a greeting");
        let plain = greeting.head(MySqlChoice::default(), 0);
        assert_eq!((plain[0] & 2, plain[8]), (0, 8));
        let mut out = Vec::new();
        greeting.ask_for_tls(&mut out, MySqlChoice::default());
        assert_eq!(
            (out.len(), &out[..4], out[5] & 8),
            (36, &[32, 0, 0, 1][..], 8)
        );
    }

    proptest! {
        #[test]
        fn any_greeting_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = Greeting::of_packet(&bytes);
            let _ = Greeting::of_packet(&[&b"\x0a"[..], &bytes].concat());
        }
    }
}
