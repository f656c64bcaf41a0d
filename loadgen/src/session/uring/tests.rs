//! Sockets of pairs stand for connections; their other ends for servers.

use super::*;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Longer than any wait of these tests.
const SOON: Timespec = Timespec {
    tv_sec: 5,
    tv_nsec: 0,
};

/// Connections with their servers' ends.
struct Stage {
    uring: Uring,
    readable: Readable,
    other: OwnedFd,
    here: Vec<UnixStream>,
    there: Vec<UnixStream>,
}

/// So many connections; none where the kernel does not allow io_uring.
fn stage(connections: usize) -> Option<Stage> {
    let other = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
    let uring = Uring::new(connections, other.as_fd());
    staged(uring, other, connections)
}

/// So many connections over a ring, if there is one.
fn staged(uring: io::Result<Uring>, other: OwnedFd, connections: usize) -> Option<Stage> {
    let mut uring = match uring {
        Ok(uring) => uring,
        Err(error) => {
            eprintln!("skipped, as io_uring is not allowed here: {error}");
            return None;
        }
    };
    let pairs = (0..connections).map(|_| UnixStream::pair().unwrap());
    let (here, there): (Vec<_>, Vec<_>) = pairs.unzip();
    for (place, socket) in here.iter().enumerate() {
        uring.begin(place, socket.as_fd()).unwrap();
    }
    Some(Stage {
        uring,
        readable: Readable::default(),
        other,
        here,
        there,
    })
}

impl Stage {
    /// The places that have something to take after a wait.
    fn wait(&mut self) -> Vec<usize> {
        let mut ready = Vec::new();
        while ready.is_empty() {
            self.submit();
            self.uring.wait(Some(SOON)).unwrap();
            self.uring.collect(|place| ready.push(place));
        }
        ready
    }

    /// Gathers a request, or says that it does not fit.
    fn send(&mut self, place: usize, request: &[u8]) -> bool {
        self.uring.send(place, request, &mut self.readable).unwrap()
    }

    fn submit(&mut self) {
        self.uring
            .submit(monotonic_ns(), &mut self.readable)
            .unwrap();
    }

    fn take(&mut self, place: usize) -> Option<Result<Vec<u8>, Errno>> {
        self.uring.take(place, |bytes| bytes.map(<[u8]>::to_vec))
    }
}

fn text(bytes: &str) -> Vec<u8> {
    bytes.as_bytes().to_vec()
}

#[test]
fn requests_leave_together_and_answers_come_to_their_places() {
    let Some(mut stage) = stage(3) else { return };
    for place in [2, 0] {
        let request = format!("request {place}");
        assert!(stage.send(place, request.as_bytes()));
    }
    stage.there[2].set_nonblocking(true).unwrap();
    assert!(
        stage.there[2].read(&mut [0; 1]).is_err(),
        "it waits for more"
    );
    let asked_ns = monotonic_ns();
    // As if servers had taken the processor for long.
    std::thread::sleep(std::time::Duration::from_millis(2));
    stage.uring.submit(asked_ns, &mut stage.readable).unwrap();
    let left_ns = [2, 0].map(|place| stage.uring.left_ns(place) - asked_ns);
    assert_eq!(
        left_ns,
        [SEND_NS_MAX, 2 * SEND_NS_MAX],
        "one after the other"
    );
    let own_ns = stage.readable.own_ns(monotonic_ns()) - asked_ns;
    assert!(own_ns < 2_000_000, "and the worker's clock stood still");
    for place in [0, 2] {
        let mut request = [0; 9];
        stage.there[place].read_exact(&mut request).unwrap();
        assert_eq!(request, format!("request {place}").as_bytes());
        write!(stage.there[place], "answer {place}").unwrap();
    }
    let mut ready = stage.wait();
    if ready.len() == 1 {
        ready.extend(stage.wait());
    }
    ready.sort_unstable();
    assert_eq!(ready, [0, 2]);
    assert_eq!(stage.take(1), None);
    assert_eq!(stage.take(2), Some(Ok(text("answer 2"))));
    assert_eq!(stage.take(0), Some(Ok(text("answer 0"))));
    assert_eq!(stage.take(0), None);
}

#[test]
fn a_request_that_is_long_is_the_callers() {
    let Some(mut stage) = stage(1) else { return };
    assert!(!stage.send(0, &[0; REQUEST_BYTES_MAX + 1]));
    assert!(stage.send(0, &[0; REQUEST_BYTES_MAX]));
    assert!(!stage.send(0, &[0]), "no room for it");
}

#[test]
fn what_does_not_fit_the_socket_comes_back() {
    let Some(mut stage) = stage(1) else { return };
    let request: Vec<u8> = (0..REQUEST_BYTES_MAX).map(|n| n.to_le_bytes()[0]).collect();
    let mut sent = Vec::new();
    let rest = loop {
        assert!(stage.send(0, &request));
        stage.submit();
        assert!(!stage.uring.collect(|_| panic!("nothing to take")));
        if let Some((place, rest)) = stage.uring.unsent() {
            assert_eq!(place, 0);
            break rest.unwrap().to_vec();
        }
        sent.extend_from_slice(&request);
    };
    assert!(request.ends_with(&rest));
    sent.extend_from_slice(&request[..request.len() - rest.len()]);
    let mut arrived = vec![0; sent.len()];
    stage.there[0].read_exact(&mut arrived).unwrap();
    assert_eq!(arrived, sent);
    stage.there[0].set_nonblocking(true).unwrap();
    assert!(stage.there[0].read(&mut [0; 1]).is_err(), "and no more");
    assert!(stage.uring.unsent().is_none());
    assert!(!stage.uring.collect(|_| panic!("nothing to take")));
    assert!(stage.send(0, &request), "there is room again");
}

#[test]
fn parts_are_taken_in_their_order_and_the_end_after_them() {
    let Some(mut stage) = stage(1) else { return };
    for part in ["one", "two", "three"] {
        stage.there[0].write_all(part.as_bytes()).unwrap();
        assert_eq!(stage.wait(), [0]);
    }
    stage.there.clear();
    assert_eq!(stage.wait(), [0]);
    for part in ["one", "two", "three", ""] {
        assert_eq!(stage.take(0), Some(Ok(text(part))));
    }
    assert_eq!(stage.take(0), None);
}

#[test]
fn more_than_all_buffers_hold_comes_whole() {
    let Some(mut stage) = stage(1) else { return };
    let buffers = usize::from(BUFFERS_MIN) * Buffers::BYTES as usize;
    let sent: Vec<u8> = (0..3 * buffers).map(|n| n.to_le_bytes()[1]).collect();
    let (mut there, expected) = (stage.there.remove(0), sent.clone());
    let server = std::thread::spawn(move || there.write_all(&sent).unwrap());
    let mut came = Vec::new();
    while came.len() < expected.len() {
        stage.submit();
        stage.uring.wait(Some(SOON)).unwrap();
        stage.uring.collect(|_| {});
        // Nothing is taken before the kernel has found no buffer, which is counted.
        while stage.uring.no_buffers() > 0
            && let Some(part) = stage.take(0)
        {
            came.extend(part.unwrap());
        }
    }
    server.join().unwrap();
    assert!(came == expected);
}

#[test]
fn where_buffers_are_few_each_socket_has_its_turn() {
    const SOCKETS: usize = 60;
    const ANSWERS: usize = 10;
    let other = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
    let uring = Uring::with_buffers(BUFFERS_MIN, SOCKETS, other.as_fd());
    let Some(mut stage) = staged(uring, other, SOCKETS) else {
        return;
    };
    // So long that some sockets take all buffers.
    let answer = vec![7; 4 * Buffers::BYTES as usize];
    for there in &mut stage.there {
        there.write_all(&answer).unwrap();
    }
    let mut came = [0; SOCKETS];
    while came.iter().sum::<usize>() < ANSWERS * SOCKETS * answer.len() {
        for place in stage.wait() {
            came[place] += stage.take(place).unwrap().unwrap().len();
            // Whoever has been answered asks again, and its server answers at once.
            if came[place] % answer.len() == 0 {
                stage.there[place].write_all(&answer).unwrap();
            }
        }
    }
    assert!(stage.uring.no_buffers() > 0);
    let answers = came.map(|bytes| bytes / answer.len());
    let fewest = *answers.iter().min().unwrap();
    assert!(
        fewest * 3 >= ANSWERS,
        "none waits while others are served again and again: {answers:?}"
    );
}

#[test]
fn what_comes_from_an_earlier_socket_is_not_the_next_ones() {
    let Some(mut stage) = stage(1) else { return };
    stage.there[0].write_all(b"old").unwrap();
    assert!(stage.send(0, b"old request"));
    stage.uring.end(0);
    let (here, mut there) = UnixStream::pair().unwrap();
    stage.uring.begin(0, here.as_fd()).unwrap();
    there.write_all(b"new").unwrap();
    assert_eq!(stage.wait(), [0]);
    assert_eq!(stage.take(0), Some(Ok(text("new"))));
    assert_eq!(stage.take(0), None);
    stage.there[0].set_nonblocking(true).unwrap();
    assert!(
        stage.there[0].read(&mut [0; 1]).is_err(),
        "nor what was to be sent"
    );
    stage.here.clear();
}

#[test]
fn the_other_descriptor_wakes_it_each_time() {
    let Some(mut stage) = stage(1) else { return };
    for _ in 0..3 {
        write(&stage.other, &1_u64.to_ne_bytes()).unwrap();
        stage.submit();
        stage.uring.wait(Some(SOON)).unwrap();
        assert!(stage.uring.collect(|_| panic!("nothing to take")));
        read(&stage.other, &mut [0; 8]).unwrap();
    }
    let soon = Timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    assert!(stage.uring.wait(Some(soon)).unwrap(), "it sleeps");
    assert!(!stage.uring.collect(|_| panic!("nothing to take")));
}
