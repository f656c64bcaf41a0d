//! What the command line asks of the null server.

use std::path::PathBuf;

/// The number in the name of PostgreSQL's unix socket where none is given: its own.
const POSTGRES_PORT: u16 = 5432;
/// MySQL's port, which a job has to name although its unix socket has none.
const MYSQL_PORT: u16 = 3306;

/// The most threads that make sense, and then some.
const THREADS_MAX: usize = 1024;

/// What the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// PostgreSQL's.
    Postgres,
    /// MySQL's and MariaDB's.
    Mysql,
}

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A unix socket, in a folder that is there or in a fresh private one.
    Socket {
        /// The folder; none for a fresh one.
        folder: Option<PathBuf>,
        /// The number in the socket's name with PostgreSQL; MySQL's has none.
        port: u16,
    },
    /// TCP on the loopback address.
    Loopback {
        /// The port; 0 for any that is free.
        port: u16,
    },
}

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What it speaks.
    pub protocol: Protocol,
    /// Where it listens.
    pub place: Place,
    /// Threads that connections are dealt out to.
    pub threads: usize,
}

impl Options {
    /// Reads the arguments after `null`.
    ///
    /// # Errors
    /// One line: what is wrong, and what is right.
    pub fn parse(arguments: &[&str]) -> Result<Self, String> {
        let (mut protocol, mut tcp, mut folder, mut port) = (None, false, None, None);
        let mut threads = 1;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                rest.next()
                    .ok_or(format!("`{argument}` needs a value behind it"))
            };
            match *argument {
                "--postgres" => protocol = Some(Protocol::Postgres),
                "--mysql" => protocol = Some(Protocol::Mysql),
                "--tcp" => tcp = true,
                "--socket" => folder = Some(PathBuf::from(value()?)),
                "--port" => port = Some(number(argument, value()?, 0..=u16::MAX.into())?),
                "--threads" => threads = number(argument, value()?, 1..=THREADS_MAX)?,
                other => return Err(format!("no such option: `{other}`")),
            }
        }
        let protocol = protocol.ok_or("which protocol? `--postgres` or `--mysql`")?;
        let port = port.and_then(|port| u16::try_from(port).ok());
        let place = place(protocol, tcp, folder, port)?;
        Ok(Self {
            protocol,
            place,
            threads,
        })
    }
}

fn place(
    protocol: Protocol,
    tcp: bool,
    folder: Option<PathBuf>,
    port: Option<u16>,
) -> Result<Place, String> {
    if tcp && folder.is_some() {
        return Err("`--socket` and `--tcp` exclude each other".to_owned());
    }
    if tcp {
        let port = port.unwrap_or(0);
        return Ok(Place::Loopback { port });
    }
    let port = match (protocol, port) {
        (Protocol::Mysql, Some(_)) => {
            return Err(
                "MySQL's unix socket has no port: leave `--port` out, or add `--tcp`".to_owned(),
            );
        }
        (Protocol::Mysql, None) => MYSQL_PORT,
        (Protocol::Postgres, Some(0)) => {
            return Err("a unix socket needs a `--port` from 1 to 65535".to_owned());
        }
        (Protocol::Postgres, port) => port.unwrap_or(POSTGRES_PORT),
    };
    Ok(Place::Socket { folder, port })
}

fn number(
    option: &str,
    text: &str,
    range: std::ops::RangeInclusive<usize>,
) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or(format!(
        "`{option} {text}`: a number from {} to {}",
        range.start(),
        range.end()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_where_it_listens() {
        let place = |arguments: &[&str]| Options::parse(arguments).unwrap().place;
        let socket = |folder: Option<&str>, port| Place::Socket {
            folder: folder.map(PathBuf::from),
            port,
        };
        assert_eq!(place(&["--postgres"]), socket(None, 5432));
        let given = ["--port", "6000", "--postgres", "--socket", "/run/x"];
        assert_eq!(place(&given), socket(Some("/run/x"), 6000));
        assert_eq!(place(&["--postgres", "--tcp"]), Place::Loopback { port: 0 });
        assert_eq!(place(&["--mysql"]), socket(None, 3306));
        let tcp = ["--mysql", "--tcp", "--port", "7"];
        assert_eq!(place(&tcp), Place::Loopback { port: 7 });
        let threads = Options::parse(&["--mysql", "--threads", "4"]).unwrap();
        assert_eq!((threads.protocol, threads.threads), (Protocol::Mysql, 4));
    }

    #[test]
    fn a_wrong_command_line_gets_one_line() {
        for (arguments, problem) in [
            (&["--tcp"][..], "which protocol? `--postgres` or `--mysql`"),
            (
                &["--postgres", "--port"],
                "`--port` needs a value behind it",
            ),
            (
                &["--postgres", "--port", "65536"],
                "`--port 65536`: a number from 0 to 65535",
            ),
            (
                &["--postgres", "--port", "0"],
                "a unix socket needs a `--port` from 1 to 65535",
            ),
            (
                &["--postgres", "--threads", "0"],
                "`--threads 0`: a number from 1 to 1024",
            ),
            (
                &["--postgres", "--tcp", "--socket", "/run"],
                "`--socket` and `--tcp` exclude each other",
            ),
            (
                &["--mysql", "--port", "3306"],
                "MySQL's unix socket has no port: leave `--port` out, or add `--tcp`",
            ),
            (&["--oracle"], "no such option: `--oracle`"),
        ] {
            assert_eq!(Options::parse(arguments), Err(problem.to_owned()));
        }
    }
}
