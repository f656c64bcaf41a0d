"""Blocks whose servers, or whose load, are on the plan's hosts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeVar

from dbdyno.engine import golden
from dbdyno.host import leftovers
from dbdyno.host.lock import HostLock
from dbdyno.model import Block, Json, Plan, can
from dbdyno.model.host_facts import HostFacts
from dbdyno.plan.hosts import refuse_unaddressed
from dbdyno.run import blocks as runner
from dbdyno.run import commits, starting_state
from dbdyno.run.agent.site import Hosts, RemoteSite
from dbdyno.run.blocks import PlanOutcome
from dbdyno.run.check import dry_run, preflight
from dbdyno.run.check.host_checkup import Checkup
from dbdyno.run.lab import Lab
from dbdyno.run.progress import Watch
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.store import Results
from dbdyno.store.folder_lock import FolderLock

Value = TypeVar("Value")


def is_needed(plan: Plan) -> bool:
    """Whether anything of the plan is on a host that it names."""
    return bool(plan.generator_hosts) or any(arm.host is not None for arm in plan.arms)


class HostsRunner:
    """Block after block, each arm on its host (`run.runner`)."""

    def __init__(self, *, wait: bool = False, names: Mapping[str, str] | None = None) -> None:
        """`wait`: for other labs on these hosts to end.

        `names`: under which names the result keeps the facts of hosts; None: the plan's.
        """
        self._wait = wait
        self._names = names or {}

    @contextmanager
    def opened(self, plan: Plan, parent: Path, *, quiet: bool = False) -> Iterator[Lab]:
        """As Way.opened; all of the plan's hosts are locked meanwhile."""
        with ExitStack() as stack:
            watch = stack.enter_context(Watch([], quiet=quiet))
            sites = sites_of(plan, stack, wait=self._wait)
            parts = part_plans(plan)
            if None in parts:
                stack.enter_context(HostLock.of_plan(plan, wait=self._wait, quiet=quiet))
            pinned = Results.begun_plan(parent / plan.name)
            prepared, facts = opened(plan, parts, sites, pinned, watch)
            stack.enter_context(FolderLock(parent / plan.name, leftovers.boot_id()))
            results = runner.begun(parent, plan, prepared, facts[base_host(plan)])
            for name, host in facts.items():
                if name is not None:
                    runner.keep_host_of(results, self._names.get(name, name), host)
            local = {arm.name for arm in plan.arms if arm.host is None}
            builds = {arm: build for arm, build in prepared.builds.items() if arm in local}
            commits.keep(plan, builds, results, watch.say)
            yield Lab(plan=plan, prepared=prepared, results=results, watch=watch, sites=sites)

    def run_blocks(
        self, lab: Lab, blocks: Sequence[Block], fits: Callable[[], bool]
    ) -> PlanOutcome:
        """As Way.run_blocks."""
        return runner.run_blocks(lab, blocks, fits)


def sites_of(plan: Plan, stack: ExitStack, *, wait: bool) -> dict[str, RemoteSite]:
    """The plan's hosts that it uses, connected. Raises PlanError, HostError."""
    refuse_unaddressed(plan)
    used = dict.fromkeys(
        [arm.host for arm in plan.arms if arm.host is not None] + [*plan.generator_hosts]
    )
    hosts = Hosts(hosts={name: plan.hosts[name] for name in used})
    stack.callback(hosts.close)
    hosts.connect()
    parts = part_plans(plan)
    nothing = replace(plan, arms=())
    sites = {
        name: RemoteSite(
            hosts=hosts,
            name=name,
            plan=parts.get(name, nothing),
            wait=wait,
            measures=any(can(arm, "clock") for arm in plan.arms),
        )
        for name in used
    }
    for site in sites.values():
        site.generators = [sites[name] for name in plan.generator_hosts if name != site.name]
    return sites


def checked(plan: Plan) -> tuple[ReadyPlan, list[str]]:
    """What `dyno check` says: the plan checked on all of its hosts, of which nothing is changed.

    And in words what it takes of each host. Raises DynoError.
    """
    lines: list[str] = []
    with ExitStack() as stack:
        sites = sites_of(plan, stack, wait=False)

        def look(part: Plan, host: str | None, pinned: Json | None) -> ReadyPlan:
            if host is None:
                prepared = preflight.prepare(part, pinned)
                lines.extend(dry_run.of_resources(part, prepared))
            else:
                prepared, resources = sites[host].check(pinned)
                lines.extend(resources)
            return prepared

        return merged(plan, part_plans(plan), None, look), lines


def check_ups(plan: Plan, shared_buffers: str | None) -> dict[str, Checkup]:
    """By host what the doctor finds on the plan's hosts. Raises DynoError."""
    with ExitStack() as stack:
        sites = sites_of(plan, stack, wait=False)
        return {name: site.check_up(shared_buffers) for name, site in sites.items()}


def opened(
    plan: Plan,
    parts: Mapping[str | None, Plan],
    sites: Mapping[str, RemoteSite],
    pinned: Json | None,
    watch: Watch,
) -> tuple[ReadyPlan, dict[str | None, HostFacts]]:
    """The plan checked on all of its hosts, which are held now; and their facts."""
    facts: dict[str | None, HostFacts] = {}

    def look(part: Plan, host: str | None, pinned: Json | None) -> ReadyPlan:
        if host is None:
            leftovers.end_leftovers()
            golden.sweep(starting_state.data_root(part), part.wal_dir)
            prepared = runner.ready(part, pinned, watch.say)
            facts[None] = runner.host_facts(part, prepared)
            return prepared
        checked, facts[host] = sites[host].open(pinned, watch)
        assert checked is not None, "a part has arms"
        return checked

    prepared = merged(plan, parts, pinned, look)
    for name, site in sites.items():
        if name not in facts:
            _, facts[name] = site.open(pinned, watch)
    return prepared, facts


def base_host(plan: Plan) -> str | None:
    """The host of the base."""
    return next(arm.host for arm in plan.arms if arm.name == plan.base)


def part_plans(plan: Plan) -> dict[str | None, Plan]:
    """By host the plan with its arms alone; None: this host. The base's comes first.

    Where the base is elsewhere, the first arm stands for it: what a base decides is decided here.
    """
    hosts = dict.fromkeys([base_host(plan), *(arm.host for arm in plan.arms)])
    parts: dict[str | None, Plan] = {}
    for host in hosts:
        arms = tuple(arm for arm in plan.arms if arm.host == host)
        base = plan.base if plan.base in [arm.name for arm in arms] else arms[0].name
        parts[host] = replace(plan, arms=arms, base=base)
    return parts


def merged(
    plan: Plan,
    parts: Mapping[str | None, Plan],
    pinned: Json | None,
    look: Callable[[Plan, str | None, Json | None], ReadyPlan],
) -> ReadyPlan:
    """What all hosts found, as one; sizes, disks and folders are those of the base's host.

    All are sized to it, so that arms on several hosts do the same work.
    """
    whole: ReadyPlan | None = None
    for host, part in parts.items():
        prepared = look(part, host, pinned or (sized(whole) if whole is not None else None))
        whole = prepared if whole is None else joined(whole, prepared)
    assert whole is not None, "a plan has arms"
    return whole


def sized(first: ReadyPlan) -> Json:
    """What of plan.json sizes the other hosts' part."""
    return {"sizing": asdict(first.sizing), "arms": []}


def joined(base: ReadyPlan, other: ReadyPlan) -> ReadyPlan:
    """What two hosts found of their arms, and the rest of the base's."""
    return replace(
        base,
        builds={**base.builds, **other.builds},
        releases={**base.releases, **other.releases},
        steps=by_workload(base.steps, other.steps),
        points=by_workload(base.points, other.points),
        copies={**base.copies, **other.copies},
        copy_bytes={**base.copy_bytes, **other.copy_bytes},
        wishes={**base.wishes, **other.wishes},
        settled={**base.settled, **other.settled},
    )


def by_workload(
    base: Mapping[str, Mapping[str, Value]], other: Mapping[str, Mapping[str, Value]]
) -> dict[str, Mapping[str, Value]]:
    """By workload the values of the arms of both."""
    titles = dict.fromkeys((*base, *other))
    return {title: {**base.get(title, {}), **other.get(title, {})} for title in titles}
