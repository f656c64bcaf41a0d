"""A PostgreSQL server of one arm: data directory, settings, start, watch, stop; versions 9.6 to 18.

The postmaster is started directly, in a session of its own, and writes its log into a file that we
open: so a `kill -9` of dyno loses nothing, and the server is found and ended at the next start.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from dbdyno.error import ServerError
from dbdyno.model import Address, Arm, Json
from dbdyno.server import account as accounts
from dbdyno.server import datadir, facts, golden, kind, leftovers, log, process, settings, sql
from dbdyno.server.fetch import Build
from dbdyno.server.place import Place

SUPERUSER = "dyno"
INITDB = ("-U", SUPERUSER, "-A", "trust", "--data-checksums", "--no-locale", "-E", "UTF8", "-N")
"""The same for all: 18 turns checksums on by default, 17 does not. -N: the lab syncs itself."""
INCIDENTAL = frozenset({"port", "max_connections", "max_wal_size", "min_wal_size"})
"""Settings that differ between two plans of the same arm without changing what its data are."""
INITDB_S_MAX = 300.0
START_S_MAX = 300.0
LOOK_EVERY_S = 0.02
SETTINGS_FILE = "dyno.conf"
STOP_SIGNALS: process.Signals = (
    (signal.SIGINT, 900.0),  # fast: a checkpoint writes all dirty buffers first
    (signal.SIGQUIT, 20.0),
    (signal.SIGKILL, 10.0),
)
CRASH_SIGNALS: process.Signals = STOP_SIGNALS[1:]


class PostgresServer:
    """One arm's server. Its methods raise ServerError, in one line that names the arm."""

    engine = "postgres"
    job_fake: Json | None = None

    def __init__(self, arm: Arm, build: Build, place: Place, settled: settings.Settled) -> None:
        """Describes the server; nothing is made or started yet."""
        self.name = arm.name
        self.build = build
        self._settled = settled
        self.log_path: Path | None = place.log_dir / "postgres.log"
        self._arm = arm
        self._place = place
        self._folder = place.data_root / arm.name
        self._wal_folder = place.wal_root / arm.name if place.wal_root else None
        self._socket_dir = place.socket_dir(arm.name)
        self._database = "postgres"
        self._port = 0
        self._process: subprocess.Popen[Any] | None = None
        self._entry: Path | None = None
        self._watched = 0  # the position in the log up to which `failure` has looked
        self._failure: str | None = None
        self._kinds: dict[int, str] = {}
        self._times: Json = {"initdb_s": None, "copy_s": None, "start_s": None}

    @property
    def data_dir(self) -> Path | None:
        """The data directory."""
        return self._folder / "data"

    @property
    def wal_dir(self) -> Path | None:
        """The folder of the write-ahead log."""
        if self._wal_folder is not None:
            return self._wal_folder / "wal"
        return self._folder / "data" / self._wal_name

    @property
    def _wal_name(self) -> str:
        return "pg_wal" if self.build.major >= 10 else "pg_xlog"

    @property
    def postmaster_pid(self) -> int | None:
        """The postmaster's process id; None when it does not run."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if running and self._process else None

    @property
    def departures(self) -> tuple[str, ...]:
        """How the settings depart from the preset's published table, in sentences."""
        return self._settled.departures

    def setting(self, name: str) -> str | None:
        """What the preset, the plan or the lab set; None where the server's default holds."""
        return self._settled.values.get(name)

    def check(self) -> None:
        """Looks whether the server can be made; leaves nothing behind.

        Raises PlanError, HostError or ServerError: a setting that the build does not know, a folder
        or a port in use, a folder that the account cannot reach.
        """
        for folder in filter(None, (self._folder, self._wal_folder)):
            datadir.check(folder, self._place.account, self.name)
        self._place.run_root.mkdir(parents=True, exist_ok=True)
        values = {**self._settled.values, "unix_socket_directories": str(self._socket_dir)}
        settings.verify(self._arm, self.build, values, self._place.account, self._place.run_root)
        self._choose_port()

    @property
    def identity(self) -> Json:
        """What of the server determines how its data come to lie on the disk.

        Settings that follow from the disk's free room, the port or the load are left out, but for
        those that the arm names.
        """
        values = {
            name: value
            for name, value in self._settled.values.items()
            if name not in INCIDENTAL or name in self._arm.settings
        }
        return {
            "engine": self.engine,
            "version": self.build.version,
            "postgres_sha256": self.build.sha256,
            "initdb": list(INITDB),
            "settings": values,
            "account": self._place.account.name,
            "data_root": str(self._place.data_root.absolute()),
            "wal_root": str(self._place.wal_root.absolute()) if self._place.wal_root else None,
        }

    def has_extension(self, name: str) -> bool:
        """Whether the build comes with an extension. Raises ServerError where it does not say."""
        return self.build.has_extension(name, self._place.account)

    def prepare(self) -> None:
        """Makes a fresh data directory with the settings; an earlier one of the arm is removed."""
        data, wal = self._make_folders()
        command: list[str | Path] = [self.build.initdb, "-D", data, *INITDB]
        if wal is not None:
            command += ["-X", wal]
        begun_s = time.monotonic()
        env = self._place.account.options()["env"] | self.build.environment
        done = accounts.run(
            command, self._place.account, limit_s=INITDB_S_MAX, env=env, cwd=self._folder
        )
        if done.returncode != 0:
            said = " ".join((done.stderr or done.stdout).split())
            raise ServerError(f"arm {self.name}: initdb failed: {said[-500:]}")
        self._times["initdb_s"] = time.monotonic() - begun_s
        with (data / "postgresql.conf").open("a") as main:
            main.write(f"\ninclude '{SETTINGS_FILE}'\n")
        self._write_settings()

    def prepare_from(self, copy: golden.Copy, *, shared_blocks: bool) -> None:
        """Makes the data directory a copy of a golden one, with this server's settings.

        `shared_blocks`: see golden.fill. Raises HostError where the disk refuses.
        """
        data, wal = self._make_folders()
        begun_s = time.monotonic()
        pairs = [(data, copy.data_dir), *([(wal, copy.wal_dir)] if wal and copy.wal_dir else [])]
        for folder, copied in pairs:
            what = f"copy {self.name}"
            golden.fill(folder, copied, self._place, shared_blocks=shared_blocks, what=what)
        if wal is not None:
            golden.point_to_wal(data, wal, self._wal_name)
        self._times["copy_s"] = time.monotonic() - begun_s
        self._write_settings()

    def keep(self, parts: Json, about: Json) -> golden.Copy:
        """Shuts the server down and makes its data directory a golden copy; it has none then.

        `parts` determine the content, `about` are further facts (golden.keep). Raises ServerError
        where it does not shut down in order, HostError where the disk refuses.
        """
        self.stop()
        assert self.data_dir is not None
        source = golden.Source(
            data_dir=self.data_dir,
            wal_dir=self.wal_dir if self._wal_folder is not None else None,
            data_root=self._place.data_root,
            wal_root=self._place.wal_root,
            account=self._place.account,
        )
        about = about | {"arm": self.name, "version": self.build.version}
        return golden.keep(source, parts, about | {"made_unix_ns": time.time_ns()})

    def start(self) -> None:
        """Starts the server and waits until it answers.

        Raises ServerError with the reason from the log where it does not.
        """
        assert self.postmaster_pid is None, "the server runs already"
        assert self.log_path is not None
        begun_s = time.monotonic()
        self._watched, self._failure, self._kinds = self.log_position(), None, {}
        options = self._place.account.options()
        options["env"] |= self.build.environment
        with self.log_path.open("ab") as file:
            self._process = subprocess.Popen(
                [self.build.postgres, "-D", self._folder / "data"],
                stdout=file, stderr=file, cwd=self._folder, start_new_session=True, **options,
            )  # fmt: skip
        self._entry = leftovers.register(pid=self._process.pid, **self._registration())
        self._wait_for_answer(begun_s + START_S_MAX)
        self._times["start_s"] = time.monotonic() - begun_s
        # Once more: now its shared memory is known, too.
        leftovers.register(pid=self._process.pid, **self._registration())

    def stop(self, crash: bool = False) -> None:
        """Shuts the server down with a checkpoint and waits for its end, if it runs.

        `crash`: at once, without a checkpoint. What does not end in time is ended by force.
        """
        if self._process is None:
            return
        ticks = process.start_ticks(self._process.pid)
        if ticks is not None:
            signals = CRASH_SIGNALS if crash else STOP_SIGNALS
            if not process.end(self._process.pid, ticks, signals):
                raise ServerError(f"arm {self.name}: process {self._process.pid} does not end")
        self._process.wait()
        self._process = None
        assert self.log_path is not None
        log.sync(self.log_path)
        if self._entry is not None:
            # Children that outlived a killed postmaster, and their shared memory.
            leftovers.end_rest(self._entry)

    def remove(self) -> None:
        """Removes data directory, write-ahead log and socket; the server's own log stays."""
        assert self.postmaster_pid is None, "the server still runs"
        for folder in filter(None, (self._wal_folder, self._folder)):
            datadir.remove(folder)
        if self._socket_dir.is_dir():
            for file in self._socket_dir.iterdir():
                file.unlink()
            self._socket_dir.rmdir()
        if self._entry is not None:
            leftovers.unregister(self._entry)

    def failure(self) -> str | None:
        """None while the server is well; else what happened to it, in a sentence that stays."""
        if self._failure is None and self.log_path is not None:
            position = self.log_position()
            found = log.crash(log.read(self.log_path, self._watched))
            # A message that is still being written is read again from its beginning.
            self._watched = max(self._watched, position - log.TAIL_BYTES_MAX)
            if self._process is not None and (status := self._process.poll()) is not None:
                how = f"signal {-status}" if status < 0 else f"status {status}"
                last = log.reason(self.log_tail(5))
                self._failure = f"the server of arm {self.name} ended with {how}: {found or last}"
            elif found is not None:
                self._failure = f"the server of arm {self.name} crashed and restarted: {found}"
        return self._failure

    def facts(self) -> Json:
        """What server.json of a result says about the server; it has to run."""
        found = facts.ask(self._query)
        return found | {
            "base_dir": str(self.build.base_dir),
            "data_dir": str(self.data_dir),
            "config": self._arm.config,
            "preset": dict(self._settled.preset),
            "departures": list(self._settled.departures),
            "user": self._place.account.name,
            **self._times,
        }

    def address(self, *, tcp: bool = False) -> Address | None:
        """Where the server answers: its unix socket, or 127.0.0.1 with `tcp`.

        The database is the one that was made last.
        """
        host = "127.0.0.1" if tcp else str(self._socket_dir)
        return Address(host=host, port=self._port, user=SUPERUSER, database=self._database)

    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = sql.LIMIT_S
    ) -> list[tuple[Any, ...]]:
        """Runs statements one after the other, each in a transaction of its own.

        Returns the rows of the last one. Raises ServerError where one fails or takes longer than
        `limit_s`.
        """
        address = self.address()
        assert address is not None
        target = sql.Target(address, database or self._database)
        try:
            return sql.execute(target, statements, limit_s)
        except ServerError as error:
            raise ServerError(f"arm {self.name}: {error}") from error

    def create_database(self, name: str) -> None:
        """Makes the database anew; `address` and `execute` use it from now on."""
        quoted = '"' + name.replace('"', '""') + '"'
        self.execute(
            f"DROP DATABASE IF EXISTS {quoted}", f"CREATE DATABASE {quoted}", database="postgres"
        )
        self._database = name

    def use_database(self, name: str) -> None:
        """Uses a database that is there from now on."""
        self._database = name

    def processes(self) -> dict[int, str]:
        """The living children of the postmaster (not itself) and what each is for."""
        pid = self.postmaster_pid
        if pid is None:
            return {}
        found = {}
        for child in process.children(pid):
            known = self._kinds.get(child) or kind.kind_of(
                process.command_line(child), self._settled.values.get("cluster_name", "")
            )
            found[child] = known or "other"
            if known is not None:
                self._kinds[child] = known
        self._kinds = {child: known for child, known in self._kinds.items() if child in found}
        return found

    def log_tail(self, lines: int = 20) -> list[str]:
        """The last lines of the server's log."""
        return log.tail(self.log_path, lines) if self.log_path else []

    def log_position(self) -> int:
        """The log's length in bytes, for `log_events`."""
        return self.log_path.stat().st_size if self.log_path and self.log_path.exists() else 0

    def log_events(self, since: int) -> list[Json]:
        """The events of the log (docs/results.md, done.json) from the position `since` on."""
        return log.step_events(self.log_path, since) if self.log_path else []

    def _query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.execute(statement)

    def _registration(self) -> Any:
        return {
            "what": f"server {self.name}",
            "folder": self._folder,
            "programs": self.build.postgres.resolve().parent,
            "run_root": self._place.run_root,
        }

    def _choose_port(self) -> None:
        """A free port of the loopback, or the plan's. Raises ServerError where that is in use."""
        wanted = int(self._settled.values.get("port", "0"), 0)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", wanted))
            except OSError as error:
                raise ServerError(
                    f"arms.{self.name}.settings.port: port {wanted} is in use: choose another, "
                    "or drop the key"
                ) from error
            self._port = probe.getsockname()[1]

    def _make_folders(self) -> tuple[Path, Path | None]:
        """Empty folders for data, write-ahead log and socket, after the checks; registered."""
        self._place.make()
        self.check()
        self._database = "postgres"
        account = self._place.account
        self._entry = leftovers.register(**self._registration())
        data = datadir.make(self._folder, "data", account)
        wal = datadir.make(self._wal_folder, "wal", account) if self._wal_folder else None
        account.make_folder(self._socket_dir)
        return data, wal

    def _write_settings(self) -> None:
        values = dict(self._settled.values) | {
            "port": str(self._port),
            "unix_socket_directories": str(self._socket_dir),
        }
        file = self._folder / "data" / SETTINGS_FILE
        file.write_text(settings.text_of(values))
        self._place.account.own(file)

    def _wait_for_answer(self, end_s: float) -> None:
        assert self._process is not None
        address = self.address()
        assert address is not None
        target = sql.Target(address, "postgres")
        while not sql.answers(target):
            if self._process.poll() is not None:
                why = log.reason(log.read(self.log_path, self._watched)) if self.log_path else ""
                raise ServerError(f"arm {self.name}: the server does not start: {why}")
            if time.monotonic() > end_s:
                raise ServerError(
                    f"arm {self.name}: the server does not answer within {START_S_MAX:.0f} s: "
                    f"see `{self.log_path}`"
                )
            time.sleep(LOOK_EVERY_S)
