"""Describes a plan in lines of 80 columns: order, steps, time, disk and memory.

`dyno check` and `dyno run --dry-run` print them; nothing of it acts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap

from dbdyno import engine, workload
from dbdyno.engine import Build, Server
from dbdyno.engine.preset import study
from dbdyno.engine.settings import ArmSettings
from dbdyno.host import capacity
from dbdyno.model import Arm, Block, Json, Plan, Step, WorkloadUse, can
from dbdyno.plan import schedule
from dbdyno.run import disk_space, look_words, profile, starting_state
from dbdyno.run.check import counting, notices, preflight, step_lengths
from dbdyno.run.check.block_time import (
    begins_from_copy,
    block_s,
    blocks_s,
    counts_s,
    rests_s,
    up_to_s,
)
from dbdyno.run.check.plan_record import plan_json
from dbdyno.run.check.preflight import NO_LOG
from dbdyno.run.disk_space import gb
from dbdyno.run.progress import duration
from dbdyno.run.ready_plan import ReadyPlan, in_order, provide_server
from dbdyno.stats.looks import UNTIL_DECIDED

COLUMNS = 80
GROUPED_FROM = 6
"""So many arms or more that differ in settings alone are listed together."""
BY_PLAN = ": the plan's settings"
"""How the sentence ends for a departure that the plan asks for."""


def describe(plan: Plan, prepared: ReadyPlan, resources: Iterable[str] | None = None) -> list[str]:
    """All lines for a plan that was checked; `resources` of its hosts, else of this one."""
    written = [
        f"plan {plan.name}" + (f" ({plan.label})" if plan.label else ""),
        *of_arms(plan, prepared),
        *of_wishes(prepared),
        *(line for use in plan.workloads for line in of_workload(plan, use, prepared)),
        *of_counts(plan, prepared),
        *(() if plan.counts_only else of_measuring(plan, prepared)),
        *(of_resources(plan, prepared) if resources is None else resources),
        *notices.notices(plan, prepared),
    ]
    return [line for text in written for line in folded(text)]


def of_counts(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """The steps whose work is counted, and how often."""
    if plan.count is None:
        return
    names = [step.name for step in counting.counted(plan, prepared)]
    each = "once" if plan.count.repeats == 1 else f"{plan.count.repeats} times"
    yield f"counts: each arm {each} under valgrind, by one client: {', '.join(names)}"
    if plan.counts_only:
        yield f"time: about {duration(counts_s(plan, prepared))}; steps are counted, not timed"


def of_measuring(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """How time is measured: samples, looks, blocks, and how long they take."""
    yield from of_observing(plan, prepared)
    if plan.schedule.trial:
        yield "trial: before the first block every arm runs each step for a second"
    yield from of_comparing(plan)
    yield from of_generators(plan)
    yield from of_blocks(plan, prepared)
    yield from of_time(plan, prepared)


def of_resources(plan: Plan, prepared: ReadyPlan) -> list[str]:
    """This host's disks and memory, and what the plan takes of them."""
    return [*of_disk(plan, prepared), *of_memory(plan, prepared)]


def document(plan: Plan, prepared: ReadyPlan) -> Json:
    """The same for programs: what `plan.json` would hold, then order, time and notices."""
    return {
        "plan": plan_json(plan, prepared),
        "blocks": [
            {
                "number": block.number,
                "order": list(block.order),
                "expected_s": block_s(plan, prepared, block.number),
            }
            for block in schedule.blocks(plan)[: sure_blocks(plan)]
        ],
        "notices": list(notices.notices(plan, prepared)),
    }


def folded(line: str) -> list[str]:
    """A line cut to the columns of a terminal; what follows is set in. Paths stay whole."""
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    cut = wrap(
        line, COLUMNS, subsequent_indent=indent, drop_whitespace=True,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return cut if len(line) > COLUMNS else [line]


def of_arms(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """All arms; many that differ in settings alone, as a matrix makes them, are put together."""

    def alike(arm: Arm) -> tuple[object, ...]:
        build = prepared.builds.get(arm.name)
        if build is None or arm.same_as is not None:
            return (arm.name,)
        preset = None if arm.config is None else arm.config.split("_")[0]
        made = tuple(of_making(prepared.settled[arm.name]))
        return (build.engine, build.base_dir, preset, arm.config_text, arm.memory, made)

    counted = [arm for arm in plan.arms if arm.same_as is None]
    for _, group in groupby(counted if plan.counts_only else plan.arms, alike):
        arms = list(group)
        if len(arms) >= GROUPED_FROM:
            yield from of_group(plan, arms, prepared)
        else:
            yield from (line for arm in arms for line in of_arm(plan, arm, prepared))


def of_arm(plan: Plan, arm: Arm, prepared: ReadyPlan) -> Iterator[str]:
    """An arm: engine, version, folder, preset and what departs from it."""
    if arm.same_as is not None:
        yield of_aa_arm(arm)
        return
    base = " (base)" if arm.name == plan.base else ""
    if not can(arm, "clock"):
        yield f"arm {arm.name}{base}: {arm.engine}, inside dyno-loadgen"
        return
    if arm.dsn is not None:
        yield f"arm {arm.name}{base}: {arm.engine}, which runs elsewhere: {arm.dsn}"
        return
    where = f" on {arm.host}" if arm.host else ""
    yield f"arm {arm.name}{base}: {what_runs(prepared.builds[arm.name])}{where}"
    server = provide_server(plan, arm, prepared, NO_LOG)
    yield from of_config(arm, server)
    yield from of_making(prepared.settled[arm.name])
    yield from (f"  {sentence}" for sentence in departures(server))


def departures(server: Server) -> tuple[str, ...]:
    """How its settings depart from the preset's published table."""
    return () if server.made is None else server.made.departures


def what_runs(build: Build) -> str:
    """A build's engine, version and folder."""
    later = "" if build.made else ", still to be built"
    return f"{engine.of(build.engine).traits.product} {build.version} in {build.base_dir}{later}"


def of_generators(plan: Plan) -> Iterator[str]:
    """The hosts that make the load, where it is not made beside the servers."""
    if plan.generator_hosts:
        how = "by TLS" if plan.tls else "not encrypted"
        yield f"load: from {', '.join(plan.generator_hosts)}, {how}"


def of_wishes(prepared: ReadyPlan) -> Iterator[str]:
    """The builds that a run fetches and makes before its first block."""
    for wish in {wish.name: wish for wish in prepared.wishes.values()}.values():
        yield f"before the first block {wish.name} is built, which takes minutes"
        yield f"  source {wish.source.origin}"
        yield f"  recipe {wish.flags.recipe}: {wish.flags.words}"


def of_config(arm: Arm, server: Server) -> Iterator[str]:
    """An arm's configuration, and the cache that results; None: the server's own."""
    if arm.config is None:
        return
    name = engine.of(arm.engine).footprint(server.setting).cache_setting
    cache = server.setting(name)
    ending = f": {name} {cache}" if cache is not None else ""
    yield f"  config {arm.config}{ending}"


def of_making(settled: ArmSettings) -> Iterator[str]:
    """How an arm's cluster is made and reached, as far as that is not the lab's own way."""
    if chosen := study.chosen(settled.initdb):
        yield f"  initdb {', '.join(study.listed(chosen))}"
    if settled.transport != ArmSettings.transport:
        yield f"  transport {settled.transport}"


def of_group(plan: Plan, arms: Sequence[Arm], prepared: ReadyPlan) -> Iterator[str]:
    """Arms that differ in settings and tags: what they share once, then each in what it has alone.

    The plan's own settings are seen in them, and not said again as a departure.
    """
    servers = [provide_server(plan, arm, prepared, NO_LOG) for arm in arms]
    said = [
        [departure for departure in departures(server) if not departure.endswith(BY_PLAN)]
        for server in servers
    ]
    shared = [departure for departure in said[0] if all(departure in others for others in said)]
    yield f"{len(arms)} arms: {what_runs(prepared.builds[arms[0].name])}"
    same_config = len({arm.config for arm in arms}) == 1
    if same_config:
        yield from of_config(arms[0], servers[0])
    yield from of_making(prepared.settled[arms[0].name])
    yield from (f"  {departure}" for departure in shared)
    for arm, sentences in zip(arms, said, strict=True):
        base = " (base)" if arm.name == plan.base else ""
        own = [] if same_config or arm.config is None else [arm.config]
        own += [f"{name} = {value}" for name, value in arm.settings.items()]
        yield f"  arm {arm.name}{base}: {', '.join(own)}"
        yield from (f"    {sentence}" for sentence in sentences if sentence not in shared)


def of_aa_arm(arm: Arm) -> str:
    """An A/A arm: the one that is shown, or the base once more."""
    if arm.shown:
        return f"arm {arm.name}: {arm.same_as} once more (A/A), compared with it like any other arm"
    most = schedule.OTHERS_MAX
    return f"arm {arm.name}: {arm.same_as} once more, so that at most {most} others lie between"


def of_observing(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """The sampling of servers; the fake engine has no session to ask."""
    yield from of_profiles(plan, prepared)
    fakes = [arm.name for arm in plan.arms if not can(arm, "clock")]
    missing = f", but not of {', '.join(fakes)} (engine fake)" if fakes else ""
    if plan.observe.waits_s is not None:
        yield f"waits: sessions are sampled every {1000 * plan.observe.waits_s:g} ms{missing}"
    if plan.observe.status_s is not None:
        yield f"status: servers tell their own state every {plan.observe.status_s:g} s{missing}"
    if plan.observe.indexes:
        yield f"indexes: all are read at the end of each run{missing}"


def of_profiles(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """Which steps are profiled in a further window, and which in an extra run."""
    steps = [step for use in plan.workloads for step in prepared.steps[use.title][plan.base]]
    chosen = [step for step in steps if profile.wanted(plan, step)]
    if plan.observe.profile is None:
        return
    on = ", ".join(step.name for step in chosen if profile.goes_on(step))
    again = ", ".join(step.name for step in chosen if not profile.goes_on(step))
    seconds = f"{plan.observe.profile.seconds:g} s"
    if on:
        yield f"profiles: each arm goes on for {seconds} after {on}"
    if again:
        yield f"profiles: each arm repeats {again} in an extra run after the block"


def of_comparing(plan: Plan) -> Iterator[str]:
    """When the blocks are looked at, or which of them are a comparison each."""
    if plan.schedule.comparison is not None:
        each = plan.schedule.comparison
        yield f"comparisons: {plan.schedule.blocks // each} of {each} blocks"
    elif sum(arm.shown for arm in plan.arms) > 1:
        if plan.chosen_s is not None:
            yield f"lengths: {step_lengths.described(plan)}"
        yield f"looks: {look_words.planned(plan)}"


def of_workload(plan: Plan, use: WorkloadUse, prepared: ReadyPlan) -> Iterator[str]:
    """A workload's steps with their times, and what is kept of it."""
    by_arm = prepared.steps[use.title]
    steps, at = every_step(by_arm, plan.base), prepared.point(use, plan.base, 1)
    turns = schedule.in_turn(plan, use, steps)[1] if plan.schedule.together else ()
    brought = workload.brought(use, steps)
    yield f"workload {use.title}"
    width = max((len(step.name) for step in steps), default=0)
    for step in steps:
        guess = "time unknown"
        if step.expected_s is not None:
            guess = f"about {duration(step.expected_s)}"
        timed = "" if plan.counts_only and step.measured else f" {guess}"
        fills = f", {plan.schedule.fills} fills" if plan.schedule.fills > 1 else ""
        kept = f" (kept{fills})" if at is not None and at.step.ordinal == step.ordinal else ""
        turn = f" {how_interleaved(plan, step)}" if step in turns else ""
        load = " (the load, which `steps` needs)" if step.name in brought else ""
        having = [arm for arm, own in by_arm.items() if any(each.name == step.name for each in own)]
        alone = f" ({', '.join(having)} alone)" if len(having) < len(by_arm) else ""
        search = "" if step.p99_below_us is None else ", with the search of the highest rate"
        said = f"{timed}{search}{turn}{kept}{load}{alone}"
        yield f"  {step.ordinal:02d} {step.name:<{width}}{said}".rstrip()
    if use.warm is not None:
        yield f"  after a start from a copy caches are warmed ({use.warm})"
    if use.restart:
        yield "  later blocks restart the servers on the same data"
    if at is not None and starting_state.not_vacuumed(at.before(steps)):
        yield f"  not vacuumed: {at.step.name} leaves rows to vacuum, and all runs begin with them"


def every_step(by_arm: Mapping[str, Sequence[Step]], base: str) -> list[Step]:
    """The base's steps and, in their places, those that other arms alone have."""
    first = {step.name: step for step in by_arm[base]}
    others = {step.name: step for steps in by_arm.values() for step in steps}
    return sorted({**others, **first}.values(), key=lambda step: step.ordinal)


def how_interleaved(plan: Plan, step: Step) -> str:
    """How arms share a step among them."""
    if plan.schedule.interleave != "turn":
        return "each, arms in turn"
    return f"each, in turns of {schedule.turn_s(plan, step):g} s"


def of_blocks(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """The order of the arms in each block that is sure; those that begin from a copy are marked."""
    marked = False
    for block in schedule.blocks(plan)[: sure_blocks(plan)]:
        names = []
        for name in block.order:
            uses = plan.workloads
            copied = any(begins_from_copy(use, name, block.number, prepared) for use in uses)
            names.append(name + "*" * copied)
            marked |= copied
        yield f"block {block.number}: {' '.join(names)}"
        yield from (f"  {line}" for line in of_passes(plan, block))
        yield from (f"  {line}" for line in of_sweeps(plan, block, prepared))
        yield from (f"  {line}" for line in of_turns(plan, block, prepared))
    if marked:
        yield "* begins from a golden copy"


def of_passes(plan: Plan, block: Block) -> Iterator[str]:
    """The several workloads of a block as it goes through them, each with its order of the arms."""
    if len(plan.workloads) > 1 and not plan.schedule.together:
        for use, order in schedule.passes(plan, block):
            yield f"{use.title}: {' '.join(order)}"


def of_sweeps(plan: Plan, block: Block, prepared: ReadyPlan) -> Iterator[str]:
    """The order in which a block goes through each sweep."""
    for use in plan.workloads:
        of = f" of {use.title}" * (len(plan.workloads) > 1)
        for name, names in schedule.sweeps(of_base(plan, prepared, block, use)).items():
            yield f"{name}{of}: {' '.join(step.removeprefix(f'{name}@') for step in names)}"


def of_base(plan: Plan, prepared: ReadyPlan, block: Block, use: WorkloadUse) -> Sequence[Step]:
    """The steps of a workload as the base goes through them in the block."""
    return in_order(plan, prepared, block, use, plan.base)


def of_turns(plan: Plan, block: Block, prepared: ReadyPlan) -> Iterator[str]:
    """The order in which the arms of a block take the steps that they take in turn."""
    for use in plan.workloads if plan.schedule.together else ():
        steps = of_base(plan, prepared, block, use)
        for step in schedule.in_turn(plan, use, steps)[1]:
            if plan.schedule.interleave == "turn":
                order = schedule.of_turn(plan, block.number, step, 1)
                yield f"{step.name}: {' '.join(order)}, then in linked turns"
                continue
            yield f"{step.name}: {' '.join(schedule.of_step(plan, block.number, step))}"


def of_time(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """A guess of the time of all blocks that are sure, and what copies save of it."""
    numbers = range(1, sure_blocks(plan) + 1)
    with_copies = blocks_s(plan, prepared, numbers)
    saved = sum(block_s(plan, prepared, number, copies=False) for number in numbers) - with_copies
    whole = up_to_s(plan, prepared, len(numbers))
    ending = f"; golden copies save about {duration(saved)}" if saved > 0 else ""
    if plan.schedule.rest_s:
        rest, rested = plan.schedule.rest_s, sum(rests_s(plan, number) for number in numbers)
        ending = f", {duration(rested)} of it rest ({duration(rest)} between servers){ending}"
    if not plan.schedule.until_decided:
        yield f"time: about {duration(whole)}{ending}"
        return
    each, limit = block_s(plan, prepared, len(numbers) + 1), plan.schedule.minutes_max
    yield (
        f"time: about {duration(whole)} up to the first look, then {duration(each)} for a "
        f"block{ending}"
    )
    if limit is not None and whole > 60 * limit:
        yield "  minutes_max ends before the first look: raise it"


def sure_blocks(plan: Plan) -> int:
    """How many blocks there are in any case: all, or those up to the first look."""
    return UNTIL_DECIDED[0] if plan.schedule.until_decided else plan.schedule.blocks


def of_disk(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """The highest need by folder, and the free space there."""
    names = [arm.name for arm in plan.arms]
    for shared in disk_space.by_file_system(prepared.disk):
        free = disk_space.available(shared, names)
        for root in dict.fromkeys(need.root for need in shared):
            here = [need for need in shared if need.root == root]
            yield f"disk: {root}: {disk_space.listed(here)} at most; {gb(free)} free"
    for copy in prepared.copies.values():
        yield f"  {gb(copy.facts.bytes)} are there already: {starting_state.described(copy)}"


def of_memory(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """The host's memory, and the largest share of it that an arm's server takes for itself."""
    if not any(can(arm, "clock") for arm in plan.arms):
        return
    ending = ""
    if prepared.sizing.memory_bytes != capacity.memory_bytes():
        ending = f"; the plan's first blocks were sized to {gb(prepared.sizing.memory_bytes)}"
    up = "one server is up at a time"
    if plan.schedule.together:
        sizes = preflight.shares(plan)
        each = ", ".join(f"{name} {gb(size)}" for name, size in sizes.items())
        shares = f" ({each}, together {gb(sum(sizes.values()))})" if sizes else ""
        up = f"all servers are up at once{shares}"
    yield f"memory: {gb(capacity.memory_bytes())}; {up}{ending}"
