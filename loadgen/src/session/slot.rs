//! Where a worker has a connection.

use super::opening::Purpose;
use super::{AnySession, SessionError};

/// A connection of a worker, or the place of a lost one.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) session: Option<AnySession>,
    pub(super) purpose: Purpose,
    /// An error met while sending went on in the background.
    pub(super) error: Option<SessionError>,
    pub(super) in_flight: bool,
    pub(super) writing: bool,
    /// When it was given its last request, by the worker's clock.
    pub(super) sent_ns: u64,
}

impl Slot {
    /// One that nobody has yet.
    pub(super) fn new(purpose: Purpose) -> Self {
        Self {
            session: None,
            purpose,
            error: None,
            in_flight: false,
            writing: false,
            sent_ns: 0,
        }
    }
}
