"""`dyno server`: brings, builds, lists and removes database servers."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dbdyno.cli.exit_status import interruptible, say
from dbdyno.cli.options import AsList, Cflags, Configure, Jobs, Recipe
from dbdyno.model.error import DynoError

if TYPE_CHECKING:
    from dbdyno.builds.compile import BuildRequest, Method
    from dbdyno.builds.source import Ref

Tag = Annotated[str | None, typer.Option("--tag", help="Tag of a git checkout or URL.")]
Branch = Annotated[str | None, typer.Option("--branch", help="Branch, likewise.")]
Commit = Annotated[str | None, typer.Option("--commit", help="Commit, likewise.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace an existing build.")]

app = typer.Typer(help="Download, build, list and remove database servers.", no_args_is_help=True)


@app.command("list")
def server_list(as_json: AsList = False) -> None:
    """List servers: fetched, built, or installed under the usual paths.

    Each line shows what is known of its making: compiler, flags, features.
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
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Names of builds.")],
    wait: Annotated[bool, typer.Option("--wait", help="Wait while a lab measures here.")] = False,
) -> None:
    """Remove builds of dyno with their logs. Refused while a lab measures on this host."""
    from dbdyno.builds import cache
    from dbdyno.host.lock import HostLock

    with HostLock(plan="server remove", wait=wait):
        for name in names:
            cache.remove(name)
            say(f"removed {name}")


@app.command("fetch")
def server_fetch(
    engine: Annotated[str, typer.Argument(help="postgres, mysql or mariadb")],
    version: Annotated[
        str,
        typer.Argument(
            help="17.6, or 17 for the newest 17; of MySQL and MariaDB 9.7.0, or 9.7 for the newest "
            "9.7"
        ),
    ],
    md5: Annotated[
        bool,
        typer.Option(
            "--md5",
            help="Take an archive of MySQL that nothing but an MD5 verifies, as the key of its "
            "signature is not in your keyring.",
        ),
    ] = False,
) -> None:
    """Download a prebuilt server into the cache, verified by its checksum or signature.

    PostgreSQL's are compiled for size. For figures to publish, use `dyno server build`. MySQL's and
    MariaDB's come from their makers' archives, or from Maven Central where these do not answer:
    MariaDB 10.2, 10.11 and 11.4, MySQL 5.5.
    """
    from dbdyno import engine as engines
    from dbdyno.model.engine import having, named

    if engine not in (there := having("made")):
        raise DynoError(f"no engine `{engine}` can be fetched: there are {named(there)}")
    with interruptible("nothing of the download is kept"):
        print(engines.of(engine).fetch(version, say, md5=md5))  # noqa: T201


@app.command("build")
def server_build(
    engine: Annotated[str, typer.Argument(help="postgres, mysql or mariadb")],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A version of PostgreSQL (18.6, or 18 for the newest 18), whose official source "
            "dyno downloads; or a tarball, a folder, a git checkout or a URL.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            help="Name for plans: `build = NAME`. A version with a recipe has a default name.",
        ),
    ] = None,
    recipe: Recipe = None,
    cflags: Cflags = None,
    march: Annotated[str | None, typer.Option("--march", help="Target CPU, as in -march.")] = None,
    lto: Annotated[bool, typer.Option("--lto", help="Optimise at link time.")] = False,
    configure: Configure = None,
    tag: Tag = None,
    branch: Branch = None,
    commit: Commit = None,
    jobs: Jobs = None,
    replace: Replace = False,
) -> None:
    """Build a server from source into the cache, by the flags of the published builds or your own.

    The source's own build scripts run as you. Their output goes to a log, which is kept.
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
        raise DynoError("--name: missing: name this build for plans")
    wish = compile.BuildRequest(
        engine=engine,
        name=name,
        source=found,
        flags=chosen,
        options=options,
        jobs=jobs or capacity.cores(),
        replace=replace,
    )
    made(wish, engines.of(engine).method())


@app.command("extend")
def server_extend(
    server: Annotated[
        str, typer.Argument(metavar="BUILD", help="A build of dyno's, as `dyno server list` has it")
    ],
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="The extension: a folder, a git checkout, a tarball or a URL, whose Makefile "
            "includes PGXS.",
        ),
    ],
    name: Annotated[str, typer.Option("--name", help="Name for plans and races.")],
    tag: Tag = None,
    branch: Branch = None,
    commit: Commit = None,
    jobs: Jobs = None,
    replace: Replace = False,
) -> None:
    """Build an extension of PostgreSQL beside a build: a copy of that build which has it, too.

    The extension's Makefile runs as you. Its output goes to a log, which is kept.
    """
    from dbdyno.builds import cache
    from dbdyno.builds.source import identify
    from dbdyno.engine.postgres import extension
    from dbdyno.host import capacity

    folder = cache.find(server, "postgres", "BUILD")
    wish = extension.request(
        name,
        identify(source, ref_of(tag, branch, commit)),
        folder,
        jobs=jobs or capacity.cores(),
        replace=replace,
    )
    made(wish, extension.method(folder))


def made(wish: BuildRequest, method: Method) -> None:
    """Makes a build and prints its folder."""
    from dbdyno.builds import compile

    with interruptible("only the log of the build is kept"):
        print(compile.build(wish, method, say))  # noqa: T201


def ref_of(tag: str | None, branch: str | None, commit: str | None) -> Ref | None:
    """The requested revision of a repository. Raises DynoError if there are several."""
    from dbdyno.builds.source import Ref

    named = {"tag": tag, "branch": branch, "commit": commit}
    given = [Ref(kind=kind, name=name) for kind, name in named.items() if name is not None]
    if len(given) > 1:
        raise DynoError(f"name one of {' and '.join('--' + one.kind for one in given)}")
    return given[0] if given else None
