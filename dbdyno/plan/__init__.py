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

from dbdyno import schedule, workload
from dbdyno.error import PlanError, WorkloadError
from dbdyno.model import Arm, Plan, Step, WorkloadUse
from dbdyno.plan import double, table
from dbdyno.plan.form import ArmForm, FakeForm, PlanForm, WorkloadForm, refusal
from dbdyno.workload.document import read, suggestion
from dbdyno.workload.file import NAME

SEED_MAX = 2**53 - 1
"""The largest whole number that every reader of JSON keeps exactly."""

ENGINES = ("postgres", "fake")
LATER_ENGINES = ("mysql", "mariadb")
HOST_CHECKED = workload.host(cores=8, memory_bytes=32 << 30)
"""The host that presets are tried with when a plan is read: what is right for it is for others."""
VERSION = re.compile(r"\d+(\.\d+){0,2}")
MEMORY = re.compile(r"\d+(\.\d+)?\s?(kB|MB|GB|TB)")
SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
WARMS = ("none", "prewarm", "scan")
SAVE = "post-"
"""How `save` begins: the rest is a step's name."""
BESIDE_DATA = "golden"
"""The name that data folders themselves use where arms have theirs."""
BESIDE_ARMS = ("log",)
"""Names that the result folder itself uses where arms and workloads have theirs."""


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
    arms = _arms(form, path, source)
    base = form.base if form.base is not None else arms[0].name
    if base not in form.arms:
        raise refusal(source, "base", f"no arm `{base}`; {suggestion(base, form.arms)}")
    if not 0 <= form.seed <= SEED_MAX:
        raise refusal(source, "seed", f"must be from 0 to {SEED_MAX}, not {form.seed}")
    plan = Plan(
        name=name,
        path=path,
        text=text,
        seed=form.seed,
        base=base,
        arms=double.with_doubles(arms, base, ghost=form.schedule.ghost),
        workloads=tuple(_use(use) for use in form.workloads),
        schedule=table.schedule(form.schedule, source),
        data_dir=_path(form.server.data_dir, path, "server.data_dir", source),
        wal_dir=_path(form.server.wal_dir, path, "server.wal_dir", source),
        server_user=form.server.user,
        label=form.label,
        threads=table.threads(form.generator, source),
        observe=table.observe(form.observe, form.schedule.interleave, source),
        aims=table.aims(form.verdict, source),
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
        raise refusal(source, "name", f"{name!r} cannot name a folder; {_naming()}")
    return name


def _arms(form: PlanForm, path: Path | None, source: str) -> tuple[Arm, ...]:
    """The arms that are written; none has the name of a double."""
    for name in form.arms:
        why = double.taken(name, ghost=form.schedule.ghost)
        if why is not None:
            raise refusal(source, f"arms.{name}", why)
    return tuple(_arm(name, arm, path, source) for name, arm in form.arms.items())


def _use(form: WorkloadForm) -> WorkloadUse:
    return WorkloadUse(
        name=form.name,
        parameters=form.parameters,
        steps=None if form.steps is None else tuple(form.steps),
        groups=None if form.groups is None else tuple(form.groups),
        fill=form.fill,
        set=form.set,
        preset=form.preset,
        save=form.save,
        warm=None if form.warm == "none" else form.warm,
    )


def _arm(name: str, form: ArmForm, path: Path | None, source: str) -> Arm:
    key = f"arms.{name}"
    if not NAME.fullmatch(name) or name.endswith(".json"):
        raise refusal(source, key, f"{name!r} cannot name a folder; {_naming()}")
    if name == BESIDE_DATA:
        raise refusal(source, key, f"`{name}` is taken in data folders; rename the arm")
    if form.engine in LATER_ENGINES:
        raise refusal(
            source, f"{key}.engine", f"`{form.engine}` is not supported yet; use postgres"
        )
    if form.engine not in ENGINES:
        remedy = suggestion(form.engine, ENGINES)
        raise refusal(source, f"{key}.engine", f"no engine `{form.engine}`; {remedy}")
    _check_build(form, key, source)
    for setting in form.settings:
        if not SETTING.fullmatch(setting):
            raise refusal(source, f"{key}.settings", f"{setting!r} cannot be a setting's name")
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
            raise refusal(
                source, f"{key}.fake", 'missing; engine "fake" needs it, as { default_us = 100 }'
            )
        for other in ("version", "base_dir", "config", "memory", "settings"):
            if getattr(form, other):
                raise refusal(source, f"{key}.{other}", 'engine "fake" has no server; remove it')
        return
    if form.fake is not None:
        raise refusal(source, f"{key}.fake", 'only engine "fake" has it; remove it')
    if (form.version is None) == (form.base_dir is None):
        there = "neither is there" if form.version is None else "both are there"
        raise refusal(source, key, f"needs either `version` or `base_dir`, but {there}")
    if form.version is not None and not VERSION.fullmatch(form.version):
        sentence = f'{form.version!r} is no version; write it as "17" (the newest) or "17.6"'
        raise refusal(source, f"{key}.version", sentence)
    if form.memory is not None and not MEMORY.fullmatch(form.memory):
        sentence = f'{form.memory!r} is no size; write it as "4GB" or "512MB"'
        raise refusal(source, f"{key}.memory", sentence)
    if form.memory is not None and form.config is None:
        raise refusal(source, f"{key}.memory", "sizes a preset, but there is none; add `config`")


def _setting(value: str | bool | int | float) -> str:
    """A setting's value as the server's configuration file has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _path(written: str | None, plan: Path | None, key: str, source: str) -> Path | None:
    """A path of the plan: relative ones begin at the plan's folder."""
    if written is None:
        return None
    if not written or written.startswith("~"):
        raise refusal(
            source, key, f"{written!r} must be an absolute path, or one from the plan's folder"
        )
    return (plan.parent if plan else Path()) / written


def _check_together(plan: Plan, source: str) -> None:
    """Servers that are up at once share the memory out; turns need a clock that all have."""
    how = f'interleave = "{plan.schedule.interleave}"'
    for arm in plan.arms if plan.schedule.together else ():
        if arm.engine == "fake" and plan.schedule.interleave == "slice":
            sentence = f'"fake" has a clock of its own and takes no turns; use "step", not {how}'
            raise refusal(source, f"arms.{arm.name}.engine", sentence)
        if arm.config is not None and arm.memory is None and len(plan.arms) > 1:
            sentence = f"missing; with {how} all servers are up at once: write the share of each"
            raise refusal(source, f"arms.{arm.name}.memory", sentence)


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
            raise refusal(source, key, str(reason)) from None
        if loaded.name in BESIDE_ARMS or loaded.name.endswith(".json"):
            raise refusal(
                source, key, f"`{loaded.name}` is taken in result folders; rename the file"
            )
        if loaded.name in folders:
            sentence = f"`{loaded.name}` is there twice; a plan uses each workload once"
            raise refusal(source, key, sentence)
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
