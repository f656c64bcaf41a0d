"""`dyno serve`: results in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from dbdyno.cli.exit_status import say
from dbdyno.cli.options import RESULTS, ResultFolders, refuse_missing


def serve(
    folders: ResultFolders = None,
    port: Annotated[
        int, typer.Option("--port", help="The port; 0 takes one that is free.", min=0, max=65535)
    ] = 8765,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="The address to listen on. Any but this machine's own demands the token that "
            "stands in the printed link.",
        ),
    ] = "127.0.0.1",
) -> None:
    """Show results, and a plan that runs, in a browser; reads folders and changes nothing."""
    from dbdyno.host import flame
    from dbdyno.serve import server
    from dbdyno.serve.access import Access
    from dbdyno.serve.app import application

    roots = folders or [RESULTS]
    refuse_missing(roots)
    listener = server.listen(host, port)
    token = server.token(host)
    app = application(roots, Access(token), flame.draw)
    say(f"results: {server.link(listener, token)}  (Ctrl-C ends)")
    server.run(app, listener)
