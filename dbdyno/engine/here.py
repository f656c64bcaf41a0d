"""The servers that are on this host: fetched, built by dyno, or installed under the usual paths."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdyno.builds import Build
from dbdyno.builds import cache as built
from dbdyno.builds import features as feature
from dbdyno.engine import installed
from dbdyno.engine.mysql import build as mysql_build
from dbdyno.engine.postgres import build as fetch
from dbdyno.host import account as accounts
from dbdyno.host import place
from dbdyno.model import PRODUCTS
from dbdyno.model.compiler import for_size
from dbdyno.model.error import ServerError

NOT_TOLD = "not told"
FOR_SIZE = " (for size, not for speed)"
WIDTH = 80


@dataclass(frozen=True, kw_only=True)
class Row:
    """A server that is here. None: nobody tells."""

    engine: str
    version: str
    origin: str  # "fetched", "built" or "installed"
    name: str | None  # of a build, for plans
    folder: str
    compiler: str | None
    flags: str | None
    features: tuple[str, ...]


def rows(cache: Path | None = None, root: Path = Path("/")) -> list[Row]:
    """All of them, by engine, then by version; those that do not run are left out.

    `root`: of the file system.
    """
    return [row for engine in PRODUCTS for row in _of_engine(engine, cache, root)]


def _of_engine(engine: str, cache: Path | None, root: Path) -> list[Row]:
    account = accounts.choose(engine)
    found: dict[Path, tuple[int, Row]] = {}
    for origin, folder in _folders(engine, cache or place.cache_root(), root):
        try:
            build = installed.inspect(folder, engine, str(folder), account)
        except ServerError:
            continue  # of the other engine, too old, broken, or closed to the account
        program = build.program.resolve()
        if program not in found:
            found[program] = (build.version_num, _row(build, origin))
    return [row for _, row in sorted(found.values(), key=lambda pair: pair[0])]


def _folders(engine: str, cache: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """Where there may be a server of the engine, and where it would be from."""
    for name in built.names(cache):
        folder = built.root(cache) / name
        record = built.record(folder)
        if record is not None and record["engine"] == engine:
            yield "built", folder
    yield from (("fetched", path) for path in sorted(cache.glob(f"{engine}/*")))
    if engine == "postgres":
        patterns = fetch.INSTALLED
        yield from (("installed", path) for one in patterns for path in sorted(root.glob(one)))
        return
    for path in mysql_build.folders(engine, cache, root):
        if not path.is_relative_to(cache):
            yield "installed", path


def _row(build: Build, origin: str) -> Row:
    record = built.record(build.base_dir) if origin == "built" else None
    program = build.image or build.program
    compiler, name, features = feature.compiler(program), None, feature.linked(program)
    if record is not None:
        compiler, name, features = record["compiler"], record["name"], record["features"]
    return Row(
        engine=build.engine,
        version=build.version,
        origin=origin,
        name=name,
        folder=str(build.base_dir),
        compiler=compiler,
        flags=feature.flags(build),
        features=tuple(features),
    )


def lines(found: list[Row]) -> list[str]:
    """A table that fits 80 columns: a line of names, one of what it was made with, its folder."""
    if not found:
        return ["no server is here: dyno server fetch postgres 17"]
    told: list[str] = []
    for row in found:
        name = f"  build = {row.name}" if row.name else ""
        small = FOR_SIZE if for_size(row.flags) else ""
        told += [
            f"{row.engine:<9}{row.version:<9}{row.origin}{name}",
            *_wrapped("compiler", row.compiler or NOT_TOLD),
            *_wrapped("flags", (row.flags or NOT_TOLD) + small),
            *_wrapped("features", " ".join(row.features) or "none"),
            f"    folder    {row.folder}",  # whole, to be copied
        ]
    return told


def _wrapped(what: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"    {what:<10}",
        subsequent_indent=" " * 14,
        break_on_hyphens=False,
        break_long_words=False,
    )
