//! The unix socket that the null server listens on, in a folder of its own; both are removed with it.

use super::Protocol;
use anyhow::{Context, Result, bail};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// New connections that may wait to be taken in; the kernel may allow fewer.
const BACKLOG: i32 = 4096;

/// The number in the name of PostgreSQL's socket: its usual port.
const POSTGRES_PORT: u16 = 5432;
/// MySQL's port, which a job has to name although its unix socket has none.
const MYSQL_PORT: u16 = 3306;

/// Names that are tried for a fresh folder.
const FOLDERS_TRIED_MAX: u32 = 1000;

/// A socket that takes connections in.
pub(super) struct Listener {
    stream: OwnedFd,
    /// What a job names as `server.host`.
    pub(super) host: String,
    /// What a job names as `server.port`.
    pub(super) port: u16,
    _made: Made,
}

/// What is to be removed at the end.
struct Made {
    folder: PathBuf,
    socket: PathBuf,
}

impl Listener {
    /// Listens at a socket of that protocol's name.
    ///
    /// # Errors
    /// Where there can be no folder or socket; one line.
    pub(super) fn open(protocol: Protocol) -> Result<Self> {
        let folder = fresh_folder()?;
        // A job names PostgreSQL's socket by its folder and port, MySQL's by its file.
        let (port, name) = match protocol {
            Protocol::Postgres => (POSTGRES_PORT, format!(".s.PGSQL.{POSTGRES_PORT}")),
            Protocol::Mysql => (MYSQL_PORT, "mysql.sock".to_owned()),
        };
        let socket = folder.join(name);
        let made = Made { folder, socket };
        let host = match protocol {
            Protocol::Postgres => &made.folder,
            Protocol::Mysql => &made.socket,
        };
        let host = host.to_str().context("a socket's path has to be UTF-8")?;
        Ok(Self {
            stream: listening(&made.socket).with_context(|| {
                let place = made.socket.display();
                format!(
                    "cannot listen at `{place}`: name another folder, or a shorter one, by TMPDIR"
                )
            })?,
            host: host.to_owned(),
            port,
            _made: made,
        })
    }

    /// Returns the next connection, which does not block; none where no one waits.
    ///
    /// # Errors
    /// The operating system's, such as no descriptor left.
    pub(super) fn accept(&self) -> Result<Option<OwnedFd>, Errno> {
        match accept_with(&self.stream, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(stream) => Ok(Some(stream)),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // Where somebody has removed them already, nothing is to be done.
        let _ = std::fs::remove_file(&self.socket);
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// Makes a folder under the system's temporary folder that only this user may enter.
fn fresh_folder() -> Result<PathBuf> {
    let parent = std::env::temp_dir();
    for number in 0..FOLDERS_TRIED_MAX {
        let folder = parent.join(format!("dyno-null-{}-{number}", std::process::id()));
        match rustix::fs::mkdir(&folder, Mode::RWXU) {
            Ok(()) => return Ok(folder),
            Err(Errno::EXIST) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make `{}`", folder.display()));
            }
        }
    }
    bail!("no name for a folder is free under `{}`", parent.display())
}

fn listening(place: &Path) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&stream, &SocketAddrUnix::new(place)?)?;
    listen(&stream, BACKLOG)?;
    Ok(stream)
}
