"""`dyno import`: brings what others measured into a result folder."""

from pathlib import Path
from typing import Annotated

import typer

from dbdyno.cli.exit_status import say
from dbdyno.cli.options import ResultDir

app = typer.Typer(help="Bring what others measured into a result folder.", no_args_is_help=True)


@app.callback()
def common() -> None:
    """Bring what others measured into a result folder."""


@app.command("metrics")
def import_metrics(
    folder: ResultDir,
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="A table with a column `time`.")],
    arm: Annotated[
        str | None, typer.Option("--arm", help="Only for this arm. Default: what ran at the time.")
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option("--zone", metavar="+HH:MM", help="The zone of times that name none."),
    ] = None,
    every: Annotated[
        float | None,
        typer.Option("--every", metavar="SECONDS", min=0.001, help="How long a row's values hold."),
    ] = None,
    shift_s: Annotated[
        float, typer.Option("--shift-s", metavar="SECONDS", help="Seconds to add to its times.")
    ] = 0.0,
) -> None:
    """Add a provider's own metrics (CPU, IOPS …), a CSV, aligned with the steps by the clock.

    Reports show mean and greatest value of each metric in each window. No verdict uses them.
    """
    from dbdyno.analysis.compare import provider
    from dbdyno.store.imported import ImportFormat

    reading = ImportFormat(name=file.name, arm=arm, zone=zone, every_s=every, shift_s=shift_s)
    say(provider.add(folder, file, reading))
