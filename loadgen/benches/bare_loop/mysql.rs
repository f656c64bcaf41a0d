//! The point query in MySQL's protocol: `COM_STMT_EXECUTE` of a prepared statement.
//!
//! (MySQL documentation, "MySQL Client/Server Protocol": "Binary Protocol Resultset", `OK_Packet`, `EOF_Packet`.)

use super::Request;
use anyhow::{Result, ensure};
use dyno_loadgen::session::mysql::MySqlSession;
use dyno_loadgen::wire::mysql;

/// The type of the parameter: INT (`MYSQL_TYPE_LONG`), signed.
const TYPES: [u8; 2] = [3, 0];
/// The first byte of the packet behind the last row, and that of an error.
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// Prepares the SQL, and returns the first request for it, which declares the parameter's type, and the one from then
/// on: the server keeps the type.
pub(super) fn prepare(session: &mut MySqlSession, sql: &str) -> Result<[Request; 2]> {
    let statement = session.prepare(sql)?;
    ensure!(
        statement.parameters == 1,
        "the server sees {} parameters in the statement, not one",
        statement.parameters
    );
    Ok([Some(&TYPES[..]), None].map(|types| request(statement.id, types)))
}

fn request(id: u32, types: Option<&[u8]>) -> Request {
    let mut bytes = Vec::new();
    let mark = mysql::execute_begin(&mut bytes, id, 1, types);
    let key_at = bytes.len();
    bytes.extend_from_slice(&key(0));
    mysql::end(&mut bytes, mark);
    Request { bytes, key_at }
}

/// A key as requests have it.
pub(super) fn key(key: i32) -> [u8; 4] {
    key.to_le_bytes()
}

/// Tells whether an answer ends here: in an OK packet (length 7, of whatever number), from an older server in an EOF
/// packet (length 5). An error is a packet of its own.
pub(super) fn is_whole(answer: &[u8]) -> Result<bool> {
    ensure!(
        !matches!(answer, [_, _, _, 1, ERROR, ..]),
        "the server refuses the statement: {}",
        answer.escape_ascii()
    );
    Ok(matches!(
        answer,
        [.., 7, 0, 0, _, END, _, _, _, _, _, _] | [.., 5, 0, 0, _, END, _, _, _, _]
    ))
}
