"""A plan as it is written: its tables and keys, with their types and defaults (docs/plan.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field

from dbdyno.model import Observe, ProfileWish, Schedule, Void
from dbdyno.model.attribution import DesignKind
from dbdyno.model.document import Form
from dbdyno.model.error import PlanError
from dbdyno.model.verdict import Aims
from dbdyno.workload.schema import Load

Scalar = str | bool | int | float
"""A setting's value as it is written."""


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

    locale: str | None = None
    data_checksums: bool | None = None
    wal_segment_mb: int | None = None


class HostForm(Form):
    """A machine for servers or generators, as it is written."""

    ssh: str | None = None
    address: str | None = None


class ArmForm(Form):
    """An arm as it is written."""

    engine: str = "postgres"
    host: str | None = None
    version: str | None = None
    base_dir: str | None = None
    build: str | None = None
    dsn: str | None = None
    password: PasswordForm | None = None
    allow_drop: bool = False
    standby: int = Field(default=0, ge=0, le=8)
    endpoints: dict[str, str] = Field(default_factory=dict)
    config: str | None = None
    memory: str | None = None
    settings: dict[str, Scalar] = Field(default_factory=dict)
    matrix: dict[str, list[Scalar | list[Scalar]]] | None = None
    environment: dict[str, str] = Field(default_factory=dict)
    initdb: InitdbForm | None = None
    transport: str | None = None
    memory_max: str | None = None
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
    warm: str = "none"
    find: str | None = None


class VoidForm(Form):
    """The limits that make a block void, as they are written."""

    foreign: float | int = Void.foreign
    stolen: float | int | None = None
    swap: bool = False


def _todays_name(blocks: object) -> object:
    """The value of `blocks`, where a plan has the older name of "until decided"."""
    return "until decided" if blocks == "auto" else blocks


def _todays_interleave(way: object) -> object:
    """The value of `interleave`, where a plan has the older name of "turn"."""
    return "turn" if way == "slice" else way


class ScheduleForm(Form):
    """The schedule as it is written."""

    blocks: Annotated[int | Literal["until decided"], BeforeValidator(_todays_name)] = 1
    minutes_max: float | int | None = None
    aa_arm: bool = Field(default=False, validation_alias=AliasChoices("aa_arm", "ghost"))
    fills: int = Field(default=Schedule.fills, ge=1, le=64)
    interleave: Annotated[str, BeforeValidator(_todays_interleave)] = "run"
    duet: str | None = None
    turn_s: float | int | None = Field(
        default=None, validation_alias=AliasChoices("turn_s", "slice_s")
    )
    writes_in_turn: bool = False
    checkpoint: str | None = None
    void: VoidForm = Field(default_factory=VoidForm)
    repeats_max: int = Schedule.repeats_max
    rest_s: float | int = Schedule.rest_s


class ServerForm(Form):
    """The place and owner of servers' data, as they are written."""

    host: str | None = None
    data_dir: str | None = None
    wal_dir: str | None = None
    user: str | None = None
    cpus: str | None = None
    interleave_memory: bool = False


class GeneratorForm(Form):
    """How the load generator runs, as it is written."""

    threads: int | Literal["clients"] | None = None
    cpus: str | None = None
    spin: bool = False
    hosts: list[str] = Field(default_factory=list)
    tls: bool = True


class HookForm(Form):
    """A command or SQL between what is measured, as it is written."""

    when: str
    command: list[str] | None = None
    sql: str | list[str] | None = None
    standby: Literal["join"] | None = None
    at_s: float | int | None = Field(default=None, ge=0)
    arms: list[str] | None = None
    steps: list[str] | None = None


class ProfileForm(Form):
    """The profiles of steps, as they are written."""

    seconds: float | int = ProfileWish.seconds
    hertz: int = ProfileWish.hertz
    steps: list[str] | None = None


class ObserveForm(Form):
    """The samples taken of servers, as they are written."""

    waits: str | None = None
    waits_sessions: bool = Observe.waits_sessions
    profile: ProfileForm | None = None
    subsystems: dict[str, list[str]] = Field(default_factory=dict)


class VerdictForm(Form):
    """The changes that verdicts are to tell apart, as they are written."""

    margin: float | int = Aims.margin
    effect: float | int = Aims.effect
    power: float | int = Aims.power
    judge: str = Aims.judge


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
    values: dict[str, list[int]] = Field(validation_alias=AliasChoices("values", "levels"))


class PlanForm(Form):
    """The whole plan as it is written."""

    name: str | None = None
    label: str | None = None
    seed: int = 1
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


NAMING = "use letters, digits, dots, underscores, plus and minus signs, at most 64"
"""The form of a name that becomes a folder's."""


def path_of(written: str | None, plan: Path | None, key: str, source: str) -> Path | None:
    """A path of the plan: relative ones begin at the plan's folder."""
    if written is None:
        return None
    if not written or written.startswith("~"):
        raise refusal(
            source, key, f"{written!r} must be an absolute path, or one from the plan's folder"
        )
    return (plan.parent if plan else Path()) / written


def refusal(source: str, key: str, sentence: str) -> PlanError:
    """The error for a key of the plan `source`, whose line names both."""
    return PlanError(f"{source}: key `{key}`: {sentence}")
