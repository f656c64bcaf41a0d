"""The builds that dyno compiled: what lies of them in the cache, found by their names.

cache_root/builds/<name>/               the installed server, open to all accounts
cache_root/builds/<name>/build.json     what it was made of and how (docs/servers.md)
cache_root/builds/.<name>/              while it is being made; what a break leaves is swept up
cache_root/build-logs/<name>.log        what its making said, kept; locked while it is being made
"""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

import msgspec
from msgspec import Struct

from dbdyno.builds.source import Source
from dbdyno.host import place
from dbdyno.model import Json
from dbdyno.model.error import ServerError
from dbdyno.model.server_facts import BuildFacts

FOLDER = "builds"
LOGS = "build-logs"
RECORD = "build.json"
FORMAT = 1
KEY_DIGITS = 16
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
"""What can be a folder's name everywhere, as names of arms are."""


class BuildRecord(Struct, frozen=True, kw_only=True):
    """build.json (docs/servers.md), as far as dyno itself goes by it."""

    name: str
    engine: str
    version: str
    key: str
    parts: Json  # what determines the build: `key` is a hash of them
    source: Source
    recipe: str | None
    flags: str
    options: tuple[str, ...]
    configure: tuple[str, ...] | None
    features: tuple[str, ...]
    compiler: str
    made_unix_s: int
    whole: bool = True  # else the server of measured steps
    files: int | None = None  # that were compiled; None: it was not made from nothing


def root(cache: Path | None = None) -> Path:
    """The folder of all builds."""
    return (cache or place.cache_root()) / FOLDER


def log_of(name: str, cache: Path | None = None) -> Path:
    """The log of a build's making."""
    return (cache or place.cache_root()) / LOGS / f"{name}.log"


def check_name(name: str, where: str) -> None:
    """Raises ServerError where `name` cannot be a build's; `where` names the key or option."""
    if not NAME.fullmatch(name):
        raise ServerError(
            f"{where}: {name!r} cannot name a build; use letters, digits, dots, underscores, plus "
            "and minus signs, at most 64"
        )


def key_of(parts: Json) -> str:
    """The key of a build that is made of `parts`: what determines it, beside the compiler."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]


def record(base_dir: Path) -> Json | None:
    """The build.json of a folder of programs; None where dyno did not build it.

    Raises ServerError where it is damaged.
    """
    path = base_dir / RECORD
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ServerError(
            f"`{path}` cannot be read ({error}): build it again, --replace"
        ) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ServerError(f"`{path}` is not of format {FORMAT}: build it again, --replace")
    return found


def kept(base_dir: Path) -> BuildRecord | None:
    """The same, typed. Raises ServerError."""
    return msgspec.convert(record(base_dir), BuildRecord | None)


def facts_of(base_dir: Path) -> BuildFacts | None:
    """What a result says of the build in a folder; None where dyno did not build it."""
    return msgspec.convert(record(base_dir), BuildFacts | None)


def names(cache: Path | None = None) -> list[str]:
    """The names of the builds that are here."""
    return sorted(path.parent.name for path in root(cache).glob(f"[!.]*/{RECORD}"))


def find(name: str, engine: str, where: str, cache: Path | None = None) -> Path:
    """The folder of the build of that name; `where` names the plan's key in errors.

    Raises ServerError where there is none, or it is another engine's.
    """
    check_name(name, where)
    folder = root(cache) / name
    build = kept(folder)
    if build is None:
        raise ServerError(f"{where}: there is no build `{name}`; {_remedy(name, names(cache))}")
    if build.engine != engine:
        raise ServerError(
            f"{where}: build `{name}` is of engine {build.engine}, and the arm's is {engine}: "
            "write `engine`, or take another build"
        )
    return folder


def of_release(engine: str, version: str, recipe: str, cache: Path | None = None) -> Path | None:
    """The folder of the newest build of an official release by a recipe, and nothing else.

    `version`: `18` is any 18, `18.6` that one. None where there is none.
    """
    found = []
    for name in names(cache):
        build = kept(root(cache) / name)
        assert build is not None, "its file is there"
        if (build.engine, build.source.kind, build.recipe) != (
            engine,
            "release",
            recipe,
        ) or build.options:
            continue
        if build.version == version or build.version.startswith(f"{version}."):
            found.append(([int(part) for part in build.version.split(".")], name))
    return root(cache) / max(found)[1] if found else None


def remove(name: str, cache: Path | None = None) -> None:
    """Removes a build and its log. Raises ServerError where dyno built nothing of that name."""
    check_name(name, "NAME")
    folder = root(cache) / name
    if not (folder / RECORD).is_file():
        raise ServerError(
            f"dyno built nothing named `{name}`; {_remedy(name, names(cache))}; what was "
            "fetched or installed is not removed"
        )
    gone = root(cache) / f".{name}.gone"
    shutil.rmtree(gone, ignore_errors=True)
    folder.rename(gone)  # at once: a broken removal leaves no half of a build
    shutil.rmtree(gone)
    log_of(name, cache).unlink(missing_ok=True)


def differing(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    """In what two builds' `parts` differ, in words: `flags -O3 here, -O2 asked for`."""
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return "; ".join(
        f"{key} {_said(old.get(key))} here, {_said(new.get(key))} asked for" for key in keys
    )


def _said(value: object) -> str:
    if isinstance(value, list | tuple):
        return "`" + " ".join(map(str, value)) + "`" if value else "none"
    return "none" if value in (None, "") else f"`{value}`"


def _remedy(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    if near:
        return f"did you mean `{near[0]}`?"
    there = ", ".join(f"`{one}`" for one in known)
    makes = "there is none yet: `dyno server build postgres 18` makes one"
    return f"there are {there}" if there else makes


def open_to_all(path: Path, cache: Path) -> None:
    """Lets every account read what was fetched, whatever our umask is."""
    for folder in [path, *path.parents]:
        folder.chmod(folder.stat().st_mode | 0o555)
        if folder == cache:
            break
    for file in path.rglob("*"):
        if not file.is_symlink():
            mode = file.stat().st_mode
            file.chmod(mode | (0o555 if file.is_dir() or mode & 0o100 else 0o444))
