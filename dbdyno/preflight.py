"""Checks a whole plan against this host before anything starts, and says what it would do.

Builds are located (and fetched where they are missing), settings are read by the builds themselves,
steps are expanded, disk and memory are known. What exists as `Prepared` can be run.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from dbdyno import __version__, schedule, workload
from dbdyno.error import DynoError, HostError, PlanError
from dbdyno.host import device
from dbdyno.model import Arm, Json, Plan, Step, WorkloadUse
from dbdyno.progress import RUN_OVERHEAD_S, STEP_OVERHEAD_S, UNKNOWN_STEP_S, duration
from dbdyno.server import Build, Server, capacity, config, fetch, place, provide, quiet
from dbdyno.server.fake import PLANTED_BY_NAME

DISK_SPARE_BYTES = 1 << 30
"""What has to stay free beside tables and write-ahead log: results, sorts of index builds."""
FILL_STREAMS_MAX = 4
"""The connections of a fill that names no number: min(4, cores) (contract/README.md, "fills")."""
NO_LOG = Path("/nonexistent")
"""The log folder of a server that is only asked, never started."""
WAL_BYTES_DEFAULT = 1 << 30
"""PostgreSQL's own max_wal_size."""

StepsOf = Mapping[tuple[str, str], tuple[Step, ...]]
"""(workload as the plan names it, arm) -> the steps."""


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """What presets are sized to: the same in all blocks, also when the plan goes on later."""

    cores: int
    memory_bytes: int
    free_disk_bytes: int


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A plan that this host can carry out."""

    builds: Mapping[str, Build]  # by arm; arms of engine "fake" have none
    steps: StepsOf
    sizing: Sizing
    disk_bytes: int  # what the largest run needs, with its write-ahead log
    data_path: Path
    device: device.Device | None


def prepare(plan: Plan, pinned: Json | None = None) -> Prepared:
    """Checks `plan` against this host; may fetch builds, starts nothing.

    `pinned`: the plan.json of a folder in which the plan goes on; its builds and sizes are kept.
    Raises PlanError, ServerError or HostError in one line that names the plan's file.
    """
    try:
        return look(plan, pinned)
    except DynoError as error:
        raise type(error)(f"{plan.path or 'the plan'}: {error}") from error


def look(plan: Plan, pinned: Json | None) -> Prepared:
    """The checks of `prepare`, whose errors do not name the file yet."""
    data_path = quiet.existing(plan.data_dir or place.data_root())
    sizing = size(plan, pinned)
    builds = {arm.name: build(arm, pinned) for arm in plan.arms if arm.engine != "fake"}
    steps = {
        (use.name, arm.name): expand(plan, use, arm, builds.get(arm.name), sizing)
        for use in plan.workloads
        for arm in plan.arms
    }
    prepared = Prepared(
        builds=builds,
        steps=steps,
        sizing=sizing,
        disk_bytes=0,
        data_path=data_path,
        device=device.find(data_path),
    )
    need = [check_arm(plan, arm, prepared) for arm in plan.arms]
    return dataclasses.replace(prepared, disk_bytes=max(need))


def size(plan: Plan, pinned: Json | None) -> Sizing:
    """The host's size, or the one that the earlier blocks were sized to."""
    if pinned is not None:
        return Sizing(**pinned["sizing"])
    wal_root = plan.wal_dir or plan.data_dir or place.data_root()
    return Sizing(
        cores=capacity.cores(),
        memory_bytes=capacity.memory_bytes(),
        free_disk_bytes=quiet.room(wal_root),
    )


def build(arm: Arm, pinned: Json | None) -> Build:
    """The arm's build: the very one of the earlier blocks where the plan goes on."""
    known = {one["name"]: one for one in (pinned or {}).get("arms", [])}
    if arm.name in known and arm.version is not None:
        arm = dataclasses.replace(arm, version=known[arm.name]["build"]["version"])
    return fetch.locate(arm)


def expand(
    plan: Plan, use: WorkloadUse, arm: Arm, of: Build | None, sizing: Sizing
) -> tuple[Step, ...]:
    """The steps of a workload for the arm's engine and version, sized to the host."""
    version = of.major if of else None
    given = parameters(use, sizing)
    return workload.expand(load(plan, use), given, arm.engine, version=version, steps=use.steps)


def load(plan: Plan, use: WorkloadUse) -> workload.Workload:
    """The workload as the plan uses it: its load, its set of steps, its preset."""
    return workload.load(use.name, plan.path, fill=use.fill, set=use.set, preset=use.preset)


def parameters(use: WorkloadUse, sizing: Sizing) -> Json:
    """What the plan gives a workload, and the host's size that presets are computed from."""
    return {**workload.host(sizing.cores, sizing.memory_bytes), **use.parameters}


def check_arm(plan: Plan, arm: Arm, prepared: Prepared) -> int:
    """Looks whether the arm's server can be made and its data find room; returns bytes of disk.

    Raises PlanError, ServerError or HostError.
    """
    if arm.engine == "fake":
        refuse_unknown_plants(plan, arm, prepared)
        return 0
    server = provide_server(plan, arm, prepared, NO_LOG)
    server.check()
    tables = max(estimate(plan, use, arm, prepared).disk_bytes for use in plan.workloads)
    wal = wal_bytes(server)
    roots = {plan.data_dir or place.data_root(): tables}
    wal_root = plan.wal_dir or plan.data_dir or place.data_root()
    roots[wal_root] = roots.get(wal_root, 0) + wal
    for root, needed in roots.items():
        refuse_full_disk(arm, root, needed)
    return tables + wal


def refuse_unknown_plants(plan: Plan, arm: Arm, prepared: Prepared) -> None:
    """Raises PlanError where a fake arm plants something for a statement that no step has."""
    steps = [step for use in plan.workloads for step in prepared.steps[use.name, arm.name]]
    known = {one["name"] for s in steps for one in [*s.job["statements"], *s.job["cursors"]]}
    named = [(key, name) for key in PLANTED_BY_NAME for name in arm.fake.get(key, ())]
    named += [("errors", error["statement"]) for error in arm.fake.get("errors", ())]
    for key, name in named:
        if name not in known:
            raise PlanError(
                f"arms.{arm.name}.fake.{key}: no step has a statement or cursor `{name}`; "
                f"there are {', '.join(sorted(known))}"
            )


def refuse_full_disk(arm: Arm, root: Path, needed: int) -> None:
    """Raises HostError where `root` has no room for `needed` bytes and a spare."""
    free = quiet.room(root)
    if needed + DISK_SPARE_BYTES > free:
        raise HostError(
            f"arm {arm.name}: `{root}` has {gib(free)} free, its data need {gib(needed)} and "
            f"{gib(DISK_SPARE_BYTES)} to spare: ask for fewer rows, or set server.data_dir"
        )


def estimate(plan: Plan, use: WorkloadUse, arm: Arm, prepared: Prepared) -> workload.Estimate:
    """Rows, bytes and seconds of one run."""
    given = parameters(use, prepared.sizing)
    return workload.estimate(load(plan, use), given, prepared.steps[use.name, arm.name])


def wal_bytes(server: Server) -> int:
    """How large the server's write-ahead log may become."""
    text = server.setting("max_wal_size")
    return WAL_BYTES_DEFAULT if text is None else config.bytes_of(text)


def provide_server(plan: Plan, arm: Arm, prepared: Prepared, log_dir: Path) -> Server:
    """The arm's server, not yet made; its log is written into `log_dir`."""
    here = place.default(
        log_dir=log_dir,
        data_dir=plan.data_dir,
        wal_dir=plan.wal_dir,
        server_user=plan.server_user,
    )
    here = dataclasses.replace(here, free_disk_bytes=prepared.sizing.free_disk_bytes)
    return provide(
        arm,
        place=here,
        build=prepared.builds.get(arm.name),
        connections=connections(plan, arm, prepared),
        memory_bytes=prepared.sizing.memory_bytes,
    )


def connections(plan: Plan, arm: Arm, prepared: Prepared) -> int:
    """The connections of the arm's largest step: all roles, and one for cursors for each client."""
    largest = 0
    for use in plan.workloads:
        for step in prepared.steps[use.name, arm.name]:
            clients = step.job["clients"]
            busy = sum(
                role["connections"] * (clients if role["per"] == "client" else 1)
                for role in step.job["roles"]
            )
            busy += sum(fill["streams"] or FILL_STREAMS_MAX for fill in step.job["fills"])
            largest = max(largest, busy + (clients if step.job["cursors"] else 0))
    return largest


def plan_json(plan: Plan, prepared: Prepared) -> Json:
    """plan.json of docs/results.md: what was asked for, and the builds and sizes that it means."""
    return {
        "name": plan.name,
        "label": plan.label,
        "seed": plan.seed,
        "base": plan.base,
        "blocks": plan.schedule.blocks,
        "arms": [arm_json(arm, prepared.builds.get(arm.name)) for arm in plan.arms],
        "workloads": [workload_json(plan, use) for use in plan.workloads],
        "schedule": asdict(plan.schedule),
        "generator": {"threads": plan.threads},
        "sizing": asdict(prepared.sizing),
        "text": plan.text,
        "dyno": __version__,
    }


def arm_json(arm: Arm, of: Build | None) -> Json:
    """An arm, with what its build is in truth: version and a hash of the server's program."""
    identity = None
    if of is not None:
        sha256 = hashlib.sha256(of.postgres.read_bytes()).hexdigest()
        identity = {"version": of.version, "sha256": sha256}
    written = asdict(arm)
    written["base_dir"] = None if arm.base_dir is None else str(arm.base_dir)
    return written | {"build": identity}


def workload_json(plan: Plan, use: WorkloadUse) -> Json:
    """A workload's use, with a hash of its text."""
    return asdict(use) | {
        "folder": load(plan, use).name,
        "sha256": workload.sha256(use.name, plan.path),
    }


def describe(plan: Plan, prepared: Prepared) -> list[str]:
    """What the plan would do, in lines for a person: order, arms, steps, time, disk."""
    lines = [f"plan {plan.name}" + (f" ({plan.label})" if plan.label else "")]
    for arm in plan.arms:
        lines += describe_arm(plan, arm, prepared)
    for use in plan.workloads:
        lines.append(f"workload {use.name}")
        for step in prepared.steps[use.name, plan.base]:
            guess = "unknown" if step.expected_s is None else duration(step.expected_s)
            lines.append(f"  {step.ordinal:02d} {step.name:<12} about {guess}")
    for block in schedule.blocks(plan):
        lines.append(f"block {block.number}: {' '.join(block.order)}")
    lines.append(f"time: about {duration(total_s(plan, prepared))}")
    lines.append(f"disk: {gib(prepared.disk_bytes)} at most at {prepared.data_path}")
    return lines


def describe_arm(plan: Plan, arm: Arm, prepared: Prepared) -> list[str]:
    """An arm: engine, version, folder, preset and what departs from it."""
    base = " (base)" if arm.name == plan.base else ""
    if arm.engine == "fake":
        return [f"arm {arm.name}{base}: fake, inside dyno-loadgen"]
    of = prepared.builds[arm.name]
    lines = [f"arm {arm.name}{base}: PostgreSQL {of.version} in {of.base_dir}"]
    server = provide_server(plan, arm, prepared, NO_LOG)
    if arm.config is not None:
        lines.append(f"  config {arm.config}: shared_buffers {server.setting('shared_buffers')}")
    return lines + [f"  {sentence}" for sentence in server.departures]


def total_s(plan: Plan, prepared: Prepared) -> float:
    """A guess of the whole plan's time, in seconds."""
    steps = [step for of in prepared.steps.values() for step in of]
    guesses = [UNKNOWN_STEP_S if s.expected_s is None else s.expected_s for s in steps]
    run_s = sum(guesses) + STEP_OVERHEAD_S * len(steps) + RUN_OVERHEAD_S * len(prepared.steps)
    return run_s * plan.schedule.blocks


def gib(amount: int) -> str:
    """Bytes as `3.2 GB` (1 GB = 2^30 bytes, as PostgreSQL counts)."""
    return f"{amount / (1 << 30):.1f} GB"
