//! The null server: speaks PostgreSQL's protocol or MySQL's and answers every statement at once, doing nothing.
//!
//! What a generator reaches against it is the generator's own ceiling on this host, and what an operation costs there is
//! its overhead. So it has to be leaner than any generator: a thread or a few, each with an epoll loop over all its
//! connections, one receive and one send for all requests that have come together, answers that are there beforehand.

mod copy;
mod listener;
mod mysql;
mod options;
mod postgres;
mod serve;
mod session;
mod sql;

use crate::event::print;
use crate::run::raise_descriptor_limit;
use crate::shared::Waker;
use anyhow::{Context, Result, bail};
use listener::Listener;
pub use options::{Options, Place, Protocol};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::json;
use serve::Pool;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Serves until standard input ends or SIGINT or SIGTERM comes; says on standard output where it listens.
///
/// # Errors
/// Where it cannot listen, or has no descriptors left; one line.
pub fn run(options: &Options) -> Result<()> {
    raise_descriptor_limit();
    let ended = Waker::new().context("cannot make an eventfd")?;
    watch_signals(&ended).context("cannot watch for signals")?;
    let listener = Listener::open(options)?;
    let mut pool = Pool::start(options.protocol, options.threads, &ended)?;
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
