//! Threads that make sessions while their worker does other things: lost ones anew, and those of operations that have one
//! each. A bounded number over all workers, however many are wanted at once.
//!
//! A server that restarts loses all of its sessions in the same moment. A thread for each would be more than a system
//! gives, and more handshakes than the server gets done. A thread without work stays a while, as starting one for each
//! operation's session would cost more than handing it over.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// The most sessions that are made anew at a time; the others wait for their turn.
pub const RECONNECTS_AT_ONCE_MAX: usize = 64;

/// How long a thread waits for more to do.
const IDLE_MAX: Duration = Duration::from_millis(100);

/// What makes one session anew and tells its worker.
type Reconnect = Box<dyn FnOnce() + Send>;

/// The reconnects of all workers of a step.
pub struct Reconnects {
    at_once_max: usize,
    thread: fn() -> Builder,
    queue: Mutex<Queue>,
    more: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Where there are any, some thread is at work that comes to them.
    waiting: VecDeque<Reconnect>,
    threads: usize,
    /// Of these, the ones that wait for something to do.
    idle: usize,
}

impl Reconnects {
    /// None yet; at most so many at a time.
    #[must_use]
    pub fn new(at_once_max: usize) -> Arc<Self> {
        Arc::new(Self {
            at_once_max,
            thread: || Builder::new().name("reconnect".to_owned()),
            queue: Mutex::default(),
            more: Condvar::new(),
        })
    }

    /// Does one as soon as fewer than the most are being done.
    ///
    /// # Errors
    /// Where no thread can be started and none is at work; it will not be done then.
    pub(super) fn add(self: &Arc<Self>, reconnect: Reconnect) -> io::Result<()> {
        let mut queue = self.queue();
        queue.waiting.push_back(reconnect);
        if queue.waiting.len() <= queue.idle {
            self.more.notify_one();
            return Ok(());
        }
        if queue.threads == self.at_once_max {
            return Ok(());
        }
        let own = Arc::clone(self);
        match (self.thread)().spawn(move || own.work()) {
            Ok(_) => queue.threads += 1,
            Err(error) if queue.threads == 0 => {
                queue.waiting.pop_back();
                return Err(error);
            }
            // Those at work come to it.
            Err(_) => {}
        }
        Ok(())
    }

    /// Forgets those that wait: their workers close.
    pub(super) fn clear(&self) {
        self.queue().waiting.clear();
    }

    fn work(&self) {
        while let Some(reconnect) = self.next() {
            reconnect();
        }
    }

    /// The next one that waits, or comes within a while; where there is none, the thread that asks ends.
    fn next(&self) -> Option<Reconnect> {
        let mut queue = self.queue();
        if queue.waiting.is_empty() {
            queue.idle += 1;
            let nothing = |queue: &mut Queue| queue.waiting.is_empty();
            let waited = self.more.wait_timeout_while(queue, IDLE_MAX, nothing);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            queue.idle -= 1;
        }
        let next = queue.waiting.pop_front();
        queue.threads -= usize::from(next.is_none());
        next
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// More than the addresses of a process.
    const STACK_BYTES: usize = 1 << 47;

    #[test]
    fn all_are_done_and_never_more_than_the_most_at_a_time() {
        const AT_ONCE_MAX: usize = 3;
        const ALL: usize = 200;
        let reconnects = Reconnects::new(AT_ONCE_MAX);
        let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (sender, done) = channel();
        for number in 0..ALL {
            let (at_once, most, sender) = (Arc::clone(&at_once), Arc::clone(&most), sender.clone());
            let reconnect = move || {
                most.fetch_max(at_once.fetch_add(1, SeqCst) + 1, SeqCst);
                std::thread::sleep(Duration::from_micros(200));
                at_once.fetch_sub(1, SeqCst);
                sender.send(number).unwrap();
            };
            reconnects.add(Box::new(reconnect)).unwrap();
        }
        drop(sender);
        assert_eq!(done.iter().count(), ALL);
        assert_eq!(most.load(SeqCst), AT_ONCE_MAX);
    }

    #[test]
    fn a_thread_that_cannot_be_started_is_an_error_unless_another_comes_to_it() {
        let mut reconnects = Reconnects::new(2);
        Arc::get_mut(&mut reconnects).unwrap().thread = || Builder::new().stack_size(STACK_BYTES);
        let error = reconnects.add(Box::new(|| ())).unwrap_err();
        assert!(!error.to_string().is_empty());
        assert!(
            reconnects.queue().waiting.is_empty(),
            "nobody would come to it"
        );
        reconnects.queue().threads = 1;
        let (sender, done) = channel();
        let reconnect = Box::new(move || sender.send(()).unwrap());
        reconnects.add(reconnect).unwrap();
        reconnects.work();
        done.recv().unwrap();
        assert_eq!(reconnects.queue().threads, 0);
    }
}
