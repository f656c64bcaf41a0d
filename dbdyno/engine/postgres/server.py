"""A PostgreSQL server of one arm: data directory, settings, start, watch, stop; versions 9.6 to 19.

The postmaster is started directly, in a session of its own, and writes its log into a file that we
open: so a `kill -9` of dyno loses nothing, and the server is found and ended at the next start.
"""

import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from dbdyno.builds import Build
from dbdyno.engine import golden, log
from dbdyno.engine.access import refuse_own
from dbdyno.engine.golden_copy import Copy, CopyOrigin
from dbdyno.engine.local_server import Home, LocalServer, free_port
from dbdyno.engine.postgres import (
    access,
    cache_warming,
    connection,
    data_form,
    fingerprint,
    initdb,
    long_files,
    process_kind,
    read_back,
    settings,
)
from dbdyno.engine.postgres.client import PostgresClient
from dbdyno.engine.postgres.long_files import LongFile
from dbdyno.engine.postgres.standby import DATABASE, PostgresStandbys, Standby
from dbdyno.engine.settings import ArmSettings
from dbdyno.host import process
from dbdyno.host.observe.owners import STANDBY
from dbdyno.host.place import Place
from dbdyno.model import Address, Arm, Json, can
from dbdyno.model.engine import Capability
from dbdyno.model.error import HostError, ServerError
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.size import text_of
from dbdyno.model.step_files import LogEvent

INCIDENTAL = frozenset({"port", "max_connections", "max_wal_size", "min_wal_size"})
"""Settings that differ between two plans of the same arm without changing what its data are."""
START_S_MAX = 300.0
STOP_SIGNALS: process.Signals = (
    (signal.SIGINT, 900.0),  # fast: a checkpoint writes all dirty buffers first
    (signal.SIGQUIT, 20.0),
    (signal.SIGKILL, 10.0),
)
CRASH_SIGNALS: process.Signals = STOP_SIGNALS[1:]


class PostgresServer(LocalServer):
    """One arm's server. Its methods raise ServerError, in one line that names the arm."""

    own_database = DATABASE
    reserved = settings.RESERVED

    def __init__(
        self, arm: Arm, build: Build, place: Place, settled: ArmSettings, client: PostgresClient
    ) -> None:
        """Describes the server; nothing is made or started yet."""
        home = Home(arm, build, place)
        super().__init__(arm, place, settled, client, home)
        self._leaders: dict[int, int] = {}
        standbys = [Standby(arm, number, build, place) for number in range(1, arm.standby + 1)]
        self.standbys: PostgresStandbys | None = (
            PostgresStandbys(self, standbys) if standbys else None
        )

    @property
    def wal_dir(self) -> Path:
        """The folder of the write-ahead log."""
        return self._home.wal_dir or self._home.data_dir / fingerprint.wal_name(self.build.major)

    def check(self) -> None:
        """Looks whether the server can be made; leaves nothing behind.

        Raises PlanError, HostError or ServerError: a setting that the build does not know, a folder
        or a port in use, a folder that the account cannot reach.
        """
        self._home.check()
        if self.entrance is not None:
            refuse_own(self._arm, access.tls_settings(self.entrance))
        values = {**self._settled.values, "unix_socket_directories": str(self._home.socket_dir)}
        if self.build.made:
            place = self._place
            settings.verify(self._arm, self.build, values, place.account, place.run_root)
            if self.entrance is not None and self.entrance.access.tls:
                access.refuse_without_tls(self._arm, self.build, place.account, place.run_root)
        wanted = int(self._settled.values.get("port", "0"), 0)
        self._port = free_port(self.name, wanted, self._place)

    @property
    def identity(self) -> Json:
        """The facts of the server that determine how its data come to lie on the disk.

        Settings that follow from the disk's free room, the port or the load are left out, but for
        those that the arm names.
        """
        made = initdb.identity(self._settled.initdb, self.build.version_num)
        own = {"postgres_sha256": self.build.sha256} | made
        return self._home.identity(self._settled, INCIDENTAL) | own

    @property
    def data_form(self) -> Json:
        """The facts by which it can go on with the data of another server."""
        made = initdb.identity(self._settled.initdb, self.build.version_num)
        own = {"cluster": data_form.of_build(self.build, self._place.account)} | made
        return self._home.data_form(self._settled, data_form.shapes) | own

    def can(self, what: Capability) -> bool:
        """As `can` of its arm, less what this very build lacks. Raises ServerError."""
        if what == "prewarm" and can(self._arm, what):
            return self.has_extension(cache_warming.EXTENSION)
        return can(self._arm, what)

    def has_extension(self, name: str) -> bool:
        """Whether the build comes with an extension. Raises ServerError where it does not say."""
        return self.build.has_extension(name, self._place.account)

    def has_storage_engine(self, name: str) -> bool:
        """Whether it comes with the extension; other names than OrioleDB's are of other engines."""
        return name != "orioledb" or self.has_extension(name)

    def prepare(self) -> None:
        """Makes a fresh data directory with the settings; an earlier one of the arm is removed."""
        data, wal = self._make_folders()
        how = initdb.arguments(self._settled.initdb, self.build.version_num)
        own = self._place.account
        begun_s = time.monotonic()
        try:
            initdb.make(self.build, own, data, how if wal is None else (*how, "-X", wal))
        except ServerError as error:
            raise ServerError(f"arm {self.name}: {error}") from error
        self._home.initdb_s = time.monotonic() - begun_s
        own.append(data / "postgresql.conf", f"\ninclude '{settings.FILE}'\n")
        if self.standbys and self.build.major < 10:  # later initdb lets them in by itself
            own.append(data / "pg_hba.conf", "local replication all trust\n")
        self._write_settings()

    def prepare_from(self, copy: Copy, *, shared_blocks: bool) -> None:
        """Makes the data directory a copy of a golden one, with this server's settings.

        `shared_blocks`: see golden.fill. Raises HostError where the disk refuses.
        """
        data, wal = self._make_folders()
        begun_s = time.monotonic()
        self._home.fill(copy, shared_blocks=shared_blocks)
        if wal is not None:
            golden.point_to_wal(data, wal, fingerprint.wal_name(self.build.major))
        self._home.copy_s = time.monotonic() - begun_s
        self._write_settings()

    def keep(self, parts: Json, origin: CopyOrigin) -> Copy:
        """Shuts the server down and makes its data directory a golden copy; it has none then.

        `parts` determine the content. Raises ServerError
        where it does not shut down in order, HostError where the disk refuses.
        """
        if self.standbys:  # a server that has ended is asked nothing: what it left says why
            self.standbys.end(CRASH_SIGNALS)
        if self.entrance is not None and self.postmaster_pid is not None:
            self.execute(access.withdrawn())
        self.stop()
        fingerprint.refuse_unclean(self._home.data_dir)
        return self._home.keep(parts, origin)

    def start(self) -> None:
        """Starts the server and waits until it answers.

        Raises ServerError with the reason from the log where it does not.
        """
        begun_s = time.monotonic()
        self._watched, self._failure = self.log_position(), None
        self._kinds, self._leaders = {}, {}
        self._home.start([self.build.program, "-D", self._home.data_dir])
        address = self._wait_for_answer()
        self._home.start_s = time.monotonic() - begun_s
        if self.entrance is not None:
            try:
                access.let_in(address, self.entrance.access, self.build.major)
            except ServerError as error:
                raise ServerError(f"arm {self.name}: {error}") from error
        # Once more: now its shared memory is known, too.
        self._home.register()

    def stop(self, crash: bool = False) -> None:
        """Shuts the server down with a checkpoint and waits for its end, if it runs.

        `crash`: at once, without a checkpoint. A server that does not end in time is ended by
        force. Its standbys end first: a shutdown waits until they have all of the log.
        """
        if self.standbys:
            self.standbys.stop(CRASH_SIGNALS)
        self._home.stop(CRASH_SIGNALS if crash else STOP_SIGNALS)

    def only_plan(self) -> None:
        """From its making on it plans, and nothing else; its folder is marked."""
        self._home.only_plans = True

    def lengthen(self, files: Sequence[LongFile]) -> None:
        """Makes files as long as another server's, of one that only plans.

        Raises HostError where the file system has no sparse files, and where it refuses.
        """
        assert self._home.only_plans, "nothing else runs on such files"
        self.stop()
        size = sum(file.blocks for file in files) * long_files.BLOCK_BYTES
        try:
            with self._place.account.acting():
                if not long_files.is_sparse(self.data_dir):
                    raise HostError(
                        f"`{self.data_dir}`: the file system has no sparse files, and without "
                        f"them the lab takes {text_of(size)}: name another (XDG_DATA_HOME)"
                    )
                long_files.lengthen(self.data_dir, files)
        except OSError as error:
            raise HostError(f"`{error.filename}` cannot be lengthened: {error.strerror}") from error
        self.start()

    def failure(self) -> str | None:
        """None while the server is well; else what happened to it, in a sentence that stays."""
        if self._failure is None and self.log_path is not None:
            position = self.log_position()
            found = log.crash(log.read(self.log_path, self._watched))
            # A message that is still being written is read again from its beginning.
            self._watched = max(self._watched, position - log.TAIL_BYTES_MAX)
            how = self._home.ended()
            if how is not None:
                # Who is ended by a signal says nothing; what was wrong before is another matter.
                severities = ("PANIC",) if how.startswith("signal") else log.BAD_SEVERITIES
                why = found or log.reason(self.log_tail(5), severities)
                self._failure = f"the server of arm {self.name} {log.ending(how, why)}"
            elif found is not None:
                self._failure = f"the server of arm {self.name} crashed and restarted: {found}"
        return self._failure or (self.standbys.failure() if self.standbys else None)

    def facts(self) -> ServerFacts:
        """The server's part of server.json in a result; it has to run."""
        return structs.replace(self._facts(*self._read_back()), initdb=self._settled.initdb)

    def address(self) -> Address:
        """The server's unix socket, with the database that was made last."""
        host = str(self._home.socket_dir)
        return Address(host=host, port=self._port, user=initdb.SUPERUSER, database=self._database)

    def create_database(self, name: str) -> None:
        """Makes the database anew; `address` and `execute` use it from now on."""
        quoted = '"' + name.replace('"', '""') + '"'
        self.execute(
            f"DROP DATABASE IF EXISTS {quoted}",
            f"CREATE DATABASE {quoted}",
            database=self.own_database,
        )
        self._database = name

    def processes(self) -> dict[int, str]:
        """The living children of the postmaster (not itself) and what each is for."""
        pid = self.postmaster_pid
        if pid is None:
            return {}
        cluster_name = self._settled.values.get("cluster_name", "")
        living = process.children(pid)
        for child in living:
            if child not in self._kinds:
                self._learn(child)
        self._kinds = {child: self._kinds[child] for child in living if child in self._kinds}
        self._leaders = {child: self._leaders[child] for child in living if child in self._leaders}
        of_standbys = {
            child: f"{STANDBY}{process_kind.kind_of(title, cluster_name) or 'other'}"
            for child, title in (self.standbys.processes() if self.standbys else {}).items()
        }
        return {child: self._kinds.get(child, "other") for child in living} | of_standbys

    def leaders(self) -> dict[int, int]:
        """Parallel worker -> the backend that leads it, of those that `processes` told last."""
        return dict(self._leaders)

    def log_events(self, since: int) -> list[LogEvent]:
        """The events of the log (docs/results.md, done.json) from the position `since` on."""
        return log.step_events(self._home.log_path, since)

    def _learn(self, child: int) -> None:
        """Takes from a process's title what it is for; one just made has no title of its own."""
        title = process.command_line(child)
        cluster_name = self._settled.values.get("cluster_name", "")
        known = process_kind.kind_of(title, cluster_name)
        if known is not None:
            self._kinds[child] = known
        leader = process_kind.leader_of(title, cluster_name)
        if leader is not None:
            self._leaders[child] = leader

    def remove(self) -> None:
        """Removes data directory, logs of the engine and socket, and those of standbys."""
        if self.standbys:
            self.standbys.remove()
        super().remove()

    def _query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.execute(statement)

    def _read_back(self) -> list[str]:
        wanted = {
            name: value
            for name, value in self._settled.values.items()
            if name not in settings.RESERVED | {"port"} | self._for_access().keys()
        }
        return read_back.sentences(self._query, wanted)

    def _make_folders(self) -> tuple[Path, Path | None]:
        """Empty folders for data, write-ahead log and socket, after the checks; registered."""
        self._begin()
        return self._home.make()

    def _write_settings(self) -> None:
        values = self.values | {
            "port": str(self._port),
            "unix_socket_directories": str(self._home.socket_dir),
        }
        if self.entrance is not None:
            access.write(self.entrance, self.build.major)
        self._place.account.write(self._home.data_dir / settings.FILE, settings.text_of(values))

    @property
    def values(self) -> dict[str, str]:
        """The settings that its file has, without the places of this start."""
        return {**self._settled.values, **self._for_access()}

    def _for_access(self) -> dict[str, str]:
        return access.settings_of(self.entrance)

    def _wait_for_answer(self) -> Address:
        """Waits until it answers; the address of its own database."""
        address = self.address()
        address = replace(address, database=self.own_database)
        self._home.wait_for_answer(
            lambda: connection.silence(address),
            lambda: log.reason(log.read(self._home.log_path, self._watched)),
            START_S_MAX,
        )
        return address
