//! The stream below a session: plain, or within TLS. Both send and receive as the system calls do.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::ClientConnection;

use super::error::SessionError;

/// What a session sends to and receives from.
#[derive(Debug)]
pub(super) enum Transport {
    /// The socket itself.
    Plain(OwnedFd),
    /// TLS over it.
    Tls(Box<TlsStream>),
}

/// What a system call would have given; the outer error is one of TLS, which ends the session.
type Outcome = Result<Result<usize, Errno>, SessionError>;

impl Transport {
    /// Sends some of the bytes; how many. After `AGAIN` or `INTR` the next call has to begin with
    /// the same bytes, as a part of them may be on its way.
    #[inline]
    pub(super) fn send(&mut self, bytes: &[u8]) -> Outcome {
        match self {
            Self::Plain(socket) => Ok(send(socket, bytes, SendFlags::NOSIGNAL)),
            Self::Tls(stream) => stream.send(bytes),
        }
    }

    /// Receives some bytes; how many, 0 at the stream's end. Where these are fewer than there was
    /// room for, everything that has arrived is taken.
    #[inline]
    pub(super) fn receive(&mut self, buffer: &mut [u8], flags: RecvFlags) -> Outcome {
        match self {
            Self::Plain(socket) => Ok(recv(socket, buffer, flags).map(|(count, _)| count)),
            Self::Tls(stream) => stream.receive(buffer, flags),
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(socket) => socket.as_fd(),
            Self::Tls(stream) => stream.socket.as_fd(),
        }
    }
}

/// A TLS connection and its socket.
#[derive(Debug)]
pub(super) struct TlsStream {
    pub(super) socket: OwnedFd,
    pub(super) connection: ClientConnection,
    /// Bytes that are encrypted, but not told as sent because not all of their records are out.
    held: usize,
}

impl TlsStream {
    pub(super) fn new(socket: OwnedFd, connection: ClientConnection) -> Self {
        Self {
            socket,
            connection,
            held: 0,
        }
    }

    /// Encrypts bytes and sends their records; they count as sent when the last record is out, so
    /// that a caller who has sent everything need not ask whether something is still held here.
    fn send(&mut self, bytes: &[u8]) -> Outcome {
        if self.held == 0 {
            self.held = self.connection.writer().write(bytes)?;
        }
        while self.connection.wants_write() {
            if let Err(error) = self.write_records()? {
                return Ok(Err(error));
            }
        }
        Ok(Ok(std::mem::take(&mut self.held).min(bytes.len())))
    }

    /// Hands out what is decrypted; only where there is nothing left, reads the socket. So what
    /// rustls holds back never waits for a socket that has nothing more to say.
    fn receive(&mut self, buffer: &mut [u8], flags: RecvFlags) -> Outcome {
        loop {
            match self.connection.reader().read(buffer) {
                Ok(count) => return Ok(Ok(count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => (),
                // The socket ended without TLS's goodbye, as the socket of a killed server does.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Ok(0)),
                Err(error) => return Err(error.into()),
            }
            match self.read_records(flags)? {
                Ok(0) => return Ok(Ok(0)),
                Ok(_) => self
                    .connection
                    .process_new_packets()
                    .map_err(|error| broken(&error))?,
                Err(error) => return Ok(Err(error)),
            };
        }
    }

    /// One write to the socket of what is encrypted.
    pub(super) fn write_records(&mut self) -> Outcome {
        let mut socket = Socket(&self.socket, RecvFlags::empty());
        as_call(self.connection.write_tls(&mut socket))
    }

    /// One read of the socket; what came is still to be processed.
    pub(super) fn read_records(&mut self, flags: RecvFlags) -> Outcome {
        let mut socket = Socket(&self.socket, flags);
        as_call(self.connection.read_tls(&mut socket))
    }
}

/// The socket as rustls takes it.
struct Socket<'a>(&'a OwnedFd, RecvFlags);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, buffer, self.1).map(|(count, _)| count)?)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tells a system call's error, which the caller handles, from one of rustls's own.
fn as_call(outcome: io::Result<usize>) -> Outcome {
    match outcome {
        Ok(count) => Ok(Ok(count)),
        Err(error) => {
            Errno::from_io_error(&error).map_or_else(|| Err(error.into()), |errno| Ok(Err(errno)))
        }
    }
}

#[cold]
fn broken(error: &rustls::Error) -> SessionError {
    // In TLS 1.3 the server looks at our certificate when the handshake is over for us.
    not_trusted(error)
        .unwrap_or_else(|| SessionError::Lost(format!("the TLS connection broke: {error}")))
}

/// The error of a server that does not accept our certificate; none for another one.
pub(super) fn not_trusted(error: &rustls::Error) -> Option<SessionError> {
    use rustls::AlertDescription as Alert;
    matches!(
        error,
        rustls::Error::AlertReceived(
            Alert::UnknownCA
                | Alert::BadCertificate
                | Alert::UnsupportedCertificate
                | Alert::CertificateRevoked
                | Alert::CertificateExpired
                | Alert::CertificateUnknown
                | Alert::CertificateRequired
        )
    )
    .then(|| {
        SessionError::Tls(format!(
            "the server does not accept the client's certificate ({error}): name one that its \
             authority has signed and that is valid now"
        ))
    })
}
