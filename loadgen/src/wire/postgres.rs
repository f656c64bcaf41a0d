//! The bytes of the messages that a client sends, appended to a buffer that is there.
//!
//! (PostgreSQL documentation, "Message Formats".) Nothing is checked here that the job has been
//! checked for: a SQL text holds no NUL, a statement at most 65,535 parameters.

/// Begins a simple query; the SQL is appended by the caller. The mark is for [`simple_end`].
#[inline]
pub fn simple_begin(out: &mut Vec<u8>) -> usize {
    begin(out, b'Q')
}

/// Ends a simple query.
#[inline]
pub fn simple_end(out: &mut Vec<u8>, mark: usize) {
    out.push(0);
    end(out, mark);
}

/// Runs SQL by a simple query.
pub fn simple(out: &mut Vec<u8>, sql: &[u8]) {
    let mark = simple_begin(out);
    out.extend_from_slice(sql);
    simple_end(out, mark);
}

/// Parses SQL as the unnamed statement, with the types of [`parse_named`].
#[inline]
pub fn parse_unnamed(out: &mut Vec<u8>, sql: &[u8], types: &[u32]) {
    parse_named(out, b"", sql, types);
}

/// Parses SQL as a statement of that name. `types` are the OIDs of its parameters; without any the server infers them.
///
/// # Panics
/// With more than 65,535 types, which the protocol cannot carry.
pub fn parse_named(out: &mut Vec<u8>, name: &[u8], sql: &[u8], types: &[u32]) {
    let mark = begin(out, b'P');
    text(out, name);
    text(out, sql);
    out.extend_from_slice(&count(types.len()));
    for oid in types {
        out.extend_from_slice(&oid.to_be_bytes());
    }
    end(out, mark);
}

/// Asks for the types of a statement's parameters and columns.
pub fn describe_statement(out: &mut Vec<u8>, name: &[u8]) {
    let mark = begin(out, b'D');
    out.push(b'S');
    text(out, name);
    end(out, mark);
}

/// Begins to bind a statement's parameters to the unnamed portal; `binary` says for each parameter
/// whether it is in binary form. Then comes [`parameter`] once for each, then [`bind_end`].
///
/// # Panics
/// With more than 65,535 parameters, which the protocol cannot carry.
#[inline]
pub fn bind_begin(out: &mut Vec<u8>, statement: &[u8], binary: &[bool]) -> usize {
    let mark = begin(out, b'B');
    out.push(0);
    text(out, statement);
    out.extend_from_slice(&count(binary.len()));
    for &binary in binary {
        out.extend_from_slice(&u16::from(binary).to_be_bytes());
    }
    out.extend_from_slice(&count(binary.len()));
    mark
}

/// Does the same for so many parameters that are texts, and names no form, as libpq does.
///
/// # Panics
/// With more than 65,535 parameters, which the protocol cannot carry.
#[inline]
pub fn bind_texts_begin(out: &mut Vec<u8>, statement: &[u8], parameters: usize) -> usize {
    let mark = begin(out, b'B');
    out.push(0);
    text(out, statement);
    out.extend_from_slice(&count(0));
    out.extend_from_slice(&count(parameters));
    mark
}

/// A number of parameters as the protocol has it.
#[inline]
fn count(parameters: usize) -> [u8; 2] {
    u16::try_from(parameters)
        .expect("at most 65,535 parameters")
        .to_be_bytes()
}

/// Appends one parameter: what `bytes` writes, with its length in front.
#[inline]
pub fn parameter(out: &mut Vec<u8>, bytes: impl FnOnce(&mut Vec<u8>)) {
    let mark = out.len();
    out.extend_from_slice(&[0; 4]);
    bytes(out);
    let length = out.len() - mark - 4;
    patch(out, mark, length);
}

/// Appends a parameter that is NULL.
pub fn null_parameter(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1_i32).to_be_bytes());
}

/// Ends a bind; the results shall come in binary form.
#[inline]
pub fn bind_end(out: &mut Vec<u8>, mark: usize) {
    out.extend_from_slice(&[0, 1, 0, 1]);
    end(out, mark);
}

/// Ends a bind; the results shall come as texts.
#[inline]
pub fn bind_end_text(out: &mut Vec<u8>, mark: usize) {
    out.extend_from_slice(&[0, 1, 0, 0]);
    end(out, mark);
}

/// Forgets a statement of that name, if there is one.
pub fn close_statement(out: &mut Vec<u8>, name: &[u8]) {
    let mark = begin(out, b'C');
    out.push(b'S');
    text(out, name);
    end(out, mark);
}

/// Asks for the columns of the unnamed portal.
pub fn describe_portal(out: &mut Vec<u8>) {
    out.extend_from_slice(b"D\0\0\0\x06P\0");
}

/// Executes the unnamed portal, all rows, and ends the request.
#[inline]
pub fn execute_sync(out: &mut Vec<u8>) {
    execute(out);
    sync(out);
}

/// Executes the unnamed portal, all rows.
pub const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

/// Executes the unnamed portal, all rows.
#[inline]
pub fn execute(out: &mut Vec<u8>) {
    out.extend_from_slice(EXECUTE);
}

/// Ends a request of the extended protocol.
#[inline]
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// Says goodbye.
pub fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(b"X\0\0\0\x04");
}

/// Begins a piece of COPY data; the caller appends bytes, then calls [`copy_data_end`].
#[inline]
pub fn copy_data_begin(out: &mut Vec<u8>) -> usize {
    begin(out, b'd')
}

/// Ends a piece of COPY data.
#[inline]
pub fn copy_data_end(out: &mut [u8], mark: usize) {
    end(out, mark);
}

/// Ends a COPY; its rows shall be kept.
pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"c\0\0\0\x04");
}

/// Ends a COPY; its rows shall be thrown away, for this reason.
pub fn copy_fail(out: &mut Vec<u8>, reason: &str) {
    let mark = begin(out, b'f');
    text(out, reason.as_bytes());
    end(out, mark);
}

/// Asks whether the server encrypts, before the first message of the session.
pub(crate) fn ssl_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&8_u32.to_be_bytes());
    out.extend_from_slice(&80_877_103_u32.to_be_bytes());
}

/// Asks to end what the server does for the session of this process; the only message of its connection.
pub(crate) fn cancel_request(out: &mut Vec<u8>, server_pid: u32, secret: u32) {
    for word in [16, 80_877_102, server_pid, secret] {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

/// The first message of a session: protocol 3.0 and its parameters.
pub(crate) fn startup(out: &mut Vec<u8>, parameters: &[(&str, &str)]) {
    let mark = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&0x0003_0000_u32.to_be_bytes());
    for (name, value) in parameters {
        text(out, name.as_bytes());
        text(out, value.as_bytes());
    }
    out.push(0);
    end(out, mark);
}

/// A password in clear text, or the second part of a SASL exchange.
pub(crate) fn password(out: &mut Vec<u8>, bytes: &[u8]) {
    let mark = begin(out, b'p');
    out.extend_from_slice(bytes);
    end(out, mark);
}

/// The first part of a SASL exchange.
pub(crate) fn sasl_initial(out: &mut Vec<u8>, mechanism: &str, bytes: &[u8]) {
    let mark = begin(out, b'p');
    text(out, mechanism.as_bytes());
    parameter(out, |out| out.extend_from_slice(bytes));
    end(out, mark);
}

/// Writes a message's type and room for its length; the mark is where the length stands.
#[inline]
fn begin(out: &mut Vec<u8>, tag: u8) -> usize {
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    out.len() - 4
}

/// Writes the length of the message that ends here. It counts its own four bytes.
#[inline]
fn end(out: &mut [u8], mark: usize) {
    patch(out, mark, out.len() - mark);
}

#[inline]
fn patch(out: &mut [u8], mark: usize, length: usize) {
    let length = i32::try_from(length).expect("a message under 2 GiB");
    out[mark..mark + 4].copy_from_slice(&length.to_be_bytes());
}

#[inline]
fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    debug_assert!(!bytes.contains(&0), "a text of the protocol holds no NUL");
    out.extend_from_slice(bytes);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use postgres_protocol::IsNull;
    use postgres_protocol::message::frontend;

    #[test]
    fn the_messages_are_those_of_the_reference_encoder() {
        let mut out = Vec::new();
        let mark = simple_begin(&mut out);
        out.extend_from_slice(b"SELECT 1");
        simple_end(&mut out, mark);
        parse_named(&mut out, b"s1", b"SELECT $1", &[]);
        parse_unnamed(&mut out, b"SELECT $1, $2", &[20, 1043]);
        describe_statement(&mut out, b"s1");
        let mark = bind_begin(&mut out, b"s1", &[true, false]);
        parameter(&mut out, |out| out.extend_from_slice(&7i32.to_be_bytes()));
        parameter(&mut out, |out| out.extend_from_slice(b"seven"));
        bind_end(&mut out, mark);
        execute_sync(&mut out);
        let mark = bind_begin(&mut out, b"s1", &[]);
        bind_end_text(&mut out, mark);
        let mark = bind_texts_begin(&mut out, b"s1", 1);
        parameter(&mut out, |out| out.extend_from_slice(b"7"));
        bind_end(&mut out, mark);
        describe_portal(&mut out);
        close_statement(&mut out, b"s1");
        copy_fail(&mut out, "stopped");
        copy_done(&mut out);
        terminate(&mut out);
        assert_eq!(out, reference());
    }

    /// The same messages by the encoder of `postgres-protocol`.
    fn reference() -> Vec<u8> {
        let mut out = BytesMut::new();
        frontend::query("SELECT 1", &mut out).expect("query");
        frontend::parse("s1", "SELECT $1", [], &mut out).expect("parse");
        frontend::parse("", "SELECT $1, $2", [20, 1043], &mut out).expect("parse");
        frontend::describe(b'S', "s1", &mut out).expect("describe");
        let values: [&[u8]; 2] = [&7i32.to_be_bytes(), b"seven"];
        let write = |value: &[u8], out: &mut BytesMut| {
            out.extend_from_slice(value);
            Ok(IsNull::No)
        };
        let bound = frontend::bind("", "s1", [1, 0], values, write, [1], &mut out);
        assert!(bound.is_ok());
        frontend::execute("", 0, &mut out).expect("execute");
        frontend::sync(&mut out);
        let none: [&[u8]; 0] = [];
        assert!(frontend::bind("", "s1", [], none, write, [0], &mut out).is_ok());
        let seven: [&[u8]; 1] = [b"7"];
        assert!(frontend::bind("", "s1", [], seven, write, [1], &mut out).is_ok());
        frontend::describe(b'P', "", &mut out).expect("describe");
        frontend::close(b'S', "s1", &mut out).expect("close");
        frontend::copy_fail("stopped", &mut out).expect("fail");
        frontend::copy_done(&mut out);
        frontend::terminate(&mut out);
        out.to_vec()
    }

    #[test]
    fn the_startup_and_sasl_messages_are_those_of_the_reference_encoder() {
        let mut out = Vec::new();
        startup(&mut out, &[("user", "dyno"), ("database", "ib")]);
        sasl_initial(&mut out, "SCRAM-SHA-256", b"n,,n=,r=x");
        password(&mut out, b"c=biws");
        let mut expected = BytesMut::new();
        frontend::startup_message([("user", "dyno"), ("database", "ib")], &mut expected)
            .expect("startup");
        frontend::sasl_initial_response("SCRAM-SHA-256", b"n,,n=,r=x", &mut expected)
            .expect("initial");
        frontend::sasl_response(b"c=biws", &mut expected).expect("response");
        assert_eq!(out, expected.to_vec());
    }

    #[test]
    fn a_buffer_with_room_does_not_grow() {
        let mut out = Vec::with_capacity(4096);
        let place = out.as_ptr();
        for number in 0..10_i64 {
            out.clear();
            let mark = bind_begin(&mut out, b"s1", &[true]);
            parameter(&mut out, |out| out.extend_from_slice(&number.to_be_bytes()));
            bind_end(&mut out, mark);
            execute_sync(&mut out);
        }
        assert_eq!(out.as_ptr(), place);
    }
}
