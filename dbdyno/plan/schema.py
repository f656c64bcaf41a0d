"""A plan as it is written: its tables and keys, with their types and defaults (docs/plan.md)."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dbdyno.model import (
    CountRequest,
    HookMoment,
    Observation,
    ProfileRequest,
    Schedule,
    Transport,
    Void,
)
from dbdyno.model.attribution import DesignKind
from dbdyno.model.document import Form
from dbdyno.model.error import PlanError
from dbdyno.model.placement import SessionPlacement
from dbdyno.model.plan import REPEATS_MAX, Interleave, Statistics
from dbdyno.model.verdict import Aims
from dbdyno.stats import looks
from dbdyno.workload.schema import Load

Scalar = str | bool | int | float
"""A setting's value as it is written."""
VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,2}")
TURN_S_MIN, TURN_S_MAX = 0.2, 60
"""A turn's seconds: below, switching takes as long as it lasts; above, steps do as well."""
THREADS_MAX = 1_024
"""As dyno-loadgen has it, which starts none without a connection."""

Size = Annotated[
    str,
    Field(
        pattern=r"^[0-9]+(\.[0-9]+)?\s?(kB|MB|GB|TB)$",
        description='a size; write it as "4GB" or "512MB"',
    ),
]
Cpus = Annotated[
    str,
    Field(
        pattern=r"^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$",
        description='a list of processors; write it as "0-3" or "0,2,8-11"',
    ),
]
Change = Annotated[
    float, Field(ge=0.001, le=0.5, description="a share from 0.001 to 0.5; 0.03 is three percent")
]
VoidShare = Annotated[
    float,
    Field(ge=0, le=1, description="a share of all cores' time from 0 to 1; 0.05 is five percent"),
]


class FakeStallForm(Form):
    """A time in which the in-process server stands still."""

    at_s: float | int
    for_s: float | int


class FakeErrorForm(Form):
    """An error that the in-process server replies now and then."""

    statement: str
    every: int = Field(ge=1)
    code: str


class FakeForm(Form):
    """The in-process server of engine "fake" (contract/README.md), and what it costs."""

    service_us: dict[str, float | int] = Field(default_factory=dict)
    default_us: float | int = Field(default=100, ge=0)
    jitter: float | int = Field(default=0, ge=0, lt=1)
    rows: dict[str, int] = Field(default_factory=dict)
    stalls: list[FakeStallForm] = Field(default_factory=list)
    errors: list[FakeErrorForm] = Field(default_factory=list)
    lost_at_s: float | int | None = None
    cursor: dict[str, int] = Field(default_factory=dict)
    server_cpu_us: dict[str, float | int] = Field(default_factory=dict)
    foreign_share: float | int = Field(default=0, ge=0, le=1)


class PasswordForm(Form):
    """The place of a password, as it is written."""

    env: str | None = None
    passfile: str | None = None
    insecure: bool = False


class InitdbForm(Form):
    """How `initdb` makes a cluster, as it is written."""

    locale: str | None = Field(
        default=None,
        pattern="^[A-Za-z0-9][A-Za-z0-9_.@-]*$",
        description='a locale; write it as "en_US.UTF-8" or "C"',
    )
    data_checksums: bool | None = None
    wal_segment_mb: Literal[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] | None = Field(
        default=None, description="a power of two from 1 to 1024"
    )


class HostForm(Form):
    """A machine for servers or generators, as it is written."""

    ssh: str | None = Field(
        default=None,
        pattern="^[^- ][^ ]*$",
        description='a host for ssh; write it as "bench@db1", or as in ~/.ssh/config',
    )
    address: str | None = None


class ArmForm(Form):
    """An arm as it is written."""

    engine: str = "postgres"
    host: str | None = None
    version: str | None = Field(
        default=None,
        pattern=f"^{VERSION.pattern}$",
        description='a version; write it as "17" (the newest) or "17.6"',
    )
    base_dir: str | None = None
    build: str | None = None
    dsn: str | None = None
    password: PasswordForm | None = None
    allow_drop: bool = False
    allow_writes: bool = False
    standby: int = Field(default=0, ge=0, le=8)
    endpoints: dict[str, str] = Field(default_factory=dict)
    config: str | None = None
    memory: Size | None = None
    settings: dict[str, Scalar] = Field(default_factory=dict)
    matrix: dict[str, list[Scalar | list[Scalar]]] | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    initdb: InitdbForm | None = None
    transport: Transport | None = None
    memory_max: Size | None = None
    fake: FakeForm | None = None


class WorkloadForm(Form):
    """A workload's use as it is written: by name, or as scripts of pgbench's."""

    name: str | None = None
    pgbench: list[str] | dict[str, list[str]] | None = None
    variables: dict[str, Scalar] | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    steps: list[str] | None = None
    groups: list[str] | None = None
    fill: Load | Literal["keep"] | None = None
    set: str | None = None
    preset: str | None = None
    save: str | None = None
    warm: Literal["none", "prewarm", "scan"] = "none"
    restart: bool = False
    find: str | None = None
    restore: str | None = None
    statistics: Statistics = "same"


class VoidForm(Form):
    """The limits that make a block void, as they are written."""

    foreign: VoidShare = Void.foreign
    stolen: VoidShare | None = None
    swap: bool = False


class ScheduleForm(Form):
    """The schedule as it is written."""

    blocks: Annotated[int, Field(ge=1, le=looks.BLOCKS_MAX)] | Literal["until decided"] = 1
    minutes_max: float | None = Field(default=None, ge=0.5, le=30 * 24 * 60)
    aa_arm: bool = False
    fills: int = Field(default=Schedule.fills, ge=1, le=64)
    interleave: Interleave = "run"
    placement: SessionPlacement = "free"
    turn_s: float | None = Field(default=None, ge=TURN_S_MIN, le=TURN_S_MAX)
    writes_in_turn: bool = False
    checkpoint: Literal["before-step"] | None = None
    void: VoidForm = Field(default_factory=VoidForm)
    repeats_max: int = Field(default=Schedule.repeats_max, ge=0, le=100)
    trial: bool = False
    rest_s: float = Field(default=Schedule.rest_s, ge=0, le=7_200)  # twice what studies rested


class ServerForm(Form):
    """The place and owner of servers' data, as they are written."""

    host: str | None = None
    data_dir: str | None = None
    wal_dir: str | None = None
    user: str | None = None
    cpus: Cpus | None = None
    interleave_memory: bool = False


class GeneratorForm(Form):
    """How the load generator runs, as it is written."""

    threads: Annotated[int, Field(ge=1, le=THREADS_MAX)] | Literal["clients"] | None = None
    cpus: Cpus | None = None
    hosts: list[str] = Field(default_factory=list)
    tls: bool = True


class HookForm(Form):
    """A command or SQL between what is measured, as it is written."""

    when: HookMoment
    command: list[str] | None = Field(
        default=None, min_length=1, description="a program and its arguments"
    )
    sql: str | list[str] | None = None
    standby: Literal["join"] | None = None
    at_s: float | None = Field(default=None, ge=0)
    arms: list[str] | None = None
    steps: list[str] | None = None


class ProfileForm(Form):
    """The profiles of steps, as they are written."""

    # Below a second, too few samples say where time goes; more than 4,999 each are a load.
    seconds: float = Field(default=ProfileRequest.seconds, ge=1, le=600)
    hertz: int = Field(default=ProfileRequest.hertz, ge=1, le=4_999)
    steps: list[str] | None = Field(
        default=None, min_length=1, description="a step, or remove the key"
    )


class ObserveForm(Form):
    """The samples taken of servers, as they are written."""

    waits: str | None = Field(
        default=None,
        pattern=r"^[0-9]+(\.[0-9]+)? ?(ms|s)$",
        description='a duration; write it as "50ms" or "1s"',
    )
    waits_sessions: bool = Observation.waits_sessions
    status: str | None = Field(
        default=None,
        pattern=r"^[0-9]+(\.[0-9]+)? ?(ms|s)$",
        description='a duration; write it as "5s" or "30s"',
    )
    indexes: bool = Observation.indexes
    profile: ProfileForm | None = None
    subsystems: dict[str, list[str]] = Field(default_factory=dict)


OPERATIONS_MAX = 1_000_000
"""Of a counted step: under the counter they take hours."""
Operations = Annotated[int, Field(ge=1, le=OPERATIONS_MAX)]
WarmUp = Annotated[int, Field(ge=0, le=OPERATIONS_MAX)]


class CountForm(Form):
    """The counts of work, as they are written."""

    operations: Operations | dict[str, Operations] | None = None
    warmup: WarmUp | dict[str, WarmUp] | None = None
    steps: list[str] | None = Field(
        default=None, min_length=1, description="a step, or remove the key"
    )
    parameters: dict[str, Any] = Field(default_factory=dict)
    repeats: int = Field(default=CountRequest.repeats, ge=1, le=REPEATS_MAX)
    only: bool = CountRequest.only


class VerdictForm(Form):
    """The changes that verdicts are to tell apart, as they are written."""

    margin: Change = Aims.margin
    effect: Change = Aims.effect
    power: float = Field(default=Aims.power, ge=0.5, le=0.99)
    tolerate: Change | None = Aims.tolerate


class RequireForm(Form):
    """The properties that the host must have, as written; a key left out requires nothing."""

    huge_pages: Literal[True] | None = None
    wal_device: Literal[True] | None = None
    swappiness: int | None = None
    max_map_count: int | None = None
    somaxconn: int | None = None
    transparent_huge_pages: Literal["always", "madvise", "never"] | None = None
    transparent_huge_pages_defrag: (
        Literal["always", "defer", "defer+madvise", "madvise", "never"] | None
    ) = None
    scheduler: str | None = None
    read_ahead_kb: int | None = None
    file_system: str | None = None
    governor: str | None = None
    clock_source: str | None = None


class FactorForm(Form):
    """A factor of two arms, with its values in words, as they are written."""

    name: str
    base: str
    arm: str


class AttributeForm(Form):
    """The factors of two arms and the arms that mix them, as they are written."""

    base: str
    arm: str
    design: DesignKind
    factors: list[FactorForm]
    values: dict[str, list[int]]


class PlanForm(Form):
    """The whole plan as it is written."""

    name: str | None = None
    label: str | None = None
    # The largest whole number that every reader of JSON keeps exactly.
    seed: int = Field(default=1, ge=0, le=2**53 - 1)
    base: str | None = None
    hosts: dict[str, HostForm] = Field(default_factory=dict)
    arms: dict[str, ArmForm] = Field(min_length=1)
    workload: WorkloadForm | None = None
    workloads: list[WorkloadForm] = Field(default_factory=list)
    schedule: ScheduleForm = Field(default_factory=ScheduleForm)
    server: ServerForm = Field(default_factory=ServerForm)
    generator: GeneratorForm = Field(default_factory=GeneratorForm)
    observe: ObserveForm = Field(default_factory=ObserveForm)
    hooks: list[HookForm] = Field(default_factory=list)
    verdict: VerdictForm = Field(default_factory=VerdictForm)
    require: RequireForm = Field(default_factory=RequireForm)
    attribute: AttributeForm | None = None
    count: CountForm | None = None


NAMING = "use letters, digits, dots, underscores, plus and minus signs, at most 64"
"""The form of a name that becomes a folder's."""


def path_of(written: str | None, plan: Path | None, key: str, source: str) -> Path | None:
    """A path of the plan, from the root on: relative ones begin at the plan's folder."""
    if written is None:
        return None
    if not written or written.startswith("~"):
        raise refusal(
            source, key, f"{written!r} must be an absolute path, or one from the plan's folder"
        )
    return ((plan.parent if plan else Path()) / written).absolute()


def refusal(source: str, key: str, sentence: str) -> PlanError:
    """The error for a key of the plan `source`, whose line names both."""
    return PlanError(f"{source}: key `{key}`: {sentence}")
