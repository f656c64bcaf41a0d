//! What understands a server's bytes, for each protocol, and what it makes of them: the answer to a request.

use std::fmt;

use super::capture::{Capture, Captured};
use super::error::{ServerError, SessionError};
use super::progress::Progress;
use super::results::Results;
use crate::wire::Keep;

/// The answer to a request, summed up. The caller clears it before each request.
#[derive(Debug, Default)]
pub struct Reply {
    /// The rows that the command tags told of: inserted, selected, updated, deleted, copied …
    pub rows: u64,
    /// The first error, if the server reported one.
    pub error: Option<ServerError>,
    /// Whether a transaction is open on the session, by the last that the server told of it.
    pub in_block: bool,
    /// What is kept of its rows, where a script wants them.
    pub results: Option<Box<Results>>,
    /// What it has said of its rows while it ran.
    pub progress: Progress,
}

impl Reply {
    /// Makes room for the next answer.
    pub fn clear(&mut self) {
        self.begin(Keep::Nothing);
    }

    /// Returns where rows are kept, if a script wants those of this answer.
    #[inline]
    pub fn gathering(&mut self) -> Option<&mut Results> {
        self.results.as_deref_mut().filter(|kept| kept.takes_rows())
    }

    /// Does the same, and says what of the answer is kept.
    #[inline]
    pub fn begin(&mut self, keep: Keep) {
        self.rows = 0;
        self.error = None;
        self.progress.clear();
        if let Some(results) = &mut self.results {
            results.begin(keep);
        }
    }
}

/// How far the data of a bulk load are: of a COPY into the server, or a LOAD DATA LOCAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bulk {
    /// None are wanted: a request for data is an error.
    Unexpected,
    /// They have been offered and not been asked for yet.
    Offered,
    /// The server waits for them.
    Wanted,
}

/// What understands a server's bytes: one for each protocol.
pub trait Incoming: fmt::Debug + Sized {
    /// What it has to know of a result's column to read its values.
    type Column: Default + fmt::Debug;

    /// The server's product, for messages.
    const SERVER: &'static str;

    /// Makes a reader for the beginning of a session.
    fn new() -> Self;

    /// Takes note that a request is made: an answer may come.
    fn ask(&mut self);

    /// Does the same, with the bytes of the request.
    #[inline]
    fn ask_by(&mut self, _request: &[u8]) {
        self.ask();
    }

    /// Takes note that the request has so many answers, each of which ends with the server being ready.
    fn await_answers(&mut self, _answers: u32) {}

    /// Takes what was read, all of it. True when the answer to a request is complete.
    ///
    /// # Errors
    /// What the protocol does not allow; the session cannot be used any further.
    fn feed(&mut self, bytes: &[u8], reply: &mut Reply) -> Result<bool, SessionError>;

    /// Returns what is kept of answers at the moment, if anything is.
    fn kept(&mut self) -> &mut Option<Box<Capture<Self::Column>>>;

    /// Returns how far the data of a bulk load are.
    fn bulk(&mut self) -> &mut Bulk;

    /// Switches on or off whether columns, rows and notices of answers are kept, and forgets what was kept.
    fn capture(&mut self, on: bool) {
        *self.kept() = on.then(Box::default);
    }

    /// Returns what has been kept since the capture was switched on or last taken.
    fn take_captured(&mut self) -> Captured {
        let kept = self.kept().as_deref_mut().map(std::mem::take);
        kept.unwrap_or_default().captured
    }

    /// Returns the error that the server sent unasked, as it does before it ends a session.
    fn take_parting(&mut self) -> Option<ServerError>;

    /// Appends the request that says goodbye.
    fn goodbye(out: &mut Vec<u8>);

    /// Appends the request that runs SQL as a text.
    fn text(out: &mut Vec<u8>, sql: &[u8]);
}
