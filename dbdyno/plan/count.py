"""The counts of work that a plan asks for: `[count]`, and the plan by which they are taken."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from dbdyno import engine, workload
from dbdyno.model import (
    Arm,
    CountRequest,
    Observation,
    Placement,
    Plan,
    Schedule,
    Step,
    Void,
    WorkloadUse,
    can,
)
from dbdyno.model.document import suggestion
from dbdyno.model.error import PlanError
from dbdyno.model.work import Event
from dbdyno.plan import counted_step
from dbdyno.plan.schedule import SAVE
from dbdyno.plan.schema import CountForm, refusal
from dbdyno.plan.workload_use import HOST_CHECKED
from dbdyno.stats.events import Windows

KEY = "count"
FILL, WORK = "fill", "work"
"""The names of the two plans: one fills the arms' data, the other counts what is done with them."""
CLIENTS = "clients"
NO_SHARE = Void(foreign=1.0)
"""Counts hold whatever else the host does."""


def wish(form: CountForm | None) -> CountRequest | None:
    """The counts as they are written; None where the plan asks for none."""
    if form is None:
        return None
    return CountRequest(
        operations=form.operations,
        warmup=form.warmup,
        steps=None if form.steps is None else tuple(form.steps),
        parameters=form.parameters,
        repeats=form.repeats,
        only=form.only,
    )


def check(plan: Plan, steps: Collection[str], source: str) -> None:
    """Raises PlanError where an arm or a step cannot be counted; `steps`: the measured ones."""
    wish = plan.count
    if wish is None:
        return
    if wish.parameters:
        refuse_parameters(plan, wish.parameters, source)
    for arm in plan.arms:
        if (why := uncounted(arm)) is not None:
            raise refusal(source, KEY, f"{why}; remove the table, or the arm")
        refuse_settings(arm, source)
    if plan.generator_hosts or any(arm.host for arm in plan.arms):
        raise refusal(source, KEY, "counts servers of this host alone; remove the table")
    for name in wish.steps or ():
        if name not in steps:
            raise refusal(
                source, f"{KEY}.steps", f"no measured step `{name}`; {suggestion(name, steps)}"
            )
    for key, lengths in (("operations", wish.operations), ("warmup", wish.warmup)):
        for name in lengths if isinstance(lengths, Mapping) else ():
            if name not in steps:
                sentence = f"no measured step `{name}`; {suggestion(name, steps)}"
                raise refusal(source, f"{KEY}.{key}", sentence)


def of_file(use: WorkloadUse, plan: Plan) -> Mapping[str, object]:
    """The parameters that a workload has, with its file's values."""
    return workload.used(use, plan.path).file.parameters


def uncounted(arm: Arm) -> str | None:
    """Why an arm's server cannot be counted; None where it can be."""
    if arm.dsn is not None:
        return f"arm `{arm.name}` has a `dsn`: only servers that dyno starts are counted"
    if not can(arm, "counted"):
        return f"arm `{arm.name}`: the work of {arm.engine} cannot be counted"
    if arm.standby:
        return f"arm `{arm.name}` has a standby: only servers without are counted"
    return None


def refuse_parameters(plan: Plan, written: Collection[str], source: str) -> None:
    """Raises PlanError where none of the plan's workloads has a parameter of that name."""
    known = {name for use in plan.workloads for name in of_file(use, plan)}
    for name in written:
        if name not in known:
            sentence = f"no workload has such a parameter; {suggestion(name, known)}"
            raise refusal(source, f"{KEY}.parameters.{name}", sentence)


def refuse_settings(arm: Arm, source: str) -> None:
    """Raises PlanError where the arm names a setting that a counted server cannot have."""
    for name in engine.of(arm.engine).counting.refused_of(arm.settings):
        value = arm.settings[name]
        sentence = f"not {value} under the counter: write another value, or remove `[{KEY}]`"
        raise refusal(source, f"arms.{arm.name}.settings.{name}", sentence)


def refuse_few(plan: Plan, steps: Iterable[Step], event: Event, remedy: str) -> None:
    """Raises PlanError where a step counts too few operations, whatever its rate, to tell one more.

    `remedy`: what to do in place of counting more.
    """
    assert plan.count is not None
    threads = any(engine.of(arm.engine).traits.threads for arm in plan.arms)
    for step in steps:
        operations = counted_step.operations_most(step, plan.count)
        windows = Windows(operations=operations, writes=step.writes, threads=threads)
        if (needed := windows.operations_needed(event)) is not None:
            raise PlanError(
                f"step `{step.name}` counts {operations:,} operation{'s' * (operations != 1)}, and "
                f"{event} take {needed:,} to tell one more: count as many, or {remedy}"
            )


FILL_S, STEP_S = 3.0, 2.5
"""The seconds of an arm's fill, and of a counted step on a host of two cores."""


def pass_s(steps: int, arms: int, repeats: int, start_s: float) -> float:
    """A guess of a pass's time, in seconds; `start_s`: of a server's start under the counter."""
    rates = counted_step.RATE_S * steps
    return arms * FILL_S + rates + repeats * arms * (start_s + STEP_S * steps)


# --- The plans that count ---------------------------------------------------------------------


def filling(plan: Plan, fills: int = 1) -> Plan:
    """The plan by which the arms' data are filled, natively, and kept as golden copies.

    A block for each fill.
    """
    arms = tuple(steady(arm) for arm in plan.arms if arm.same_as is None)
    return replace(
        plan,
        name=FILL,
        arms=arms,
        workloads=tuple(uses(plan, arms)),
        schedule=Schedule(
            blocks=fills, fills=fills, fills_alike=True, repeats_max=0, void=NO_SHARE
        ),
        observe=Observation(),
        hooks=(),
        threads=1,
        chosen_s=None,
        attribution=None,
        count=None,
    )


def counting(plan: Plan, counter: tuple[str, ...], fills: int = 1) -> Plan:
    """The plan by which they are counted: a block for each repeat, its servers under `counter`.

    Repeats begin from the fills by turns.
    """
    wish = plan.count
    assert wish is not None
    placement = Placement(
        server_cpus=plan.placement.server_cpus,
        generator_cpus=plan.placement.generator_cpus,
        counter=counter,
    )
    filled = filling(plan, fills)
    schedule = replace(filled.schedule, blocks=wish.repeats)
    return replace(filled, name=WORK, placement=placement, schedule=schedule)


def steady(arm: Arm) -> Arm:
    """The arm with the settings that hold its work still, where it names none of them."""
    return replace(arm, settings={**engine.of(arm.engine).counting.settings, **arm.settings})


def uses(plan: Plan, arms: tuple[Arm, ...]) -> Iterator[WorkloadUse]:
    """The workloads, each once, by one client, from a state that is kept."""
    seen = set()
    counted = {} if plan.count is None else plan.count.parameters
    for use in plan.workloads:
        load = {name: value for name, value in use.load.items() if name != CLIENTS}
        known = of_file(use, plan)
        own = {**counted, CLIENTS: 1}
        parameters = {
            **use.parameters,
            **use.load,
            **{name: value for name, value in own.items() if name in known},
        }
        single = replace(
            use,
            parameters=parameters,
            load=load,
            save=use.save or f"{SAVE}{last_filling(plan, use, arms[0])}",
            warm="prewarm" if all(can(arm, "prewarm") for arm in arms) else "scan",
            restart=False,
            p99_below_us=None,
        )
        if single.title not in seen:
            seen.add(single.title)
            yield single


def filling_steps(use: WorkloadUse, steps: Sequence[Step]) -> Sequence[Step]:
    """The first steps, those up to the state that is kept: none of them is counted."""
    if use.save is None:
        return steps[: workload.loaded(use, steps) or 1]
    saved = [step.name for step in steps].index(use.save.removeprefix(SAVE))
    return steps[: saved + 1]


def last_filling(plan: Plan, use: WorkloadUse, arm: Arm) -> str:
    """The last step that brings the tables into place: after it the data are kept.

    Where the first step of all is measured, that one fills them, and is not counted itself.
    Raises PlanError where nothing is left to count.
    """
    loaded = workload.used(use, plan.path)
    parameters = {**HOST_CHECKED, **use.parameters}  # sizes: no step is another by them
    steps: tuple[Step, ...] = workload.expand(
        loaded, parameters, arm.engine, steps=use.steps, groups=use.groups
    )
    filling = filling_steps(use, steps)
    last = filling[-1].name
    if not any(step.measured for step in steps[len(filling) :]):
        source = plan.path or "the plan"
        raise PlanError(
            f"{source}: key `{KEY}`: `{last}` fills the tables, and no measured step "
            "follows: name another step, or remove the table"
        )
    return last
