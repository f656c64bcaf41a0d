"""Reads plans: TOML in, a checked Plan out (docs/plan.md has every key).

A Plan that exists is valid: names, references and values are right, and each workload expands for
each arm. What needs the machine (is there room, can the server be brought) is checked later.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from dbdyno import schedule, workload
from dbdyno.error import PlanError, WorkloadError
from dbdyno.model import Arm, Plan, Schedule, Step, WorkloadUse
from dbdyno.workload.document import Form, read, suggestion
from dbdyno.workload.file import NAME
from dbdyno.workload.form import Load

BLOCKS_MAX = 1000
THREADS_MAX = 64
SEED_MAX = 2**53 - 1
"""The largest whole number that every reader of JSON keeps exactly."""

ENGINES = ("postgres", "fake")
LATER_ENGINES = ("mysql", "mariadb")
INTERLEAVES = ("run", "step", "slice")
SLICE_S_MIN, SLICE_S_MAX = 0.5, 60.0
"""A turn's seconds: below, what a pause costs is no more small; above, steps do as well."""
HOST_CHECKED = workload.host(cores=8, memory_bytes=32 << 30)
"""The host that presets are tried with when a plan is read: what is right for it is for others."""
VERSION = re.compile(r"\d+(\.\d+){0,2}")
MEMORY = re.compile(r"\d+(\.\d+)?\s?(kB|MB|GB|TB)")
SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
CHECKPOINTS = ("before-step",)
WARMS = ("none", "prewarm", "scan")
SAVE = "post-"
"""How `save` begins: the rest is a step's name."""
BESIDE_DATA = "golden"
"""The name that data folders themselves use where arms have theirs."""
BESIDE_ARMS = ("log",)
"""Names that the result folder itself uses where arms and workloads have theirs."""


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


class ArmForm(Form):
    """An arm as it is written."""

    engine: str = "postgres"
    version: str | None = None
    base_dir: str | None = None
    config: str | None = None
    memory: str | None = None
    settings: dict[str, str | bool | int | float] = Field(default_factory=dict)
    fake: FakeForm | None = None


class WorkloadForm(Form):
    """A workload's use as it is written."""

    name: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    steps: list[str] | None = None
    groups: list[str] | None = None
    fill: Load | None = None
    set: str | None = None
    preset: str | None = None
    save: str | None = None
    warm: str = "none"


class ScheduleForm(Form):
    """The schedule as it is written."""

    blocks: int = 1
    interleave: str = "run"
    slice_s: float | int | None = None
    checkpoint: str | None = None


class ServerForm(Form):
    """Where servers keep their data and whose they are, as it is written."""

    data_dir: str | None = None
    wal_dir: str | None = None
    user: str | None = None


class GeneratorForm(Form):
    """How the load generator runs, as it is written."""

    threads: int | None = None


class PlanForm(Form):
    """The whole plan as it is written."""

    name: str | None = None
    label: str | None = None
    seed: int = 1
    base: str | None = None
    arms: dict[str, ArmForm] = Field(min_length=1)
    workloads: list[WorkloadForm] = Field(min_length=1)
    schedule: ScheduleForm = Field(default_factory=ScheduleForm)
    server: ServerForm = Field(default_factory=ServerForm)
    generator: GeneratorForm = Field(default_factory=GeneratorForm)


def load(path: Path) -> Plan:
    """Reads and checks a plan file. Raises PlanError with one line."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as reason:
        raise PlanError(f"{path}: cannot be read: {reason.strerror}") from None
    except UnicodeDecodeError:
        raise PlanError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    return parse(text, path)


def demo() -> Plan:
    """The plan of `dyno demo`."""
    resource = importlib.resources.files("dbdyno") / "demo.toml"
    return parse(resource.read_text(encoding="utf-8"), None)


def parse(text: str, path: Path | None) -> Plan:
    """The plan that `text` describes; `path` is where it lies, for its name and what it refers to.

    Raises PlanError with one line that names file, key and remedy.
    """
    source = "the plan" if path is None else str(path)
    form = read(PlanForm, text, source, PlanError)
    name = _name(form, path, source)
    arms = tuple(_arm(key, arm, path, source) for key, arm in form.arms.items())
    base = form.base if form.base is not None else arms[0].name
    if base not in form.arms:
        raise _error(source, "base", f"no arm `{base}`; {suggestion(base, form.arms)}")
    if not 0 <= form.seed <= SEED_MAX:
        raise _error(source, "seed", f"must be from 0 to {SEED_MAX}, not {form.seed}")
    plan = Plan(
        name=name,
        path=path,
        text=text,
        seed=form.seed,
        base=base,
        arms=arms,
        workloads=tuple(
            WorkloadUse(
                name=use.name,
                parameters=use.parameters,
                steps=None if use.steps is None else tuple(use.steps),
                groups=None if use.groups is None else tuple(use.groups),
                fill=use.fill,
                set=use.set,
                preset=use.preset,
                save=use.save,
                warm=None if use.warm == "none" else use.warm,
            )
            for use in form.workloads
        ),
        schedule=_schedule(form.schedule, source),
        data_dir=_path(form.server.data_dir, path, "server.data_dir", source),
        wal_dir=_path(form.server.wal_dir, path, "server.wal_dir", source),
        server_user=form.server.user,
        label=form.label,
        threads=_threads(form.generator, source),
    )
    _check_together(plan, source)
    _check_workloads(plan, source)
    return plan


def major_version(arm: Arm) -> int | None:
    """The major version that an arm names: 9 for 9.6, 17 for 17.6; None where it names a folder."""
    return int(arm.version.split(".")[0]) if arm.version else None


def _name(form: PlanForm, path: Path | None, source: str) -> str:
    name = form.name if form.name is not None else path.stem if path else "plan"
    if not NAME.fullmatch(name):
        raise _error(source, "name", f"{name!r} cannot name a folder; {_naming()}")
    return name


def _arm(name: str, form: ArmForm, path: Path | None, source: str) -> Arm:
    key = f"arms.{name}"
    if not NAME.fullmatch(name) or name.endswith(".json"):
        raise _error(source, key, f"{name!r} cannot name a folder; {_naming()}")
    if name == BESIDE_DATA:
        raise _error(source, key, f"`{name}` is taken in data folders; rename the arm")
    if form.engine in LATER_ENGINES:
        raise _error(source, f"{key}.engine", f"`{form.engine}` is not supported yet; use postgres")
    if form.engine not in ENGINES:
        remedy = suggestion(form.engine, ENGINES)
        raise _error(source, f"{key}.engine", f"no engine `{form.engine}`; {remedy}")
    _check_build(form, key, source)
    for setting in form.settings:
        if not SETTING.fullmatch(setting):
            raise _error(source, f"{key}.settings", f"{setting!r} cannot be a setting's name")
    return Arm(
        name=name,
        engine=form.engine,
        version=form.version,
        base_dir=_path(form.base_dir, path, f"{key}.base_dir", source),
        config=form.config,
        memory=form.memory,
        settings={setting: _setting(value) for setting, value in form.settings.items()},
        fake=_fake(form.fake) if form.fake else {},
    )


def _fake(form: FakeForm) -> dict[str, Any]:
    """What was written, and the one key that the generator needs."""
    return {"default_us": form.default_us, **form.model_dump(exclude_unset=True)}


def _check_build(form: ArmForm, key: str, source: str) -> None:
    """A server comes from a version or a folder; the fake one from its description alone."""
    if form.engine == "fake":
        if form.fake is None:
            raise _error(
                source, f"{key}.fake", 'missing; engine "fake" needs it, as { default_us = 100 }'
            )
        for other in ("version", "base_dir", "config", "memory", "settings"):
            if getattr(form, other):
                raise _error(source, f"{key}.{other}", 'engine "fake" has no server; remove it')
        return
    if form.fake is not None:
        raise _error(source, f"{key}.fake", 'only engine "fake" has it; remove it')
    if (form.version is None) == (form.base_dir is None):
        there = "neither is there" if form.version is None else "both are there"
        raise _error(source, key, f"needs either `version` or `base_dir`, but {there}")
    if form.version is not None and not VERSION.fullmatch(form.version):
        sentence = f'{form.version!r} is no version; write it as "17" (the newest) or "17.6"'
        raise _error(source, f"{key}.version", sentence)
    if form.memory is not None and not MEMORY.fullmatch(form.memory):
        sentence = f'{form.memory!r} is no size; write it as "4GB" or "512MB"'
        raise _error(source, f"{key}.memory", sentence)
    if form.memory is not None and form.config is None:
        raise _error(source, f"{key}.memory", "sizes a preset, but there is none; add `config`")


def _setting(value: str | bool | int | float) -> str:
    """A setting's value as the server's configuration file has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _schedule(form: ScheduleForm, source: str) -> Schedule:
    if not 1 <= form.blocks <= BLOCKS_MAX:
        raise _error(
            source, "schedule.blocks", f"must be from 1 to {BLOCKS_MAX}, not {form.blocks}"
        )
    if form.interleave not in INTERLEAVES:
        remedy = suggestion(form.interleave, INTERLEAVES)
        raise _error(source, "schedule.interleave", f"no interleave `{form.interleave}`; {remedy}")
    if form.checkpoint not in (None, *CHECKPOINTS):
        remedy = suggestion(str(form.checkpoint), CHECKPOINTS)
        sentence = f"no checkpoint `{form.checkpoint}`; {remedy}"
        raise _error(source, "schedule.checkpoint", sentence)
    return Schedule(
        blocks=form.blocks,
        interleave=form.interleave,
        slice_s=_slice_s(form, source),
        checkpoint=form.checkpoint,
    )


def _slice_s(form: ScheduleForm, source: str) -> float:
    if form.slice_s is None:
        return Schedule.slice_s
    if form.interleave != "slice":
        sentence = 'only interleave = "slice" has turns; write that, or remove it'
        raise _error(source, "schedule.slice_s", sentence)
    if not SLICE_S_MIN <= form.slice_s <= SLICE_S_MAX:
        sentence = f"must be from {SLICE_S_MIN:g} to {SLICE_S_MAX:g}, not {form.slice_s:g}"
        raise _error(source, "schedule.slice_s", sentence)
    return float(form.slice_s)


def _threads(form: GeneratorForm, source: str) -> int | None:
    if form.threads is not None and not 1 <= form.threads <= THREADS_MAX:
        sentence = f"must be from 1 to {THREADS_MAX}, not {form.threads}"
        raise _error(source, "generator.threads", sentence)
    return form.threads


def _path(written: str | None, plan: Path | None, key: str, source: str) -> Path | None:
    """A path of the plan: relative ones begin at the plan's folder."""
    if written is None:
        return None
    if not written or written.startswith("~"):
        raise _error(
            source, key, f"{written!r} must be an absolute path, or one from the plan's folder"
        )
    return (plan.parent if plan else Path()) / written


def _check_together(plan: Plan, source: str) -> None:
    """Servers that are up at once share the memory out; turns need a clock that all have."""
    how = f'interleave = "{plan.schedule.interleave}"'
    for arm in plan.arms if plan.schedule.together else ():
        if arm.engine == "fake" and plan.schedule.interleave == "slice":
            sentence = f'"fake" has a clock of its own and takes no turns; use "step", not {how}'
            raise _error(source, f"arms.{arm.name}.engine", sentence)
        if arm.config is not None and arm.memory is None and len(plan.arms) > 1:
            sentence = f"missing; with {how} all servers are up at once: write the share of each"
            raise _error(source, f"arms.{arm.name}.memory", sentence)


def _check_turns(
    plan: Plan, use: WorkloadUse, loaded: workload.Workload, steps: Sequence[Step]
) -> None:
    """Only steps that read can be taken in turns, and those after the last one that writes.

    What a published load writes is needed, and comes before. Raises WorkloadError.
    """
    how = f'interleave = "{plan.schedule.interleave}"'
    loads = {step.name for step in loaded.file.steps if step.fill is not None}
    for step in steps:
        if step.writes and step.headline is not None and step.name not in loads:
            raise WorkloadError(
                f"step `{step.name}` writes, and with {how} arms take turns in steps that only "
                'read; leave it out by `steps` or `groups`, or use interleave = "run"'
            )
    prelude, rest = schedule.parted(steps)
    if not rest:
        raise WorkloadError(
            f"no step that only reads follows `{prelude[-1].name}`, so {how} has nothing to take "
            'in turns; add one, or use interleave = "run"'
        )
    saved = (use.save or "").removeprefix(SAVE)
    if saved in [step.name for step in rest]:
        remedy = f'save "{SAVE}{prelude[-1].name}"' if prelude else "remove `save`"
        raise WorkloadError(
            f"`save` is after `{saved}`, but with {how} the server of each arm runs on through "
            f'all steps that only read; {remedy}, or use interleave = "run"'
        )


def _check_workloads(plan: Plan, source: str) -> None:
    """Each workload expands for each arm, and each has a folder of its own."""
    folders: dict[str, str] = {}
    for number, use in enumerate(plan.workloads, start=1):
        key = f"workloads[{number}]"
        try:
            loaded = workload.load(
                use.name, plan.path, fill=use.fill, set=use.set, preset=use.preset
            )
            for engine, version in dict.fromkeys((a.engine, major_version(a)) for a in plan.arms):
                steps = _expand(loaded, use, engine, version)
                _check_save(use, tuple(steps), engine, f"{source}: key `{key}")
                if plan.schedule.together:
                    _check_turns(plan, use, loaded, tuple(steps.values()))
        except WorkloadError as reason:
            raise _error(source, key, str(reason)) from None
        if loaded.name in BESIDE_ARMS or loaded.name.endswith(".json"):
            raise _error(
                source, key, f"`{loaded.name}` is taken in result folders; rename the file"
            )
        if loaded.name in folders:
            sentence = f"`{loaded.name}` is there twice; a plan uses each workload once"
            raise _error(source, key, sentence)
        folders[loaded.name] = use.name


def _check_save(use: WorkloadUse, names: Sequence[str], engine: str, where: str) -> None:
    """What `save` and `warm` say goes with the steps; `where` begins the line for what does not."""
    if use.warm not in (None, *WARMS):
        raise PlanError(f"{where}.warm`: no warm-up `{use.warm}`; {suggestion(use.warm, WARMS)}")
    if use.save is None:
        if use.warm is not None:
            raise PlanError(
                f"{where}.warm`: a server that begins empty has nothing to warm; add `save`, or "
                "remove it"
            )
        return
    saved = use.save.removeprefix(SAVE)
    if saved not in names or not use.save.startswith(SAVE):
        remedy = suggestion(use.save, [SAVE + name for name in names[:-1]])
        raise PlanError(f"{where}.save`: no step to save after in `{use.save}`; {remedy}")
    if saved == names[-1]:
        raise PlanError(f"{where}.save`: no step follows `{saved}`; add one, or remove `save`")
    if engine == "fake":
        raise PlanError(f'{where}.save`: engine "fake" has no data to keep; remove it')


def _expand(
    loaded: workload.Workload, use: WorkloadUse, engine: str, version: int | None
) -> Mapping[str, Step]:
    parameters = {**HOST_CHECKED, **use.parameters}
    if use.steps is not None and use.groups is not None:
        raise WorkloadError("a plan names `steps` or `groups`; remove one of them")
    steps = workload.expand(
        loaded, parameters, engine, version=version, steps=use.steps, groups=use.groups
    )
    if not steps:
        raise WorkloadError(f"{loaded.source}: no step is left; name at least one under `steps`")
    return {step.name: step for step in steps}


def _naming() -> str:
    return "use letters, digits, dots, underscores, plus and minus signs, at most 64"


def _error(source: str, key: str, sentence: str) -> PlanError:
    return PlanError(f"{source}: key `{key}`: {sentence}")
