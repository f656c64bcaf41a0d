"""Errors that a user can mend.

    DynoError              one line: what, where, what to do; exit status 2
    ├── PlanError          a plan, its file, its key
    ├── WorkloadError      a workload file, its key or a parameter
    ├── ServerError        a server cannot be brought, set up, started or reached
    ├── HostError          the machine: another lab at work, no room, too little memory
    ├── ResultError        a result folder that is missing, foreign or does not fit the plan
    ├── ExportError        an export's place, form or table
    ├── DiskError          a file system takes no more: full, over quota, read-only, failing
    ├── GeneratorError     dyno-loadgen is missing, of another protocol, or ended unexpectedly
    └── LabDied            something of the lab's own died: the block is void and done again
        └── CopyRefused    a golden copy on which a counted server does not start: thrown away

Everything else that is raised is a bug and shows a traceback.
"""

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class DynoError(Exception):
    """The world is not as it has to be; the text is one line and says what to do."""


class PlanError(DynoError):
    """A plan cannot be understood or carried out."""


class WorkloadError(DynoError):
    """A workload file or one of its parameters cannot be used."""


class ServerError(DynoError):
    """A server cannot be brought, set up, started or reached."""


class HostError(DynoError):
    """The machine does not allow the run."""


class ResultError(DynoError):
    """A result folder is missing, foreign, or belongs to another plan."""


class ExportError(DynoError):
    """An export cannot be written as it was asked for."""


class DiskError(DynoError):
    """A file system takes no more: it is full, read-only or failing. No arm is at fault."""


class GeneratorError(DynoError):
    """The load generator is missing, of another protocol, or ended unexpectedly."""


class LabDied(DynoError):
    """Something of the lab's own died while it measured, by no doing of the arm.

    The generator, the canary, the sampler: the block is void, and may be done again.
    """


class CopyRefused(LabDied):
    """A server does not start on a golden copy, which is thrown away: data have to be filled."""

    def __init__(self, key: str, text: str) -> None:
        """`key`: of the copy."""
        super().__init__(text)
        self.key = key


REMEDIES: Mapping[int | None, str] = {
    errno.ENOSPC: "free space there",
    errno.EDQUOT: "free space there, or have the quota raised",
    errno.EROFS: "find in `dmesg` why it is read-only, and make it writable",
    errno.EIO: "find in `dmesg` what failed, and mend or replace the device",
}
"""What to do where a file system refuses, by the system's error."""


def refusal(error: OSError) -> str:
    """A file system's refusal in words, with the remedy where one is known."""
    words = error.strerror or str(error)
    return f"{words}: {REMEDIES[error.errno]}" if error.errno in REMEDIES else words


@contextmanager
def disk_errors_named(path: object = None) -> Iterator[None]:
    """Raises DiskError with the remedy in place of a file system's refusal; others pass through.

    `path`: what it refused to change; None: the error names it.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        where = path or error.filename or "a file that dyno writes"
        raise DiskError(
            f"`{where}`: {refusal(error)}, then run the same command to continue"
        ) from error
