"""Whether the work that a plan wants counted can be counted here, before anything starts."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from dbdyno import engine
from dbdyno.engine.counting import CountMethod
from dbdyno.host import count_scatter
from dbdyno.host.callgrind import program
from dbdyno.host.observe import facts
from dbdyno.model import Arm, Json, Plan, Step, WorkloadUse, can
from dbdyno.model.error import HostError, PlanError
from dbdyno.model.host_facts import CountScatter, fills_key
from dbdyno.plan import counted_step
from dbdyno.plan.count import filling_steps
from dbdyno.run.ready_plan import ReadyPlan, provide_server

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
TIME = re.compile(r"(\d+(?:\.\d+)?) ?(us|ms|s|min|h|d)?")
TIMEOUT_S_LEAST = 60.0
FILLS = "fills the tables, and no state is kept before it"


def refuse_unmet(plan: Plan, prepared: ReadyPlan) -> None:
    """Raises HostError without a counter, or a build that it cannot run; PlanError for steps."""
    if plan.count is None:
        return
    valgrind = program.find()
    counting_of(plan)
    for arm in plan.arms:
        build = prepared.builds[arm.name]
        if not build.made:
            continue
        try:
            program.refuse_unknown(valgrind, build.program)
        except HostError as error:
            raise HostError(f"arms.{arm.name}: {error}") from error
    if plan.count.steps is not None:
        for step in uncounted(plan, prepared):
            raise PlanError(f"key `count.steps`: step `{step.name}` {FILLS}: leave it out")
    steps = counted(plan, prepared)
    for step in steps:
        if (why := counted_step.uncountable(step)) is not None:
            raise PlanError(f"key `count.steps`: step `{step.name}` {why}: leave it out")
    if not steps:
        raise PlanError("key `count`: no step is measured; remove the table")


def refuse_single_fill(plan: Plan, prepared: ReadyPlan) -> None:
    """Raises PlanError where one repeat could say nothing, as arms cannot share a fill.

    Unless this host has seen how far fills of each counted step are apart, with both versions.
    """
    if plan.count is None or plan.count.fills_of(shared=False) > 1:
        return
    forms = {arm.name: form_of(plan, arm, prepared) for arm in plan.arms if can(arm, "made")}
    apart = [name for name, form in forms.items() if form != forms[plan.base]]
    if not apart:
        return
    family = engine.of(plan.arms[0].engine).traits.family
    here = facts.collect(prepared.data_path, measure=False)
    scatter = count_scatter.known(family, here) or CountScatter()
    for name, (use, step) in itertools.product((plan.base, *apart), wanted(plan, prepared)):
        if fills_key(prepared.builds[name].version, (use.title, step.name)) not in scatter.fills:
            raise PlanError(
                f"key `count.repeats`: one repeat says nothing of `{step.name}`: `{plan.base}` and "
                f"`{apart[0]}` cannot share a fill, and how far fills of {name} differ is not "
                "known here; write repeats = 2"
            )


def form_of(plan: Plan, arm: Arm, prepared: ReadyPlan) -> Json:
    """The facts by which an arm's server can go on with the data of another one."""
    keeper = provide_server(plan, arm, prepared, Path()).keeper
    assert keeper is not None
    return keeper.data_form


def counted(plan: Plan, prepared: ReadyPlan) -> list[Step]:
    """The measured steps whose work is counted: those that are wanted, after the fill."""
    filling = {step.name for step in uncounted(plan, prepared)}
    return [step for _, step in wanted(plan, prepared) if step.name not in filling]


def uncounted(plan: Plan, prepared: ReadyPlan) -> list[Step]:
    """The measured steps that are wanted and fill the tables, as no state is kept before them."""
    return [
        step
        for use, step in wanted(plan, prepared)
        if step in filling_steps(use, prepared.steps[use.title][plan.base])
    ]


def wanted(plan: Plan, prepared: ReadyPlan) -> Iterator[tuple[WorkloadUse, Step]]:
    """The measured steps of the base that a plan wants counted."""
    assert plan.count is not None
    for use in plan.workloads:
        for step in prepared.steps[use.title][plan.base]:
            if step.measured and plan.count.wants(step.name):
                yield use, step


def counting_of(plan: Plan) -> CountMethod:
    """How the base's family is counted. Raises PlanError where another arm is counted otherwise."""
    families = {engine.of(arm.engine).traits.family for arm in plan.arms}
    if len(families) > 1:
        raise PlanError("key `count`: a plan counts servers of one family: remove the others")
    base = next(arm for arm in plan.arms if arm.name == plan.base)
    return engine.of(base.engine).counting


def notices(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """Steps that fill and are not counted, timeouts that a server may run into; a line each."""
    if plan.count is None:
        return
    for step in uncounted(plan, prepared):
        yield f"step `{step.name}` is not counted: it {FILLS}"
    timeouts = counting_of(plan).timeouts
    for arm in plan.arms:
        settled = prepared.settled.get(arm.name)
        for name, value in ({} if settled is None else settled.values).items():
            match = TIME.fullmatch(value) if name in timeouts else None
            if match is None:
                continue
            seconds = float(match[1]) * (UNITS[match[2]] if match[2] else timeouts[name])
            if 0 < seconds < TIMEOUT_S_LEAST:
                yield (
                    f"arms.{arm.name}: {name} = {value} is short under the counter, where all "
                    "takes 20 to 100 times as long: give a minute or more"
                )
