"""`dyno publish`: results and farms as a folder of pages that need no server."""

from pathlib import Path
from typing import Annotated

import typer

from dbdyno.cli.exit_status import say
from dbdyno.cli.options import RESULTS, ResultFolders, refuse_missing


def publish(
    folders: ResultFolders = None,
    to: Annotated[
        Path, typer.Option("--to", metavar="SITE", help="The folder to write: new, or published.")
    ] = Path("site"),
    no_raw: Annotated[
        bool, typer.Option("--no-raw", help="Leave out raw data, and publish pages alone.")
    ] = False,
) -> None:
    """Write a page for each result and farm, and an index, a feed and a badge of them all.

    Copy the folder to any web server, or open its index.html. The same command later writes what
    is new or has changed, and removes nothing.
    """
    from dbdyno.host import flame
    from dbdyno.serve.published import place
    from dbdyno.serve.published.publish import publish as write

    roots = folders or [RESULTS]
    refuse_missing(roots)
    made = write(roots, to, raw=not no_raw, draw=flame.draw)
    for problem in made.problems:
        say(f"left out: {problem}")
    say(
        f"{to / place.INDEX}: {made.counts}; "
        f"reports written now: {made.renewed}, as they were: {len(made.results) - made.renewed}"
    )
