//! What the command line asks of the null server.

use std::path::PathBuf;

/// The port of a unix socket where none is given: PostgreSQL's own.
const PORT: u16 = 5432;

/// The most threads that make sense, and then some.
const THREADS_MAX: usize = 1024;

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A unix socket, in a folder that is there or in a fresh private one.
    Socket {
        /// The folder; none for a fresh one.
        folder: Option<PathBuf>,
        /// The number in the socket's name.
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
        let (mut engine, mut tcp, mut folder, mut port) = (false, false, None, None);
        let mut threads = 1;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                rest.next()
                    .ok_or(format!("`{argument}` needs a value behind it"))
            };
            match *argument {
                "--postgres" => engine = true,
                "--tcp" => tcp = true,
                "--socket" => folder = Some(PathBuf::from(value()?)),
                "--port" => port = Some(number(argument, value()?, 0..=u16::MAX.into())?),
                "--threads" => threads = number(argument, value()?, 1..=THREADS_MAX)?,
                other => return Err(format!("no such option: `{other}`")),
            }
        }
        if !engine {
            return Err("which protocol? the only one is `--postgres`".to_owned());
        }
        let port = port.and_then(|port| u16::try_from(port).ok());
        let place = match (tcp, folder, port) {
            (true, Some(_), _) => {
                return Err("`--socket` and `--tcp` exclude each other".to_owned());
            }
            (true, None, port) => Place::Loopback {
                port: port.unwrap_or(0),
            },
            (false, _, Some(0)) => {
                return Err("a unix socket needs a `--port` from 1 to 65535".to_owned());
            }
            (false, folder, port) => Place::Socket {
                folder,
                port: port.unwrap_or(PORT),
            },
        };
        Ok(Self { place, threads })
    }
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
        let threads = Options::parse(&["--postgres", "--threads", "4"]).unwrap();
        assert_eq!(threads.threads, 4);
    }

    #[test]
    fn a_wrong_command_line_gets_one_line() {
        for (arguments, problem) in [
            (
                &["--tcp"][..],
                "which protocol? the only one is `--postgres`",
            ),
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
            (&["--mysql"], "no such option: `--mysql`"),
        ] {
            assert_eq!(Options::parse(arguments), Err(problem.to_owned()));
        }
    }
}
