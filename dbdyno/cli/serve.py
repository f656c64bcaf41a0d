"""`dyno serve`: results in a browser."""

from typing import Annotated

import typer

from dbdyno.cli.exit_status import say
from dbdyno.cli.options import RESULTS, ResultFolders, refuse_missing


def serve(
    folders: ResultFolders = None,
    port: Annotated[
        int, typer.Option("--port", help="The port; 0 takes one that is free.", min=0, max=65535)
    ] = 8765,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    open_to_all: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Let every account of this machine read. Without this option only the printed "
            "link opens the pages.",
        ),
    ] = False,
) -> None:
    """Show results, and a plan that runs, in a browser; reads folders and changes nothing."""
    from dbdyno.host import flame
    from dbdyno.serve import server
    from dbdyno.serve.access import Access
    from dbdyno.serve.app import application

    roots = folders or [RESULTS]
    refuse_missing(roots)
    token = server.token(host, open_to_all=open_to_all)
    listener = server.listen(host, port)
    app = application(roots, Access(token), flame.draw)
    say(f"results: {server.link(listener, token)}  (Ctrl-C ends)")
    server.run(app, listener)
