"""`dyno server`: brings, builds, lists and removes database servers."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli.exit_status import INTERRUPTED, say
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.builds.source import Ref

app = typer.Typer(help="Bring, build, list and remove database servers.", no_args_is_help=True)


@app.command("list")
def server_list(
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, for programs: a list of objects.")
    ] = False,
) -> None:
    """Show the servers that are here: fetched, built, or installed under the usual paths.

    With each stands what made it, as far as it tells: compiler, flags, features.
    """
    from dbdyno.engine import installed

    found = installed.rows()
    if as_json:
        print(json.dumps([asdict(row) for row in found], indent=1))  # noqa: T201
        return
    for line in installed.lines(found):
        print(line)  # noqa: T201


@app.command("remove")
def server_remove(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Builds, by their names.")],
    wait: Annotated[bool, typer.Option("--wait", help="Wait while a lab measures here.")] = False,
) -> None:
    """Remove builds that dyno made, with their logs; not while a lab measures on this host."""
    from dbdyno.builds import cache
    from dbdyno.host.lock import HostLock

    with HostLock(plan="server remove", wait=wait):
        for name in names:
            cache.remove(name)
            say(f"removed {name}")


@app.command("fetch")
def server_fetch(
    engine: Annotated[str, typer.Argument(help="postgres")],
    version: Annotated[str, typer.Argument(help="17.6, or 17 for the newest 17")],
) -> None:
    """Bring a prebuilt server into the cache, verified by its checksum.

    Today's are compiled for size: for figures to publish build one, `dyno server build`.
    """
    from dbdyno.engine.postgres import build

    print(build.fetch(engine, version, newest=True))  # noqa: T201


@app.command("build")
def server_build(
    engine: Annotated[str, typer.Argument(help="postgres, mysql or mariadb")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A version of PostgreSQL, whose official source is brought (18.6, or 18 for the "
            "newest 18); a tarball, a folder, a git checkout or a URL.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            help="What plans call it: `build = NAME`. A version by a recipe has a name of its own.",
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", help="The flags of a published build, as o2nofp; `def` if none."),
    ] = None,
    cflags: Annotated[
        str | None, typer.Option("--cflags", help="Flags of your own for the compiler.")
    ] = None,
    march: Annotated[str | None, typer.Option("--march", help="For this CPU, as native.")] = None,
    lto: Annotated[bool, typer.Option("--lto", help="Optimise as it is linked.")] = False,
    configure: Annotated[
        list[str] | None,
        typer.Option("--configure", metavar="OPTIONS", help="More for configure or cmake."),
    ] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Of a git checkout or URL.")] = None,
    branch: Annotated[str | None, typer.Option("--branch", help="Likewise.")] = None,
    commit: Annotated[str | None, typer.Option("--commit", help="Likewise.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Compile so many files at once.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of another of that name.")
    ] = False,
) -> None:
    """Build a server from source into the cache, by the flags of the published builds or your own.

    It runs the source's own build scripts, as you. What it says goes into a log that stays.
    """
    from dbdyno import engine as engines
    from dbdyno.builds import compile, flags
    from dbdyno.host import capacity

    chosen = flags.choose(
        engines.recipes(engine), recipe=recipe, cflags=cflags, march=march, lto=lto
    )
    options = flags.options_of(configure or [])
    found = compile.source_of(engine, source, ref_of(tag, branch, commit))
    name = name or compile.name_of(found, chosen, options)
    if name is None:
        raise DynoError("--name: missing: say what plans are to call this build")
    wish = compile.Wish(
        engine=engine,
        name=name,
        source=found,
        flags=chosen,
        options=options,
        jobs=jobs or capacity.cores(),
        replace=replace,
    )
    try:
        print(compile.build(wish, engines.of(engine).method(), say))  # noqa: T201
    except KeyboardInterrupt:
        say("interrupted; nothing of the build is kept but its log")
        raise typer.Exit(INTERRUPTED) from None


def ref_of(tag: str | None, branch: str | None, commit: str | None) -> Ref | None:
    """What of a repository is asked for. Raises DynoError where that is more than one thing."""
    from dbdyno.builds.source import Ref

    named = {"tag": tag, "branch": branch, "commit": commit}
    given = [Ref(kind=kind, name=name) for kind, name in named.items() if name is not None]
    if len(given) > 1:
        raise DynoError(f"name one of {' and '.join('--' + one.kind for one in given)}")
    return given[0] if given else None
