"""Checks a whole plan against this host before anything starts.

Builds are located (and fetched where they are missing), settings are read by the builds themselves,
steps are expanded, disk and memory are known. A `ReadyPlan` plan can be run, once the builds are
made that it still lacks.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno import engine, workload
from dbdyno.builds import compile
from dbdyno.engine import Build, Server, installed, restore
from dbdyno.engine.external import ExternalServer
from dbdyno.engine.golden_copy import Copy
from dbdyno.engine.preset import arm_config
from dbdyno.engine.settings import ArmSettings, Demand, untried
from dbdyno.host import capacity, perf, placement, quiesce
from dbdyno.host.observe import device
from dbdyno.model import Arm, Json, Plan, Step, WorkloadUse, can
from dbdyno.model.error import DynoError, PlanError
from dbdyno.model.size import Capacity
from dbdyno.plan import counted_step, schedule
from dbdyno.run import disk_space, dropped_tables, hooks, server_parts, starting_state
from dbdyno.run.check import (
    after_load,
    counting,
    drivers,
    own_rights,
    reached,
    requirements,
    rights,
    source_settings,
)
from dbdyno.run.check import existing_tables as kept
from dbdyno.run.disk_space import Need
from dbdyno.run.driver import spread
from dbdyno.run.ready_plan import ReadyPlan, StepsOf, provide_server
from dbdyno.run.starting_state import StartingPoint

FILL_STREAMS_MAX = 4
"""The connections of a fill that names no number: min(4, cores) (contract/README.md, "fills")."""
NO_LOG = Path("/nonexistent")
"""The log folder of a server that is only asked, never started."""


def prepare(
    plan: Plan, pinned: Json | None = None, foreseen: Mapping[str, Build] | None = None
) -> ReadyPlan:
    """Checks `plan` against this host; may fetch builds, starts nothing.

    `pinned`: the plan.json of a folder in which the plan goes on; its builds and sizes are kept.
    `foreseen`: by arm builds that somebody else will make.
    Raises PlanError, ServerError or HostError in one line that names the plan's file.
    """
    try:
        return look(plan, pinned, foreseen or {})
    except DynoError as error:
        where = plan.path or "the plan"
        lines = (f"{where}: {line}" for line in str(error).splitlines())
        raise type(error)("\n".join(lines)) from error


def look(plan: Plan, pinned: Json | None, foreseen: Mapping[str, Build]) -> ReadyPlan:
    """The checks of `prepare`, whose errors do not name the file yet."""
    requirements.refuse_unmet(plan)
    hooks.refuse_missing(plan)
    data_path = quiesce.existing(starting_state.data_root(plan))
    capacity.refuse_absent(plan.placement.server_cpus, "server.cpus")
    capacity.refuse_absent(plan.placement.generator_cpus, "generator.cpus")
    placement.processors(plan)
    if plan.observe.profile is not None and made(plan):
        perf.find()
    sizing = size(plan, pinned)
    ours = [as_before(arm, pinned) for arm in made(plan) if arm.name not in foreseen]
    arms = compile.settled(ours, engine.recipes)
    missing = {arm.name: compile.missing(arm, engine.recipes) for arm in arms}
    wishes = {name: wish for name, wish in missing.items() if wish is not None}
    builds = {**foreseen, **{name: compile.foreseen(wish) for name, wish in wishes.items()}}
    builds |= {arm.name: installed.locate(arm) for arm in arms if arm.name not in wishes}
    releases = {arm.name: release(arm, builds) for arm in plan.arms}
    steps = expanded(plan, releases, sizing)
    prepared = ReadyPlan(
        builds=builds,
        wishes=wishes,
        releases=releases,
        steps=steps,
        sizing=sizing,
        points={},
        copies={},
        copy_bytes={},
        disk=(),
        data_path=data_path,
        device=device.find(data_path),
        wal_path=None if plan.wal_dir is None else quiesce.existing(plan.wal_dir),
    )
    drivers.refuse_unfit(plan, steps, builds)
    counting.refuse_unmet(plan, prepared)
    refuse_unspread(plan, steps)
    prepared = dataclasses.replace(prepared, settled=settle(plan, prepared))
    for arm in plan.arms:
        check_arm(plan, arm, prepared)
    prepared = dataclasses.replace(prepared, asked_as=asked_as(plan, prepared))
    counting.refuse_single_fill(plan, prepared)
    refuse_short_memory(plan)
    prepared = with_copies(plan, prepared)
    disk = needs(plan, prepared)
    disk_space.refuse_full(disk, [arm.name for arm in plan.arms])
    return dataclasses.replace(prepared, disk=disk)


def refuse_unspread(plan: Plan, steps: StepsOf) -> None:
    """Raises PlanError where generators on other hosts cannot make the load of a step."""
    if plan.generator_hosts:
        for by_arm in steps.values():
            for step in itertools.chain.from_iterable(by_arm.values()):
                spread.refuse_unfit(step, plan.generator_hosts)


def settle(plan: Plan, prepared: ReadyPlan) -> dict[str, ArmSettings]:
    """The settings of each arm whose server the lab makes. Raises PlanError, HostError."""
    settled = {}
    for arm in made(plan):
        build = prepared.builds[arm.name]
        host = capacity.of_arm(arm, prepared.sizing)
        source = source_settings.of(plan, arm, build, host)
        taking = dataclasses.replace(arm, settings={**source.values, **arm.settings})
        own = engine.of(arm.engine).settle(taking, build, host, demand(plan, arm, prepared))
        departures = (*untried(build), *source.said, *own.departures)
        settled[arm.name] = dataclasses.replace(own, departures=departures, inherited=source.values)
    return settled


def size(plan: Plan, pinned: Json | None) -> Capacity:
    """The host's size, or the one that the earlier blocks were sized to."""
    if pinned is not None:
        return Capacity(**pinned["sizing"])
    wal_root = plan.wal_dir or starting_state.data_root(plan)
    return capacity.here(wal_root, placement.of(plan).server_cpus)


def as_before(arm: Arm, pinned: Json | None) -> Arm:
    """The arm with the very version of the earlier blocks where the plan goes on."""
    known = {before["name"]: before for before in (pinned or {}).get("arms", [])}
    if arm.name in known and arm.version is not None:
        return dataclasses.replace(arm, version=known[arm.name]["build"]["version"])
    return arm


def made(plan: Plan) -> list[Arm]:
    """The arms whose servers the lab makes: not the fake, and not what runs elsewhere."""
    return [arm for arm in plan.arms if can(arm, "made")]


def release(arm: Arm, builds: Mapping[str, Build]) -> tuple[int, ...] | None:
    """The series of the arm's server; one that runs elsewhere is asked. Raises ServerError."""
    if arm.dsn is not None:
        return ExternalServer(arm, engine.of(arm.engine).client).release()
    return builds[arm.name].release if arm.name in builds else None


def expanded(
    plan: Plan, releases: Mapping[str, tuple[int, ...] | None], sizing: Capacity
) -> StepsOf:
    """The steps of all workloads and arms, whose servers are of these series."""
    return {
        use.title: {
            arm.name: expand(plan, use, arm, releases[arm.name], sizing) for arm in plan.arms
        }
        for use in plan.workloads
    }


def expand(
    plan: Plan, use: WorkloadUse, arm: Arm, of: tuple[int, ...] | None, sizing: Capacity
) -> tuple[Step, ...]:
    """The steps of a workload for the arm's engine and version, sized to the host."""
    loaded = load(plan, use)
    steps = workload.expand(
        loaded, parameters(use, sizing), arm.engine, version=of, steps=use.steps, groups=use.groups
    )
    if plan.schedule.fills_alike:
        steps = tuple(map(counted_step.in_order, steps))
    root = starting_state.data_root(plan)
    steps = tuple(
        step
        if step.job.restore is None
        else dataclasses.replace(
            step, expected_s=starting_state.restore_s(Path(step.job.restore.path), root)
        )
        for step in steps
    )
    return schedule.with_searches(use, allowed(arm, loaded, reachable(arm, steps)))


def allowed(arm: Arm, loaded: workload.Workload, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps without captured queries that write, where the arm's server is not to be written.

    What they write is rolled back; on a server elsewhere they all the same take locks, and numbers
    of sequences.
    """
    if arm.dsn is None or arm.allow_writes or loaded.application is None:
        return steps
    writing = {query.name for query in loaded.application.queries if query.writes}
    return tuple(step for step in steps if step.name not in writing)


def reachable(arm: Arm, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps without those of which a role connects to an endpoint that the arm does not have.

    So an arm with a standby and one without can be in one plan.
    """
    there = (None, *arm.endpoint_names)
    return tuple(step for step in steps if all(role.endpoint in there for role in step.job.roles))


def load(plan: Plan, use: WorkloadUse) -> workload.Workload:
    """The workload as the plan uses it: its load, its set of steps, its preset."""
    return workload.used(use, plan.path)


def parameters(use: WorkloadUse, sizing: Capacity) -> Json:
    """A workload's parameters from the plan, and the host's size that presets are computed from."""
    return {**workload.host(sizing.cores, sizing.memory_bytes), **use.parameters}


def check_arm(plan: Plan, arm: Arm, prepared: ReadyPlan) -> None:
    """Looks whether the arm's server can be made, and warmed. Raises DynoError subclasses."""
    server = provide_server(plan, arm, prepared, NO_LOG)
    refuse_unknown_plants(plan, server, prepared)
    server.check()
    reached.refuse_unreached(server)
    uses = [(load(plan, use), prepared.steps[use.title][arm.name]) for use in plan.workloads]
    steps = [step for _, of_use in uses for step in of_use]
    rights.refuse_unmet(server, uses, checkpoint=plan.schedule.checkpoint is not None)
    rights.refuse_lacking(server, steps)
    after_load.refuse(server, steps, connections(plan, arm, prepared))
    if server.remote:
        server_parts.refuse_missing(server, steps)
    else:
        server_parts.refuse_unbuilt(server, steps)
    if not server.drops_any:
        dropped_tables.refuse_others(
            server, dropped_tables.dropped(sql for step in steps for sql in step.setup)
        )
    refuse_unwarmed(plan, arm, prepared, server)
    refuse_unsampled(plan, arm, server)
    for use in plan.workloads:
        if use.fill == workload.KEEP:
            kept.refuse_unfit(server, load_of(plan, use, arm, prepared))


def asked_as(plan: Plan, prepared: ReadyPlan) -> dict[str, str]:
    """By arm what is said of who asks captured queries. Raises ServerError: rights lack."""
    sentences = {
        arm.name: own_rights.said(arm, provide_server(plan, arm, prepared, NO_LOG), application)
        for arm in plan.arms
        for use in plan.workloads
        if (application := load(plan, use).application) is not None
    }
    return {arm: sentence for arm, sentence in sentences.items() if sentence}


def refuse_unwarmed(plan: Plan, arm: Arm, prepared: ReadyPlan, server: Server) -> None:
    """Raises PlanError where caches are to be warmed by pg_prewarm and the server has none."""
    prewarmed = any(use.warm == "prewarm" for use in plan.workloads)
    for use in plan.workloads:
        for step in prepared.steps[use.title][arm.name]:
            if step.warm != "none" and not server.can("prewarm"):
                raise PlanError(
                    f"{step.workload}: step `{step.name}`: key `warm`: the server of arm "
                    f"{arm.name} has nothing like `pg_prewarm`: leave it out"
                )
    if prewarmed and can(arm, "clock") and not can(arm, "prewarm"):
        raise PlanError(
            f"workloads.warm: arm {arm.name} is of {arm.engine}, which has nothing like "
            '`pg_prewarm`: write warm = "scan"'
        )
    build = prepared.builds.get(arm.name)  # none of a server that runs elsewhere
    comes = build is not None and not build.made  # what dyno builds has its contrib
    if prewarmed and can(arm, "prewarm") and not comes and not server.can("prewarm"):
        raise PlanError(
            f"workloads.warm: the build of arm {arm.name} has no extension `pg_prewarm`: "
            'write warm = "scan", or take a build with contrib'
        )


def refuse_unsampled(plan: Plan, arm: Arm, server: Server) -> None:
    """Raises PlanError where a server that runs elsewhere does not tell what sessions wait for.

    One that the lab makes is set up for it.
    """
    client = server.client
    if plan.observe.waits_s is None or server.made or client is None or not can(arm, "waits"):
        return
    why = client.no_waits(server.execute)
    if why is not None:
        raise PlanError(f"observe.waits: the server of arm {arm.name}: {why}, or remove the key")


def load_of(plan: Plan, use: WorkloadUse, arm: Arm, prepared: ReadyPlan) -> Step:
    """The bulk load that would have made the tables of a use that keeps those that are there."""
    loaded = dataclasses.replace(use, fill="fast", steps=(workload.FILL,), groups=None)
    (step,) = expand(plan, loaded, arm, prepared.releases[arm.name], prepared.sizing)
    return step


def shares(plan: Plan) -> Mapping[str, int]:
    """The bytes of memory that arms name, whose servers are up at once or one after the other."""
    return {
        arm.name: arm_config.bytes_of(arm.memory) for arm in plan.arms if arm.memory is not None
    }


def refuse_short_memory(plan: Plan) -> None:
    """Raises PlanError where servers that are up at once have no room in memory together."""
    there, sizes = capacity.memory_bytes(), shares(plan)
    if plan.schedule.together and sum(sizes.values()) > there:
        each = ", ".join(f"{disk_space.gb(size)} for {name}" for name, size in sizes.items())
        raise PlanError(
            f'with interleave = "{plan.schedule.interleave}" all servers run at once: '
            f"{each} need {disk_space.gb(sum(sizes.values()))}, and the host has "
            f"{disk_space.gb(there)}: lower `memory` of the arms"
        )


def with_copies(plan: Plan, prepared: ReadyPlan) -> ReadyPlan:
    """Adds where data are kept, and which golden copies there are. Raises ServerError: bad ones."""
    points: dict[str, dict[str, tuple[StartingPoint, ...]]] = {}
    copies: dict[str, Copy] = {}
    sizes: dict[str, int] = {}
    for arm in plan.arms:
        for use in filter(lambda use: use.save is not None, plan.workloads):
            server = provide_server(plan, arm, prepared, NO_LOG)
            steps = prepared.steps[use.title][arm.name]
            of_fills = starting_state.points(plan, use, steps, server)
            points.setdefault(use.title, {})[arm.name] = of_fills
            for point in of_fills:
                copy = starting_state.find(plan, point)
                if copy is not None:
                    copies[point.key] = copy
                    sizes[point.key] = copy.facts.bytes
                else:
                    before = point.before(steps)
                    tables = estimate(plan, use, before, prepared.sizing).disk_bytes
                    sizes[point.key] = tables + log_bytes(arm, server, tables, before)
    return dataclasses.replace(prepared, points=points, copies=copies, copy_bytes=sizes)


def needs(plan: Plan, prepared: ReadyPlan) -> tuple[Need, ...]:
    """The plan's needs on disk at most: its runs, and all copies that are still to be made."""
    runs: list[list[Need]] = []
    copies: dict[str, list[Need]] = {}
    data_root = starting_state.data_root(plan)
    wal_root = plan.wal_dir or data_root
    for arm in made(plan):
        server = provide_server(plan, arm, prepared, NO_LOG)
        of_arm = []
        for use in plan.workloads:
            steps = prepared.steps[use.title][arm.name]
            tables = estimate(plan, use, steps, prepared.sizing).disk_bytes
            file = max((step.device_bytes for step in steps), default=0)
            of_arm.append(Need(what=disk_space.DEVICE, root=data_root, bytes=file))
            wal = log_bytes(arm, server, tables, steps)
            setting = log_setting(arm, server)
            need = Need(what=disk_space.WAL, root=wal_root, bytes=wal, setting=setting)
            of_arm.append(need)
            of_arm.append(Need(what=disk_space.DATA, root=data_root, bytes=tables))
            points = prepared.points.get(use.title, {}).get(arm.name, ())
            for point in points[: plan.schedule.blocks]:
                if point.key not in prepared.copies:
                    kept = max(prepared.copy_bytes[point.key] - wal, 0)
                    copies[point.key] = [
                        Need(what=disk_space.COPIES, root=data_root, bytes=kept),
                        Need(what=disk_space.COPIES, root=wal_root, bytes=wal),
                    ]
        runs.append(disk_space.largest(of_arm))
    up = [need for needs in runs for need in needs]
    kept_needs = [need for needs in copies.values() for need in needs]
    return (
        *(disk_space.total if plan.schedule.together else disk_space.largest)(up),
        *disk_space.total(kept_needs),
    )


def log_bytes(arm: Arm, server: Server, tables_bytes: int, steps: Sequence[Step]) -> int:
    """How large the logs of an arm's server may become with tables of so many bytes."""
    writes = any(step.measured and step.writes for step in steps)
    footprint = engine.of(arm.engine).footprint(server.setting)
    return footprint.log_bytes(tables_bytes, writes=writes)


def log_setting(arm: Arm, server: Server) -> str:
    """The setting, with its value, that says how large the logs may become; "" by default."""
    name = engine.of(arm.engine).footprint(server.setting).log_setting
    value = server.setting(name)
    return "" if value is None else f"arms.{arm.name}: {name} = {value}"


def refuse_unknown_plants(plan: Plan, server: Server, prepared: ReadyPlan) -> None:
    """Raises PlanError where a fake arm plants something for a statement that no step has."""
    steps = [step for use in plan.workloads for step in prepared.steps[use.title][server.name]]
    known = {name for step in steps for name in step.job.planted_names}
    for key, name in server.plants.names if server.plants else ():
        if name not in known:
            raise PlanError(
                f"arms.{server.name}.fake.{key}: no step has a statement or cursor `{name}`; "
                f"there are {', '.join(sorted(known))}"
            )


def estimate(
    plan: Plan, use: WorkloadUse, steps: Sequence[Step], sizing: Capacity
) -> workload.Estimate:
    """Rows, bytes and seconds of these steps of one run; of a dump a guess by its size."""
    guess = workload.estimate(load(plan, use), parameters(use, sizing), steps)
    dumps = [step.job.restore for step in steps if step.job.restore is not None]
    restored = sum(restore.restored_bytes(Path(dump.path)) for dump in dumps)
    return dataclasses.replace(guess, disk_bytes=guess.disk_bytes + restored)


def demand(plan: Plan, arm: Arm, prepared: ReadyPlan) -> Demand:
    """The plan's wishes for the arm's server beside its settings."""
    waits = plan.observe.waits_s is not None
    names = tuple(dict.fromkeys(use.name for use in plan.workloads))
    return Demand(
        connections=connections(plan, arm, prepared),
        waits=waits,
        places=plan.schedule.placement == "together",
        workloads=names,
    )


def connections(plan: Plan, arm: Arm, prepared: ReadyPlan) -> int:
    """The connections of the arm's largest step: all roles, and one for cursors for each client."""
    largest = 0
    for use in plan.workloads:
        for step in prepared.steps[use.title][arm.name]:
            busy = step.job.connections
            busy += sum(fill.streams or FILL_STREAMS_MAX for fill in step.job.fills)
            largest = max(largest, busy + (step.job.clients if step.job.cursors else 0))
    return largest
