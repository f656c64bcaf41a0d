//! The bytes of the packets that a client sends, appended to a buffer that is there.
//!
//! (MySQL documentation, "MySQL Client/Server Protocol": "Protocol Basics" and "Command Phase".) A packet has its
//! length in three bytes in front, and its number in a fourth: a command is number 0, what follows it counts on.

/// The longest payload of one packet; a longer one goes on in the next.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 0xff_ffff;
/// A packet's length and number.
pub(crate) const HEADER_BYTES: usize = 4;
/// Strings shorter than this have their length in one byte.
const SHORT_BYTES: usize = 251;

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// The type of a parameter, as an execution declares it (MySQL's `enum_field_types`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum ParameterType {
    /// A double of eight bytes.
    Double = 5,
    /// Nothing.
    Null = 6,
    /// Eight bytes, signed.
    BigInt = 8,
    /// Eight bytes without a sign: the bit above the type says so.
    UnsignedBigInt = 0x8008,
    /// Year to second.
    DateTime = 12,
    /// A decimal number as text.
    Decimal = 246,
    /// A text.
    VarString = 253,
}

impl ParameterType {
    /// Returns its two bytes in an execution.
    #[inline]
    #[must_use]
    pub fn bytes(self) -> [u8; 2] {
        (self as u16).to_le_bytes()
    }
}

/// Begins a statement as a text; the SQL is appended by the caller. The mark is for [`end`].
#[inline]
pub fn query_begin(out: &mut Vec<u8>) -> usize {
    begin(out, 0, COM_QUERY)
}

/// Runs SQL as a text.
pub fn query(out: &mut Vec<u8>, sql: &[u8]) {
    let mark = query_begin(out);
    out.extend_from_slice(sql);
    end(out, mark);
}

/// Asks the server to prepare a statement.
pub fn prepare(out: &mut Vec<u8>, sql: &[u8]) {
    let mark = begin(out, 0, COM_STMT_PREPARE);
    out.extend_from_slice(sql);
    end(out, mark);
}

/// Begins to execute a prepared statement once, without a cursor; then come the values of its `count` parameters, then
/// [`end`]. `types` are declared where they are given, with the first execution of a session: the server keeps them.
#[inline]
pub fn execute_begin(out: &mut Vec<u8>, id: u32, count: usize, types: Option<&[u8]>) -> usize {
    let mark = begin(out, 0, COM_STMT_EXECUTE);
    out.extend_from_slice(&id.to_le_bytes());
    // No cursor; one iteration.
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    if count > 0 {
        // A bit for each parameter that is NULL.
        out.resize(out.len() + count.div_ceil(8), 0);
        out.push(u8::from(types.is_some()));
        out.extend_from_slice(types.unwrap_or_default());
    }
    mark
}

/// How many packets a request has, in the numbers' eight bits. Only the last one is not full.
#[inline]
pub(crate) fn packets(request: &[u8]) -> u8 {
    let full = request.len() / (PAYLOAD_BYTES_MAX + HEADER_BYTES);
    u8::try_from(full % 256).unwrap_or(0).wrapping_add(1)
}

/// Whether a request executes a prepared statement: then its rows come in binary form.
#[inline]
pub(crate) fn is_execution(request: &[u8]) -> bool {
    request.get(HEADER_BYTES) == Some(&COM_STMT_EXECUTE)
}

/// Appends an integer of eight bytes.
#[inline]
pub fn integer(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends an integer of eight bytes that has no sign.
#[inline]
pub fn unsigned(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a double.
pub fn double(out: &mut Vec<u8>, number: f64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Where the bits of parameters that are NULL begin in an execution: behind header, command, number, flags, iterations.
const NULLS: usize = HEADER_BYTES + 1 + 4 + 1 + 4;

/// Writes the type of one parameter (its place, and of how many) into an execution that begins at the mark and declares
/// types, and takes note of one that is NULL.
pub fn declare(out: &mut [u8], mark: usize, (place, count): (usize, usize), type_: ParameterType) {
    let nulls = mark + NULLS;
    out[nulls + count.div_ceil(8) + 1 + 2 * place..][..2].copy_from_slice(&type_.bytes());
    if type_ == ParameterType::Null {
        null(out, mark, place);
    }
}

/// Takes note of a parameter that is NULL, by its place, in an execution that begins at the mark.
fn null(out: &mut [u8], mark: usize, place: usize) {
    out[mark + NULLS + place / 8] |= 1 << (place % 8);
}

/// Appends year to second.
#[inline]
pub fn date_time(out: &mut Vec<u8>, (year, rest): (i64, [u8; 5])) {
    // A year that is none is for the server to refuse.
    let year = u16::try_from(year).unwrap_or(u16::MAX);
    out.push(7);
    out.extend_from_slice(&year.to_le_bytes());
    out.extend_from_slice(&rest);
}

/// Appends a text: what `write` writes, with its length in front.
#[inline]
pub fn text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mark = out.len();
    out.push(0);
    write(out);
    let length = out.len() - mark - 1;
    match u8::try_from(length) {
        Ok(short) if length < SHORT_BYTES => out[mark] = short,
        _ => widen(out, mark, length),
    }
}

/// Makes room for a length that one byte does not hold, and writes it.
#[cold]
fn widen(out: &mut Vec<u8>, mark: usize, length: usize) {
    let bytes = (length as u64).to_le_bytes();
    let (tag, wide) = match length {
        0..=0xffff => (0xfc, 2),
        0x1_0000..=0xff_ffff => (0xfd, 3),
        _ => (0xfe, 8),
    };
    let end = out.len();
    out.resize(end + wide, 0);
    out.copy_within(mark + 1..end, mark + 1 + wide);
    out[mark] = tag;
    out[mark + 1..][..wide].copy_from_slice(&bytes[..wide]);
}

/// Ends a packet that begins at the mark. One that is too long becomes several.
#[inline]
pub fn end(out: &mut Vec<u8>, mark: usize) {
    let length = out.len() - mark - HEADER_BYTES;
    if length < PAYLOAD_BYTES_MAX {
        patch(out, mark, length);
    } else {
        split(out, mark);
    }
}

/// Cuts a payload into full packets and one that is not, which tells the end.
#[cold]
fn split(out: &mut Vec<u8>, mark: usize) {
    let mut number = out[mark + 3];
    let mut at = mark;
    while out.len() - at - HEADER_BYTES >= PAYLOAD_BYTES_MAX {
        patch(out, at, PAYLOAD_BYTES_MAX);
        at += HEADER_BYTES + PAYLOAD_BYTES_MAX;
        number = number.wrapping_add(1);
        out.splice(at..at, [0, 0, 0, number]);
    }
    let length = out.len() - at - HEADER_BYTES;
    patch(out, at, length);
}

/// Says goodbye.
pub fn quit(out: &mut Vec<u8>) {
    let mark = begin(out, 0, COM_QUIT);
    end(out, mark);
}

/// Appends a packet of bytes with a number.
pub(crate) fn packet(out: &mut Vec<u8>, number: u8, payload: &[u8]) {
    let mark = out.len();
    out.extend_from_slice(&[0, 0, 0, number]);
    out.extend_from_slice(payload);
    end(out, mark);
}

#[inline]
fn begin(out: &mut Vec<u8>, number: u8, command: u8) -> usize {
    let mark = out.len();
    out.extend_from_slice(&[0, 0, 0, number, command]);
    mark
}

#[inline]
fn patch(out: &mut [u8], mark: usize, length: usize) {
    let bytes = (length as u64).to_le_bytes();
    out[mark..mark + 3].copy_from_slice(&bytes[..3]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::io::ParseBuf;
    use mysql_common::packets::ComStmtExecuteRequestBuilder;
    use mysql_common::proto::MySerialize;
    use mysql_common::value::Value;

    #[test]
    fn an_execution_is_that_of_the_reference_encoder() {
        for length in [0, 1, 250, 251, 300, 65_535, 65_536] {
            let long = "x".repeat(length);
            let mut out = Vec::new();
            let types = [8, 0, 253, 0, 253, 0, 12, 0];
            let mark = execute_begin(&mut out, 7, 4, Some(&types));
            integer(&mut out, -5_000_000_000);
            text(&mut out, |out| out.extend_from_slice(b"12.00"));
            text(&mut out, |out| out.extend_from_slice(long.as_bytes()));
            date_time(&mut out, (2000, [2, 29, 23, 59, 58]));
            end(&mut out, mark);
            let values = [
                Value::Int(-5_000_000_000),
                Value::Bytes(b"12.00".to_vec()),
                Value::Bytes(long.into_bytes()),
                Value::Date(2000, 2, 29, 23, 59, 58, 0),
            ];
            let mut expected = Vec::new();
            let (request, _) = ComStmtExecuteRequestBuilder::new(7).build(&values);
            request.serialize(&mut expected);
            let header = u32::try_from(expected.len()).expect("short").to_le_bytes();
            assert_eq!(out[..4], header, "number 0");
            // The reference sends texts as VAR_STRING, 253, and whole numbers as BIGINT, as we do.
            assert_eq!(out[4..], expected, "{length}");
        }
    }

    #[test]
    fn types_are_declared_only_where_they_are_given_and_nothing_without_parameters() {
        let mut out = Vec::new();
        let mark = execute_begin(&mut out, 1, 9, None);
        end(&mut out, mark);
        assert_eq!(out, b"\x0d\0\0\0\x17\x01\0\0\0\0\x01\0\0\0\0\0\0");
        out.clear();
        let mark = execute_begin(&mut out, 1, 0, Some(&[]));
        end(&mut out, mark);
        assert_eq!(out, b"\x0a\0\0\0\x17\x01\0\0\0\0\x01\0\0\0");
        assert!(is_execution(&out) && !is_execution(b"\x01\0\0\0\x01") && !is_execution(b""));
    }

    #[test]
    fn a_payload_that_is_too_long_goes_on_in_further_packets() {
        for (length, packets) in [
            (PAYLOAD_BYTES_MAX - 1, 1),
            (PAYLOAD_BYTES_MAX, 2),
            (PAYLOAD_BYTES_MAX + 1, 2),
            (2 * PAYLOAD_BYTES_MAX, 3),
        ] {
            let mut out = b"before".to_vec();
            let mark = query_begin(&mut out);
            out.resize(out.len() + length - 1, b'x');
            end(&mut out, mark);
            let (mut rest, mut payload) = (&out[6..], 0);
            for number in 0..packets {
                let mut header = ParseBuf(rest);
                let bytes = header.eat_u24_le() as usize;
                assert_eq!(header.eat_u8(), number);
                payload += bytes;
                rest = &rest[HEADER_BYTES + bytes..];
            }
            assert_eq!((payload, rest.len()), (length, 0));
            assert_eq!(super::packets(&out[6..]), packets);
        }
    }

    #[test]
    fn a_buffer_with_room_does_not_grow() {
        let mut out = Vec::with_capacity(4096);
        let place = out.as_ptr();
        for number in 0..10 {
            out.clear();
            let mark = execute_begin(&mut out, 1, 2, Some(&[8, 0, 253, 0]));
            integer(&mut out, number);
            text(&mut out, |out| out.resize(out.len() + 400, b'x'));
            end(&mut out, mark);
        }
        assert_eq!(out.as_ptr(), place);
    }
}
