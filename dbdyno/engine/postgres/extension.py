"""An extension of one's own beside a server: PGXS compiles it by the pg_config of a build.

What comes of it is a build again: a copy of the server's with the extension in it. So it is an arm
as any other, and two states of an extension differ in nothing else.
"""

from collections.abc import Sequence
from pathlib import Path

from dbdyno.builds import cache
from dbdyno.builds.compile import COMPILER, BuildRequest, Method, installed_in
from dbdyno.builds.flags import Flags
from dbdyno.builds.log import BuildLog
from dbdyno.builds.source import Source
from dbdyno.builds.step import COMPILE_MARKS, BuildSite, BuildStep, explained, first_line
from dbdyno.engine.postgres.compile import MISSING
from dbdyno.model.error import ServerError

MAKEFILE = "Makefile"
PGXS = "lib/postgresql/pgxs/src/makefiles/pgxs.mk", "lib/pgxs/src/makefiles/pgxs.mk"
"""Where a build has what extensions include; the first where its prefix does not name postgres."""


def request(name: str, source: Source, server: Path, *, jobs: int, replace: bool) -> BuildRequest:
    """The build of an extension beside a build of dyno's. Raises ServerError: that cannot be."""
    record = cache.kept(server)
    assert record is not None, "dyno built it"
    config = server / "bin" / "pg_config"
    if not config.is_file() or not any((server / path).is_file() for path in PGXS):
        raise ServerError(
            f"`{server.name}` was built without pg_config and PGXS: build its source again, "
            "dyno server build --replace"
        )
    return BuildRequest(
        engine="postgres",
        name=name,
        source=source,
        flags=Flags(recipe=None, cflags=record.flags),
        options=tuple(word for word in record.configure or () if COMPILER.match(word)),
        jobs=jobs,
        replace=replace,
        beside=record.key,
    )


def method(server: Path) -> Method:
    """How an extension is built beside a build of dyno's."""
    record = cache.kept(server)
    assert record is not None, "dyno built it"

    def version(tree: Path, origin: str) -> str:
        if not (tree / MAKEFILE).is_file():
            raise ServerError(
                f"`{origin}` has no {MAKEFILE}: dyno builds extensions by PGXS (make PG_CONFIG=…)"
            )
        return record.version

    def steps(
        site: BuildSite, flags: Flags, options: Sequence[str], log: BuildLog
    ) -> tuple[BuildStep, ...]:
        made = installed_in(site)
        make = ["make", "USE_PGXS=1", f"PG_CONFIG={made / 'bin' / 'pg_config'}"]
        compile = [*make, f"--jobs={site.jobs}"]
        copy = ["cp", "--archive", "--reflink=auto", ".", str(made)]
        return (
            BuildStep(phase="copy", command=["mkdir", "--parents", str(made)], folder=server),
            BuildStep(phase="copy", command=copy, folder=server),
            # A folder may hold objects that were compiled for another server.
            BuildStep(phase="compile", command=[*make, "clean"], folder=site.tree),
            BuildStep(phase="compile", command=compile, folder=site.tree),
            BuildStep(phase="install", command=[*make, "install"], folder=site.tree),
        )

    return Method(
        version=version,
        steps=steps,
        ignored=lambda said, options: None,
        explain=lambda phase, said: explained(first_line(said, COMPILE_MARKS), MISSING, "make"),
    )
