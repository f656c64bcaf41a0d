//! Which way of waiting costs a worker least.

use crate::event::Way;
use crate::job::Wait;

/// From how many connections on io_uring costs less than epoll: one call sends the requests of all that have answered
/// since the last (docs/benchmarks/README.md, `limits`).
const URING_CONNECTIONS_MIN: usize = 4;

/// How a worker waits for so many connections; `busy`: none of them ever waits for its schedule. TLS reads its socket
/// itself, for which io_uring has no use.
pub(super) fn way(wait: Wait, connections: usize, busy: bool, tls: bool) -> Way {
    match wait {
        Wait::Auto if busy && connections == 1 => Way::Receive,
        Wait::Auto if !tls && connections >= URING_CONNECTIONS_MIN => Way::IoUring,
        Wait::IoUring if !tls => Way::IoUring,
        Wait::Auto | Wait::Epoll | Wait::IoUring => Way::Epoll,
    }
}

/// Tells whether a worker waits in the receive of its only connection.
#[inline]
pub(super) fn receives(way: Way) -> bool {
    way == Way::Receive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_busy_connection_waits_in_its_receive_and_many_by_io_uring() {
        assert_eq!(way(Wait::Auto, 1, true, false), Way::Receive);
        assert_eq!(way(Wait::Auto, 1, false, false), Way::Epoll);
        assert_eq!(way(Wait::Auto, 3, true, false), Way::Epoll);
        assert_eq!(way(Wait::Auto, 4, true, false), Way::IoUring);
    }

    #[test]
    fn a_job_may_choose_but_tls_takes_epoll() {
        assert_eq!(way(Wait::Epoll, 1, true, false), Way::Epoll);
        assert_eq!(way(Wait::IoUring, 1, true, false), Way::IoUring);
        assert_eq!(way(Wait::Auto, 64, true, true), Way::Epoll);
        assert_eq!(way(Wait::IoUring, 64, true, true), Way::Epoll);
    }
}
