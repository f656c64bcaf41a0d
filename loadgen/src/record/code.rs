//! The codes of servers' errors.

/// Five characters of a SQLSTATE; or the number of an error of MySQL, with spaces behind it.
pub type Code = [u8; 5];

/// Returns a code as it is written.
#[must_use]
pub fn code_text(code: Code) -> String {
    String::from_utf8_lossy(&code).trim_end().to_owned()
}

/// Writes MySQL's number of an error into the room of a SQLSTATE, with spaces behind it.
#[must_use]
pub fn number_code(number: u16) -> Code {
    let mut code = *b"     ";
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(number).as_bytes();
    code[..digits.len()].copy_from_slice(digits);
    code
}
