//! The sessions of a worker that other threads make for it while it goes on: lost ones anew, and those of one operation.

use super::opening::{Purpose, open_one};
use super::{AnySession, Opened, Reconnects, SessionError, Targets};
use crate::program::Compiled;
use crate::shared::Waker;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How long a server may take to let a session in and prepare its statements.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a lost session is tried to be made anew.
const RECONNECT_SECONDS_MAX: Duration = Duration::from_mins(1);

/// The distance of two tries.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// The place of a session, and the session or why it could not be made.
pub(super) type Remade = (usize, Result<(AnySession, Opened), SessionError>);

/// The sessions of one worker that are being made.
pub(super) struct Remaking {
    code: Arc<Compiled>,
    targets: Arc<Targets>,
    waker: Waker,
    reconnects: Arc<Reconnects>,
    under_way: usize,
    made: (Sender<Remade>, Receiver<Remade>),
}

impl Remaking {
    /// None yet; the waker wakes the worker for each that has been made.
    pub(super) fn new(
        code: &Arc<Compiled>,
        targets: &Arc<Targets>,
        waker: &Waker,
        reconnects: &Arc<Reconnects>,
    ) -> Self {
        Self {
            code: Arc::clone(code),
            targets: Arc::clone(targets),
            waker: waker.clone(),
            reconnects: Arc::clone(reconnects),
            under_way: 0,
            made: channel(),
        }
    }

    /// Has a session made: by one try, or by one after the other for a while.
    pub(super) fn start(&mut self, place: usize, purpose: Purpose, again: bool) {
        self.under_way += 1;
        let (code, targets) = (Arc::clone(&self.code), Arc::clone(&self.targets));
        let (waker, made) = (self.waker.clone(), self.made.0.clone());
        let patience = if again {
            RECONNECT_SECONDS_MAX
        } else {
            CONNECT_TIMEOUT
        };
        let reconnect = move || {
            let deadline = Instant::now() + patience;
            let outcome = loop {
                let outcome = open_one(&code, &targets, &purpose, deadline);
                if outcome.is_err() {
                    // Also where nobody tries again here: the next operation might.
                    std::thread::sleep(RECONNECT_PAUSE);
                }
                if outcome.is_ok() || !again || Instant::now() >= deadline {
                    break outcome.map_err(SessionError::Lost);
                }
            };
            // Where the worker has ended meanwhile nobody minds.
            let _ = made.send((place, outcome));
            waker.wake();
        };
        if let Err(error) = self.reconnects.add(Box::new(reconnect)) {
            let reason = SessionError::Lost(format!(
                "no thread can be started for it: {error}; raise the limit of processes (`ulimit -u`, `pids.max`)"
            ));
            let _ = self.made.0.send((place, Err(reason)));
            self.waker.wake();
        }
    }

    /// Returns the next that has been made, or could not be.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Remade> {
        if self.under_way == 0 {
            return None;
        }
        let made = self.made.1.try_recv().ok()?;
        self.under_way -= 1;
        Some(made)
    }

    /// Forgets those that nobody has begun to make.
    pub(super) fn clear(&self) {
        self.reconnects.clear();
    }
}
