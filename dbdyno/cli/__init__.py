"""The command `dyno`: each command parses, calls one function, prints."""

import signal
from typing import Annotated

import typer

from dbdyno import __version__
from dbdyno.cli import (
    attribute,
    bisect,
    capture,
    gate,
    host,
    importing,
    judging,
    listing,
    measuring,
    plans,
    publish,
    race,
    serve,
    server,
    watch,
)
from dbdyno.cli.exit_status import BAD_INPUT, DONE, MEANINGS, say
from dbdyno.host import terminal
from dbdyno.model.error import DynoError, disk_errors_named
from dbdyno.model.extra import OF_JUDGES

app = typer.Typer(
    help="A dynamometer for database engines: did this version, build or configuration get "
    "faster or slower, by how much, and how sure are we?",
    no_args_is_help=True,
    epilog="\b\nExit status:\n"
    + "\n".join(f"{status:5}  {meaning}" for status, meaning in MEANINGS.items()),
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (
    race.race,
    race.init,
    capture.capture,
    plans.plans,
    bisect.bisect,
    gate.gate,
    watch.watch,
    measuring.demo,
    measuring.run,
    measuring.calibrate,
    attribute.attribute,
    measuring.check,
    measuring.doctor,
    judging.compare,
    judging.report,
    judging.export,
    judging.verify,
    listing.ls,
    serve.serve,
    publish.publish,
    host.agent,
):
    app.command()(command)
app.add_typer(host.app, name="host")
app.add_typer(importing.app, name="import")
app.add_typer(server.app, name="server")
app.add_typer(listing.plan_app, name="plan")
app.add_typer(listing.workload_app, name="workload")
app.add_typer(listing.config_app, name="config")
app.add_typer(listing.golden_app, name="golden")


@app.command("help", hidden=True)
def show_help(context: typer.Context) -> None:
    """Show the help, as --help does."""
    assert context.parent is not None
    print(context.parent.get_help())  # noqa: T201


@app.command("completion", hidden=True)
def completion() -> None:
    """Say what installs the completion of your shell."""
    say("`dyno --install-completion` installs it for your shell, --show-completion prints it")
    raise typer.Exit(BAD_INPUT)


def show_version(value: bool) -> None:
    """Prints the versions of dyno and its generator and ends, where --version was given."""
    from dbdyno.host import program

    if value:
        print(f"dyno {__version__} ({program.installation()})")  # noqa: T201
        print(program.said_version("dyno-loadgen"))  # noqa: T201
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="The version.")
    ] = False,
) -> None:
    """Options that stand before the command."""


def main() -> int:
    """Runs `dyno`; returns the exit status, or ends the process with it (SystemExit)."""
    terminal.begin_in_utf8()
    terminal.guard()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as `nohup` has it
            signal.signal(number, interrupt)
    try:
        with disk_errors_named():
            app(prog_name="dyno")
    except DynoError as error:
        say(f"dyno: {error}")
        return BAD_INPUT
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in OF_JUDGES:
            raise
        say(
            f"dyno: `{error.name}` is not installed: a dyno from `dyno host prepare` measures; "
            "judge where the plan was run, or install dyno's wheel here"
        )
        return BAD_INPUT
    except UnicodeEncodeError as error:  # nothing but a file's name can hold other bytes
        line = error.object[: error.end].splitlines()[-1].strip()
        say(f"dyno: `{line}`: this name is not UTF-8: rename the file or folder")
        return BAD_INPUT
    return DONE


def interrupt(number: int, frame: object) -> None:
    """SIGTERM, or the end of its terminal, ends a run like Ctrl-C: in order."""
    raise KeyboardInterrupt
