//! The end of a step whose events nobody reads.

use super::HASTE_MAX;
use crate::record::RECORDS_UNREAD_MAX;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it is looked whether the writer has come to its end.
const LOOK: Duration = Duration::from_millis(10);

/// Why the step ends.
pub(super) fn reason() -> String {
    format!(
        "standard output: nobody has read the events of the last {RECORDS_UNREAD_MAX} s; read them, or write them to a file"
    )
}

/// Says so on standard error too, and waits a while for somebody to read what is written.
pub(super) fn give_up(writer: &JoinHandle<()>) {
    eprintln!("dyno-loadgen: {}", reason());
    let until = Instant::now() + HASTE_MAX;
    while !writer.is_finished() && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
}
