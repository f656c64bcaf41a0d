"""Reads plans: TOML in, a checked Plan out (docs/plan.md has every key).

A Plan that exists is valid: names, references and values are right, and each workload expands for
each arm. Checks that need the machine (is there room, can the server be brought) come later.
"""

import importlib.resources
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dbdyno import workload
from dbdyno.model import Arm, Plan, Step, WorkloadUse, can, engine, version
from dbdyno.model.attribution import Design, Factor
from dbdyno.model.document import read, suggestion, text_of
from dbdyno.model.error import PlanError, WorkloadError
from dbdyno.plan import (
    aa_arm,
    count,
    find,
    hook,
    hosts,
    matrix,
    placement,
    profile,
    schedule,
    table,
    workload_use,
)
from dbdyno.plan.arm import arms_of
from dbdyno.plan.schedule import SAVE
from dbdyno.plan.schema import NAMING, AttributeForm, PlanForm, path_of, refusal
from dbdyno.workload.file import NAME

BESIDE_ARMS = ("log",)
"""Names that the result folder itself uses where arms and workloads have theirs."""


_Uses = Sequence[tuple[str, WorkloadUse]]
"""The workloads by their keys in the plan."""


def load(path: Path, arms_max: int | None = matrix.ARMS_MAX) -> Plan:
    """Reads and checks a plan file of at most `arms_max` arms. Raises PlanError with one line."""
    return parse(text_of(path, PlanError), path, arms_max)


def demo(*, counts: bool = False) -> Plan:
    """The plan of `dyno demo`; `counts`: whether work can be counted here."""
    resource = importlib.resources.files("dbdyno.plan") / "demo.toml"
    text = resource.read_text(encoding="utf-8")
    return parse(text if counts else text.partition("\n[count]")[0], None)


def parse(text: str, path: Path | None, arms_max: int | None = matrix.ARMS_MAX) -> Plan:
    """The plan that `text` describes; `path` is where it lies, for its name and what it refers to.

    Raises PlanError with one line that names file, key and remedy.
    """
    source = "the plan" if path is None else str(path)
    form = read(PlanForm, text, source, PlanError)
    name = _name(form, path, source)
    arms = _arms(form, path, source, arms_max)
    base = form.base if form.base is not None else arms[0].name
    names = [arm.name for arm in arms]
    if base not in names:
        raise refusal(source, "base", f"no arm `{base}`; {suggestion(base, names)}")
    uses = workload_use.uses(form, path, arms, source)
    plan = Plan(
        name=name,
        path=path,
        text=text,
        seed=form.seed,
        base=base,
        arms=aa_arm.with_aa_arms(hosts.placed(arms, form), base, aa_arm=form.schedule.aa_arm),
        workloads=tuple(use for _, use in uses),
        schedule=table.schedule(form.schedule, source),
        data_dir=path_of(form.server.data_dir, path, "server.data_dir", source),
        wal_dir=path_of(form.server.wal_dir, path, "server.wal_dir", source),
        server_user=form.server.user,
        label=form.label,
        threads=table.threads(form.generator),
        hosts=hosts.hosts_of(form.hosts, source),
        generator_hosts=tuple(form.generator.hosts),
        tls=form.generator.tls,
        observe=table.observe(form.observe, form.schedule.interleave, source),
        placement=table.placement(form.server, form.generator),
        hooks=hook.hooks_of(form.hooks, [arm.name for arm in arms], source),
        aims=table.aims(form.verdict),
        require=table.require(form.require),
        attribution=design_of(form.attribute, names, source),
        count=count.wish(form.count),
    )
    hosts.check(plan, source)
    _check_together(plan, source)
    placement.check(plan, source)
    _check_elsewhere(plan, uses, source)
    _check_fills(plan, source)
    _check_tolerance(plan, source)
    _check_trial(plan, source)
    steps = _check_workloads(plan, uses, source)
    hook.check_steps(plan.hooks, steps, source)
    hook.check_together(plan.hooks, plan.schedule, source)
    hook.check_joins(plan.hooks, plan.arms, source)
    profile.check(plan, [name for name, measured in steps.items() if measured], source)
    count.check(plan, [name for name, measured in steps.items() if measured], source)
    return plan


def _name(form: PlanForm, path: Path | None, source: str) -> str:
    name = form.name if form.name is not None else path.stem if path else "plan"
    if not NAME.fullmatch(name):
        raise refusal(source, "name", f"{name!r} cannot name a folder; {NAMING}")
    return name


def _arms(form: PlanForm, path: Path | None, source: str, arms_max: int | None) -> tuple[Arm, ...]:
    """The arms that are written, or made by a matrix; none has the name of an A/A arm."""
    forms = matrix.expanded(form.arms, source, arms_max)
    for name in forms:
        why = aa_arm.taken(name, aa_arm=form.schedule.aa_arm)
        if why is not None:
            raise refusal(source, f"arms.{name}", why)
    return arms_of(forms, path, source)


def _check_together(plan: Plan, source: str) -> None:
    """Servers that are up at once share the memory out; turns need a clock that all have."""
    how = f'interleave = "{plan.schedule.interleave}"'
    for arm in plan.arms if plan.schedule.together else ():
        if not can(arm, "turns") and plan.schedule.interleave == "turn":
            sentence = (
                f'"{arm.engine}" has its own clock and cannot take turns; use "step", not {how}'
            )
            raise refusal(source, f"arms.{arm.name}.engine", sentence)
        sized = arm.config is not None and arm.config_text is None
        if sized and arm.memory is None and len(plan.arms) > 1:
            sentence = f"missing; with {how} all servers run at once: write the share of each"
            raise refusal(source, f"arms.{arm.name}.memory", sentence)


def _check_elsewhere(plan: Plan, uses: _Uses, source: str) -> None:
    """Capabilities that only servers of the lab have, and those that only a `dsn` has."""
    for key, use in uses:
        if use.restore is not None:
            _check_restore(plan, f"{key}.restore", source)
        for arm in plan.arms:
            if arm.dsn is not None and use.save is not None:
                sentence = (
                    f"the data of arm `{arm.name}`, which has a `dsn`, cannot be copied by dyno"
                )
                raise refusal(source, f"{key}.save", f"{sentence}; remove it")
            if arm.dsn is None and use.fill == workload.KEEP:
                sentence = f"the server of arm `{arm.name}` begins empty; only a `dsn` keeps tables"
                raise refusal(source, f"{key}.fill", sentence)


def _check_restore(plan: Plan, key: str, source: str) -> None:
    """Dumps go into servers that the lab makes on this host."""
    if plan.hosts:
        sentence = (
            "a dump is restored on this host alone; remove `hosts`, or name servers that have the "
            "data by `dsn`"
        )
        raise refusal(source, key, sentence)
    for arm in plan.arms:
        if arm.dsn is not None:
            sentence = f"the data of arm `{arm.name}`, which has a `dsn`, are there already"
            raise refusal(source, key, f"{sentence}; remove it")
        if not can(arm, "restored"):
            raise refusal(source, key, f'engine "{arm.engine}" takes no dump; remove it')


def _check_fills(plan: Plan, source: str) -> None:
    """Without a state that is kept every block of every arm fills anew."""
    if plan.schedule.fills > 1 and all(use.save is None for use in plan.workloads):
        sentence = 'no workload keeps a state; add `save`, such as save = "post-fill", or remove it'
        raise refusal(source, "schedule.fills", sentence)


def _check_tolerance(plan: Plan, source: str) -> None:
    """An answer needs an arm beside the base, and time."""
    if plan.aims.tolerate is None:
        return
    if plan.counts_only:
        sentence = "asks of time and CPU, which `[count] only = true` does not measure; remove one"
        raise refusal(source, "verdict.tolerate", sentence)
    if not any(arm.shown and arm.name != plan.base and not arm.same_as for arm in plan.arms):
        sentence = "asks of arms beside the base, and there is none; add one, or remove it"
        raise refusal(source, "verdict.tolerate", sentence)


def _check_turns(
    plan: Plan, use: WorkloadUse, loaded: workload.Workload, steps: Sequence[Step]
) -> None:
    """Only steps that read can be taken in turns, and those after the last one that writes.

    With `writes_in_turn` all after the one of `save` are. A published load writes the tables that
    they need, and comes before. Raises WorkloadError.
    """
    how = f'interleave = "{plan.schedule.interleave}"'
    loads = {step.name for step in loaded.file.steps if step.fill is not None}
    prelude, rest = schedule.in_turn(plan, use, steps)
    if plan.schedule.writes_in_turn:
        _check_writes(use, rest)
    for step in () if plan.schedule.writes_in_turn else steps:
        if step.writes and step.headline is not None and step.name not in loads:
            turns = ", or say writes_in_turn = true" * (plan.schedule.interleave == "turn")
            raise WorkloadError(
                f"step `{step.name}` writes, and with {how} arms take turns only in steps that "
                f'read; leave it out by `steps` or `groups`, or use interleave = "run"{turns}'
            )
    if not rest:
        raise WorkloadError(
            f"no step that only reads follows `{prelude[-1].name}`, so {how} has nothing to "
            'interleave; add one, or use interleave = "run"'
        )
    saved = (use.save or "").removeprefix(SAVE)
    if saved in [step.name for step in rest]:
        remedy = f'save "{SAVE}{prelude[-1].name}"' if prelude else "remove `save`"
        raise WorkloadError(
            f"`save` names `{saved}`, but with {how} the server of each arm keeps running through "
            f'all steps that only read; {remedy}, or use interleave = "run"'
        )


def _check_writes(use: WorkloadUse, rest: Sequence[Step]) -> None:
    """Steps that write and take turns begin from what is kept, and are measured ones."""
    if use.save is None:
        raise WorkloadError(
            "with writes_in_turn = true all steps after that of `save` are taken in turns; add "
            f'`save`, such as save = "{SAVE}fill"'
        )
    for step in rest:
        if step.writes and step.headline is None:
            raise WorkloadError(
                f"step `{step.name}` writes and is not measured, so arms cannot take turns in "
                "it; leave it out by `steps`, or save after it"
            )


def _check_workloads(plan: Plan, uses: _Uses, source: str) -> dict[str, bool]:
    """Each workload expands for each arm, and each has a folder of its own.

    Returns by a step's name whether it is measured.
    """
    folders: dict[str, str] = {}
    measured: dict[str, bool] = {}
    for key, use in uses:
        try:
            loaded = workload.used(use, plan.path)
            for name, release in dict.fromkeys((a.engine, version.release(a)) for a in plan.arms):
                steps = _expand(loaded, use, name, release)
                _check_endpoints(plan.arms, steps.values())
                for step in steps.values():
                    measured[step.name] = measured.get(step.name, False) or step.measured
                _check_save(use, tuple(steps), name, f"{source}: key `{key}")
                _check_restart(plan, use, tuple(steps.values()))
                if use.p99_below_us is not None:
                    find.check(use.p99_below_us, plan.schedule, tuple(steps.values()), use.save)
                if plan.schedule.together:
                    _check_turns(plan, use, loaded, tuple(steps.values()))
        except WorkloadError as reason:
            raise refusal(source, key, str(reason)) from None
        if loaded.name in BESIDE_ARMS or loaded.name.endswith(".json"):
            raise refusal(
                source, key, f"`{loaded.name}` is a name that result folders use; rename the file"
            )
        if loaded.name in folders:
            sentence = f"`{loaded.name}` is listed twice; a plan uses each workload once"
            raise refusal(source, key, sentence)
        folders[loaded.name] = use.name
    return measured


def _check_endpoints(arms: Iterable[Arm], steps: Iterable[Step]) -> None:
    """An arm at least has each endpoint that roles connect to; others leave such steps out."""
    there = {name for arm in arms for name in arm.endpoint_names}
    for step in steps:
        for role in step.job.roles:
            if role.endpoint not in (None, *there):
                raise WorkloadError(
                    f"step `{step.name}`: role `{role.name}` connects to "
                    f"`{role.endpoint}`, which no arm has; add `standby = 1` to an arm, or "
                    "`endpoints` beside its `dsn`"
                )


def _check_save(use: WorkloadUse, names: Sequence[str], name: str, where: str) -> None:
    """Checks `save` and `warm` against the steps; `where` begins the line of a refusal."""
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
    if "kept" not in engine.of(name).can:
        raise PlanError(f'{where}.save`: engine "{name}" has no data to keep; remove it')


def _check_trial(plan: Plan, source: str) -> None:
    """A trial's servers run where its statements are tried: on this host."""
    if plan.schedule.trial and plan.hosts:
        raise refusal(source, "schedule.trial", "is for servers of this host; remove it")


def _check_restart(plan: Plan, use: WorkloadUse, steps: Sequence[Step]) -> None:
    """Data that blocks go on with are kept, are one fill's, and are written by no later step."""
    if not use.restart:
        return
    if use.save is None:
        raise WorkloadError(
            "with restart = true blocks go on with the data that `save` keeps; add `save`, or "
            "remove `restart`"
        )
    later = steps[[step.name for step in steps].index(use.save.removeprefix(SAVE)) + 1 :]
    writing = next((step.name for step in later if step.writes), None)
    if writing is not None:
        raise WorkloadError(
            f"step `{writing}` writes, so a block cannot go on with the data of the one before: "
            "remove `restart`"
        )
    if plan.schedule.fills > 1 or plan.hosts or any(arm.standby for arm in plan.arms):
        raise WorkloadError(
            "blocks begin from copies where there are several fills, other hosts or standbys: "
            "remove `restart`"
        )


def _expand(
    loaded: workload.Workload, use: WorkloadUse, name: str, release: version.Version | None
) -> Mapping[str, Step]:
    parameters = {**workload_use.HOST_CHECKED, **use.parameters}
    if use.steps is not None and use.groups is not None:
        raise WorkloadError("a plan names `steps` or `groups`; remove one of them")
    steps = workload.expand(
        loaded, parameters, name, version=release, steps=use.steps, groups=use.groups
    )
    if not steps:
        raise WorkloadError(f"{loaded.source}: no step is left; name at least one under `steps`")
    return {step.name: step for step in steps}


# --- `[attribute]` of a plan -------------------------------------------------------------------


FACTORS_MIN = 2
VALUES = (0, 1)


def design_of(form: AttributeForm | None, arms: Sequence[str], source: str) -> Design | None:
    """The design; None where the plan has none. Raises PlanError if it cannot tell its factors."""
    if form is None:
        return None
    from dbdyno.stats import factorial  # numpy, which other plans need not wait for

    for key, name in (("base", form.base), ("arm", form.arm)):
        if name not in form.values:
            raise _refusal(source, key, f"`{name}` has no line in `attribute.values`; add it")
    names = [factor.name for factor in form.factors]
    if len(names) < FACTORS_MIN:
        raise _refusal(source, "factors", f"needs at least {FACTORS_MIN}, not {len(names)}")
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise _refusal(source, "factors", f"`{again}` is listed twice; keep one")
    for name, values in form.values.items():
        if name not in arms:
            raise _refusal(source, "values", f"no arm `{name}`; {suggestion(name, list(arms))}")
        if len(values) != len(names) or not set(values) <= set(VALUES):
            sentence = f"must be 0 or 1 for each of the {len(names)} factors, not {values}"
            raise _refusal(source, f"values.{name}", sentence)
    for name, value in ((form.base, 0), (form.arm, 1)):
        if set(form.values[name]) != {value}:
            raise _refusal(source, f"values.{name}", f"must be {value} for each factor")
    found = Design(
        kind=form.design,
        base=form.base,
        arm=form.arm,
        factors=tuple(
            Factor(name=factor.name, base=factor.base, arm=factor.arm) for factor in form.factors
        ),
        values={name: tuple(values) for name, values in form.values.items()},
    )
    if factorial.inseparable(found.values):
        sentence = "its arms cannot tell the factors apart: some always change together; add arms"
        raise _refusal(source, "values", sentence)
    return found


def _refusal(source: str, key: str, sentence: str) -> PlanError:
    return refusal(source, f"attribute.{key}", sentence)
