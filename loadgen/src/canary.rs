//! Measures the bare machine in a third of a second: arithmetic, memory, the data device.
//!
//! Run while all is idle; what differs between two canaries comes from outside the arms (noisy
//! neighbours, frequency, a busy device) and shows nowhere else.

mod device;

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::value::mix64;
pub use device::{Device, bytes as device_bytes};

/// Repetitions whose median counts.
const ROUNDS: usize = 5;
/// Dependent steps of arithmetic of a round: about 20 ms at 3 GHz. Never changed: results compare.
const CPU_STEPS: u64 = 2_500_000;
/// The size of a cache line.
const LINE_BYTES: usize = 64;
/// Lines that are walked through: 64 MiB, more than most shares of a last-level cache.
const LINES: usize = (64 << 20) / LINE_BYTES;
/// Loads of a round.
const LOADS: u32 = 40_000;
/// The increment of the generator that shuffles the lines (SplitMix64).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// Appends to the file.
const APPENDS: usize = 50;
/// Bytes of an append: a page of PostgreSQL.
const APPEND_BYTES: usize = 8192;

/// What the machine was capable of at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Canary {
    /// A fixed loop of arithmetic, in microseconds, median of 5.
    pub cpu_us: f64,
    /// A dependent load at a random place in 64 MiB, in nanoseconds, median of 5 rounds.
    pub memory_ns: f64,
    /// An append of 8 KiB with fdatasync, in microseconds, median of 50.
    pub fsync_us_p50: f64,
    /// The slowest of them.
    pub fsync_us_max: f64,
    /// What the device did with a file; none where nobody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
}

/// Takes about 0.3 s, and where `device_bytes` are given as long as the device needs to write and read them. Files are made
/// in `dir` and removed.
///
/// # Errors
/// Where `dir` cannot be written.
pub fn run(dir: &Path, device_bytes: Option<u64>) -> Result<Canary> {
    let (append_us_p50, append_us_max) = appends_us(dir)?;
    Ok(Canary {
        cpu_us: to_thousandths(arithmetic_us()),
        memory_ns: to_thousandths(load_ns()),
        fsync_us_p50: to_thousandths(append_us_p50),
        fsync_us_max: to_thousandths(append_us_max),
        device: device_bytes
            .map(|bytes| device::run(dir, bytes))
            .transpose()?,
    })
}

/// Times a chain in which each step needs the one before: neither wide nor guessable.
fn arithmetic_us() -> f64 {
    let mut rounds = [0.0; ROUNDS];
    for round in &mut rounds {
        let start = Instant::now();
        let mut value = black_box(1_u64);
        for step in 0..CPU_STEPS {
            value = mix64(value ^ step);
        }
        black_box(value);
        *round = microseconds(start);
    }
    median(&mut rounds)
}

/// Walks through memory along a random cycle, so that no load can begin before the last has come.
fn load_ns() -> f64 {
    let lines = cycle();
    let mut place = 0;
    let mut rounds = [0.0; ROUNDS];
    for round in &mut rounds {
        let start = Instant::now();
        for _ in 0..LOADS {
            place = lines[place as usize].0[0];
        }
        *round = microseconds(start) * 1000.0 / f64::from(LOADS);
        black_box(place);
    }
    median(&mut rounds)
}

/// A line that holds the number of the next one.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine([u32; LINE_BYTES / 4]);

/// Returns lines that form one cycle in random order (Sattolo 1986).
fn cycle() -> Vec<CacheLine> {
    let mut next: Vec<u32> = (0_u32..).take(LINES).collect();
    let mut random = 0_u64;
    for last in (1..LINES).rev() {
        random = random.wrapping_add(GOLDEN);
        // The upper half of the product is an even choice below `last` (Lemire 2019).
        let product = u128::from(mix64(random)) * last as u128;
        let other = usize::try_from(product >> 64).expect("an index below `last`");
        next.swap(last, other);
    }
    next.iter()
        .map(|&next| CacheLine([next; LINE_BYTES / 4]))
        .collect()
}

/// Returns the median and the longest of the appends.
fn appends_us(dir: &Path) -> Result<(f64, f64)> {
    let mut temporary = Temporary::new(dir)?;
    let page = [0x5a_u8; APPEND_BYTES];
    let mut times = [0.0; APPENDS];
    for time in &mut times {
        let start = Instant::now();
        temporary
            .file
            .write_all(&page)
            .and_then(|()| temporary.file.sync_data())
            .with_context(|| format!("cannot write `{}`", temporary.path.display()))?;
        *time = microseconds(start);
    }
    let middle = median(&mut times);
    Ok((middle, times[APPENDS - 1]))
}

/// A file that is removed at the end of its scope.
struct Temporary {
    file: File,
    path: PathBuf,
}

impl Temporary {
    fn new(dir: &Path) -> Result<Self> {
        let path = dir.join(format!(".dyno-canary-{}", std::process::id()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .with_context(|| format!("cannot make `{}`: choose another --dir", path.display()))?;
        Ok(Self { file, path })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // There is nobody to tell; the next canary has another name.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn microseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6
}

/// Rounds away the digits that say nothing.
fn to_thousandths(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Sorts the times and returns the middle one (of an even number, the upper).
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_comes_to_every_line_before_it_comes_back() {
        let lines = cycle();
        assert_eq!((lines.len(), size_of::<CacheLine>()), (LINES, LINE_BYTES));
        let (mut place, mut steps) = (0, 0);
        loop {
            place = lines[place].0[0] as usize;
            steps += 1;
            if place == 0 {
                break;
            }
        }
        assert_eq!(steps, LINES);
    }

    #[test]
    fn a_canary_measures_and_leaves_no_file() {
        let dir = std::env::temp_dir().join(format!("dyno-canary-test-{}", std::process::id()));
        std::fs::create_dir(&dir).expect("a folder");
        let canary = run(&dir, Some(2 << 20)).expect("a canary");
        let left = std::fs::read_dir(&dir).expect("the folder").count();
        std::fs::remove_dir_all(&dir).expect("removed");
        assert_eq!(left, 0);
        assert!(
            canary.cpu_us > 1000.0 && canary.memory_ns > 1.0,
            "{canary:?}"
        );
        assert_eq!(canary.device.expect("asked for").bytes, 2 << 20);
        assert!(canary.fsync_us_p50 > 0.0 && canary.fsync_us_max >= canary.fsync_us_p50);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let refused = run(Path::new("/no/such/folder"), None).expect_err("refused");
        assert!(
            format!("{refused:#}").contains("/no/such/folder"),
            "{refused:#}"
        );
    }

    #[test]
    fn the_median_is_the_middle_one() {
        assert!((median(&mut [5.0, 1.0, 3.0]) - 3.0).abs() < f64::EPSILON);
    }
}
