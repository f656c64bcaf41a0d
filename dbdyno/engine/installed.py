"""The builds that are on this host: fetched, compiled by dyno, or installed under the usual paths.

And the one of them that an arm asks for.
"""

import os
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno import engine
from dbdyno.builds import Build
from dbdyno.builds import cache as built
from dbdyno.builds import features as feature
from dbdyno.builds.features import ProgramReader
from dbdyno.host import account as accounts
from dbdyno.host import place
from dbdyno.host.account import Account
from dbdyno.model import Arm
from dbdyno.model.compiler import for_size
from dbdyno.model.engine import having
from dbdyno.model.error import ServerError

NOT_TOLD = "not told"
FOR_SIZE = " (for size, not for speed)"
WIDTH = 80
SERVERS = ("postgres", "mysqld", "mariadbd")
"""Programs of servers, by which a folder is known for one."""


def locate(arm: Arm, cache: Path | None = None, account: Account | None = None) -> Build:
    """The build that an arm asks for; a version that is not in the cache is fetched.

    Raises ServerError where there is none, or where the account cannot run it.
    """
    account = replace(account or accounts.choose(arm.engine), environment=arm.environment)
    its = engine.of(arm.engine)
    if arm.build is not None and arm.version is not None:
        where = f"arms.{arm.name}.build"
        folder = built.of_release(arm.engine, arm.version, arm.build, cache)
        if folder is None:
            command = f"dyno server build {arm.engine} {arm.version} --recipe {arm.build}"
            raise ServerError(f"{where}: not built yet: {command}")
        return its.inspect(folder, where, account)
    if arm.build is not None:
        where = f"arms.{arm.name}.build"
        return its.inspect(built.find(arm.build, arm.engine, where, cache), where, account)
    if arm.base_dir is not None:
        return its.inspect(arm.base_dir.absolute(), f"arms.{arm.name}.base_dir", account)
    assert arm.version is not None, "a plan that exists names a version or a base_dir"
    return its.bring(arm.version, f"arms.{arm.name}.version", cache, account)


def in_folder(folder: Path, where: str) -> Build:
    """The build in a folder, of whichever engine. Raises ServerError that begins with `where`."""
    if not folder.is_dir():
        raise ServerError(f"{where}: there is no folder `{folder}`")
    programs = sorted({path.name for path in folder.glob("*bin/*") if path.name in SERVERS})
    reasons = []
    for name in having("made"):
        try:
            return engine.of(name).inspect(folder, where, accounts.choose(name))
        except ServerError as reason:
            reasons.append(reason)
    if programs:  # one is there that does not run: whoever knows it says why
        raise max(reasons, key=lambda one: any(name in str(one) for name in programs))
    listed = ", ".join(f"bin/{name}" for name in SERVERS)
    raise ServerError(f"{where}: `{folder}` has none of {listed}: name the folder above bin/")


# --- All of them ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class InstalledServer:
    """A server that is here. None: nobody tells."""

    engine: str
    version: str
    origin: str  # "fetched", "built" or "installed"
    name: str | None  # of a build, for plans
    folder: str
    compiler: str | None
    flags: str | None
    features: tuple[str, ...]


def rows(
    cache: Path | None = None, root: Path = Path("/"), only: str | None = None
) -> list[InstalledServer]:
    """All of them, by engine, then by version; those that do not run are left out.

    `root`: of the file system; `only`: of this engine.
    """
    cache = cache or place.cache_root()
    names = having("made") if only is None else [only]
    reader = ProgramReader(cache)
    servers = [row for name in names for row in _of_engine(name, cache, root, reader)]
    reader.keep()
    return servers


def _of_engine(name: str, cache: Path, root: Path, reader: ProgramReader) -> list[InstalledServer]:
    account = accounts.choose(name)
    found: dict[Path, tuple[int, InstalledServer]] = {}
    for origin, folder in _folders(name, cache, root):
        try:
            build = engine.of(name).inspect(folder, str(folder), account)
        except ServerError:
            continue  # of the other engine, too old, broken, or closed to the account
        program = build.program.resolve()
        if program not in found:
            found[program] = (build.version_num, _row(build, origin, reader))
    return [row for _, row in sorted(found.values(), key=lambda pair: pair[0])]


def _folders(name: str, cache: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """The places that may hold a server of the engine, and their origins."""
    for build in built.names(cache):
        folder = built.root(cache) / build
        record = built.kept(folder)
        if record is not None and record.engine == name:
            yield "built", folder
    yield from (("fetched", path) for path in sorted(cache.glob(f"{name}/*")))
    yield from (("installed", path) for path in engine.of(name).folders(cache, root))


def _row(build: Build, origin: str, reader: ProgramReader) -> InstalledServer:
    record = built.kept(build.base_dir) if origin == "built" else None
    program = build.image or build.program
    facts = reader.read(program)
    compiler, name, features = facts.compiler, None, facts.features + feature.beside(program)
    if record is not None:
        compiler, name, features = record.compiler, record.name, record.features
    return InstalledServer(
        engine=build.engine,
        version=build.version,
        origin=origin,
        name=name,
        folder=str(build.base_dir),
        compiler=compiler,
        flags=feature.flags(build, facts),
        features=tuple(features),
    )


def lines(found: list[InstalledServer]) -> list[str]:
    """A table that fits 80 columns: a line of names, one of what it was made with, its folder."""
    if not found:
        return ["no server is installed: dyno server fetch postgres 17"]
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


def programs(name: str, cache: Path | None = None, root: Path = Path("/")) -> Iterator[Path]:
    """The programs of that name in `bin` of what is here, of whichever engine."""
    for of in having("made"):
        for _, folder in _folders(of, cache or place.cache_root(), root):
            path = folder / "bin" / name
            if path.is_file() and os.access(path, os.X_OK):
                yield path
