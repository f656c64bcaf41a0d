"""A MySQL or MariaDB server of one arm: data directory, options, start, watch, stop.

mysqld is started directly, in a session of its own, and writes its log into a file that we open: so
a `kill -9` of dyno loses nothing, and the server is found and ended at the next start.
"""

import signal
import time
from pathlib import Path
from typing import Any

from dbdyno.builds import Build
from dbdyno.engine import log as files
from dbdyno.engine.access import refuse_own
from dbdyno.engine.golden_copy import Copy, CopyOrigin
from dbdyno.engine.local_server import Home, LocalServer, free_port
from dbdyno.engine.mysql import access, connection, facts, initialize, layout, log, settings
from dbdyno.engine.mysql import thread_kind as threads
from dbdyno.engine.mysql.client import MysqlClient
from dbdyno.engine.mysql.layout import MysqlLayout
from dbdyno.engine.mysql.quoting import named
from dbdyno.engine.settings import ArmSettings
from dbdyno.host import process
from dbdyno.host.place import Place
from dbdyno.model import Address, Arm, Json, can
from dbdyno.model.engine import Capability
from dbdyno.model.error import ServerError
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.step_files import LogEvent

USER = "dyno"
INCIDENTAL = frozenset(
    {"port", "max_connections", "innodb_redo_log_capacity", "performance_schema", settings.TLS}
)
"""Options that differ between two plans of the same arm without changing what its data are."""
START_S_MAX = 600.0
STOP_SIGNALS: process.Signals = (
    (signal.SIGTERM, 1800.0),  # innodb_fast_shutdown = 1 and 0 write all dirty pages first
    (signal.SIGKILL, 10.0),
)
CRASH_SIGNALS: process.Signals = STOP_SIGNALS[1:]


class MysqlServer(LocalServer):
    """One arm's server. Its methods raise ServerError, in one line that names the arm."""

    own_database = "mysql"
    reserved = settings.RESERVED

    def __init__(
        self, arm: Arm, build: Build, place: Place, settled: ArmSettings, client: MysqlClient
    ) -> None:
        """Describes the server; nothing is made or started yet."""
        home = Home(arm, build, place)
        if place.access is None:
            settled = settings.uncertified(settled, build)
        super().__init__(arm, place, settled, client, home)
        self._fresh = False  # whether the next start is the first one of its data
        self._read_back: list[str] = []

    @property
    def wal_dir(self) -> Path:
        """The folder of redo log and binary log, where a plan names one; else that of the data."""
        return self._home.wal_dir or self._home.data_dir

    @property
    def _layout(self) -> MysqlLayout:
        return MysqlLayout(
            build=self.build,
            folder=self._home.folder,
            wal_dir=self._home.wal_dir,
            socket=self._home.socket_dir / layout.SOCKET,
            port=self._port,
        )

    def check(self) -> None:
        """Looks whether the server can be made; leaves nothing behind.

        Raises PlanError, HostError or ServerError: an option that the build does not know, a folder
        or a port in use, a folder that the account cannot reach.
        """
        self._home.check()
        settings.verify(
            self._arm, self.build, self._settled.values, self._place.account, self._place.run_root
        )
        if self.entrance is not None:
            refuse_own(self._arm, access.tls_settings(self.entrance))
        self._port = free_port(self.name, int(self._settled.values.get("port", "0")), self._place)

    def has_storage_engine(self, name: str) -> bool:
        """Whether its program has an option of that name; InnoDB's is not in all versions."""
        if name.lower() in ("innodb", "default"):
            return True
        return settings.has_option(
            name, self.build, self._settled.values, self._place.account, self._place.run_root
        )

    @property
    def identity(self) -> Json:
        """The facts of the server that determine how its data come to lie on the disk.

        Options that follow from the disk's free room, the port or the load are left out, but for
        those that the arm names.
        """
        own = {"mysqld_sha256": self.build.sha256}
        return self._home.identity(self._settled, INCIDENTAL) | own

    @property
    def data_form(self) -> Json:
        """The facts by which it can go on with the data of another server: of the same version."""
        own = {"version": self.build.version}
        return self._home.data_form(self._settled, layout.shapes) | own

    def can(self, what: Capability) -> bool:
        """As `can` of its arm: no build lacks anything."""
        return can(self._arm, what)

    def prepare(self) -> None:
        """Makes a fresh data directory with the options; an earlier one of the arm is removed."""
        self._make_folders()
        begun_s = time.monotonic()
        self._write_settings()
        initialize.initialise(self.name, self._layout, self._place.account, self._environment())
        self._fresh = True
        self._home.initdb_s = time.monotonic() - begun_s

    def prepare_from(self, copy: Copy, *, shared_blocks: bool) -> None:
        """Makes the data directory as a copy of a golden one; an earlier one is removed.

        `shared_blocks` as in golden.fill. Raises ServerError, HostError.
        """
        self._make_folders()
        begun_s = time.monotonic()
        self._home.fill(copy, shared_blocks=shared_blocks)
        self._layout.readdress_binary_log(self._place.account)
        self._fresh = False
        self._home.copy_s = time.monotonic() - begun_s
        self._write_settings()

    def keep(self, parts: Json, origin: CopyOrigin) -> Copy:
        """Shuts the server down and makes its data directory a golden copy; it has none then.

        `parts` determine the content. Raises ServerError
        where it does not shut down in order, HostError where the disk refuses.
        """
        since = self._watched
        if self.entrance is not None and self.postmaster_pid is not None:
            access.withdraw(self._own_address, USER, self.build)
        self.stop()
        if not log.is_shut_down(files.read(self._home.log_path, since)):
            raise ServerError(
                f"`{self.data_dir}` is not kept: its server was not shut down in order: see "
                f"`{self.log_path}`"
            )
        return self._home.keep(parts, origin)

    def start(self) -> None:
        """Starts the server and waits until it answers.

        Raises ServerError with the reason from the log where it does not.
        """
        begun_s = time.monotonic()
        self._watched, self._failure, self._kinds = self.log_position(), None, {}
        self._home.start(self._layout.command(first=self._fresh))
        before = self._wait_for_answer()
        self._fresh = False
        self._home.start_s = time.monotonic() - begun_s
        try:
            reached = None if self.entrance is None else self.entrance.access
            access.let_in(self._own_address, USER, reached, self.build)
        except ServerError as error:
            raise ServerError(f"arm {self.name}: {error}") from error
        self._kinds = threads.named(self._query, before)
        self._read_back = facts.read_back(self._query, settings.asked(self._settled.values))

    def stop(self, crash: bool = False) -> None:
        """Shuts the server down, as innodb_fast_shutdown says, and waits for its end, if it runs.

        `crash`: at once. A server that does not end in time is ended by force.
        """
        self._home.stop(CRASH_SIGNALS if crash else STOP_SIGNALS)

    def failure(self) -> str | None:
        """None while the server is well; else what happened to it, in a sentence that stays.

        mysqld is one process: where it crashes, it ends.
        """
        how = None if self._failure else self._home.ended()
        if how is not None:
            lines = files.read(self._home.log_path, self._watched)
            why = log.crash(lines) or log.reason(lines)
            self._failure = f"the server of arm {self.name} {files.ending(how, why)}"
        return self._failure

    def facts(self) -> ServerFacts:
        """The server's part of server.json in a result; it has to run."""
        return self._facts(*self._read_back)

    def address(self) -> Address:
        """The server's unix socket, with the database that was made last."""
        host = str(self._layout.socket)
        return Address(host=host, port=self._port, user=USER, database=self._database)

    def create_database(self, name: str) -> None:
        """Makes the database anew, in the server's character set, and uses it from now on."""
        self.execute(
            f"DROP DATABASE IF EXISTS {named(name)}",
            f"CREATE DATABASE {named(name)}",
            database=self.own_database,
        )
        self._database = name

    def processes(self) -> dict[int, str]:
        """The server's threads, by the kernel's id, without the first; what each is for."""
        pid = self.postmaster_pid
        return {} if pid is None else threads.kinds(pid, self._kinds)

    def leaders(self) -> dict[int, int]:
        """None: no thread's name tells whose work it does."""
        return {}

    def log_events(self, since: int) -> list[LogEvent]:
        """The events of the log (docs/results.md, done.json) from the position `since` on."""
        return log.events(files.read(self._home.log_path, since))

    @property
    def _own_address(self) -> Address:
        """Its socket, with the database that a fresh server has."""
        return Address(host=str(self._layout.socket), port=0, user=USER, database=self.own_database)

    def _for_access(self) -> dict[str, str]:
        return access.settings_of(self.entrance)

    @property
    def _exposed(self) -> bool:
        return access.method(self.build, tls=False) == connection.CACHING

    def _query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.execute(statement, database=self.own_database)

    def _environment(self) -> dict[str, str]:
        options = self._place.account.options()
        return {**options["env"], **self.build.environment, **self._arm.environment}

    def _make_folders(self) -> None:
        """Empty folders for data, logs and socket, after the checks; registered."""
        self._begin()
        self._home.make()
        self._place.account.make_folder(self._layout.temporary)

    def _write_settings(self) -> None:
        values = {**self._settled.values, **self._for_access()}
        self._layout.write(values, USER, self._place.account)
        if self.entrance is not None:
            self.entrance.write()

    def _wait_for_answer(self) -> dict[int, str]:
        """Waits for the first session; returns the threads that there were before it."""
        address = self._own_address
        before: dict[int, str] = {}

        def silence() -> str | None:
            nonlocal before
            pid = self._home.pid
            before = {} if pid is None else threads.names(pid)
            return connection.silence(address)

        self._home.wait_for_answer(
            silence, lambda: log.reason(files.read(self._home.log_path, self._watched)), START_S_MAX
        )
        return before
