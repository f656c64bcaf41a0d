"""`dyno watch`: follows branches, and reports what changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli.exit_status import INTERRUPTED, say
from dbdyno.cli.options import Quiet
from dbdyno.cli.slurm import Nodelist, Partition, SlurmChoice, SlurmOptions, UseSlurm
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.farm.file import Farm


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
    options = tuple(slurm_option or ())
    choice = SlurmChoice(slurm, partition, nodelist, options, cancel=False, dry_run=False)
    choice.runner()  # options that do not go are refused before anything begins
    hands = HostFarmWorker(farm=farm, say=silent if quiet else say, by_slurm=choice.runner)
    try:
        with Journal(farm.folder, leftovers.boot_id()) as journal:
            watcher = Watcher(farm, journal, hands, silent if quiet else say)
            if once:
                watcher.once()
            else:
                watcher.always()
    except KeyboardInterrupt:
        say("interrupted; everything is kept, the same command goes on")
        raise typer.Exit(INTERRUPTED) from None


def check(farm: Farm) -> None:
    """Looks whether what the file asks for can be done here. Raises DynoError."""
    from dbdyno.host.callgrind import program

    if any(branch.count for branch in farm.branches):
        try:
            program.find(otherwise="write count = false")
        except DynoError as error:
            raise type(error)(f"{farm.path}: {error}") from None


def silent(text: str) -> None:
    """Says nothing."""
