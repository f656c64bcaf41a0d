//! Opens a stream to the server and waits for it, all within a time limit.

use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
};

use super::error::SessionError;
use super::target::Target;

/// How long to wait before the next try where the server's queue of new connections is full.
const BACKLOG_PAUSE: Duration = Duration::from_millis(2);

/// Opens a non-blocking stream to the target's server.
///
/// # Errors
/// [`SessionError::Connect`] with the place and the reason.
pub(super) fn open(target: &Target, deadline: Instant) -> Result<OwnedFd, SessionError> {
    if target.host.starts_with('/') {
        open_unix(target, deadline)
    } else {
        open_tcp(target, deadline)
    }
}

/// Waits until a stream is ready; false when the time is over, even where the stream is ready then: who sends without end
/// cannot hold us.
///
/// # Errors
/// Where the operating system cannot wait.
pub(super) fn wait(
    stream: impl AsFd,
    flags: PollFlags,
    deadline: Option<Instant>,
) -> Result<bool, SessionError> {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Ok(false);
        }
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::new(&stream, flags)], timeout.as_ref()) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The error of a server that took too long.
pub(super) fn too_slow(target: &Target) -> SessionError {
    let place = target.place();
    SessionError::Connect(format!("the server at `{place}` did not answer in time"))
}

/// The error of a server that went away before the session was ready.
pub(super) fn closed_early(target: &Target) -> SessionError {
    let place = target.place();
    SessionError::Lost(format!(
        "the server at `{place}` closed the connection before it was ready"
    ))
}

fn open_unix(target: &Target, deadline: Instant) -> Result<OwnedFd, SessionError> {
    let place = target.place();
    let address = SocketAddrUnix::new(place.as_str()).map_err(|_| {
        let text = format!("the socket path `{place}` is too long: choose a shorter `server.host`");
        SessionError::Connect(text)
    })?;
    let stream = new_stream(AddressFamily::UNIX)?;
    match connect_until(&stream, &address, deadline)? {
        Ok(()) => Ok(stream),
        Err(Errno::AGAIN) => Err(too_slow(target)),
        Err(error) => Err(SessionError::Connect(match error {
            Errno::NOENT => format!(
                "there is no socket `{place}`: start the server, or correct `server.host` and \
                 `server.port`"
            ),
            Errno::CONNREFUSED => {
                format!("no server answers at the socket `{place}`: start it")
            }
            other => format!("cannot connect to the socket `{place}`: {}", reason(other)),
        })),
    }
}

fn open_tcp(target: &Target, deadline: Instant) -> Result<OwnedFd, SessionError> {
    let place = target.place();
    let addresses: Vec<_> = match target.ip {
        Some(ip) => vec![SocketAddr::new(ip, target.port)],
        None => (target.host.as_str(), target.port)
            .to_socket_addrs()
            .map_err(|error| {
                SessionError::Connect(format!("cannot find the host `{}`: {error}", target.host))
            })?
            .collect(),
    };
    let mut failed = SessionError::Connect(format!("the host `{}` has no address", target.host));
    for address in addresses {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let stream = new_stream(family)?;
        sockopt::set_tcp_nodelay(&stream, true)?;
        failed = match connect_until(&stream, &address, deadline)? {
            Ok(()) => return Ok(stream),
            Err(Errno::AGAIN | Errno::TIMEDOUT) => too_slow(target),
            Err(Errno::CONNREFUSED) => SessionError::Connect(format!(
                "nothing listens at `{place}`: start the server, or correct `server.host` and \
                 `server.port`"
            )),
            Err(other) => {
                SessionError::Connect(format!("cannot connect to `{place}`: {}", reason(other)))
            }
        };
    }
    Err(failed)
}

fn new_stream(family: AddressFamily) -> Result<OwnedFd, SessionError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Connects; the inner error says why it did not come about, `AGAIN` that the time was over.
fn connect_until(
    stream: &OwnedFd,
    address: &impl SocketAddrArg,
    deadline: Instant,
) -> Result<Result<(), Errno>, SessionError> {
    loop {
        match connect(stream, address) {
            Ok(()) | Err(Errno::ISCONN) => return Ok(Ok(())),
            // A Unix socket whose backlog is full.
            Err(Errno::AGAIN) if Instant::now() < deadline => std::thread::sleep(BACKLOG_PAUSE),
            Err(Errno::INPROGRESS | Errno::INTR | Errno::ALREADY) => {
                if !wait(stream, PollFlags::OUT, Some(deadline))? {
                    return Ok(Err(Errno::AGAIN));
                }
                return Ok(sockopt::socket_error(stream)?);
            }
            Err(error) => return Ok(Err(error)),
        }
    }
}

/// The system's words for an error, without its number.
fn reason(error: Errno) -> String {
    std::io::Error::from(error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn a_host_whose_address_is_given_is_not_looked_up() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let mut target = Target {
            wire: Wire::Postgres,
            host: "db.invalid".to_owned(),
            ip: Some(Ipv4Addr::LOCALHOST.into()),
            port: listener.local_addr().expect("bound").port(),
            user: "dyno".to_owned(),
            database: "ib".to_owned(),
            options: String::new(),
            password: None,
            insecure: false,
            application_name: "test".to_owned(),
            tls: None,
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        open(&target, deadline).expect("its address is known");
        target.ip = None;
        let error = open(&target, deadline).expect_err("nobody knows the name");
        assert!(
            error
                .to_string()
                .contains("cannot find the host `db.invalid`")
        );
    }
}
