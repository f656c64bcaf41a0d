"""The facts of engines that need no server: their traits and capabilities.

An engine is a row of TRAITS, a folder under `dbdyno/engine/`, and its SQL in workload files.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from dbdyno.model.error import PlanError
from dbdyno.model.metric.row import Servers
from dbdyno.model.plan import Arm

Capability = Literal[
    "clock",  # it runs in real time: a process somewhere, with a database that can be asked
    "made",  # the lab makes its server, starts and stops it
    "kept",  # its data can be a golden copy
    "restored",  # its data can come from a dump
    "turns",  # its load can pause, so that arms take turns within a step
    "waits",  # sessions tell what they wait for
    "notices",  # a statement can say something while it runs
    "prewarm",  # it can read a table into its cache as it lies on the disk
    "pgbench",  # pgbench can be its load
    "explain",  # it tells the plans of statements
    "initdb",  # a program makes its clusters, with a locale and checksums
    "extensions",  # it takes extensions
    "binary log",  # it can write every change into a log beside that of its pages
    "presets",  # published settings are known of it
    "prebuilt",  # builds of it are brought
    "source",  # it is compiled from source
    "standby",  # the lab can make it streaming standbys
    "release",  # its official source is brought by version
    "counted",  # the lab can count the work of its servers under callgrind
    "followed",  # a lab without data can plan as another server does
]
Protocol = Literal["simple", "extended", "prepared", "execute"]
OURS = frozenset[Capability](
    {"made", "kept", "restored", "presets", "prebuilt", "source", "release", "standby", "counted"}
)
"""The capabilities that a `dsn` takes away from any engine."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """The facts of an engine that need no server."""

    name: str
    product: str  # what it is called: "PostgreSQL"
    short: str  # before a version in an arm's name: "pg17"
    family: str  # the folder under engine/ that knows it, and the account of its package
    job: str  # how a job names it, for dyno-loadgen to know its protocol
    sql: tuple[str, ...]  # keys of a workload file that it reads, its own first
    sends: frozenset[Protocol]  # how a statement can be sent to it
    placeholders: bool  # EXPLAIN takes $1 …, else literals
    statistics: Servers  # whose metrics it has
    newest: str  # the newest version that is released
    tried: str = ""  # a newer one that was tried before its release
    threads: bool = False  # its sessions are threads of one process
    whole_major_from: int | None = None  # from this major on a series is one number: 17, not 9.6
    short_sizes: bool = False  # its sizes are written `4G`, not `4GB`
    prepares_begin: bool = True  # BEGIN can be a prepared statement
    prepares_begin_from: tuple[int, ...] = ()  # that series; older servers refuse it
    commits_end: bool = False  # END alone ends no transaction there: a script's is sent as COMMIT
    backslash_escapes: bool = False  # in strings of its SQL; `#` begins a comment, ` quotes a name
    # The variable of a session, and the word in it, by which a backslash stands for itself.
    plain_backslashes: tuple[str, str] | None = None
    character_set: Literal["latin1", "utf8mb4"] = "latin1"  # of jobs with texts of any language
    names_compiler: bool = False  # it says by what it was compiled; else for which machine
    sysbench: str | None = None  # what sysbench calls it, where that speaks to it
    program: str = "the server's program"  # whose hash identifies a build, in words
    can: frozenset[Capability] = frozenset()

    @property
    def protocol(self) -> str:
        """The generator's protocol: how the family is called of the engine that a job names."""
        return of(self.job).family

    def escapes(self, settings: Mapping[str, str]) -> bool:
        """Whether a backslash escapes in texts of a session with these settings."""
        if not self.backslash_escapes or self.plain_backslashes is None:
            return self.backslash_escapes
        variable, word = self.plain_backslashes
        return word not in re.findall(r"\w+", settings.get(variable, "").upper())


_ALL_PROTOCOLS = frozenset[Protocol]({"simple", "extended", "prepared", "execute"})
_POSTGRES = Traits(
    name="postgres",
    product="PostgreSQL",
    short="pg",
    family="postgres",
    job="postgres",
    sql=("postgres",),
    sends=_ALL_PROTOCOLS,
    placeholders=True,
    statistics="PostgreSQL",
    newest="18",
    tried="19",
    whole_major_from=10,
    names_compiler=True,
    sysbench="pgsql",
    program="bin/postgres",
    can=frozenset(get_args(Capability)) - {"binary log"},
)
_MYSQL = Traits(
    name="mysql",
    product="MySQL",
    short="mysql",
    family="mysql",
    job="mysql",
    sql=("mysql",),
    sends=frozenset({"simple", "prepared"}),
    placeholders=False,
    statistics="InnoDB",
    newest="9.7",
    threads=True,
    short_sizes=True,
    sysbench="mysql",
    prepares_begin=False,
    commits_end=True,
    backslash_escapes=True,
    plain_backslashes=("sql_mode", "NO_BACKSLASH_ESCAPES"),
    character_set="utf8mb4",
    can=frozenset(
        {
            "clock",
            "made",
            "kept",
            "restored",
            "turns",
            "waits",
            "explain",
            "binary log",
            "presets",
            "source",
            "counted",
        }
    ),
)
TRAITS: dict[str, Traits] = {
    "postgres": _POSTGRES,
    "mysql": _MYSQL,
    "mariadb": replace(
        _MYSQL,
        name="mariadb",
        product="MariaDB",
        short="mariadb",
        job="mariadb",
        sql=("mariadb", "mysql"),
        newest="12.3",
        prepares_begin=True,
        prepares_begin_from=(10, 6),
    ),
    "fake": Traits(
        name="fake",
        product="fake",
        short="fake",
        family="fake",
        job="fake",
        sql=("postgres",),
        sends=_ALL_PROTOCOLS,
        placeholders=True,
        statistics="PostgreSQL",
        newest="0",
        can=frozenset({"notices"}),
    ),
}
"""All engines, by the name that plans call them by."""


def of(name: str) -> Traits:
    """The engine of that name. Raises PlanError that names the nearest."""
    if name not in TRAITS:
        # It brings pydantic along, which commands that read no file do without.
        from dbdyno.model.document import suggestion

        raise PlanError(f"no engine `{name}`; {suggestion(name, TRAITS)}")
    return TRAITS[name]


def of_release(name: str, release: tuple[int, ...] | None) -> Traits:
    """The engine of that name as a release of it is; None: the newest. Raises PlanError."""
    traits = of(name)
    if release is None or release >= traits.prepares_begin_from:
        return traits
    return replace(traits, prepares_begin=False)


def can(arm: Arm, what: Capability) -> bool:
    """The capabilities of the arm's engine, less those that a `dsn` takes away."""
    return what in of(arm.engine).can and not (arm.dsn is not None and what in OURS)


def having(what: Capability) -> tuple[str, ...]:
    """The names of the engines that can do this, in the order of TRAITS."""
    return tuple(name for name, traits in TRAITS.items() if what in traits.can)


def named(names: Iterable[str]) -> str:
    """Engines in a message."""
    return ", ".join(f"`{name}`" for name in names)


def recorded(name: str) -> Traits:
    """The engine that a result names; of one that this version does not know only that it ran."""
    return TRAITS.get(name) or replace(
        TRAITS["fake"], name=name, product=name, can=frozenset({"clock"})
    )
