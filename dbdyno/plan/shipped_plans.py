"""The plans that come along: known by name, and copied with the files that they take."""

import contextlib
import importlib.resources
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno import plan, workload
from dbdyno.model import Plan
from dbdyno.model.document import suggestion
from dbdyno.model.error import PlanError
from dbdyno.store.file import made, write_atomically

SUFFIX = ".toml"
STUDIES = "studies"
"""The folder of the plans that repeat a published study."""
FARM = "farm"
"""The folder of what a farm is kept running by (docs/howto/farm.md)."""
SENTENCE = re.compile(r'(?:"[^"]*"|[^"])*?(?=[.?:]\s)\??')
"""A sentence up to its end or its colon, with titles of posts whole."""


@dataclass(frozen=True, kw_only=True)
class ShippedPlan:
    """A plan that comes along."""

    name: str
    description: str  # the first sentence of its comment
    path: Path


def folder() -> Path:
    """The folder of the plans."""
    return Path(str(importlib.resources.files("dbdyno.plan"))) / "shipped"


def plans() -> list[ShippedPlan]:
    """All of them, by name."""
    paths = [*folder().glob(f"*{SUFFIX}"), *folder().glob(f"{STUDIES}/*{SUFFIX}")]
    return sorted(map(_of_file, paths), key=lambda shipped: shipped.name)


def _of_file(path: Path) -> ShippedPlan:
    comment, _, _ = path.read_text(encoding="utf-8").partition("\n\n")
    text = " ".join(line.removeprefix("#").strip() for line in comment.splitlines())
    sentence = SENTENCE.match(text)
    return ShippedPlan(name=path.stem, description=sentence[0] if sentence else text, path=path)


def named(name: str) -> ShippedPlan:
    """The plan of this name. Raises PlanError."""
    there = {shipped.name: shipped for shipped in plans()}
    if name not in there:
        raise PlanError(
            f"no plan `{name}`; {suggestion(name, there)} (a file of your own ends in {SUFFIX}, "
            "or has a slash)"
        )
    return there[name]


def located(path: Path) -> Path:
    """The file of a plan: a word alone names a shipped one where no file is called so.

    Raises PlanError.
    """
    if path.suffix == SUFFIX or len(path.parts) > 1 or path.exists():
        return path
    return named(str(path)).path


# --- Copied -------------------------------------------------------------------------------------


def files(of: Plan) -> Iterator[Path]:
    """The files that a plan names by paths: workload files, scripts, and its hooks' own.

    Raises PlanError.
    """
    if of.path is not None:
        yield of.path
        words = (word for hook in of.hooks for word in hook.command or ())
        own = (of.path.parent / word for word in words if not word.startswith("/"))
        yield from (path for path in own if path.is_file())
    for use in of.workloads:
        for name in (use.name, *(name for names in (use.scripts or {}).values() for name in names)):
            if Path(name).is_absolute():
                raise PlanError(
                    f"`{name}` is not there on another host: name it by a path from the plan's "
                    "folder, and dyno brings it along"
                )
        yield from workload.own_files(use, of.path)


def copy(name: str, to: Path) -> list[Path]:
    """Copies a plan, as it is, with the files that it takes; `farm`: a farm's folder.

    Returns what is new, the plan first. Raises PlanError where another file is there already,
    and DiskError; nothing is written then.
    """
    if name == FARM:
        sources = sorted((folder() / FARM).iterdir(), key=lambda path: path.suffix != SUFFIX)
        return _written({to / FARM / path.name: path for path in sources})
    path = named(name).path
    taken = dict.fromkeys(files(plan.load(path, arms_max=None)))
    return _written({to / file.relative_to(path.parent): file for file in taken})


def _written(sources: Mapping[Path, Path]) -> list[Path]:
    contents = {target: source.read_bytes() for target, source in sources.items()}
    for number, (target, content) in enumerate(contents.items()):
        # Plans share scripts and workload files: one that is there as it came may stay.
        shared = number > 0 and target.is_file() and target.read_bytes() == content
        if target.exists() and not shared:
            raise PlanError(f"{target}: is there already: move it, or name another folder by --to")
    new = [target for target in contents if not target.exists()]
    try:
        for target in new:
            made(target.parent)
            write_atomically(target, contents[target])
            target.chmod(sources[target].stat().st_mode & 0o777)
    except BaseException:
        for target in new:
            with contextlib.suppress(OSError):
                target.unlink()
        raise
    return new
