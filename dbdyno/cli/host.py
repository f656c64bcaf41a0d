"""`dyno agent` and `dyno host`: measuring on other hosts."""

from __future__ import annotations

import typer

app = typer.Typer(help="Prepare other hosts for plans.", no_args_is_help=True)


def agent() -> None:
    """Serve dyno on another host over standard input and output; `ssh` starts it."""
    from dbdyno.agent import serve

    serve.serve()
