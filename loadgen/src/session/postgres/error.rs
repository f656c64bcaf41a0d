//! How PostgreSQL reports an error.

use crate::session::error::{ServerError, SessionError, one_line};

impl ServerError {
    /// Reads the fields of an `ErrorResponse` or `NoticeResponse`: a type byte and a
    /// NUL-terminated text each (PostgreSQL documentation, "Error and Notice Message Fields").
    ///
    /// # Errors
    /// Where a field does not end.
    pub fn parse(body: &[u8]) -> Result<Self, SessionError> {
        let mut error = Self {
            code: *b"XX000",
            number: 0,
            message: String::new(),
        };
        let mut detail = None;
        let mut rest = body;
        while let Some((&field, text)) = rest.split_first() {
            if field == 0 {
                break;
            }
            let end = text.iter().position(|&byte| byte == 0).ok_or_else(|| {
                SessionError::Protocol("an error message of the server does not end".to_owned())
            })?;
            let (value, after) = (&text[..end], &text[end + 1..]);
            match field {
                b'C' => error.code = plain_code(value),
                b'M' => error.message = one_line(value),
                b'D' => detail = Some(one_line(value)),
                _ => (),
            }
            rest = after;
        }
        if let Some(detail) = detail {
            error.message.push_str(": ");
            error.message.push_str(&detail);
        }
        Ok(error)
    }
}

/// The five characters of a SQLSTATE; what is none becomes `XX000` (internal error).
fn plain_code(value: &[u8]) -> [u8; 5] {
    match <[u8; 5]>::try_from(value) {
        Ok(code) if code.iter().all(u8::is_ascii_alphanumeric) => code,
        _ => *b"XX000",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_with_its_detail_on_one_line() {
        let body = b"SERROR\0C23505\0Mduplicate key\nvalue\0DKey (id)=(1)\texists.\0Fnb.c\0\0";
        let error = ServerError::parse(body).expect("an error");
        assert_eq!(error.code_text(), "23505");
        assert_eq!(error.message, "duplicate key value: Key (id)=(1) exists.");
        let text = "duplicate key value: Key (id)=(1) exists. (SQLSTATE 23505)";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn an_error_without_an_end_or_a_code_does_no_harm() {
        assert!(ServerError::parse(b"C235").is_err());
        assert_eq!(ServerError::parse(b"").expect("empty").code_text(), "XX000");
        assert_eq!(
            ServerError::parse(b"C\xff\xff\xff\xff\xff\0\0")
                .expect("odd")
                .code_text(),
            "XX000"
        );
    }
}
