//! How MySQL reports an error.

use crate::session::error::{ServerError, SessionError, one_line};
use crate::session::fields::Fields;

/// What stands for a SQLSTATE where the server gives none, as before it knows the client.
const GENERAL: &[u8; 5] = b"HY000";

impl ServerError {
    /// Reads an error packet: `0xff`, the number, `#` and SQLSTATE, the text (MySQL documentation, "ERR_Packet").
    ///
    /// # Errors
    /// Where it ends before its number.
    pub fn of_packet(body: &[u8]) -> Result<Self, SessionError> {
        let mut fields = Fields(body);
        fields.u8()?;
        let number = fields.le_u16()?;
        let marked = fields
            .0
            .strip_prefix(b"#")
            .and_then(<[u8]>::split_first_chunk);
        let (code, text) = marked.map_or((*GENERAL, fields.0), |(code, text)| (*code, text));
        let plain = code.iter().all(u8::is_ascii_alphanumeric);
        Ok(Self {
            code: if plain { code } else { *GENERAL },
            number,
            message: one_line(text),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_number_and_state_or_the_general_one() {
        let error = ServerError::of_packet(b"\xff\xbd\x04#40001Deadlock\nfound").expect("one");
        assert_eq!((error.number, error.code_text()), (1213, "40001"));
        let text = "Deadlock found (SQLSTATE 40001, error 1213)";
        assert_eq!(error.to_string(), text);
        assert_eq!(error.tally(), *b"40001");
        let early = ServerError::of_packet(b"\xff\x10\x04Too many connections").expect("one");
        assert_eq!(early.message, "Too many connections");
        assert_eq!((early.code, early.tally()), (*b"HY000", *b"1040 "));
        assert!(ServerError::of_packet(b"\xff\x10").is_err());
        let odd = ServerError::of_packet(b"\xff\x10\x04#\xff\xff\xff\xff\xff").expect("odd");
        assert_eq!(odd.code, *b"HY000");
    }
}
