"""The interface of an engine: a folder under `engine/` has one of each.

An engine needs no server; its server is that of one arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from dbdyno.builds import Build
from dbdyno.builds.compile import Method
from dbdyno.builds.flags import Recipes
from dbdyno.engine.access import Entrance
from dbdyno.engine.counting import CountMethod
from dbdyno.engine.dsn_form import DsnForm
from dbdyno.engine.footprint import Footprint
from dbdyno.engine.golden_copy import Copy, CopyOrigin
from dbdyno.engine.inherited import InheritedSettings
from dbdyno.engine.inquiry import Inquirer
from dbdyno.engine.limits import ServerLimits
from dbdyno.engine.preset import Settings
from dbdyno.engine.restore import Restorer
from dbdyno.engine.rights import Need, UnmetNeed
from dbdyno.engine.settings import ArmSettings, Demand
from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.engine.status import Status
from dbdyno.host.account import Account
from dbdyno.host.observe.owned_processes import ServerProcesses
from dbdyno.host.observe.sampler import ReadingSink
from dbdyno.host.place import Place
from dbdyno.model import Address, Arm, Json, Observation
from dbdyno.model.engine import Capability, Traits
from dbdyno.model.events import AnyEvent
from dbdyno.model.host_facts import Storage
from dbdyno.model.job import Job
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.server_status import IndexStatistics
from dbdyno.model.size import Capacity
from dbdyno.model.snapshot import Snapshot
from dbdyno.model.standby_lag import StandbyLag
from dbdyno.model.step_files import CacheWarming, LogEvent
from dbdyno.model.wait_samples import WaitLook, WaitsBegin, WaitsEnd

WARM_S_MAX = 24 * 3600.0
"""For reading all relations into the caches."""
CHECKPOINT_S_MAX = 3600.0

OPEN = "not encrypted"
"""How server.json's `encryption` begins for a connection without TLS."""
BY_SOCKET = f"{OPEN}: a unix socket"
BY_LOOPBACK = f"{OPEN}: 127.0.0.1"

Moment = Literal["before", "after"]
Write = Callable[[WaitsBegin | WaitLook | WaitsEnd], None]
"""Takes a line of a file."""
Setting = Callable[[str], str | None]
"""The value of a setting; None where the server's default holds."""


class Executor(Protocol):
    """Runs statements in one session and returns the rows of the last (Server.execute)."""

    def __call__(self, *statements: str, limit_s: float = 600.0) -> list[tuple[Any, ...]]:
        """Raises ServerError."""


@dataclass(frozen=True, kw_only=True)
class TableSql:
    """Questions and commands about tables in an engine's SQL; each with names in braces."""

    rows: str  # of `{table}`, by the optimizer's estimate: a scan would warm caches
    comments: str  # name and comment of those of `{names}`, literals with commas, that are there
    set_comment: str  # gives `{table}` the literal `{comment}`


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """By what data are known again that no server was started in since."""

    major: str | None  # the major version that the data name; None where they name none
    sha256: str  # changes with each start of a server in these data
    of: str  # what it is taken of, in words


class HostSampler(Protocol):
    """A sampler of the host, as a step uses it (dbdyno.host.observe.sampler, or the fake one)."""

    cpu_us: float

    def start(self) -> None:
        """Begins the readings of each second."""

    def stop(self) -> None:
        """Ends them and makes them durable."""

    def read(self, moment: str, event_mono_ns: int | None = None) -> None:
        """Makes a reading at once."""

    def observe(self, event: AnyEvent) -> None:
        """Takes note of an event of the generator: who is who, what was done."""

    def set_lab_session(self, pid: int, owner: str) -> None:
        """Tells which server process the lab itself asks, and the owner of its cost."""

    def owner(self, member: int) -> str:
        """The owner of a server process, or thread, as readings last had it."""


class WaitSampler(Protocol):
    """Samples what sessions wait for; a context manager: nothing of it is left afterwards."""

    failure: str | None  # why it ended before it was told to
    samples: int

    @property
    def pid(self) -> int:
        """The server process that it asks."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def observe(self, event: AnyEvent) -> None:
        """Takes note of an event of the generator."""

    def begin(self) -> None:
        """Samples from now on."""

    def rest(self) -> None:
        """Samples no more, until `begin`."""

    def finish(self) -> None:
        """Ends the samples."""


class Follower(Protocol):
    """A standby elsewhere, over a connection that stays open. Methods raise ServerError."""

    def lag(self, end: str | None) -> StandbyLag:
        """How far it is behind (Standbys.lag)."""

    def close(self) -> None:
        """Ends the connection."""


class Client(Protocol):
    """How servers are asked, wherever they run: by SQL, whose session a caller provides."""

    @property
    def threads(self) -> bool:
        """Whether one process serves all connections, with a thread for each."""

    @property
    def settle_s(self) -> float:
        """How long after a connection has closed what it did stands in the counters."""

    @property
    def sql(self) -> TableSql:
        """The SQL to ask about tables."""

    def execute(
        self, address: Address, statements: Sequence[str], limit_s: float
    ) -> list[tuple[Any, ...]]:
        """Runs statements, each in a transaction of its own; the rows of the last one.

        Raises ServerError where one fails or all take longer than `limit_s`.
        """

    def told(self, execute: Executor) -> tuple[str, int, str]:
        """Engine and version that a server says it is of: as Build.version_num has it, in words."""

    def facts(self, execute: Executor) -> ServerFacts:
        """The part of server.json that a server itself knows. Raises ServerError."""

    def encryption(self, address: Address) -> str | None:
        """How a connection is encrypted; None: not at all. Raises ServerError."""

    def has(self, what: Capability, execute: Executor) -> bool:
        """Whether this very server can do what its engine can. Raises ServerError."""

    def warm_up(self, how: str | Sequence[str], execute: Executor) -> CacheWarming:
        """Reads all tables and indexes, or these; `warm` of done.json. Raises ServerError."""

    def checkpoint(self, execute: Executor) -> None:
        """Writes what is dirty in the server's cache to its files. Raises ServerError."""

    def snapshot(self, when: Moment, subject: SnapshotSubject) -> Snapshot:
        """before.json or after.json. Raises ServerError only where it cannot connect."""

    def needed(self, sql: str) -> Need | None:
        """The right that a statement needs; None: every user may run it."""

    def lack(self, need: Need, execute: Executor) -> UnmetNeed | None:
        """The right that the user lacks for a need; None: the user has it. Raises ServerError."""

    @property
    def limits(self) -> ServerLimits:
        """The limits that steps may meet."""

    def no_waits(self, execute: Executor) -> str | None:
        """Why its sessions do not tell what they wait for; None: they do. Raises ServerError."""

    def unsuited(self, address: Address) -> str | None:
        """Why the server at an address is not the one that a DSN means; None where it is.

        Raises ServerError where it does not answer.
        """

    def unfit(self, primary: Executor, endpoint: Executor) -> str | None:
        """Why the server at an endpoint does not follow the primary; None where it may.

        Raises ServerError where one does not answer.
        """

    def log_end(self, execute: Executor) -> str | None:
        """Standbys.log_end of a server elsewhere; None where its followers tell no lag."""

    def follower(self, address: Address, name: str) -> Follower | None:
        """The server at an endpoint, connected; None where it tells no lag. Raises ServerError."""

    def waits(self, address: Address, job: Job, observe: Observation, write: Write) -> WaitSampler:
        """A sampler of waits, connected. Raises ServerError where it cannot connect."""

    def status(self, address: Address) -> Status:
        """The questions for the server's own state, connected. Raises ServerError."""

    def inquiry(self, address: Address) -> AbstractContextManager[Inquirer]:
        """A session that asks an application's queries. Raises ServerError."""

    def indexes(self, execute: Executor, tables: Sequence[str]) -> IndexStatistics:
        """The state of each index of these tables, whose pages are all read.

        Raises ServerError.
        """


class Engine(Protocol):
    """The parts that a folder under engine/ provides.

    Importing it imports no client library and starts nothing.
    """

    @property
    def traits(self) -> Traits:
        """The row of `model.engine` that it is of."""

    @property
    def client(self) -> Client:
        """How its servers are asked."""

    @property
    def dsn(self) -> DsnForm:
        """How its clients write a server's place."""

    @property
    def counting(self) -> CountMethod:
        """How the work of its servers is counted, where it can be (capability `counted`)."""

    @property
    def restorer(self) -> Restorer | None:
        """How its data come from dumps; None where they do not (capability `restored`)."""

    @property
    def recipes(self) -> Recipes:
        """The recipes by which it can be compiled."""

    def inspect(self, base_dir: Path, where: str, account: Account) -> Build:
        """The build in a folder. Raises ServerError that begins with `where`."""

    def bring(self, version: str, where: str, cache: Path | None, account: Account) -> Build:
        """The build of a version: found here, or fetched. Raises ServerError."""

    def fetch(self, version: str, say: Callable[[str], None], *, md5: bool = False) -> Path:
        """The folder of a prebuilt version, brought into the cache; of a series the newest.

        `say` takes lines for the person. `md5`: an MD5 will do, where nothing better can verify the
        archive here. Raises ServerError.
        """

    def folders(self, cache: Path, root: Path) -> Iterator[Path]:
        """Folders that may hold installed builds, beside the cache; `root`: the file system's."""

    def method(self) -> Method:
        """How its source is compiled. Raises ServerError where it is not."""

    def read_config(self, text: str, source: str, version_num: int) -> Settings:
        """A configuration file of one's own. Raises PlanError that begins with `source`."""

    def write_config(self, values: Mapping[str, str]) -> str:
        """The same the other way, for `dyno config show`."""

    def settle(self, arm: Arm, build: Build, host: Capacity, demand: Demand) -> ArmSettings:
        """Preset, plan and lab together, for what the steps demand of the server.

        Raises PlanError where the plan's own do not go, HostError where they do not fit the host.
        """

    def inherited(
        self, written: Mapping[str, str], arm: Arm, build: Build, share: Capacity
    ) -> InheritedSettings:
        """Of another server's settings those that an arm takes; `share`: of the host, its part."""

    def footprint(self, setting: Setting) -> Footprint:
        """The resources of the host that a server with these settings takes."""

    def fingerprint(self, data_dir: Path, wal_dir: Path | None) -> Fingerprint:
        """Changes with each start of a server in these data. Raises OSError."""

    def server(self, arm: Arm, build: Build, place: Place, settled: ArmSettings) -> LabServer:
        """A server of the lab, described, not made."""

    def unmade(self, arm: Arm) -> Server:
        """The server of an arm that the lab does not make."""


class Standbys(Protocol):
    """Where roles can connect beside a server's address: its standbys, the places of a DSN's."""

    @property
    def pids(self) -> tuple[int, ...]:
        """The first processes of those that run on this host."""

    def join(self) -> list[Json]:
        """Makes those that are not there yet; how long each took. Raises ServerError.

        For each `standby` (its name), `copy_s` and `answer_s`.
        """

    def addresses(self) -> dict[str, Address]:
        """The addresses of those that have joined, by name."""

    def log_end(self) -> str | None:
        """The log's end, which they are to reach; None: `lag` knows it. Raises ServerError."""

    def lag(self, end: str | None = None) -> list[StandbyLag]:
        """How far each that has joined is behind what it was sent, or `end`, a `log_end`.

        Raises ServerError.
        """


class Keeper(Protocol):
    """How a server's data become golden copies, and come from them."""

    @property
    def identity(self) -> Json:
        """The facts of the server that determine how its data come to lie on the disk."""

    @property
    def data_form(self) -> Json:
        """The facts by which a server can go on with data: those of another with the same, too."""

    def prepare_from(self, copy: Copy, *, shared_blocks: bool) -> None:
        """Makes a data directory that is a copy of a golden one. Raises ServerError, HostError."""

    def go_on(self) -> None:
        """Takes the data directory that an earlier server of the arm left, shut down in order.

        Raises ServerError, HostError.
        """

    def keep(self, parts: Json, origin: CopyOrigin) -> Copy:
        """Shuts the server down and makes its data a golden copy. Raises ServerError, HostError."""


class MadeServer(ServerProcesses, Protocol):
    """A server as the lab that makes it sees it: its data, its processes, its log."""

    log_path: Path  # of the server's own log

    @property
    def data_dir(self) -> Path:
        """The data directory."""

    @property
    def wal_dir(self) -> Path:
        """The folder of the write-ahead log."""

    @property
    def departures(self) -> tuple[str, ...]:
        """How the settings depart from the preset's published table, in sentences."""

    def prepare(self) -> None:
        """Makes a fresh data directory in place of an earlier one. Raises ServerError."""

    def remove(self) -> None:
        """Removes data directory and sockets; the log stays."""

    def processes(self) -> dict[int, str]:
        """Living process (a server of `threads`: thread) -> what it is for, without the first."""

    def has_storage_engine(self, name: str) -> bool:
        """Whether its program has tables of this engine; asked before it is started."""

    def log_tail(self, lines: int = 20) -> list[str]:
        """The last lines of the log."""

    def log_position(self) -> int:
        """The end of the log now, for `log_events`."""

    def log_events(self, since: int) -> list[LogEvent]:
        """Events of the log from there on (docs/results.md, done.json)."""


class Plants(Protocol):
    """What the plan plants in a fake server."""

    @property
    def names(self) -> Sequence[tuple[str, str]]:
        """The keys that plant something for a statement or cursor, each with its name."""

    def of_job(self, job: Job) -> Json:
        """The `fake` of a step's job (contract/README.md)."""


class Server(Protocol):
    """A database server of one arm, from its data directory to its end."""

    name: str  # the arm's
    engine: str  # the arm's, to be named; nobody decides by it
    remote: bool  # whether it runs elsewhere: its processes, files and logs cannot be seen
    drops_any: bool  # whether tables may go there that the lab did not make

    @property
    def client(self) -> Client | None:
        """How it is asked by SQL; None for a fake, which takes statements and answers nothing."""

    @property
    def standbys(self) -> Standbys | None:
        """Its standbys; None where the arm has none."""

    @property
    def made(self) -> MadeServer | None:
        """The same server as the lab sees it; None where the lab does not make it."""

    @property
    def keeper(self) -> Keeper | None:
        """How its data are kept; None where the lab keeps none (capability `kept`)."""

    @property
    def entrance(self) -> Entrance | None:
        """How load from other hosts is let in; None where none comes."""

    @property
    def plants(self) -> Plants | None:
        """What the plan plants; None for a real server."""

    def can(self, what: Capability) -> bool:
        """As `can` of its arm, less what this very build lacks. Raises ServerError."""

    def setting(self, name: str) -> str | None:
        """The setting of the preset, the plan or the lab; None where the server's default holds."""

    def check(self) -> None:
        """Looks whether the server can be made; makes nothing. Raises DynoError subclasses."""

    def start(self) -> None:
        """Starts it and waits until it answers. Raises ServerError with the log's reason."""

    def stop(self, crash: bool = False) -> None:
        """Shuts down (with a checkpoint unless `crash`) and waits for the end."""

    def failure(self) -> str | None:
        """None while the server is well; else what happened, in a sentence."""

    def facts(self) -> ServerFacts:
        """server.json of docs/results.md."""

    def address(self) -> Address | None:
        """Its address, with the database made last; None for a server inside dyno-loadgen."""

    @property
    def load_address(self) -> Address | None:
        """Where the load connects: `address`, by the arm's transport, or what other hosts reach."""

    def execute(
        self, *statements: str, database: str | None = None, limit_s: float = 600.0
    ) -> list[tuple[Any, ...]]:
        """Runs SQL for set-up, a statement at a time; the rows of the last. Raises ServerError."""

    def create_database(self, name: str) -> None:
        """Makes the database anew and uses it from now on."""

    def use_database(self, name: str) -> None:
        """Uses a database that is there from now on."""

    def sampler(self, kept: ReadingSink, *, device: Storage | None, foreign: bool) -> HostSampler:
        """A sampler of the host's counters into `kept`: of /proc, or with planted costs."""


class LabServer(Server, MadeServer, Keeper, Protocol):
    """A server that the lab makes."""

    @property
    def client(self) -> Client:
        """How it is asked by SQL."""
