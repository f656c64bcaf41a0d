"""How the blocks of a plan are run: here, or by whoever takes them to other machines."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Protocol

from dbdyno.host.lock import HostLock
from dbdyno.model import Block, Plan
from dbdyno.model.error import ResultError
from dbdyno.run import blocks as runner
from dbdyno.run.blocks import PlanOutcome
from dbdyno.run.lab import Lab
from dbdyno.store import Results


class BlockRunner(Protocol):
    """Runs blocks. `run.looks` decides which, and when a plan is over."""

    def opened(
        self, plan: Plan, parent: Path, *, quiet: bool = False
    ) -> AbstractContextManager[Lab]:
        """The lab of a plan, checked whole, with its result folder. Raises DynoError.

        `quiet`: nothing is shown on the way.
        """

    def run_blocks(
        self, lab: Lab, blocks: Sequence[Block], fits: Callable[[], bool]
    ) -> PlanOutcome:
        """Runs the blocks, in their order or at once; what one spoils is void and done again.

        `fits`: asked before each, whether there is time for it. Raises DynoError.
        """


class LocalRunner:
    """Block after block by this process, which has the host for itself."""

    def __init__(self, *, wait: bool = False, held: bool = False) -> None:
        """`wait`: for another lab on this host to end; `held`: this process has locked the host."""
        self._wait = wait
        self._held = held

    @contextmanager
    def opened(self, plan: Plan, parent: Path, *, quiet: bool = False) -> Iterator[Lab]:
        """As Way.opened; the host is locked meanwhile."""
        refuse_nodes(plan, parent / plan.name)
        with (
            nullcontext() if self._held else HostLock.of_plan(plan, wait=self._wait, quiet=quiet),
            runner.opened(plan, parent, quiet=quiet) as lab,
        ):
            yield lab

    def run_blocks(
        self, lab: Lab, blocks: Sequence[Block], fits: Callable[[], bool]
    ) -> PlanOutcome:
        """As Way.run_blocks."""
        return runner.run_blocks(lab, blocks, fits)


def refuse_nodes(plan: Plan, folder: Path) -> None:
    """Raises ResultError where a plan goes on here whose blocks were measured on nodes."""
    if Results.begun_plan(folder) is None:
        return
    for block in Results.open(folder).blocks():
        if block.host is not None and block.host not in plan.hosts:
            raise ResultError(
                f"{folder}: block {block.number} was measured on node {block.host}: add --slurm, "
                "or choose another --out"
            )
