"""A plan as its result keeps it: plan.json (docs/results.md), as far as reports read it.

Keys of older versions that say the same have a field or a default here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from dbdyno.model.attribution import Design, DesignKind, Factor
from dbdyno.model.own_query import Exclusion
from dbdyno.model.plan import Void
from dbdyno.model.verdict import Aims


class BuildIdentity(Struct, frozen=True, kw_only=True):
    """The build that an arm's server is of; `key` of one that dyno made."""

    version: str | None = None
    sha256: str | None = None  # of the server's program
    key: str | None = None


class ArmRecord(Struct, frozen=True, kw_only=True):
    """An arm as the plan asked for it, and the build that this meant."""

    name: str
    engine: str = "postgres"  # of results that name none: there was no other
    version: str | None = None
    base_dir: str | None = None
    dsn: str | None = None
    build_name: str | None = None
    build: BuildIdentity | None = None
    config: str | None = None
    config_sha256: str | None = None  # of a file that `config` names
    memory: str | None = None
    memory_max: str | None = None
    settings: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    inherits: Mapping[str, str] = {}  # settings of the server from which queries were captured
    initdb: Mapping[str, str | bool | int] = {}  # what is not the lab's own way
    transport: str | None = None
    standby: int = 0
    endpoints: Mapping[str, str] = {}
    fake: Mapping[str, Any] = {}
    host: str | None = None
    same_as: str | None = None  # of an A/A arm the base
    shown: bool = True
    leaves_out: Mapping[str, tuple[str, ...]] = {}  # by workload, steps that only others do


class QueryRecord(Struct, frozen=True, kw_only=True):
    """A query of an application, whose text has no values."""

    name: str
    text: str
    calls: float
    time_s: float = 0
    rows: float | None = None
    writes: bool = False
    drawn: str = ""  # how values fit that the lab has drawn; empty: they are the source's
    cut: bool = False  # the source may have cut its text


class ApplicationRecord(Struct, frozen=True, kw_only=True):
    """The application whose queries are the steps; seconds, time and calls are its source's."""

    queries: tuple[QueryRecord, ...]
    seconds: float | None = None
    time_s: float | None = None
    calls: float | None = None
    first: str | None = None  # when the first call began, in ISO 8601; None: not known
    last: str | None = None
    left_out: tuple[Exclusion, ...] = ()  # by capture, of the source's calls
    without_values: tuple[QueryRecord, ...] = ()  # queries that do not run for want of values

    @property
    def by_name(self) -> Mapping[str, QueryRecord]:
        """Its queries by the names of their steps."""
        return {query.name: query for query in self.queries}

    @property
    def whole_s(self) -> float:
        """The time of all calls, with those of queries that are left out; 0: none is known."""
        return self.time_s or sum(query.time_s for query in self.every)

    @property
    def every(self) -> Sequence[QueryRecord]:
        """Its queries, the costliest first, with those that do not run."""
        queries = (*self.queries, *self.without_values)
        return sorted(queries, key=lambda query: (-query.time_s, -query.calls))

    def share(self, of: QueryRecord | Exclusion) -> float:
        """The share of the source's time; of its calls where no time is known."""
        if self.whole_s:
            return of.time_s / self.whole_s
        calls = self.calls or sum(query.calls for query in self.every)
        return of.calls / calls if calls else 0.0


class WorkloadRecord(Struct, frozen=True, kw_only=True):
    """A workload as the plan uses it, with hashes of its texts."""

    name: str
    parameters: Mapping[str, Any] = {}
    steps: tuple[str, ...] | None = None
    fill: str | None = None
    set: str | None = None
    preset: str | None = None
    save: str | None = None
    restore: str | None = None  # the dump that makes its data
    warm: str | None = None
    restart: bool = False
    groups: tuple[str, ...] | None = None
    scripts: Mapping[str, tuple[str, ...]] | None = None
    variables: Mapping[str, Any] | None = None
    p99_below_us: int | float | None = None
    load: Mapping[str, Any] = {}
    sha256: str | None = None
    scripts_sha256: Mapping[str, str] = {}
    own_folder: str | None = field(default=None, name="folder")  # older results have none
    application: ApplicationRecord | None = None
    note: str = ""  # what the file wants said beside its results

    @property
    def folder(self) -> str:
        """The name of its folder in each run."""
        return self.own_folder or self.name


class ScheduleRecord(Struct, frozen=True, kw_only=True):
    """How often and in which order the arms run."""

    interleave: Literal["run", "step", "slice"] = "run"  # "slice": "turn" of today's plans
    placement: str = "free"
    slice_s: int | float | None = None  # the length of a turn
    checkpoint: str | None = None
    until_decided: bool = False
    comparison: int | None = None
    fills: int = 1
    rest_s: int | float = 0
    void: Void = Void()


class GeneratorRecord(Struct, frozen=True, kw_only=True):
    """How the load is made; `hosts` that make it if it is not made beside the servers."""

    threads: int | None = None
    hosts: tuple[str, ...] = ()
    tls: bool = True


class ObserveRecord(Struct, frozen=True, kw_only=True):
    """The samples taken of servers."""

    waits_s: int | float | None = None
    subsystems: Mapping[str, tuple[str, ...]] = {}


class SizingRecord(Struct, frozen=True, kw_only=True):
    """The sizes of the host that presets were made for."""

    cores: int | None = None
    memory_bytes: int | None = None
    free_disk_bytes: int | None = None


class DesignRecord(Struct, frozen=True, kw_only=True):
    """The plan's design, whose values are its `levels`."""

    kind: DesignKind
    base: str
    arm: str
    factors: tuple[Factor, ...]
    levels: Mapping[str, tuple[int, ...]]


class CountRecord(Struct, frozen=True, kw_only=True):
    """The counts of work that the plan asks for."""

    repeats: int = 0
    only: bool = False
    parameters: dict[str, Any] = {}  # of the workloads while they are counted


class PlanRecord(Struct, frozen=True, kw_only=True):
    """plan.json."""

    name: str
    base: str
    blocks: int
    arms: tuple[ArmRecord, ...]
    workloads: tuple[WorkloadRecord, ...] = ()
    label: str | None = None
    seed: int | None = None
    schedule: ScheduleRecord = ScheduleRecord()
    generator: GeneratorRecord = GeneratorRecord()
    observe: ObserveRecord = ObserveRecord()
    verdict: Aims = Aims()
    sizing: SizingRecord = SizingRecord()
    attribute: DesignRecord | None = None
    count: CountRecord | None = None
    text: str | None = None  # the plan's TOML
    dyno: str | None = None  # the version
    created_unix_ns: int | None = None

    @property
    def counts_only(self) -> bool:
        """Whether it measures no time."""
        return self.count is not None and self.count.only

    @property
    def design(self) -> Design | None:
        """The arms that mix the factors of two; None without."""
        design = self.attribute
        if design is None:
            return None
        return Design(
            kind=design.kind,
            base=design.base,
            arm=design.arm,
            factors=design.factors,
            values=design.levels,
        )

    def arm(self, name: str) -> ArmRecord | None:
        """The arm of a name; None where there is none."""
        return next((arm for arm in self.arms if arm.name == name), None)
