"""Where arms of a block go through a workload: on this host, or on one that an agent serves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.host import placement
from dbdyno.model import Block, WorkloadUse
from dbdyno.model.ceiling import Ceiling
from dbdyno.run import extra_run, interleave
from dbdyno.run.arm import Run
from dbdyno.run.driver import ceiling
from dbdyno.run.lab import Lab, Site, SiteRuns


@dataclass(frozen=True)
class LocalRuns:
    """Arms that went through a workload on this host."""

    runs: Sequence[Run]

    @property
    def failed(self) -> int:
        """How many steps failed or were skipped."""
        return sum(run.failed for run in self.runs)

    def repeat(self) -> None:
        """As Went.repeat."""
        for run in self.runs:
            extra_run.go(run)


class LocalSite:
    """This host."""

    def measure(self, lab: Lab, block: Block, use: WorkloadUse, arms: Sequence[str]) -> LocalRuns:
        """As Site.measure."""
        known = {arm.name: arm for arm in lab.plan.arms}
        runs = [Run(lab=lab, block=block, arm=known[name], use=use) for name in arms]
        if lab.plan.schedule.together:
            interleave.go(runs)
        else:
            for run in runs:
                go(run)
        return LocalRuns(runs)

    def ceiling(self, lab: Lab, connections: Mapping[str, int]) -> Ceiling:
        """As Site.ceiling."""
        plan = lab.plan
        return ceiling.measure(dict(connections), plan.threads, placement.of(plan).generator_cpus)


def go(run: Run) -> None:
    """Takes one arm through its steps."""
    with run:
        for step in run.begin():
            run.do(step)
        run.end()


def turns(lab: Lab, order: Sequence[str]) -> Iterator[Sequence[str]]:
    """The arms that a site takes at once: all, or one after the other."""
    if lab.plan.schedule.together:
        yield order
    else:
        yield from ((name,) for name in order)


def of(lab: Lab, host: str | None) -> Site:
    """Where the arms on a host are measured; None: on this one."""
    return LocalSite() if host is None else lab.sites[host]


def measured(
    lab: Lab, block: Block, passes: Sequence[tuple[WorkloadUse, Sequence[str]]]
) -> list[SiteRuns]:
    """Takes every arm of the block through the workloads, each on its host. Raises LabDied."""
    hosts = {arm.name: arm.host for arm in lab.plan.arms}
    return [
        of(lab, hosts[names[0]]).measure(lab, block, use, names)
        for use, order in passes
        for names in turns(lab, order)
    ]
