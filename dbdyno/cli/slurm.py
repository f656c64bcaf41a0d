"""Options of commands that run blocks by Slurm, and what they come to."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli.exit_status import say
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.model import Plan
    from dbdyno.run.slurm.runner import SlurmRunner

UseSlurm = Annotated[
    bool, typer.Option("--slurm", help="Run each block as a job of Slurm's, on a node of its own.")
]
Partition = Annotated[
    str | None,
    typer.Option("--partition", help="With --slurm: the partition. Default: the cluster's."),
]
Nodelist = Annotated[
    str | None,
    typer.Option(
        "--nodelist",
        metavar="NODES",
        help="With --slurm: the nodes that blocks may run on, such as n[1-4]. Default: all.",
    ),
]
SlurmOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--slurm-option",
        metavar="KEY=VALUE",
        help="With --slurm: an option of sbatch, such as time=4:00:00; may be repeated.",
    ),
]
Cancel = Annotated[
    bool, typer.Option("--cancel", help="With --slurm: end the plan's jobs, and do nothing else.")
]


@dataclass(frozen=True)
class SlurmChoice:
    """The options as they were given."""

    slurm: bool
    partition: str | None
    nodelist: str | None
    options: tuple[str, ...]
    _: KW_ONLY
    cancel: bool
    dry_run: bool

    def runner(self) -> SlurmRunner | None:
        """How blocks are run; None: not by Slurm. Raises DynoError for options that do not go."""
        self._refuse_unfit()
        if not self.slurm:
            return None
        from dbdyno.run.slurm.cluster import ClusterRequest
        from dbdyno.run.slurm.runner import SlurmRunner

        return SlurmRunner(
            ClusterRequest(
                partition=self.partition,
                nodelist=self.nodelist,
                options=dict(map(read_option, self.options)),
            )
        )

    def cancelled(self, plan: Plan, out: Path) -> bool:
        """Whether the plan's jobs were to be ended; they are, then. Raises DynoError."""
        self._refuse_unfit()
        if not self.cancel:
            return False
        from dbdyno.run.slurm import runner

        count = runner.cancel(plan, out)
        say(f"ended {count} job{'s' * (count != 1)} of Slurm's; all that was measured is kept")
        return True

    def _refuse_unfit(self) -> None:
        """Raises DynoError for options that do not go together."""
        given = {
            "--partition": self.partition,
            "--nodelist": self.nodelist,
            "--slurm-option": self.options,
            "--cancel": self.cancel,
        }
        for name, value in given.items():
            if value and not self.slurm:
                raise DynoError(f"{name}: goes with --slurm alone: add it")
        if self.slurm and self.dry_run:
            raise DynoError("--dry-run: looks at this host, and not at a node: leave --slurm out")


def read_option(written: str) -> tuple[str, str | None]:
    """`time=4:00:00` as key and value; a key alone has none. Raises DynoError for one of dyno's."""
    from dbdyno.run.slurm.cluster import OURS

    key, equals, value = written.partition("=")
    key = key.removeprefix("--")
    if not key:
        raise DynoError(f"--slurm-option `{written}`: name a key, as time=4:00:00")
    if key in OURS:
        known = key if key in ("partition", "nodelist") else None
        remedy = f"say --{known}" if known else "dyno gives it itself: remove it"
        raise DynoError(f"--slurm-option {key}: {remedy}")
    return key, value if equals else None
