//! A program that writes rows to its standard output, or a file of them.
//!
//! A program is in a process group of its own, of which nothing is left where the load ends.

use super::{Halt, PROGRESS_EVERY};
use crate::job::SourcePart;
use crate::session::SessionError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is read at a time.
const READ_BYTES: usize = 64 << 10;
/// Of a program's complaints, the last bytes that are kept.
const COMPLAINT_BYTES_MAX: usize = 4 << 10;
/// How often a program is looked at whose output is at its end.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What gives the bytes of a part.
pub(super) enum Supply {
    /// A program at work, as messages call it.
    Program(String, Program),
    /// A file, as messages call it.
    File(String, File),
}

/// A program at work.
pub(super) struct Program {
    child: Child,
    output: ChildStdout,
    complaints: Option<JoinHandle<String>>,
}

impl Supply {
    /// Starts the program in a folder, or opens the file.
    ///
    /// # Errors
    /// `Protocol` where that cannot be done.
    pub(super) fn open(part: &SourcePart, folder: &str) -> Result<Self, SessionError> {
        match part {
            SourcePart::Command(words) => Program::start(words, folder),
            SourcePart::File(path) => match File::open(path) {
                Ok(file) => Ok(Self::File(format!("`{path}`"), file)),
                Err(error) => Err(failed(
                    &format!("`{path}`"),
                    &format!("cannot be read: {error}"),
                )),
            },
        }
    }

    /// Returns its name in messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Program(name, _) | Self::File(name, _) => name,
        }
    }

    /// Appends what comes next; returns its bytes, 0 at the end, none where the load is halted before anything comes.
    ///
    /// # Errors
    /// `Protocol` where it cannot be read.
    pub(super) fn read(
        &mut self,
        out: &mut Vec<u8>,
        halt: &Halt,
    ) -> Result<Option<usize>, SessionError> {
        let start = out.len();
        let (name, read) = match self {
            Self::Program(name, program) => {
                if !program.waits(halt)? {
                    return Ok(None);
                }
                out.resize(start + READ_BYTES, 0);
                (name, program.output.read(&mut out[start..]))
            }
            Self::File(name, file) => {
                if halt.is_on() {
                    return Ok(None);
                }
                out.resize(start + READ_BYTES, 0);
                (name, file.read(&mut out[start..]))
            }
        };
        let count = read.map_err(|error| failed(name, &format!("cannot be read: {error}")))?;
        out.truncate(start + count);
        Ok(Some(count))
    }

    /// Waits for the end of the program, whose output is at its end; false where the load is halted before.
    ///
    /// # Errors
    /// `Protocol` where it is no good one, with its last complaint.
    pub(super) fn finish(&mut self, halt: &Halt) -> Result<bool, SessionError> {
        let Self::Program(name, program) = self else {
            return Ok(true);
        };
        while !program.has_ended()? {
            if halt.is_on() {
                return Ok(false);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let (status, complaint) = program.end()?;
        if status.success() {
            return Ok(true);
        }
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("ended with exit status {code}"),
            (None, Some(signal)) => format!("was ended by signal {signal}"),
            (None, None) => "ended badly".to_owned(),
        };
        let why = if complaint.is_empty() {
            how
        } else {
            format!("{how}: {complaint}")
        };
        Err(failed(name, &why))
    }
}

impl Program {
    fn start(words: &[String], folder: &str) -> Result<Supply, SessionError> {
        let (word, arguments) = words
            .split_first()
            .ok_or_else(|| failed("a part", "names no program"))?;
        let name = Path::new(word).file_name().unwrap_or(word.as_ref());
        let name = format!("`{}`", name.to_string_lossy());
        let mut command = Command::new(word);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if !folder.is_empty() {
            command.current_dir(folder);
        }
        let mut child = command
            .spawn()
            .map_err(|error| failed(&name, &format!("cannot be started: {error}")))?;
        let (Some(output), Some(complaints)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(failed(&name, "has no output"));
        };
        let complaints = std::thread::spawn(move || last_line(complaints));
        let program = Self {
            child,
            output,
            complaints: Some(complaints),
        };
        Ok(Supply::Program(name, program))
    }

    /// Waits until it has written something or ended; false where the load is halted before.
    fn waits(&self, halt: &Halt) -> Result<bool, SessionError> {
        let timeout = Timespec::try_from(PROGRESS_EVERY).ok();
        while !halt.is_on() {
            let mut polled = [PollFd::new(&self.output, PollFlags::IN)];
            match poll(&mut polled, timeout.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    fn id(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Whether it has ended; its process id stays its own until `end`.
    fn has_ended(&self) -> Result<bool, SessionError> {
        let Some(id) = self.id() else { return Ok(true) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(id), options)?.is_some())
    }

    /// Ends what is left of it and of its group; returns how it ended, and its last complaint.
    fn end(&mut self) -> Result<(ExitStatus, String), SessionError> {
        if let Some(group) = self.id().filter(|_| self.complaints.is_some()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let status = self.child.wait()?;
        let complaints = self.complaints.take();
        let complaint = complaints.and_then(|thread| thread.join().ok());
        Ok((status, complaint.unwrap_or_default()))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Returns the last line of a program's complaints, and drops all else.
fn last_line(mut complaints: ChildStderr) -> String {
    let (mut kept, mut read) = (Vec::new(), [0; 1024]);
    while let Ok(count @ 1..) = complaints.read(&mut read) {
        kept.extend_from_slice(&read[..count]);
        let most = kept.len().saturating_sub(COMPLAINT_BYTES_MAX);
        kept.drain(..most);
    }
    let text = String::from_utf8_lossy(&kept);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.unwrap_or_default().trim().to_owned()
}

fn failed(name: &str, problem: &str) -> SessionError {
    SessionError::Protocol(format!("{name} {problem}"))
}
