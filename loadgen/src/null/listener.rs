//! The socket that the null server listens on; what was made for it is removed with it.

use super::{Options, Place, Protocol};
use anyhow::{Context, Result, bail};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, getsockname, listen,
    socket_with, sockopt,
};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// New connections that may wait to be taken in; the kernel may allow fewer.
const BACKLOG: i32 = 4096;

/// The name of MySQL's socket.
const MYSQL_SOCKET: &str = "mysql.sock";

/// Names that are tried for a fresh folder.
const FOLDERS_TRIED_MAX: u32 = 1000;

/// A socket that takes connections in.
pub(super) struct Listener {
    stream: OwnedFd,
    tcp: bool,
    /// What a job names as `server.host`.
    pub(super) host: String,
    /// What a job names as `server.port`.
    pub(super) port: u16,
    _made: Made,
}

/// What is to be removed at the end.
#[derive(Default)]
struct Made {
    socket: Option<PathBuf>,
    folder: Option<PathBuf>,
}

impl Listener {
    /// Listens.
    ///
    /// # Errors
    /// Where the place is not to be had; one line.
    pub(super) fn open(options: &Options) -> Result<Self> {
        match &options.place {
            Place::Socket { folder, port } => {
                Self::open_unix(options.protocol, folder.as_deref(), *port)
            }
            Place::Loopback { port } => Self::open_tcp(*port),
        }
    }

    /// The next connection, non-blocking; none where it has gone meanwhile.
    ///
    /// # Errors
    /// The operating system's, such as no descriptor left.
    pub(super) fn accept(&self) -> Result<Option<OwnedFd>, Errno> {
        match accept_with(&self.stream, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(stream) => {
                if self.tcp {
                    sockopt::set_tcp_nodelay(&stream, true)?;
                }
                Ok(Some(stream))
            }
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open_unix(protocol: Protocol, folder: Option<&Path>, port: u16) -> Result<Self> {
        let mut made = Made::default();
        let folder = match folder {
            Some(folder) => std::path::absolute(folder)?,
            None => made.folder.insert(fresh_folder()?).clone(),
        };
        // A job names PostgreSQL's socket by its folder and port, MySQL's by its file.
        let path = match protocol {
            Protocol::Postgres => folder.join(format!(".s.PGSQL.{port}")),
            Protocol::Mysql => folder.join(MYSQL_SOCKET),
        };
        let host = match protocol {
            Protocol::Postgres => &folder,
            Protocol::Mysql => &path,
        };
        let host = host.to_str().context("a socket's path has to be UTF-8")?;
        let host = host.to_owned();
        let place = path.display();
        let address = SocketAddrUnix::new(path.as_path()).with_context(|| {
            format!("the socket path `{place}` is too long: choose a shorter `--socket`")
        })?;
        let stream = match listening(AddressFamily::UNIX, &address) {
            Ok(stream) => stream,
            Err(Errno::ADDRINUSE) => bail!(
                "`{place}` is there already: choose another place, or remove it if no server uses it"
            ),
            Err(error) => return Err(error).with_context(|| format!("cannot listen at `{place}`")),
        };
        made.socket = Some(path);
        Ok(Self {
            stream,
            tcp: false,
            host,
            port,
            _made: made,
        })
    }

    fn open_tcp(port: u16) -> Result<Self> {
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        let stream = listening(AddressFamily::INET, &address)
            .with_context(|| format!("cannot listen at `{address}`: choose another `--port`"))?;
        let bound = SocketAddrV4::try_from(getsockname(&stream)?)?;
        Ok(Self {
            stream,
            tcp: true,
            host: bound.ip().to_string(),
            port: bound.port(),
            _made: Made::default(),
        })
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
        if let Some(socket) = &self.socket {
            let _ = std::fs::remove_file(socket);
        }
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// A folder under the system's temporary folder that only this user may enter.
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

fn listening(family: AddressFamily, address: &impl SocketAddrArg) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let stream = socket_with(family, SocketType::STREAM, flags, None)?;
    if family == AddressFamily::INET {
        sockopt::set_socket_reuseaddr(&stream, true)?;
    }
    bind(&stream, address)?;
    listen(&stream, BACKLOG)?;
    Ok(stream)
}
