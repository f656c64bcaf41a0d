"""The home of one of the lab's servers: its folders, its process, its log; of any engine."""

import errno
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from msgspec import structs

from dbdyno.builds import Build, cache, features
from dbdyno.engine import access, golden, log, preloaded
from dbdyno.engine.access import Entrance
from dbdyno.engine.golden_copy import Copy, CopyOrigin
from dbdyno.engine.interface import BY_LOOPBACK, BY_SOCKET, Client, HostSampler, Standbys
from dbdyno.engine.settings import ArmSettings
from dbdyno.host import data_folder, launch, leftovers, lock, process
from dbdyno.host import port as ports
from dbdyno.host.observe import device as devices
from dbdyno.host.observe.sampler import ReadingSink, Sampler
from dbdyno.host.place import Place
from dbdyno.model import Address, Arm, Json
from dbdyno.model.error import HostError, ServerError
from dbdyno.model.host_facts import Storage
from dbdyno.model.server_facts import ServerFacts

LOOK_EVERY_S = 0.02
"""How often a server that starts is asked whether it answers."""
LOOPBACK = "127.0.0.1"

BUILD = "build"
"""The build's files, in the folder of a counted server."""
LIBRARIES = "LD_LIBRARY_PATH"
"""Some builds need it; a counted server has it always, so that environments are of one length."""


class Home:
    """The folders, the process and the log of one server. Errors name the arm, in one line."""

    def __init__(
        self, arm: Arm, build: Build, place: Place, *, log_name: str | None = None
    ) -> None:
        """Describes it; nothing is made or started yet."""
        self.log_path = place.log_dir / (log_name or f"{build.engine}.log")
        name = place.name_of(arm.name)
        self.folder = place.data_root / name
        self.wal_folder = place.wal_root / name if place.wal_root else None
        self.socket_dir = place.socket_dir(arm.name)
        self.process: subprocess.Popen[Any] | None = None
        self.initdb_s: float | None = None  # how long its parts took to be made
        self.copy_s: float | None = None
        self.start_s: float | None = None
        self._arm = arm
        self.build = build
        self._place = place
        self.only_plans = False  # its files are long, and have no rows
        self._entry: Path | None = None

    @property
    def _what(self) -> str:
        """What the register of started processes calls it."""
        return f"server {self._arm.name}"

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def wal_dir(self) -> Path | None:
        """The folder of the write-ahead log, where the plan names one."""
        return None if self.wal_folder is None else self.wal_folder / "wal"

    @property
    def pid(self) -> int | None:
        """The process id of the server; None when it does not run."""
        running = self.process is not None and self.process.poll() is None
        return self.process.pid if running and self.process else None

    # --- Its folders ---

    def check(self) -> None:
        """Looks whether it can be made here. Raises PlanError, HostError or ServerError."""
        for folder in filter(None, (self.folder, self.wal_folder)):
            data_folder.check(folder, self._place.account, self._arm.name)
        launch.check(self._arm, self._place.placement)
        if not lock.is_held_by_another():  # else we begin once its servers have ended
            self._refuse_used()
        if self.build.made:
            preloaded.refuse_unloaded(self._arm, self.build, self._place.account)
        self._place.run_root.mkdir(parents=True, exist_ok=True)

    def _refuse_used(self) -> None:
        """Raises ServerError where another server has the folders or the name."""
        name = self._arm.name
        for folder in filter(None, (self.folder, self.wal_folder)):
            data_folder.refuse_used(folder, name)
        if lab := leftovers.other_lab(self._what, self.folder, self._place.run_root):
            where = f"arms.{name}: another lab (process {lab}) has a server `{name}`"
            raise ServerError(f"{where}: wait for its end, or rename the arm")

    def make(self) -> tuple[Path, Path | None]:
        """Empty folders for data, write-ahead log and socket, in place of earlier ones."""
        account = self._place.account
        self.register()
        data = data_folder.make(self.folder, "data", account)
        if self.only_plans:
            data_folder.mark_long(self.folder)
        wal = data_folder.make(self.wal_folder, "wal", account) if self.wal_folder else None
        account.make_folder(self.socket_dir)
        if self._place.placement.counter:
            account.make_folder(self.folder / launch.COUNTS)
            data_folder.bring(self.build.base_dir, self.folder / BUILD)
        return data, wal

    def fill(self, copy: Copy, *, shared_blocks: bool) -> None:
        """Fills the empty folders from a golden copy; see golden.fill."""
        pairs = [(self.data_dir, copy.data_dir)]
        if self.wal_dir is not None and copy.wal_dir is not None:
            pairs.append((self.wal_dir, copy.wal_dir))
        for folder, copied in pairs:
            what = f"copy {self._arm.name}"
            golden.fill(folder, copied, self._place, shared_blocks=shared_blocks, what=what)

    def keep(self, parts: Json, origin: CopyOrigin) -> Copy:
        """Makes the data of a server that was shut down a golden copy; it has none then.

        `parts` determine the content. Raises ServerError, HostError.
        """
        data_folder.refuse_long(self.folder, self._arm.name)
        source = golden.DataDirectory(
            engine=self.build.engine,
            arm=self._arm.name,
            version=self.build.version,
            data_dir=self.data_dir,
            wal_dir=self.wal_dir,
            data_root=self._place.data_root,
            wal_root=self._place.wal_root,
            account=self._place.account,
        )
        return golden.keep(source, parts, origin)

    def identity(self, settled: ArmSettings, incidental: Collection[str]) -> Json:
        """The facts that determine how data come to lie on the disk, for servers of all engines.

        Settings of the names in `incidental` are left out, but for those that the arm names.
        """
        wal_root = self._place.wal_root
        return {
            "engine": self.build.engine,
            "version": self.build.version,
            "settings": {
                name: value
                for name, value in settled.values.items()
                if name not in incidental or name in self._arm.settings
            },
            "account": self._place.account.name,
            "data_root": str(self._place.data_root.absolute()),
            "wal_root": str(wal_root.absolute()) if wal_root else None,
            # Keys of copies that were made before there was a choice are without it.
            **(
                {}
                if settled.transport == ArmSettings.transport
                else {"transport": settled.transport}
            ),
        }

    def data_form(self, settled: ArmSettings, shaping: Callable[[str], bool]) -> Json:
        """The facts by which servers of all engines can go on with data of one another.

        `shaping`: whether a setting of a name determines what data are, or how they lie.
        """
        wal_root = self._place.wal_root
        return {
            "engine": self.build.engine,
            "shaping": {name: value for name, value in settled.values.items() if shaping(name)},
            "account": self._place.account.name,
            "data_root": str(self._place.data_root.absolute()),
            "wal_root": str(wal_root.absolute()) if wal_root else None,
        }

    def remove(self) -> None:
        """Removes data directory, write-ahead log and socket; the server's own log stays."""
        assert self.pid is None, "the server still runs"
        for folder in filter(None, (self.wal_folder, self.folder)):
            data_folder.remove(folder)
        data_folder.clear(self.socket_dir)
        if self._entry is not None:
            leftovers.unregister(self._entry)

    # --- Its process ---

    def start(self, command: Sequence[str | Path]) -> None:
        """Starts the server's program, whose output goes to the log; it registers itself.

        Raises ServerError of files that only plans are made by.
        """
        assert self.pid is None, "the server runs already"
        if not self.only_plans:
            data_folder.refuse_long(self.folder, self._arm.name)
        environment = self.build.environment
        if self._place.placement.counter:
            environment = {LIBRARIES: str(self.build.base_dir / "lib"), **environment}
            environment = {name: self._at_home(value) for name, value in environment.items()}
            command = [self._at_home(str(word)) for word in command]
        assert self._entry is not None, "it has folders, and so an entry"
        with self.log_path.open("ab") as file, leftovers.noted(self._entry) as note:
            self.process = launch.start(
                command,
                arm=self._arm,
                placement=self._place.placement,
                account=self._place.account,
                environment=environment,
                output=file,
                folder=self.folder,
                before=note,
            )

    def _at_home(self, text: str) -> str:
        """With the build's folder where a counted server has it: as long a path for every arm."""
        return text.replace(str(self.build.base_dir), str(self.folder / BUILD))

    def wait_for_answer(
        self, silence: Callable[[], str | None], reason: Callable[[], str], limit_s: float
    ) -> None:
        """Waits for so long until the started server answers: `silence` says why not, else None.

        `reason`: why it has ended, by its log. Raises ServerError where it ends or says nothing.
        """
        end_s = time.monotonic() + limit_s
        while (said_last := silence()) is not None:
            if (how := self.ended()) is not None:
                why = reason()
                said = log.ending(how, why) if how.startswith("signal") else why
                raise ServerError(f"arm {self._arm.name}: the server does not start: {said}")
            if time.monotonic() > end_s:
                raise ServerError(
                    f"arm {self._arm.name}: the server does not answer within {limit_s:.0f} s "
                    f"({said_last}): see `{self.log_path}`"
                )
            time.sleep(LOOK_EVERY_S)

    def register(self) -> None:
        """Notes down what is to be ended should this lab die, as far as it is known by now."""
        self._entry = leftovers.register(
            pid=None if self.process is None else self.process.pid,
            what=self._what,
            folder=self.folder,
            run_root=self._place.run_root,
        )

    def stop(self, signals: process.Signals) -> None:
        """Ends the server by these signals and waits for its end, if it runs.

        Under a counter by the last of them, as each process would write its counts first.
        """
        if self.process is None:
            return
        if self._place.placement.counter:
            signals = signals[-1:]
        pid = self.process.pid
        counted = process.children(pid) if self._place.placement.counter else []
        children = [(child, process.start_ticks(child) or 0) for child in counted]
        ticks = process.start_ticks(pid)
        if ticks is not None and not process.end(pid, ticks, signals):
            raise ServerError(f"arm {self._arm.name}: process {pid} does not end")
        self.process.wait()
        self.process = None
        # What is left is known by the server's own program, and these run the counter's.
        leftovers.end_all(children, signals, f"server {self._arm.name}")
        if self._entry is not None:
            # Children that outlived a killed server, and their shared memory.
            leftovers.end_rest(self._entry)
        launch.leave(self._arm)

    def ended(self) -> str | None:
        """How the process has ended of itself: "signal 9", "status 1"; None: it has not."""
        status = None if self.process is None else self.process.poll()
        if status is None:
            return None
        return f"signal {-status}" if status < 0 else f"status {status}"

    # --- Its log ---

    def log_tail(self, lines: int) -> list[str]:
        """The last lines of the log."""
        return log.tail(self.log_path, lines)

    def log_position(self) -> int:
        """The log's length in bytes."""
        return self.log_path.stat().st_size if self.log_path.exists() else 0

    def with_home(self, facts: ServerFacts, settled: ArmSettings) -> ServerFacts:
        """The server's own words with the facts of how the lab made it, alike for all engines."""
        return structs.replace(
            facts,
            base_dir=str(self.build.base_dir),
            build=cache.facts_of(self.build.base_dir),
            flags=features.flags(self.build),
            data_dir=str(self.data_dir),
            config=self._arm.config,
            preset=settled.preset,
            user=self._place.account.name,
            transport=settled.transport,
            encryption=BY_LOOPBACK if settled.transport == "tcp" else BY_SOCKET,
            initdb_s=self.initdb_s,
            copy_s=self.copy_s,
            start_s=self.start_s,
        )


class LocalServer(ABC):
    """A server that the lab makes, as far as it is the same for all engines."""

    remote = False
    drops_any = True
    plants = None
    standbys: Standbys | None = None
    own_database: str  # the one that a fresh server has
    reserved: Container[str]  # settings that no plan can name

    def __init__(
        self, arm: Arm, place: Place, settled: ArmSettings, client: Client, home: Home
    ) -> None:
        """Describes the server; nothing is made or started yet."""
        self.name = arm.name
        self.engine = arm.engine
        self.client = client
        self.threads = client.threads
        self.build = home.build
        self.log_path = home.log_path
        self.entrance: Entrance | None = None
        self._arm = arm
        self._home = home
        self._place = place
        self._settled = settled
        entered = place.access
        if entered is None and settled.transport == "tcp":
            entered = access.make(LOOPBACK, [LOOPBACK], tls=False, here=True)
        if entered is not None:
            self.entrance = Entrance(entered, home.folder, place.account)
        self._database = self.own_database
        self._port = 0
        self._watched = 0  # the position in the log from which on `failure` looks
        self._failure: str | None = None
        self._kinds: dict[int, str] = {}

    @property
    def made(self) -> Self:
        """The server as the lab sees it."""
        return self

    keeper = made

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self._home.data_dir

    @property
    def standby_pids(self) -> tuple[int, ...]:
        """The first processes of its standbys that run."""
        return () if self.standbys is None else self.standbys.pids

    @property
    def postmaster_pid(self) -> int | None:
        """The process id of the server's first process; None when it does not run."""
        return self._home.pid

    @property
    def departures(self) -> tuple[str, ...]:
        """How the settings depart from the preset's published table, in sentences."""
        reserved = self.reserved
        changed = {name: its for name, its in self._for_access().items() if name not in reserved}
        return self._settled.departures + access.departures(self._settled.values, changed)

    @abstractmethod
    def address(self) -> Address:
        """Its address (engine.interface.Server)."""

    @abstractmethod
    def _for_access(self) -> dict[str, str]:
        """The settings by which the server listens where load comes from, or on no TCP at all."""

    @property
    def load_address(self) -> Address:
        """Where the load connects: the socket, or 127.0.0.1 if the arm's transport is TCP.

        Where it comes from other hosts, the address that they reach.
        """
        address = self.address()
        if self.entrance is None:
            return address
        return self.entrance.load_address(address, exposed=self._exposed)

    @property
    def _exposed(self) -> bool:
        """Whether a client proves its password as others may learn it, where there is no TLS."""
        return False

    def _facts(self, *read_back: str) -> ServerFacts:
        """server.json, as it is for all engines; `read_back`: departures that the server shows."""
        facts = self._home.with_home(self.client.facts(self.execute), self._settled)
        if self.entrance is not None:
            facts = self.entrance.with_access(facts)
        return structs.replace(facts, departures=(*self.departures, *read_back))

    def go_on(self) -> None:
        """Takes the data directory that an earlier server of the arm left, shut down in order.

        Raises what `check` does.
        """
        self._begin()
        self._home.register()
        self._write_settings()

    def _begin(self) -> None:
        """The checks before a data directory is made or taken."""
        self._place.make()
        self.check()
        self._database = self.own_database

    @abstractmethod
    def check(self) -> None:
        """Looks whether the server can be made (engine.interface.MadeServer)."""

    @abstractmethod
    def _write_settings(self) -> None:
        """Writes the settings of this start into the data directory."""

    def setting(self, name: str) -> str | None:
        """The setting of the preset, the plan or the lab; None where the server's default holds."""
        return self._settled.values.get(name)

    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = 600.0
    ) -> list[tuple[Any, ...]]:
        """Runs statements one after the other, each in a transaction of its own.

        Returns the rows of the last one. Raises ServerError where one fails or takes longer than
        `limit_s`.
        """
        address = replace(self.address(), database=database or self._database)
        try:
            return self.client.execute(address, statements, limit_s)
        except ServerError as error:
            raise ServerError(f"arm {self.name}: {error}") from error

    def use_database(self, name: str) -> None:
        """Uses a database that is there from now on."""
        self._database = name

    @abstractmethod
    def processes(self) -> dict[int, str]:
        """Living process -> what it is for (engine.interface.Server)."""

    @abstractmethod
    def leaders(self) -> dict[int, int]:
        """Parallel worker -> the backend that leads it (engine.interface.Server)."""

    def sampler(self, kept: ReadingSink, *, device: Storage | None, foreign: bool) -> HostSampler:
        """The sampler that reads /proc into `path`."""
        wal = None if self._home.wal_dir is None else devices.find(self._home.wal_dir)
        return Sampler(kept, device=device, wal_device=wal, server=self, foreign=foreign)

    def remove(self) -> None:
        """Removes data directory, logs of the engine and socket; the server's own log stays."""
        self._home.remove()

    def log_tail(self, lines: int = 20) -> list[str]:
        """The last lines of the server's log."""
        return self._home.log_tail(lines)

    def log_position(self) -> int:
        """The log's length in bytes, for `log_events`."""
        return self._home.log_position()


def free_port(arm: str, wanted: int, place: Place) -> int:
    """`wanted`, or a free port of the address where servers listen, where that is 0.

    Raises ServerError where it is in use, HostError where this host has no such address.
    """
    host = LOOPBACK if place.access is None else place.access.address
    try:
        return ports.free(host, wanted)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise HostError(
                f"arms.{arm}.host: this host has no address {host}, where the plan's other "
                "hosts are to reach the server: write one of `ip address` in its table [hosts]"
            ) from error
        raise ServerError(
            f"arms.{arm}.settings.port: port {wanted} is in use: choose another, or remove the key"
        ) from error
