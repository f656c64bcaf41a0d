//! Measures how fast a device writes and reads a file from its beginning to its end, past the page cache: its ceiling.
//!
//! The file is gone from its folder before the first byte is written, so that nothing stays behind, whatever happens.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate};
use rustix::io::Errno;
use serde::Serialize;

use crate::value::mix64;

/// Bytes of a read or write.
const PIECE_BYTES: usize = 1 << 20;
/// What direct input and output is aligned to: a multiple of every usual device's sector and of a page.
const ALIGNMENT_BYTES: usize = 4096;
/// Threads that have a piece in flight each.
const THREADS: usize = 4;
const MIB: f64 = 1_048_576.0;

/// What a device did with a file that was written and then read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Device {
    /// The file's bytes: whole pieces of 1 MiB.
    pub bytes: u64,
    /// MiB written a second, the fsync at the end included.
    pub write_mbps: f64,
    /// MiB read a second.
    pub read_mbps: f64,
    /// Whether the page cache was passed by; else it was emptied between writing and reading.
    pub direct: bool,
}

/// Writes and reads a file of `bytes` bytes in `dir`.
///
/// # Errors
/// Where `dir` cannot be written or has no room, and where something else is read than was written.
pub(super) fn run(dir: &Path, bytes: u64) -> Result<Device> {
    let pieces = bytes / PIECE_BYTES as u64;
    ensure!(
        pieces > 0,
        "--device {bytes} is less than a piece; give at least {PIECE_BYTES}"
    );
    let bytes = pieces * PIECE_BYTES as u64;
    let (file, direct) =
        open(dir).with_context(|| format!("cannot make a file in `{}`", dir.display()))?;
    let in_words = || format!("a file of {bytes} bytes in `{}`", dir.display());
    reserve(&file, bytes).with_context(|| format!("no room for {}", in_words()))?;
    let content = Content::new();
    let write_s = timed(|| {
        in_pieces(pieces, &content, |piece, buffer| {
            content.stamp(piece, buffer);
            file.write_all_at(buffer, piece * PIECE_BYTES as u64)
        })?;
        file.sync_all()
    })
    .with_context(|| format!("cannot write {}", in_words()))?;
    if !direct {
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    let read_s = timed(|| {
        in_pieces(pieces, &content, |piece, buffer| {
            file.read_exact_at(buffer, piece * PIECE_BYTES as u64)?;
            content.check(piece, buffer)
        })
    })
    .with_context(|| format!("cannot read {}", in_words()))?;
    let per_s = |seconds: f64| super::to_thousandths(bytes as f64 / MIB / seconds);
    Ok(Device {
        bytes,
        write_mbps: per_s(write_s),
        read_mbps: per_s(read_s),
        direct,
    })
}

/// Makes a file without a name in `dir`; also tells whether it passes the page cache by.
fn open(dir: &Path) -> Result<(File, bool)> {
    let path = dir.join(format!(".dyno-device-{}", std::process::id()));
    let with = |flags: OFlags| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .custom_flags(flags.bits().cast_signed())
            .open(&path)
    };
    let opened = match with(OFlags::DIRECT) {
        Ok(file) => Ok((file, true)),
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            // The file may have been made before the flag was refused.
            let _ = std::fs::remove_file(&path);
            with(OFlags::empty()).map(|file| (file, false))
        }
        Err(error) => Err(error),
    }?;
    std::fs::remove_file(&path)?;
    Ok(opened)
}

/// Takes the room for the file, where the file system can do that beforehand.
fn reserve(file: &File, bytes: u64) -> Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(file.set_len(bytes)?),
        Err(error) => Err(error.into()),
    }
}

/// Does something with each piece, in their order, as many at a time as there are threads.
fn in_pieces(
    pieces: u64,
    content: &Content,
    does: impl Fn(u64, &mut [u8]) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut memory = vec![0; PIECE_BYTES + ALIGNMENT_BYTES];
        let offset = memory.as_ptr().align_offset(ALIGNMENT_BYTES);
        let buffer = &mut memory[offset..offset + PIECE_BYTES];
        content.fill(buffer);
        loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return Ok(());
            }
            // After an error the others have nothing left to do.
            does(piece, buffer).inspect_err(|_| next.store(pieces, Ordering::Relaxed))?;
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        })
    })
}

/// What the file holds: random bytes, no page of which is like another, in this file or any before it.
struct Content {
    seed: u64,
}

impl Content {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let (seconds, rest_ns) = now.map_or((0, 0), |now| (now.as_secs(), now.subsec_nanos()));
        let seed = mix64(seconds) ^ u64::from(rest_ns) ^ (u64::from(std::process::id()) << 32);
        Self { seed: mix64(seed) }
    }

    /// Fills a buffer with random bytes, which nothing can make shorter.
    fn fill(&self, buffer: &mut [u8]) {
        let mut state = self.seed;
        for word in buffer.chunks_exact_mut(8) {
            state = mix64(state.wrapping_add(1));
            word.copy_from_slice(&state.to_le_bytes());
        }
    }

    /// Makes each page of a piece its own.
    fn stamp(&self, piece: u64, buffer: &mut [u8]) {
        for (page, bytes) in (0..).zip(buffer.chunks_exact_mut(ALIGNMENT_BYTES)) {
            bytes[..8].copy_from_slice(&self.mark(piece, page));
        }
    }

    /// Refuses a piece that is not what was written.
    fn check(&self, piece: u64, buffer: &[u8]) -> io::Result<()> {
        let mut pages = (0..).zip(buffer.chunks_exact(ALIGNMENT_BYTES));
        if pages.all(|(page, bytes)| bytes[..8] == self.mark(piece, page)) {
            return Ok(());
        }
        Err(io::Error::other("something else was read than was written"))
    }

    fn mark(&self, piece: u64, page: u64) -> [u8; 8] {
        mix64(mix64(self.seed ^ piece) ^ page).to_le_bytes()
    }
}

/// Returns the seconds that something takes.
fn timed(does: impl FnOnce() -> io::Result<()>) -> io::Result<f64> {
    let start = Instant::now();
    does()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Returns the bytes of `--device`.
///
/// # Errors
/// What is no whole number.
pub fn bytes(written: &str) -> Result<u64> {
    match written.parse() {
        Ok(bytes) => Ok(bytes),
        Err(_) if written.is_empty() => bail!("--device needs a number of bytes"),
        Err(_) => Err(anyhow!("--device {written} is no number of bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in a folder of its own under `parent`, which is empty afterwards.
    fn run_in(parent: &Path, name: &str, bytes: u64) -> Device {
        let dir = parent.join(format!("dyno-device-{name}-{}", std::process::id()));
        std::fs::create_dir(&dir).expect("a folder");
        let device = run(&dir, bytes);
        let left = std::fs::read_dir(&dir).expect("the folder").count();
        std::fs::remove_dir_all(&dir).expect("removed");
        assert_eq!(left, 0);
        device.expect("a device")
    }

    #[test]
    fn a_device_is_measured_and_no_file_is_left() {
        let parent = std::env::temp_dir();
        for (bytes, whole) in [(1 << 20, 1 << 20), ((9 << 20) + 5, 9 << 20)] {
            let device = run_in(&parent, "temp", bytes);
            assert_eq!(device.bytes, whole);
            assert!(
                device.write_mbps > 0.0 && device.read_mbps > 0.0,
                "{device:?}"
            );
        }
    }

    #[test]
    fn a_folder_in_memory_is_measured_too() {
        let parent = Path::new("/dev/shm");
        if parent.is_dir() {
            assert_eq!(run_in(parent, "shm", 2 << 20).bytes, 2 << 20);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_in_one_line() {
        let said = |dir: &str, bytes| format!("{:#}", run(Path::new(dir), bytes).unwrap_err());
        assert!(said("/no/such/folder", 1 << 20).contains("/no/such/folder"));
        assert!(said("/tmp", 1000).contains("at least 1048576"));
        let temp = std::env::temp_dir();
        let much = said(temp.to_str().expect("a name"), 1 << 60);
        assert!(much.starts_with("no room for a file of 1152921504606846976 bytes"));
        for wrong in ["", "1GB", "-1"] {
            assert!(bytes(wrong).is_err());
        }
        assert_eq!(bytes("1048576").expect("a number"), 1 << 20);
    }

    #[test]
    fn no_page_is_like_another_and_what_is_not_ones_own_is_found() {
        let content = Content::new();
        let mut pages = std::collections::BTreeSet::new();
        let mut buffer = vec![0; PIECE_BYTES];
        content.fill(&mut buffer);
        for piece in 0..3 {
            content.stamp(piece, &mut buffer);
            pages.extend(buffer.chunks(ALIGNMENT_BYTES).map(<[u8]>::to_vec));
            content.check(piece, &buffer).expect("its own");
            assert!(content.check(piece + 1, &buffer).is_err());
        }
        assert_eq!(pages.len(), 3 * PIECE_BYTES / ALIGNMENT_BYTES);
        let mut counts = [0_u32; 256];
        for byte in &buffer {
            counts[usize::from(*byte)] += 1;
        }
        assert!(counts.iter().all(|count| (3500..4700).contains(count)));
    }
}
