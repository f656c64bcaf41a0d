//! The null server: speaks PostgreSQL's protocol and answers every statement at once, doing nothing.
//!
//! What a generator reaches against it is the generator's own ceiling on this host, and what an operation costs there is
//! its overhead. So it has to be leaner than any generator: a thread or a few, each with an epoll loop over all its
//! connections, one receive and one send for all requests that have come together, answers that are there beforehand.

mod copy;
mod listener;
mod reply;
mod serve;
mod session;
mod sql;

use crate::event::print;
use crate::run::raise_descriptor_limit;
use crate::wake::Waker;
use anyhow::{Context, Result, bail};
use listener::Listener;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::json;
use serve::Pool;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
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

/// Serves until standard input ends or SIGINT or SIGTERM comes; says on standard output where it listens.
///
/// # Errors
/// Where it cannot listen, or has no descriptors left; one line.
pub fn run(options: &Options) -> Result<()> {
    raise_descriptor_limit();
    let ended = Waker::new().context("cannot make an eventfd")?;
    watch_signals(&ended).context("cannot watch for signals")?;
    let listener = Listener::open(&options.place)?;
    let mut pool = Pool::start(options.threads, &ended)?;
    let listening = json!({
        "event": "listening", "host": listener.host, "port": listener.port, "pid": std::process::id(),
    });
    print(&listening.to_string()).context("cannot write to standard output")?;
    watch_input(&ended);
    accept_until(&ended, &listener, &mut pool)?;
    pool.join()
}

/// Takes connections in and deals them out, until the end.
fn accept_until(ended: &Waker, listener: &Listener, pool: &mut Pool) -> Result<()> {
    loop {
        let mut waiting = [
            PollFd::new(ended, PollFlags::IN),
            PollFd::new(listener, PollFlags::IN),
        ];
        match poll(&mut waiting, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if !waiting[0].revents().is_empty() {
            return Ok(());
        }
        match listener.accept() {
            Ok(Some(stream)) => pool.deal_out(stream),
            Ok(None) => {}
            Err(Errno::MFILE | Errno::NFILE) => bail!(
                "no descriptor is left for connection {}: raise the limit of open files (`ulimit -n`)",
                pool.dealt_out + 1
            ),
            Err(error) => return Err(error).context("cannot accept a connection"),
        }
    }
}

/// Ends the server when standard input does, as the caller has gone.
fn watch_input(ended: &Waker) {
    let ended = ended.clone();
    std::thread::spawn(move || {
        // An input that cannot be read has ended too.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        ended.wake();
    });
}

fn watch_signals(ended: &Waker) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let ended = ended.clone();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            ended.wake();
        }
    });
    Ok(())
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
