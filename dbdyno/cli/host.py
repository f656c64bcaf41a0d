"""`dyno agent` and `dyno host`: measuring on other hosts."""

from typing import Annotated

import typer

from dbdyno import __version__

app = typer.Typer(help="Prepare other hosts for plans.", no_args_is_help=True)


@app.command()
def prepare(
    hosts: Annotated[
        list[str],
        typer.Argument(metavar="HOST…", help="Hosts as ssh calls them, such as bench@db1."),
    ],
) -> None:
    """Install this dyno on other hosts, from what is installed here; they need no network."""
    from dbdyno.cli.exit_status import say
    from dbdyno.run.agent import prepare as preparing

    for host in hosts:
        made = preparing.prepare(host, say)
        say(f"{host}: dyno {__version__} is {'installed' if made else 'there already'}")


def agent() -> None:
    """Serve dyno on another host over standard input and output; `ssh` starts it."""
    from dbdyno.run.agent import serve

    serve.serve()
