//! The bytes that the null server answers with (PostgreSQL documentation, "Message Formats").

/// ParseComplete.
pub(super) const PARSED: &[u8] = b"1\0\0\0\x04";
/// BindComplete.
pub(super) const BOUND: &[u8] = b"2\0\0\0\x04";
/// CloseComplete.
pub(super) const CLOSED: &[u8] = b"3\0\0\0\x04";
/// NoData.
pub(super) const NO_DATA: &[u8] = b"n\0\0\0\x04";
/// RowDescription: one int4 column in text form.
pub(super) const COLUMN_TEXT: &[u8] =
    b"T\0\0\0\x21\0\x01?column?\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
/// RowDescription: one int4 column in binary form.
pub(super) const COLUMN_BINARY: &[u8] =
    b"T\0\0\0\x21\0\x01?column?\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\x01";
/// DataRow: a 0 in text form.
pub(super) const ROW_TEXT: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x010";
/// DataRow: a 0 in binary form.
pub(super) const ROW_BINARY: &[u8] = b"D\0\0\0\x0e\0\x01\0\0\0\x04\0\0\0\0";
/// What an SSLRequest is answered with: no.
pub(super) const UNENCRYPTED: &[u8] = b"N";
/// The OID of int8, which all parameters are.
const INT8: u32 = 20;

/// What the server says of itself.
const SETTINGS: [(&str, &str); 6] = [
    ("server_version", "17.0 (null server of dbdyno)"),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
];

/// Appends AuthenticationOk, the settings and BackendKeyData.
pub(super) fn welcome(out: &mut Vec<u8>) {
    message(out, b'R', |out| out.extend([0; 4]));
    for (name, value) in SETTINGS {
        message(out, b'S', |out| {
            text(out, name);
            text(out, value);
        });
    }
    message(out, b'K', |out| {
        out.extend(std::process::id().to_be_bytes());
        out.extend([0; 4]);
    });
}

/// Appends ReadyForQuery.
pub(super) fn ready(out: &mut Vec<u8>, in_transaction: bool) {
    let state = if in_transaction { b'T' } else { b'I' };
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, state]);
}

/// Appends CommandComplete.
pub(super) fn complete(out: &mut Vec<u8>, tag: &[u8]) {
    message(out, b'C', |out| {
        out.extend_from_slice(tag);
        out.push(0);
    });
}

/// Appends ParameterDescription.
pub(super) fn parameters(out: &mut Vec<u8>, count: u16) {
    message(out, b't', |out| {
        out.extend(count.to_be_bytes());
        for _ in 0..count {
            out.extend(INT8.to_be_bytes());
        }
    });
}

/// Appends ErrorResponse.
pub(super) fn error(out: &mut Vec<u8>, severity: &str, code: &str, problem: &str) {
    message(out, b'E', |out| {
        for (field, value) in [
            (b'S', severity),
            (b'V', severity),
            (b'C', code),
            (b'M', problem),
        ] {
            out.push(field);
            text(out, value);
        }
        out.push(0);
    });
}

#[inline]
fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    body(out);
    // Nothing here comes near 4 GiB.
    let length = u32::try_from(out.len() - at - 1).unwrap_or(u32::MAX);
    out[at + 1..at + 5].copy_from_slice(&length.to_be_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}
