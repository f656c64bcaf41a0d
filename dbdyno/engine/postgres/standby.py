"""A streaming standby of one of the lab's PostgreSQL servers: made from a running primary, watched.

It is made by the server's own backup functions and a copy of the files (PostgreSQL documentation,
"Making a Base Backup Using the Low Level API"), because prebuilt servers lack pg_basebackup. A
replication slot keeps the write-ahead log that the standby still needs.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from dbdyno.builds import Build
from dbdyno.engine import log
from dbdyno.engine.local_server import LOOK_EVERY_S, Home, free_port
from dbdyno.engine.postgres import connection, fingerprint, settings
from dbdyno.engine.postgres.replay_lag import STREAMED, ReplayLag
from dbdyno.host import account, process
from dbdyno.host.place import Place
from dbdyno.model import Address, Arm, Json
from dbdyno.model.error import HostError, ServerError
from dbdyno.model.plan import standby_name
from dbdyno.model.standby_lag import StandbyLag

COPY_S_MAX = 4 * 3600.0
JOIN_S_MAX = 600.0
"""How long a standby may take until it answers, once its files are there."""
CONNECT_S_MAX = 15.0
"""How long a standby may try in vain to reach its primary."""
CUT_OFF = "could not connect to the primary server"
NOT_COPIED = frozenset({
    "postmaster.pid", "postmaster.opts", "backup_label", "tablespace_map",
    "standby.signal", "recovery.signal", "recovery.conf",
})  # fmt: skip
"""Files of the primary alone."""
LEFT_EMPTY = frozenset({
    *fingerprint.WAL_FOLDERS, "pg_replslot", "pg_stat_tmp", "pg_dynshmem", "pg_notify", "pg_serial",
    "pg_snapshots", "pg_subtrans",
})  # fmt: skip
"""Folders of which a backup needs no content."""
RELEASE_S_MAX = 10.0
"""How long a server may take to see that a standby is gone."""
DATABASE = "postgres"
"""The one that a fresh server has."""
VANISHED = "No such file or directory"


class Standby:
    """One standby of an arm's server. Its methods raise ServerError, in a line that names it."""

    def __init__(self, arm: Arm, number: int, build: Build, place: Place) -> None:
        """Describes it; nothing is made or started yet."""
        self.name = standby_name(number)
        self.build = build
        self._place = place
        self._what = f"arm {arm.name}: {self.name}"
        # No arm's name has `~`.
        own = replace(arm, name=f"{arm.name}~{self.name}")
        self._home = Home(own, build, place, log_name=f"{self.name}.log")
        self._port = 0
        self._watched = 0
        self._failure: str | None = None
        self._lag: ReplayLag | None = None  # None: it has not joined

    # --- Its making ---

    def join(self, primary: Address, source: Path, values: Mapping[str, str]) -> Json:
        """Makes it from the running primary and waits until it answers; how long that took.

        `source`: the primary's data directory; `values`: its settings. Raises ServerError,
        HostError.
        """
        begun_s = time.monotonic()
        self._home.check()
        self._port = free_port(self._what, 0, self._place)
        data, wal = self._home.make()
        self._backup(primary, source, data, wal)
        copied_s = time.monotonic()
        self._configure(primary, data, values)
        self._watched, self._failure = self._home.log_position(), None
        self._home.start([self.build.program, "-D", data])
        address = self.address(primary)
        self._home.wait_for_answer(
            lambda: self._silence(address, copied_s),
            lambda: log.reason(log.read(self._home.log_path, self._watched)),
            JOIN_S_MAX,
        )
        self._home.register()
        self._lag = self._connected(address)
        return {
            "standby": self.name,
            "copy_s": copied_s - begun_s,
            "answer_s": time.monotonic() - copied_s,
        }

    def _silence(self, address: Address, since_s: float) -> str | None:
        """Why it does not answer.

        Raises ServerError where it has not reached its primary for CONNECT_S_MAX.
        """
        if time.monotonic() - since_s > CONNECT_S_MAX:
            for line in log.read(self._home.log_path, self._watched):
                if CUT_OFF in line:
                    said = line.partition(CUT_OFF)[2].lstrip(": ")
                    raise ServerError(
                        f"{self._what} cannot connect to its primary for {CONNECT_S_MAX:.0f} s: "
                        f"{said}: see `{self._home.log_path}`"
                    )
        return connection.silence(address)

    def _backup(self, primary: Address, source: Path, data: Path, wal: Path | None) -> None:
        """A copy of the primary's files, with the label by which recovery begins."""
        import psycopg

        try:
            with closing(connection.connect(primary, "dyno standby", {})) as session:
                cursor = session.cursor()
                cursor.execute(drop_slot(self.name).encode())
                # The slot keeps the log from now on.
                make = f"SELECT pg_create_physical_replication_slot('{self.name}', true)"
                cursor.execute(make.encode())
                cursor.execute(self._begin_backup.encode())
                self._copy(source, data)
                cursor.execute(self._end_backup.encode())
                ((_, label, tablespaces),) = cursor.fetchall()
        except psycopg.Error as error:
            said = " ".join(str(error).split())
            raise ServerError(f"{self._what} cannot be made: {said}") from error
        own = self._place.account
        own.write(data / "backup_label", label)
        if tablespaces:
            own.write(data / "tablespace_map", tablespaces)
        logs = data / fingerprint.wal_name(self.build.major)
        if wal is not None:
            logs.symlink_to(wal)
        own.make_folder_within(logs / "archive_status")

    @property
    def _begin_backup(self) -> str:
        if self.build.major >= 15:
            return "SELECT pg_backup_start('dyno', true)"
        return "SELECT pg_start_backup('dyno', true, false)"

    @property
    def _end_backup(self) -> str:
        if self.build.major >= 15:
            return "SELECT * FROM pg_backup_stop(false)"
        waits = ", false" if self.build.major >= 10 else ""
        return f"SELECT * FROM pg_stop_backup(false{waits})"

    def _copy(self, source: Path, data: Path) -> None:
        """Copies the primary's files while it runs; what goes meanwhile recovery brings back."""
        entries = {one.name: one for one in source.iterdir() if one.name not in NOT_COPIED}
        wanted = [one for name, one in entries.items() if name not in LEFT_EMPTY]
        done = account.run(
            ["cp", "--archive", "--reflink=auto", "--", *wanted, data],
            self._place.account,
            limit_s=COPY_S_MAX,
            cwd=data.parent,
            env=self._place.account.options()["env"] | {"LC_ALL": "C"},
        )
        lost = [line for line in done.stderr.splitlines() if not line.endswith(VANISHED)]
        if done.returncode != 0 and lost:
            raise HostError(f"{self._what} cannot be copied: {lost[0]}: check the disk")
        for name in entries.keys() & LEFT_EMPTY.difference(fingerprint.WAL_FOLDERS):
            self._place.account.make_folder_within(data / name)

    def _configure(self, primary: Address, data: Path, values: Mapping[str, str]) -> None:
        told = {
            "primary_conninfo": f"host={primary.host} port={primary.port} user={primary.user} "
            f"application_name={self.name}",
            "primary_slot_name": self.name,
        }
        own = dict(values) | {
            "hot_standby": "on",
            "port": str(self._port),
            "unix_socket_directories": str(self._home.socket_dir),
        }
        if self.build.major >= 12:
            own |= told
            self._place.account.write(data / "standby.signal", "")
        else:
            text = settings.text_of({"standby_mode": "on"} | told)
            self._place.account.write(data / "recovery.conf", text)
        self._place.account.write(data / settings.FILE, settings.text_of(own))

    # --- While it runs ---

    @property
    def pid(self) -> int | None:
        """Its postmaster; None while it does not run."""
        return self._home.pid

    def processes(self) -> dict[int, str]:
        """Its processes with their titles, the postmaster first; none while it does not run."""
        pid = self.pid
        living = [] if pid is None else [pid, *process.children(pid)]
        return {one: process.command_line(one) for one in living}

    def address(self, primary: Address) -> Address:
        """Where it answers, for the user and database of the primary's address."""
        by_socket = primary.host.startswith("/")
        host = str(self._home.socket_dir) if by_socket else primary.host
        return replace(primary, host=host, port=self._port)

    def failure(self) -> str | None:
        """None while it is well, or not made yet; else what happened, in a sentence that stays."""
        if self._failure is None and self._home.process is not None:
            position = self._home.log_position()
            found = log.crash(log.read(self._home.log_path, self._watched))
            self._watched = max(self._watched, position - log.TAIL_BYTES_MAX)
            how = self._home.ended()
            if how is not None:
                why = found or log.reason(self._home.log_tail(5), log.BAD_SEVERITIES)
                self._failure = f"{self._what} {log.ending(how, why)}"
            elif found is not None:
                self._failure = f"{self._what} crashed and restarted: {found}"
        return self._failure

    def lag(self) -> StandbyLag:
        """How far it is behind. Raises ServerError where it does not answer."""
        assert self._lag is not None, "it has joined"
        try:
            return self._lag.read(self.name)
        except ServerError as error:
            raise ServerError(f"{self._what} does not tell its lag: {error}") from error

    def _connected(self, address: Address) -> ReplayLag:
        try:
            return ReplayLag(replace(address, database=DATABASE), STREAMED)
        except ServerError as error:
            raise ServerError(f"{self._what} lets nobody in: {error}") from error

    @property
    def joined(self) -> bool:
        """Whether it is there and answers."""
        return self._lag is not None

    def stop(self, signals: process.Signals) -> None:
        """Ends it, if it runs."""
        if self._lag is not None:
            self._lag.close()
            self._lag = None
        self._home.stop(signals)

    def remove(self) -> None:
        """Removes its data; its log stays."""
        self._home.remove()


class Primary(Protocol):
    """The server that standbys follow."""

    @property
    def data_dir(self) -> Path:
        """Its data directory."""

    @property
    def values(self) -> Mapping[str, str]:
        """The settings that its file has, without the places of this start."""

    @property
    def load_address(self) -> Address:
        """Where the load connects."""

    def address(self) -> Address:
        """Its address for the lab."""

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Runs statements; the rows of the last. Raises ServerError."""


class PostgresStandbys:
    """The standbys of an arm's server (engine.interface.Standbys)."""

    def __init__(self, primary: Primary, standbys: Sequence[Standby]) -> None:
        """Describes them; none is made yet."""
        self._primary, self._standbys = primary, standbys

    @property
    def _joined(self) -> list[Standby]:
        return [standby for standby in self._standbys if standby.joined]

    @property
    def pids(self) -> tuple[int, ...]:
        """The first processes of those that run."""
        return tuple(standby.pid for standby in self._standbys if standby.pid is not None)

    def join(self) -> list[Json]:
        """Makes those that are not there yet; how long each took. Raises ServerError."""
        own = replace(self._primary.address(), database=DATABASE)
        data, values = self._primary.data_dir, self._primary.values
        return [standby.join(own, data, values) for standby in self._standbys if not standby.joined]

    def addresses(self) -> dict[str, Address]:
        """The addresses of those that have joined, by name."""
        address = self._primary.load_address
        return {standby.name: standby.address(address) for standby in self._joined}

    def log_end(self) -> None:
        """None: each knows by itself what it was sent."""

    def lag(self, end: str | None = None) -> list[StandbyLag]:
        """How far each that has joined is behind (Standby.lag). Raises ServerError."""
        return [standby.lag() for standby in self._joined]

    def failure(self) -> str | None:
        """What happened to one; None while all are well."""
        return next(filter(None, (standby.failure() for standby in self._standbys)), None)

    def processes(self) -> dict[int, str]:
        """The processes of all with their titles."""
        return {pid: title for standby in self._standbys
                for pid, title in standby.processes().items()}  # fmt: skip

    def stop(self, signals: process.Signals) -> None:
        """Ends those that run."""
        for standby in self._standbys:
            standby.stop(signals)

    def end(self, signals: process.Signals) -> None:
        """Ends them and removes their slots, which the server keeps while they are used."""
        self.stop(signals)
        names = [standby.name for standby in self._standbys]
        listed = ", ".join(f"'{name}'" for name in names)
        used = f"SELECT 1 FROM pg_replication_slots WHERE active AND slot_name IN ({listed})"
        end_s = time.monotonic() + RELEASE_S_MAX
        while self._primary.execute(used) and time.monotonic() < end_s:
            time.sleep(LOOK_EVERY_S)
        self._primary.execute(*(drop_slot(name) for name in names))

    def remove(self) -> None:
        """Removes the data of all."""
        for standby in self._standbys:
            standby.remove()


def drop_slot(name: str) -> str:
    """The statement that removes the replication slot of a standby, if it is there."""
    return (
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
        f"WHERE slot_name = '{name}'"
    )
