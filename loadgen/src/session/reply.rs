//! The answer to a request, as far as the hot path needs it.

use super::error::ServerError;

/// The answer to a request, summed up. The caller clears it before each request.
#[derive(Debug, Default)]
pub struct Reply {
    /// The rows that the command tags told of: inserted, selected, updated, deleted, copied …
    pub rows: u64,
    /// The first error, if the server reported one.
    pub error: Option<ServerError>,
}

impl Reply {
    /// Makes room for the next answer.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.error = None;
    }
}
