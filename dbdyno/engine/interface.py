"""What a server of an arm provides, whatever its engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from dbdyno.engine import golden
from dbdyno.model import Address, Json

WARM_S_MAX = 4 * 3600.0
"""For reading one relation into the caches."""


class Execute(Protocol):
    """Runs statements in one session and returns the rows of the last (Server.execute)."""

    def __call__(self, *statements: str, limit_s: float) -> list[tuple[Any, ...]]:
        """Raises ServerError."""


class Server(Protocol):
    """A database server of one arm, from its data directory to its end."""

    name: str  # the arm's
    engine: str
    remote: bool  # whether it runs elsewhere: its processes, files and logs cannot be seen
    drops_any: bool  # whether tables may go there that the lab did not make
    log_path: Path | None  # of the server's own log
    threads: bool  # whether one process serves all connections, with a thread for each

    @property
    def postmaster_pid(self) -> int | None:
        """The server's first process; None when it does not run."""

    @property
    def data_dir(self) -> Path | None:
        """The data directory; None where there is none."""

    @property
    def wal_dir(self) -> Path | None:
        """The folder of the write-ahead log; None where there is none."""

    @property
    def departures(self) -> tuple[str, ...]:
        """How the settings depart from the preset's published table, in sentences."""

    @property
    def job_fake(self) -> Json | None:
        """The job's `fake` (contract/README.md); None for a real server."""

    def setting(self, name: str) -> str | None:
        """What the preset, the plan or the lab set; None where the server's default holds."""

    def check(self) -> None:
        """Looks whether the server can be made; makes nothing. Raises DynoError subclasses."""

    @property
    def identity(self) -> Json:
        """What of the server determines how its data come to lie on the disk."""

    def has_extension(self, name: str) -> bool:
        """Whether its build comes with an extension. Raises ServerError."""

    def prepare(self) -> None:
        """Makes a fresh data directory in place of an earlier one. Raises ServerError."""

    def prepare_from(self, copy: golden.Copy, *, shared_blocks: bool) -> None:
        """The same as a copy of a golden one. Raises ServerError, HostError."""

    def keep(self, parts: Json, about: Json) -> golden.Copy:
        """Shuts it down and makes its data a golden copy. Raises ServerError, HostError."""

    def start(self) -> None:
        """Starts it and waits until it answers. Raises ServerError with the log's reason."""

    def stop(self, crash: bool = False) -> None:
        """Shuts down (with a checkpoint unless `crash`) and waits for the end."""

    def remove(self) -> None:
        """Removes data directory and sockets; the log stays."""

    def failure(self) -> str | None:
        """None while the server is well; else what happened, in a sentence."""

    def facts(self) -> Json:
        """server.json of docs/results.md."""

    def address(self, *, tcp: bool = False) -> Address | None:
        """Where it answers, with the database made last; None for a server inside dyno-loadgen."""

    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = 600.0
    ) -> list[tuple[Any, ...]]:
        """Runs SQL for set-up, a statement at a time; the rows of the last. Raises ServerError."""

    def create_database(self, name: str) -> None:
        """Makes the database anew and uses it from now on."""

    def use_database(self, name: str) -> None:
        """Uses a database that is there from now on."""

    def processes(self) -> dict[int, str]:
        """Living process -> what it is for, without the postmaster.

        Of a server of `threads` its threads, by the kernel's ids, without the first.
        """

    def leaders(self) -> dict[int, int]:
        """Parallel worker -> the backend that leads it, of those that `processes` told last."""

    def log_tail(self, lines: int = 20) -> list[str]:
        """The last lines of the log."""

    def log_position(self) -> int:
        """Where the log ends now, for `log_events`."""

    def log_events(self, since: int) -> list[Json]:
        """Events of the log from there on (docs/results.md, done.json)."""
