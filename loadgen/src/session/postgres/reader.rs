//! Understands the server's answers to requests, as far as the hot path needs them.

use super::framing::Framing;
use crate::session::capture::Capture;
use crate::session::error::{ServerError, SessionError};
use crate::session::fields::Fields;
use crate::session::incoming::{Bulk, Incoming, Reply};
use crate::session::results::Results;
use crate::wire::postgres;

/// More rows than one command can have touched: what says so counts wrongly.
const ROWS_MAX: u64 = 1 << 48;

/// The state of a session's incoming side between two reads.
#[derive(Debug)]
pub struct Reader {
    framing: Framing,
    /// How many answers are still to come to what was asked.
    asked: u32,
    /// What is kept of the answers, while somebody wants it.
    pub(super) capture: Option<Box<Capture<bool>>>,
    /// The error that the server sent unasked, as it does before it ends a session.
    pub(super) parting: Option<ServerError>,
    /// How far the data of a COPY are.
    bulk: Bulk,
    /// Whether `\` has a meaning in literals.
    pub(super) escapes: bool,
}

impl Reader {
    /// Makes the incoming side of a session whose bytes so far `framing` has read.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self {
            framing,
            asked: 0,
            capture: None,
            parting: None,
            bulk: Bulk::Unexpected,
            escapes: false,
        }
    }
}

impl Incoming for Reader {
    type Column = bool;

    const SERVER: &'static str = "PostgreSQL";

    fn new() -> Self {
        Self::new(Framing::new())
    }

    #[inline]
    fn ask(&mut self) {
        self.asked = 1;
    }

    fn await_answers(&mut self, answers: u32) {
        self.asked = answers;
    }

    fn feed(&mut self, bytes: &[u8], reply: &mut Reply) -> Result<bool, SessionError> {
        let mut input = bytes;
        let mut ready = false;
        let capturing = self.capture.is_some();
        let gathering = reply.gathering().is_some();
        let following = reply.progress.follows();
        let wanted = |tag| {
            capturing
                || matches!(tag, b'C' | b'E' | b'Z')
                || (following && tag == b'N')
                || (gathering && matches!(tag, b'T' | b'D'))
        };
        while let Some(message) = self.framing.next(&mut input, wanted)? {
            match message.tag {
                b'C' if self.asked > 0 => {
                    let rows = rows_of_tag(message.body)?;
                    reply.rows = reply.rows.saturating_add(rows);
                    if let Some(results) = &mut reply.results {
                        results.complete(rows);
                    }
                    if let Some(capture) = &mut self.capture {
                        let affected = &mut capture.captured.affected;
                        *affected = affected.saturating_add(rows);
                    }
                }
                b'Z' if self.asked > 0 => {
                    self.asked -= 1;
                    ready = self.asked == 0;
                    reply.in_block = message.body != b"I";
                }
                b'E' => {
                    let error = ServerError::parse(message.body)?;
                    if self.asked > 0 {
                        reply.error.get_or_insert(error);
                    } else {
                        self.parting = Some(error);
                    }
                }
                b'D' | b'T' | b't' if self.asked == 0 => return Err(unasked(message.tag)),
                b'D' | b'T' | b'N' | b't' => {
                    if following && message.tag == b'N' && self.asked > 0 {
                        reply.progress.take(message.body)?;
                    }
                    if let Some(results) = reply.gathering() {
                        gather(results, message.tag, message.body)?;
                    }
                    if let Some(capture) = &mut self.capture {
                        capture.take(message.tag, message.body)?;
                    }
                }
                b'G' if self.bulk == Bulk::Offered => self.bulk = Bulk::Wanted,
                // Parameters and notifications may come at any time.
                b'A' | b'S' => (),
                other if self.asked == 0 => return Err(unasked(other)),
                // Completions of the extended protocol, COPY to us.
                b'1' | b'2' | b'3' | b'H' | b'c' | b'd' | b'n' | b's' => (),
                // An empty statement.
                b'I' => {
                    if let Some(results) = &mut reply.results {
                        results.complete(0);
                    }
                }
                other => return Err(unexpected(other)),
            }
        }
        Ok(ready)
    }

    fn kept(&mut self) -> &mut Option<Box<Capture<bool>>> {
        &mut self.capture
    }

    fn bulk(&mut self) -> &mut Bulk {
        &mut self.bulk
    }

    fn take_parting(&mut self) -> Option<ServerError> {
        self.parting.take()
    }

    fn goodbye(out: &mut Vec<u8>) {
        postgres::terminate(out);
    }

    fn text(out: &mut Vec<u8>, sql: &[u8]) {
        postgres::simple(out, sql);
    }
}

/// Keeps the names of a result's columns, or a row.
fn gather(results: &mut Results, tag: u8, body: &[u8]) -> Result<(), SessionError> {
    let mut fields = Fields(body);
    match tag {
        b'T' => {
            let columns = fields.be_u16()?;
            results.begin_result(columns);
            for _ in 0..columns {
                results.name(fields.text()?);
                // Table, column number, type, its size and modifier, form.
                fields.bytes(18)?;
            }
        }
        b'D' => {
            results.begin_row();
            for _ in 0..fields.be_u16()? {
                results.value(match fields.be_u32()? {
                    u32::MAX => None,
                    length => Some(fields.bytes(length as usize)?),
                });
            }
        }
        _ => {}
    }
    Ok(())
}

/// Returns the number at the end of a command tag (`INSERT 0 50`, `SELECT 12`); 0 for one without
/// (`VACUUM`).
#[inline]
fn rows_of_tag(body: &[u8]) -> Result<u64, SessionError> {
    let Some((0, tag)) = body.split_last() else {
        return Err(SessionError::Protocol(
            "a command tag of the server does not end".to_owned(),
        ));
    };
    let (mut rows, mut place) = (0_u64, 1_u64);
    for &byte in tag.iter().rev() {
        match byte {
            b'0'..=b'9' => {
                rows = rows.saturating_add(place.saturating_mul(u64::from(byte - b'0')));
                place = place.saturating_mul(10);
            }
            b' ' if rows > ROWS_MAX => return Err(miscounted()),
            b' ' => return Ok(rows),
            _ => break,
        }
    }
    Ok(0)
}

#[cold]
fn miscounted() -> SessionError {
    SessionError::Protocol("a command tag of the server counts more rows than can be".to_owned())
}

#[cold]
fn unasked(tag: u8) -> SessionError {
    SessionError::Protocol(format!(
        "the server sent a message `{}` that nobody had asked for: an answer too many",
        tag.escape_ascii()
    ))
}

#[cold]
fn unexpected(tag: u8) -> SessionError {
    SessionError::Protocol(if tag == b'G' {
        "the server waits for COPY data: a statement cannot give them, use `fills`".to_owned()
    } else {
        format!(
            "the server sent a message `{}` that does not belong here",
            tag.escape_ascii()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Keep;
    use proptest::prelude::*;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
        [&[tag], &length[..], body].concat()
    }

    /// A reader that a request's answer may come to.
    fn asked() -> Reader {
        let mut reader = Reader::new(Framing::new());
        reader.ask();
        reader
    }

    /// An answer with two rows of one text column, a notice and a tag.
    fn answer() -> Vec<u8> {
        let column = b"\0\x01c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
        [
            message(b'T', column),
            message(b'D', b"\0\x01\0\0\0\x02ab"),
            message(b'D', b"\0\x01\xff\xff\xff\xff"),
            message(b'N', b"SNOTICE\0C00000\0Mtake note\0\0"),
            message(b'S', b"a\0b\0"),
            message(b'C', b"SELECT 2\0"),
            message(b'C', b"INSERT 0 50\0"),
            message(b'Z', b"I"),
        ]
        .concat()
    }

    #[test]
    fn an_answer_cut_at_any_byte_is_understood_the_same() {
        let stream = answer();
        for cut in 0..=stream.len() {
            let (mut reader, mut reply) = (asked(), Reply::default());
            let first = reader.feed(&stream[..cut], &mut reply).expect("valid");
            let second = reader.feed(&stream[cut..], &mut reply).expect("valid");
            assert_eq!(
                (first, second),
                (cut == stream.len(), cut < stream.len()),
                "cut {cut}"
            );
            assert_eq!(reply.rows, 52);
            assert!(reply.error.is_none());
        }
    }

    #[test]
    fn a_captured_answer_cut_at_any_byte_is_kept_the_same() {
        let stream = answer();
        for cut in 0..=stream.len() {
            let (mut reader, mut reply) = (asked(), Reply::default());
            reader.capture(true);
            reader.feed(&stream[..cut], &mut reply).expect("valid");
            reader.feed(&stream[cut..], &mut reply).expect("valid");
            let captured = reader.take_captured();
            assert_eq!(captured.columns, ["c"]);
            assert_eq!(captured.rows, [[Some("ab".to_owned())], [None]]);
            assert_eq!(captured.notices, ["take note"]);
            assert_eq!(captured.affected, 52);
        }
    }

    #[test]
    fn notices_cut_at_any_byte_say_the_same_rows_while_the_statement_runs() {
        let text: std::sync::Arc<[u8]> = std::sync::Arc::from(&b"total: "[..]);
        let note = |rows: &str| message(b'N', format!("SNOTICE\0Mtotal: {rows}\0\0").as_bytes());
        let running = [note("1,000"), message(b'S', b"a\0b\0"), note("2,500")].concat();
        let end = [message(b'C', b"CALL\0"), message(b'Z', b"I")].concat();
        let stream = [&running[..], &end].concat();
        for cut in 0..=stream.len() {
            let (mut reader, mut reply) = (asked(), Reply::default());
            reply.progress.follow(&text);
            reader.feed(&stream[..cut], &mut reply).expect("valid");
            let said = reply.progress.rows();
            let expected = match cut {
                _ if cut >= running.len() => 2_500,
                _ if cut >= note("1,000").len() => 1_000,
                _ => 0,
            };
            assert_eq!(said, expected, "cut {cut}");
            reader.feed(&stream[cut..], &mut reply).expect("valid");
            assert_eq!((reply.progress.rows(), reply.rows), (2_500, 0));
            // What comes between two statements is of neither.
            reader.feed(&note("9,000"), &mut reply).expect("valid");
            assert_eq!(reply.progress.rows(), 2_500);
        }
    }

    #[test]
    fn an_error_within_an_answer_is_its_own_and_one_after_it_is_a_parting() {
        let error = message(b'E', b"SFATAL\0C57P01\0Mterminating connection\0\0");
        let (mut reader, mut reply) = (asked(), Reply::default());
        let stream = [error.clone(), message(b'Z', b"I"), error].concat();
        assert!(reader.feed(&stream, &mut reply).expect("valid"));
        assert_eq!(reply.error.expect("an error").code_text(), "57P01");
        assert_eq!(
            reader.parting.expect("a parting").message,
            "terminating connection"
        );
    }

    #[test]
    fn the_number_of_rows_is_the_last_word_of_a_tag() {
        for (tag, rows) in [
            ("INSERT 0 50", 50),
            ("DELETE 0", 0),
            ("COPY 1000000", 1_000_000),
            ("CREATE TABLE", 0),
            ("VACUUM", 0),
            ("", 0),
            ("SELECT 281474976710656", ROWS_MAX),
            ("SELECT 000000000000000000000000000000001", 1),
        ] {
            assert_eq!(rows_of_tag(format!("{tag}\0").as_bytes()).expect(tag), rows);
        }
        assert!(rows_of_tag(b"").is_err());
        assert!(rows_of_tag(b"INSERT 0 5").is_err());
        for rows in ["281474976710657", "18446744073709551616", &"9".repeat(40)] {
            assert!(rows_of_tag(format!("SELECT {rows}\0").as_bytes()).is_err());
        }
    }

    #[test]
    fn what_does_not_belong_into_an_answer_is_an_error() {
        for tag in [b'R', b'G', b'W', b'?', 0, 255] {
            let refused = asked().feed(&message(tag, b""), &mut Reply::default());
            assert!(matches!(refused, Err(SessionError::Protocol(_))), "{tag}");
        }
    }

    #[test]
    fn an_answer_that_nobody_asked_for_is_an_error_and_news_are_not() {
        let whole = answer();
        let mut reader = asked();
        assert!(reader.feed(&whole, &mut Reply::default()).expect("valid"));
        for tag in *b"123CDITZnst" {
            let refused = reader.feed(&message(tag, b""), &mut Reply::default());
            assert!(matches!(refused, Err(SessionError::Protocol(_))), "{tag}");
        }
        let twice = [&whole[..], &whole].concat();
        assert!(asked().feed(&twice, &mut Reply::default()).is_err());
        let news = [
            message(b'N', b"Mnote\0\0"),
            message(b'S', b"a\0b\0"),
            message(b'A', b"\0\0\0\x01a\0b\0"),
        ];
        let fed = reader.feed(&news.concat(), &mut Reply::default());
        assert!(!fed.expect("news"));
    }

    /// Feeds a stream in pieces and stops at an error, as a session does.
    fn feed_pieces(reader: &mut Reader, stream: &[u8], piece_bytes: usize) {
        let mut reply = gathering(Keep::Every);
        for piece in stream.chunks(piece_bytes) {
            if reader.feed(piece, &mut reply).is_err() {
                break;
            }
        }
        reply.results.expect("kept").visit(|_, _| {});
    }

    /// A reply that keeps results.
    fn gathering(keep: Keep) -> Reply {
        let mut reply = Reply {
            results: Some(Box::default()),
            ..Reply::default()
        };
        reply.begin(keep);
        reply
    }

    #[test]
    fn a_scripts_results_cut_at_any_byte_are_kept_the_same() {
        let empty = [message(b'I', b""), message(b'Z', b"T")].concat();
        for cut in 0..answer().len() {
            let (mut reader, mut reply) = (asked(), gathering(Keep::Every));
            let stream = [&answer()[..], &empty].concat();
            reader.await_answers(2);
            let first = reader.feed(&stream[..cut], &mut reply).expect("valid");
            let second = reader.feed(&stream[cut..], &mut reply).expect("valid");
            assert_eq!((first, second), (false, true), "two answers were asked for");
            assert!(reply.in_block, "by the last");
            let results = reply.results.as_ref().expect("kept");
            let mut kept = Vec::new();
            results.visit(|name, value| kept.push((name.to_vec(), value.to_vec())));
            assert_eq!(kept, [(b"c".to_vec(), Vec::new())], "the last row has NULL");
        }
    }

    proptest! {
        #[test]
        fn an_answer_with_any_bytes_replaced_neither_panics_nor_hangs(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            piece_bytes in 1usize..64,
            capturing in any::<bool>(),
        ) {
            let mut stream = answer();
            for (place, byte) in changes {
                let length = stream.len();
                stream[place.index(length)] = byte;
            }
            let mut reader = asked();
            reader.capture(capturing);
            feed_pieces(&mut reader, &stream, piece_bytes);
        }

        #[test]
        fn any_bytes_neither_panic_nor_hang(
            stream in prop::collection::vec(any::<u8>(), 0..300),
            piece_bytes in 1usize..64,
            capturing in any::<bool>(),
        ) {
            let mut reader = asked();
            reader.capture(capturing);
            feed_pieces(&mut reader, &stream, piece_bytes);
        }
    }
}
