"""`dyno watch`: follows branches, and reports what changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli.exit_status import interruptible, sayer
from dbdyno.cli.options import Quiet
from dbdyno.cli.slurm import Nodelist, Partition, SlurmChoice, SlurmOptions, UseSlurm
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.farm.file import Branch, Farm


def watch(
    file: Annotated[
        Path, typer.Argument(metavar="FARM.toml", help="The file of the farm.", dir_okay=False)
    ],
    once: Annotated[
        bool,
        typer.Option(
            "--once", help="Do what is due now, and end: for cron, a systemd timer or Slurm."
        ),
    ] = False,
    only_check: Annotated[
        bool,
        typer.Option("--check", help="Say what is wrong with the file, or what it follows; end."),
    ] = False,
    slurm: UseSlurm = False,
    partition: Partition = None,
    nodelist: Nodelist = None,
    slurm_option: SlurmOptions = None,
    quiet: Quiet = False,
) -> None:
    """Follow branches, find what changed, name the commit, and file one report of it.

    Each new head is counted and measured beside the pinned release and the head before it. A
    change is measured again, then searched down to its commit and functions. Killed anywhere, the
    same command goes on.
    """
    from dbdyno.cli.farm_hands import HostFarmWorker
    from dbdyno.farm import file as files
    from dbdyno.farm.journal import Journal
    from dbdyno.farm.watch import Watcher
    from dbdyno.host import leftovers

    farm = files.load(file)
    check(farm)
    if only_check:
        for branch in farm.branches:
            where = branch.source or branch.command
            print(f"{branch.name}: {where}, {branch.pinned}: {', '.join(branch.steps)}")  # noqa: T201
        return
    options = tuple(slurm_option or ())
    choice = SlurmChoice(slurm, partition, nodelist, options, cancel=False, dry_run=False)
    choice.runner()  # options that do not go are refused before anything begins
    tell = sayer(quiet=quiet)
    hands = HostFarmWorker(farm=farm, say=tell, by_slurm=choice.runner)
    with interruptible(), Journal(farm.folder, leftovers.boot_id()) as journal:
        watcher = Watcher(farm, journal, hands, tell)
        if once:
            watcher.once()
        else:
            watcher.always()


def check(farm: Farm) -> None:
    """Looks whether what the file asks for can be done here. Raises DynoError."""
    from dbdyno.host.callgrind import program

    try:
        if any(branch.count for branch in farm.branches):
            program.find(otherwise="write count = false")
        for branch in farm.branches:
            refuse_unknown_steps(farm, branch)
    except DynoError as error:
        raise type(error)(f"{farm.path}: {error}") from None


def refuse_unknown_steps(farm: Farm, branch: Branch) -> None:
    """Raises DynoError where no engine's form of the workload has the steps of a branch.

    Which engine it is of is known once its source is there.
    """
    from dbdyno.cli import farm_plans
    from dbdyno.model.engine import having
    from dbdyno.plan import bisect as plans

    refusals = []
    for engine in having("source"):
        try:
            plans.measured(farm_plans.workload_of(farm, branch), branch.steps, engine)
            return
        except DynoError as error:
            refusals.append(error)
    raise type(refusals[0])(f"branch `{branch.name}`: {refusals[0]}")
