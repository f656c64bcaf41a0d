"""Does the work of `dyno doctor`: reads this host's facts and the needs of a plan's servers.

The command starts nothing and changes nothing, but writes and syncs a file without a name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno import doctor, engine
from dbdyno.doctor import HostFinding, MemoryNeed
from dbdyno.engine.preset import arm_config
from dbdyno.host import capacity, lock, place, placement
from dbdyno.host.observe import facts
from dbdyno.model import Arm, Plan, can, version
from dbdyno.model.error import PlanError
from dbdyno.model.host_facts import HostFacts

LOOK_S = 1.0
"""How long `dyno doctor` looks at what else the host does."""


@dataclass(frozen=True, kw_only=True)
class Checkup:
    """The facts of this host, and what they come to."""

    facts: HostFacts
    findings: tuple[HostFinding, ...]


def check_up(
    plan: Plan | None = None, data_dir: Path | None = None, shared_buffers: str | None = None
) -> Checkup:
    """Looks at this host for some two seconds, for the servers of a plan or one with such buffers.

    Raises PlanError where `shared_buffers` is no size, HostError where the folder's file system
    cannot be asked.
    """
    needs = [*asked_for(shared_buffers), *(needs_of(plan) if plan is not None else ())]
    path = data_dir or (plan.data_dir if plan is not None else None) or place.data_root()
    wal_path = plan.wal_dir if plan is not None else None
    host = facts.collect(path, wal_path=wal_path, look_s=LOOK_S)
    required = plan.require if plan is not None else None
    return Checkup(facts=host, findings=doctor.findings(host, needs, lock.holder(), required))


def asked_for(shared_buffers: str | None) -> Iterable[MemoryNeed]:
    """The command line's questions."""
    if shared_buffers is not None:
        try:
            count = arm_config.buffer_bytes(shared_buffers)
        except PlanError as error:
            raise PlanError(f"--shared-buffers: {error}") from error
        yield MemoryNeed(who="--shared-buffers", bytes=count)


def needs_of(plan: Plan) -> Iterable[MemoryNeed]:
    """The shared memory of each arm's server; of all of them where they are up at once."""
    needs = [need for arm in plan.arms for need in need_of(plan, arm)]
    if plan.schedule.together and len(needs) > 1:
        whole = sum(need.bytes for need in needs)
        yield MemoryNeed(
            who="all arms at once", bytes=whole, locks=any(need.locks for need in needs)
        )
    yield from needs


def need_of(plan: Plan, arm: Arm) -> Iterable[MemoryNeed]:
    """The memory for which an arm's server can use huge pages; none if it would not use them."""
    if not can(arm, "made"):
        return
    values = {**preset(plan, arm), **arm.settings}
    footprint = engine.of(arm.engine).footprint(values.get)
    if footprint.huge_bytes:
        yield MemoryNeed(who=arm.name, bytes=footprint.huge_bytes, locks=footprint.huge_locked)


def preset(plan: Plan, arm: Arm) -> Mapping[str, str]:
    """The settings of the arm's preset on this host.

    The version is the arm's own, or the newest that the preset is for: buffers are the same.
    """
    if arm.config is None:
        return {}
    wal_root = plan.wal_dir or plan.data_dir or place.data_root()
    host = capacity.of_arm(arm, capacity.here(wal_root, placement.of(plan).server_cpus))
    return arm_config.of_arm(arm, host, version_num(arm), engine.of(arm.engine).read_config).values


def version_num(arm: Arm) -> int:
    """The arm's version as a server says it, as far as the plan does; else a recent one."""
    return version.number_of(arm.engine, arm.version or engine.of(arm.engine).traits.newest)
