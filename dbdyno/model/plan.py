"""A plan: arms, workloads, blocks, and how it is measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dbdyno.model.attribution import Design
from dbdyno.model.placement import SessionPlacement
from dbdyno.model.sweep import named
from dbdyno.model.verdict import Aims


@dataclass(frozen=True, kw_only=True)
class Password:
    """Where a password is to be found; it is in no plan, job, result or log."""

    env: str | None = None  # an environment variable's name
    passfile: Path | None = None  # a file in libpq's format; its rules hold for MySQL, too
    insecure: bool = False  # whether it may be sent so that others on the way can learn it


@dataclass(frozen=True, kw_only=True)
class Host:
    """A machine that a plan names, on which servers or generators run."""

    name: str
    ssh: str | None = None  # its name for OpenSSH, such as "bench@db1"; None: this machine
    node: str | None = None  # of a job of Slurm, in which srun reaches it in place of ssh
    address: str | None = None  # an IP address by which the plan's other hosts reach it


Transport = Literal["socket", "tcp"]
"""How the load reaches a server of the lab: by its unix socket, or by 127.0.0.1 without TLS."""


@dataclass(frozen=True, kw_only=True)
class Initdb:
    """How `initdb` makes a PostgreSQL cluster; the defaults are the lab's own."""

    locale: str = "C"  # as the host's C library calls it; the encoding is always UTF8
    data_checksums: bool = True
    wal_segment_mb: int = 16


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One thing compared: an engine, a build of it, and a configuration."""

    name: str
    engine: str  # "postgres", "mysql", "mariadb" or "fake"
    # Where the server comes from: one of these four.
    version: str | None = None  # "17.6", "17" (the newest 17)
    base_dir: Path | None = None  # a folder with bin/postgres, bin/mysqld, sbin/mariadbd …
    build: str | None = None  # the name of a build made by `dyno server build`
    dsn: str | None = None  # of a server that runs elsewhere, without a password
    password: Password | None = None  # of `dsn`
    allow_drop: bool = False  # of `dsn`: whether tables go that dyno did not make
    allow_writes: bool = False  # of `dsn`: whether captured queries that write run there
    standby: int = 0  # streaming standbys of a server that the lab makes
    endpoints: Mapping[str, str] = field(default_factory=dict)  # of `dsn`: further ones by name
    config: str | None = None  # a preset's name with its tags, such as "x10a", or a file's path
    config_text: str | None = None  # what stands in that file; None: `config` is a preset
    memory: str | None = None  # what a preset is sized for, such as "4GB"; None: the host's
    settings: Mapping[str, str] = field(default_factory=dict)  # on top of the preset
    environment: Mapping[str, str] = field(default_factory=dict)  # of the server's process
    # The keys of Initdb that the plan names, and how the load connects; else as its preset says.
    initdb: Mapping[str, str | bool | int] = field(default_factory=dict)
    transport: Transport | None = None
    memory_max: str | None = None  # what the server's processes may take, by a cgroup; None: all
    fake: Mapping[str, Any] = field(default_factory=dict)  # the job's `fake`, engine "fake" only
    host: str | None = None  # the name of the plan's host that its server runs on; None: this one
    same_as: str | None = None  # the base's name: this is an A/A arm, measured beside it
    shown: bool = True  # False: an A/A arm that is the base once more

    @property
    def endpoint_names(self) -> tuple[str, ...]:
        """What its roles can connect to beside the server: its standbys, a DSN's endpoints."""
        numbers = range(1, self.standby + 1)
        return (*(standby_name(number) for number in numbers), *self.endpoints)


def standby_name(number: int) -> str:
    """The endpoint of an arm's standby of this number, from 1: `standby`, `standby2` …"""
    return "standby" if number == 1 else f"standby{number}"


Statistics = Literal["same", "own"]
"""Whether the planner's statistics are one sample for all arms, or each arm's own."""


@dataclass(frozen=True, kw_only=True)
class WorkloadUse:
    """A workload as a plan uses it."""

    name: str  # a shipped workload's name, or a path to a TOML file
    parameters: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] | None = None  # only these steps, in the workload's order; None: all
    fill: str | None = None  # "fast" or "published"; None: what the workload's file says
    set: str | None = None  # which of the file's sets of steps; None: the file's own choice
    preset: str | None = None  # parameters by name, below those given one by one
    save: str | None = None  # "post-l.i2": keep the data directory after this step; None: never
    warm: str | None = None  # "prewarm" or "scan": after a start from what was kept; None: neither
    restart: bool = False  # later blocks restart the servers on the same data: no step writes them
    groups: tuple[str, ...] | None = None  # only these, and steps of none; None: all
    # Scripts of pgbench's by the step that runs them, and variables that they begin with.
    scripts: Mapping[str, tuple[str, ...]] | None = None
    variables: Mapping[str, Any] | None = None
    p99_below_us: float | None = None  # the highest rate is searched that keeps this; None: not
    restore: Path | None = None  # the dump that makes the data; None: the workload makes them
    statistics: Statistics = "same"  # of restored data
    load: Mapping[str, Any] = field(default_factory=dict)
    """Of a plan that wants several loads: the parameters by which this one differs from them."""

    @property
    def title(self) -> str:
        """Its name, with the load that it is of: a plan has each once."""
        return named(self.name, self.load)


@dataclass(frozen=True, kw_only=True)
class Void:
    """Above what a block is void that something outside the arms disturbed."""

    foreign: float = 0.05  # others' CPU in any measured window, as a share of all cores' time
    stolen: float | None = None  # the same of time that other machines took; None: only a doubt
    swap: bool = False  # whether any page that is swapped in or out does; else only a doubt


Interleave = Literal["run", "step", "turn"]
"""How a block's arms follow each other: one after the other, or all up, by steps or by turns of a
step."""
TURN_S = 1.0
"""How long a turn lasts where nobody says it."""


def fill_of(block: int, fills: int) -> int:
    """The number of the fill, from 1, that a block begins from where there are so many."""
    return (block - 1) % fills + 1


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How often and in which order the arms run."""

    blocks: int = 1  # of `until_decided` the most there are
    until_decided: bool = False  # it ends when every step is decided
    minutes_max: float | None = None  # for all blocks; `until_decided` only
    aa_arm: bool = False  # an A/A arm is shown
    comparison: int | None = None  # so many blocks are a comparison each (`dyno calibrate`)
    fills: int = 1  # so many golden copies of each arm, which blocks begin from by turns
    # Arms whose servers can go on with the same files share them; fills have the same values, in
    # one order: what is left between two is what the server itself draws.
    fills_alike: bool = False
    interleave: Interleave = "run"
    placement: SessionPlacement = "free"
    writes_in_turn: bool = False  # turns: also steps that write, all after the one of `save`
    turn_s_chosen: float | None = None  # of a turn; None: TURN_S
    checkpoint: Literal["before-step"] | None = None  # before each step's first reading
    void: Void = Void()
    repeats_max: int = 2  # how often a block is done again that was disturbed, or the lab failed in
    trial: bool = False  # before the first block each step runs for a second on all arms
    rest_s: float = 0.0  # idle between the end of a server and the next one's making

    def fill(self, block: int) -> int:
        """The number, from 1, of the fill that a block begins from where a state is kept."""
        return fill_of(block, self.fills)

    @property
    def turn_s(self) -> float:
        """How long a turn lasts where turns are interleaved."""
        return TURN_S if self.turn_s_chosen is None else self.turn_s_chosen

    @property
    def interleave_written(self) -> str:
        """`interleave` as files of a result have it: they call "turn" as older plans do."""
        return "slice" if self.interleave == "turn" else self.interleave

    @property
    def together(self) -> bool:
        """Whether all arms of a block are up at once."""
        return self.interleave != "run"


@dataclass(frozen=True, kw_only=True)
class ProfileRequest:
    """The profiles that a plan asks for: how its steps are sampled beside what is judged."""

    seconds: float = 10.0  # of the further window of a timed step that only reads
    hertz: int = 99  # samples a second of each busy core; no divisor of what servers do each second
    steps: tuple[str, ...] | None = None  # only these; None: all measured ones

    def wants(self, step: str) -> bool:
        """Whether a measured step of this name is profiled."""
        return self.steps is None or step in self.steps


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The samples taken of the server: while a window is open, and beside what is judged."""

    waits_s: float | None = None  # so often sessions are sampled for what they wait for; None: not
    waits_sessions: bool = False  # whether each sample keeps every session
    status_s: float | None = None  # so often a server is asked for its own state; None: not
    indexes: bool = False  # whether the state of all indexes is read at the end of each run
    profile: ProfileRequest | None = None  # None: no profiles
    # By name how their functions' names begin; beside those that are shipped for the engine.
    subsystems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


COUNTED_S = 0.02
"""Of the native rate: a second or two under the counter."""
COUNTED_WRITES_S = 0.2
"""The same where steps write, whose native rate is also that of the disk."""


COUNTED_FILLS_MAX = 4
"""The fills of an arm that shares none: by two of them its steps' scatter between fills shows."""


@dataclass(frozen=True, kw_only=True)
class CountRequest:
    """The counts of work that a plan asks for, before its first block."""

    # Counted operations, and those before these, uncounted; a mapping: by step. A step without a
    # number has as many as `lengths` says.
    operations: int | Mapping[str, int] | None = None
    warmup: int | Mapping[str, int] | None = None
    steps: tuple[str, ...] | None = None  # only these; None: all measured ones
    # Of the workloads while they are counted; others are as where time is measured.
    parameters: Mapping[str, object] = field(default_factory=dict)
    repeats: int = 2  # how often each arm is counted, each time by a fresh server
    only: bool = False  # whether nothing else is measured
    fills: int | None = None  # of each arm's data; None: one that all share, else one by repeat

    def fills_of(self, *, shared: bool) -> int:
        """How often data are filled that arms share or not, for the repeats to begin from."""
        if self.fills is not None:
            return self.fills
        return 1 if shared else min(self.repeats, COUNTED_FILLS_MAX)

    def wants(self, step: str) -> bool:
        """Whether the work of a measured step of this name is counted."""
        return self.steps is None or step in self.steps

    def needs_rate(self, step: str) -> bool:
        """Whether the operations of a step follow from its rate."""
        return self.wants(step) and length_of(self.operations, step) is None

    def lengths(
        self, step: str, per_s: float | None, counted_s: float = COUNTED_S
    ) -> tuple[int, int]:
        """The operations of a step before the window, and in it.

        `per_s`: how many the base does natively in a second; None: not known. Of what is not
        given, `counted_s` of that rate, in a round number so that a rate's noise seldom changes it.
        """
        operations = length_of(self.operations, step)
        if operations is None:
            most = OPERATIONS[-1] if per_s is None else counted_s * per_s
            operations = max((some for some in OPERATIONS if some <= most), default=OPERATIONS[0])
        warmup = length_of(self.warmup, step)
        if warmup is None:
            heavy = per_s is not None and per_s < HEAVY_PER_S
            warmup = max(WARMUP_LEAST, int(WARMUP_SHARE * operations)) if heavy else WARMUP
        return warmup, operations


REPEATS_MAX = 40
"""How often an arm can be counted, and the base is for a calibration."""
OPERATIONS = (10, 20, 50, 100, 200, 500)
WARMUP = 200
"""An operation costs more in its first executions: where the warm-up followed the rate, two hours
that loaded the host otherwise told changes a percent apart (docs/measured.md)."""
HEAVY_PER_S = 400.0
"""Below this native rate so long a warm-up would take minutes, and weighs little."""
WARMUP_LEAST, WARMUP_SHARE = 10, 0.4
"""PostgreSQL plans a statement anew in its first five executions, and reads catalogs."""


def length_of(lengths: int | Mapping[str, int] | None, step: str) -> int | None:
    """The operations of a step where one number, or one for each of some steps, is given."""
    return lengths.get(step) if isinstance(lengths, Mapping) else lengths


HookMoment = Literal["before-run", "after-run", "before-step", "after-step", "during-step"]
"""When a hook runs; only the last one while a window is open."""


@dataclass(frozen=True, kw_only=True)
class Hook:
    """A command, SQL or a standby that joins, between what is measured or at a time in a window."""

    when: HookMoment
    command: tuple[str, ...] | None = None  # a program and its arguments
    sql: tuple[str, ...] = ()  # statements, sent to the arm's server
    joins: bool = False  # whether the arm's standbys are made, which it has none of before
    at_s: float | None = None  # "during-step": so long after the window's opening
    arms: tuple[str, ...] | None = None  # only these; None: all
    steps: tuple[str, ...] | None = None  # only these; None: all


@dataclass(frozen=True, kw_only=True)
class Placement:
    """On which processors and memory servers and the generator run; None: as the system likes.

    `counter`: the words of a program that counts a server's work, before the server's own.
    """

    server_cpus: str | None = None  # "0-3,8" as taskset has it
    generator_cpus: str | None = None
    interleave_memory: bool = False  # of servers, over all NUMA nodes
    counter: tuple[str, ...] = ()


LENGTH = "seconds"
"""The parameter of a workload by which its steps are long."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A plan that has been parsed and checked; what exists is valid."""

    name: str
    path: Path | None
    text: str  # the TOML as it was written
    seed: int
    base: str  # the base arm's name
    arms: tuple[Arm, ...]
    workloads: tuple[WorkloadUse, ...]
    schedule: Schedule
    data_dir: Path | None = None
    wal_dir: Path | None = None
    server_user: str | None = None
    label: str | None = None  # shown with the title, such as "a first look"
    threads: int | None = None  # of the generator, for all arms; None: max(1, cores / 8)
    hosts: Mapping[str, Host] = field(default_factory=dict)  # that it names, in their order
    generator_hosts: tuple[str, ...] = ()  # that share a step's load; (): where the server runs
    tls: bool = True  # whether load from another host is encrypted
    observe: Observation = Observation()
    placement: Placement = Placement()
    hooks: tuple[Hook, ...] = ()
    aims: Aims = field(default_factory=Aims)
    chosen_s: float | None = None  # the LENGTH that dyno chose; it stands in `workloads`
    require: Mapping[str, bool | int | str] = field(default_factory=dict)  # of the host
    attribution: Design | None = None  # the arms that mix the factors of two
    count: CountRequest | None = None  # None: no work is counted

    @property
    def counts_only(self) -> bool:
        """Whether it measures no time."""
        return self.count is not None and self.count.only


@dataclass(frozen=True, kw_only=True)
class Block:
    """Every arm once, in this order, on one host."""

    number: int  # from 1
    order: tuple[str, ...]  # arm names
    seed: int  # the same for all arms of the block
    steps: Mapping[str, tuple[str, ...]] | None = None  # by workload, only these; None: all
