//! How a session begins: what a client answers to the greeting. Anybody is let in, with any password.

use super::reply::{CACHING_SHA2, NATIVE, capability};
use crate::null::session::Over;

/// Flags, the longest packet, the character set and what is unused.
const FIXED_BYTES: usize = 32;

/// What a client has said of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Client {
    /// Its capabilities, as far as the server has them.
    pub(super) capabilities: u32,
    /// What it waits for.
    pub(super) awaits: Awaits,
}

/// What a client waits for after its answer to the greeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaits {
    /// To be let in.
    Ok,
    /// To hear that its password is known, and then to be let in.
    FastPath,
    /// To hear by which plugin else it may answer, as it has not that of the greeting.
    Switch,
}

/// Reads a HandshakeResponse41.
///
/// # Errors
/// Another protocol, or fields that go beyond the packet's end.
pub(super) fn read(body: &[u8]) -> Result<Client, Over> {
    const BROKEN: Over = Over::Broken("this answers no greeting of MySQL's protocol 4.1");
    let (fixed, rest) = body.split_at_checked(FIXED_BYTES).ok_or(BROKEN)?;
    let flags = u32::from_le_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
    if flags & capability::PROTOCOL_41 == 0 {
        return Err(BROKEN);
    }
    let capabilities = flags & capability::OF_SERVER;
    let has = |bit| capabilities & bit != 0;
    let mut rest = rest;
    text(&mut rest).ok_or(BROKEN)?;
    let answer = if has(capability::LONG_AUTH | capability::SECURE_CONNECTION) {
        // The longest answer of the plugins here has 32 bytes; a length in more than one byte is none of theirs.
        let (length, after) = rest.split_first().ok_or(BROKEN)?;
        let (answer, after) = after.split_at_checked(usize::from(*length)).ok_or(BROKEN)?;
        rest = after;
        answer
    } else {
        text(&mut rest).ok_or(BROKEN)?
    };
    if has(capability::WITH_DATABASE) {
        text(&mut rest).ok_or(BROKEN)?;
    }
    let plugin = if has(capability::PLUGIN_AUTH) {
        text(&mut rest).ok_or(BROKEN)?
    } else {
        NATIVE
    };
    let awaits = match (plugin, answer) {
        (CACHING_SHA2, [] | [0]) | (NATIVE, _) => Awaits::Ok,
        (CACHING_SHA2, _) => Awaits::FastPath,
        _ => Awaits::Switch,
    };
    Ok(Client {
        capabilities,
        awaits,
    })
}

/// A text up to its NUL.
fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let text = &rest[..end];
    *rest = &rest[end + 1..];
    Some(text)
}
