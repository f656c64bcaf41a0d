//! Waking a worker that waits: an eventfd that can be waited for beside sockets.

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Both ends of a wake-up call; clones share it.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// A waker that nobody has called.
    ///
    /// # Errors
    /// Where the operating system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(
            0,
            EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC,
        )?)))
    }

    /// Wakes whoever waits, or the next who does.
    pub fn wake(&self) {
        // The counter can only be full where a call is pending anyway.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Forgets calls, after waking by one.
    pub fn forget(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0_u8; 8][..]);
    }

    /// Waits for a call, and forgets it.
    ///
    /// # Errors
    /// Where the operating system refuses to wait.
    pub fn wait(&self) -> io::Result<()> {
        let mut waiting = [PollFd::new(&*self.0, PollFlags::IN)];
        match poll(&mut waiting, None) {
            Err(rustix::io::Errno::INTR) | Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        self.forget();
        Ok(())
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
