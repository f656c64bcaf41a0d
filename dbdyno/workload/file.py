"""Finds workload files, shipped ones by name and others by path, and reads them."""

import hashlib
import importlib.resources
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from pathlib import Path

from dbdyno.model import WorkloadUse
from dbdyno.model.document import read, suggestion, text_of
from dbdyno.model.error import WorkloadError
from dbdyno.model.own_query import Application, OwnQuery
from dbdyno.model.plan import Statistics
from dbdyno.model.sweep import named
from dbdyno.workload import queries, samples
from dbdyno.workload.mixes import Mixes, with_scripts
from dbdyno.workload.restored import with_restore
from dbdyno.workload.schema import StepForm, WorkloadFile
from dbdyno.workload.script import files

SUFFIX = ".toml"
FOLDER_FILE = f"workload{SUFFIX}"
"""The workload file of a folder that is named in its place, such as `dyno capture` writes."""
KEEP = "keep"
"""The load that is none: tables are there already."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
"""The form of a name that can be a folder's everywhere."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A workload file that has been read; `source` is how messages call it.

    `fill` is how its tables are loaded: "fast", "published", or "keep": they are there. `set` names
    the set of steps that is taken, `preset` the values of parameters; None where there are none.
    """

    name: str
    source: str
    description: str
    file: WorkloadFile
    fill: str
    set: str | None = None
    preset: str | None = None
    folder: Path = Path()  # where paths of scripts begin
    application: Application | None = None  # whose queries are its steps; None: it has none


def names() -> list[str]:
    """The names of the shipped workloads."""
    entries = (entry.name for entry in shipped().iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in entries if name.endswith(SUFFIX))


def shipped() -> Traversable:
    """The folder of the workloads that come along."""
    return importlib.resources.files("dbdyno.workload") / "shipped"


def text(name_or_path: str, relative_to: Path | None = None) -> str:
    """A workload's TOML as it was written.

    A path ends in .toml or has a slash; it is taken relative to the plan `relative_to` (its file
    or its folder). Raises WorkloadError where there is no such workload.
    """
    if not _is_path(name_or_path):
        if name_or_path not in names():
            raise WorkloadError(
                f"no workload `{name_or_path}`; {suggestion(name_or_path, names())} "
                "(a file of your own is named by its path, such as ./mine.toml)"
            )
        return (shipped() / f"{name_or_path}{SUFFIX}").read_text(encoding="utf-8")
    return text_of(_path(name_or_path, relative_to), WorkloadError, " as a workload file")


def used(use: WorkloadUse, plan: Path | None) -> Workload:
    """The workload as a plan uses it, by the name of its load. Raises WorkloadError as `load`."""
    workload = load(
        use.name,
        plan,
        fill=use.fill,
        set=use.set,
        preset=use.preset,
        scripts=use.scripts,
        variables=use.variables,
        restore=use.restore,
        statistics=use.statistics,
    )
    return replace(workload, name=named(workload.name, use.load))


def load(  # noqa: PLR0913 (each choice of a plan by its name)
    name_or_path: str,
    relative_to: Path | None = None,
    *,
    fill: str | None = None,
    set: str | None = None,
    preset: str | None = None,
    scripts: Mixes | None = None,
    variables: Mapping[str, bool | int | float | str] | None = None,
    restore: Path | None = None,
    statistics: Statistics = "same",
) -> Workload:
    """Reads a workload, to be loaded as `fill` says; None: as the file says, or else the fast way.

    `set` names a set of its steps (None: as the file says), `preset` values of its parameters,
    `scripts` the steps that run a plan's scripts, which begin with these `variables`; `restore` is
    the dump that makes its data, in place of any load; `statistics`: whether arms share
    the planner's.
    Raises WorkloadError with one line where it is none, or has no such load, set or preset; what
    is wrong in a script is shown below the line.
    """
    name, source = name_or_path, name_or_path
    if _is_path(name_or_path):
        path = _path(name_or_path, relative_to)
        source = str(path)
        name = path.absolute().parent.name if path.name == FOLDER_FILE else path.stem
        if not NAME.fullmatch(name):
            raise WorkloadError(
                f"{source}: a workload file's name becomes a folder's; "
                "use letters, digits, dots, underscores, plus and minus signs"
            )
        folder = Path(source).parent
    else:
        source = f"{name_or_path}{SUFFIX}"
        folder = _folder(relative_to)
    file = read(WorkloadFile, text(name_or_path, relative_to), source, WorkloadError)
    if preset is not None and preset not in file.presets:
        raise WorkloadError(f"{source}: no preset `{preset}`; {suggestion(preset, file.presets)}")
    if scripts is not None:
        file = with_scripts(file, scripts, variables or {}, folder)
    application = None
    if file.queries:
        place = queries.QueryFile(source=source, folder=folder)
        application = queries.application(file, place)
        file = queries.with_steps(file, application)
    if restore is not None:
        captured = () if application is None else application.queries
        file = with_restore(file, restore, statistics, captured)
    return Workload(
        name=name,
        source=source,
        description=file.description,
        file=file,
        application=application,
        fill=_fill(file, fill, source) if restore is None else KEEP,
        set=_set(file, set, source),
        preset=preset,
        folder=folder,
    )


def captured(path: Path) -> Application:
    """The application in a captured folder, also one without any value. Raises WorkloadError."""
    source = str(path / FOLDER_FILE)
    file = read(WorkloadFile, text(source), source, WorkloadError)
    if not file.queries:
        raise WorkloadError(f"{source}: has no captured queries: name a folder of `dyno capture`")
    return queries.of_file(file, queries.QueryFile(source=source, folder=path))


def undrawn(path: Path) -> Sequence[OwnQuery]:
    """The queries of a workload file that lack values, which nobody has tried to draw yet.

    Raises WorkloadError.
    """
    file = read(WorkloadFile, text(str(path)), str(path), WorkloadError)
    every = queries.read(file, queries.QueryFile(source=str(path), folder=path.parent))
    return [query for query in every if queries.lacks_values(query) and not query.drawn]


def _set(file: WorkloadFile, wanted: str | None, source: str) -> str | None:
    """The set of steps: as asked, or as the file says."""
    there = {*file.sets, *(name for step in file.steps for name in step.sets)}
    for number, step in enumerate(file.steps, start=1):
        for name in step.sets if file.sets else ():
            if name not in file.sets:
                remedy = f"{suggestion(name, file.sets)} (or write a table [sets.{name}])"
                raise WorkloadError(
                    f"{source}: key `steps[{number}].sets`: no set `{name}`; {remedy}"
                )
    chosen = wanted if wanted is not None else file.set
    if chosen is None and there:
        raise WorkloadError(f"{source}: key `set`: missing; the steps have sets: name one of them")
    if chosen is not None and chosen not in there:
        raise WorkloadError(f"{source}: no set `{chosen}`; {suggestion(chosen, there)}")
    return chosen


def _fill(file: WorkloadFile, wanted: str | None, source: str) -> str:
    """How the tables are loaded: as asked, as the file says, or the fast way where there is one."""
    there = {str(step.fill) for step in file.steps if step.fill == "published"}
    if any(table.fill for table in file.tables.values()):
        there.add("fast")
    if wanted == KEEP:
        if "fast" not in there:
            raise WorkloadError(
                f'{source}: key `fill`: "{KEEP}" needs a table with a `fill`, which defines its '
                "rows are; there is none"
            )
        return KEEP
    chosen = wanted or file.fill
    if chosen is not None and chosen not in there:
        ways = " or ".join(f'"{way}"' for way in sorted(there))
        remedy = f"write {ways}" if ways else "remove `fill`"
        raise WorkloadError(f'{source}: key `fill`: no load is "{chosen}"; {remedy}')
    return chosen or ("fast" if "fast" in there else "published")


def sha256(name_or_path: str, relative_to: Path | None = None) -> str:
    """The SHA-256 of the workload file's text, in hexadecimal."""
    return hashlib.sha256(text(name_or_path, relative_to).encode()).hexdigest()


def scripts_sha256(loaded: Workload) -> dict[str, str]:
    """The SHA-256 of each of the workload's scripts and files of samples, by its path.

    Raises WorkloadError where one cannot be read.
    """
    scripts = files.sha256(loaded.file, loaded.folder)
    return scripts | samples.sha256(loaded.file.values, loaded.folder)


def own_files(use: WorkloadUse, plan: Path | None) -> list[Path]:
    """The files that a plan's use needs beside what comes along: its workload file, scripts, and
    programs that lie beside them.

    Raises WorkloadError.
    """
    loaded = used(use, plan)
    own = [Path(loaded.source)] if _is_path(use.name) else []
    own += [loaded.folder / query.text for query in loaded.file.queries.values()]
    named = [
        *scripts_sha256(loaded),
        *(word for step in loaded.file.steps for word in _words(step)),
    ]
    paths = (loaded.folder / word for word in dict.fromkeys(named) if not word.startswith("/"))
    return [*own, *(path for path in paths if path.is_file())]


def _words(step: StepForm) -> list[str]:
    """The words of a step that may name files: of its command, and scripts of other programs."""
    command = step.command or []
    words = command.split() if isinstance(command, str) else list(command)
    words += step.needs
    if step.sysbench is not None:
        words.append(step.sysbench.script)
    if step.pgbench is not None:
        words += [script.rpartition("@")[0] or script for script in step.pgbench.scripts]
    return words


def _is_path(name_or_path: str) -> bool:
    return "/" in name_or_path or name_or_path.endswith(SUFFIX)


def _path(name_or_path: str, relative_to: Path | None) -> Path:
    """The workload file of a path, or the one in the folder that it names."""
    path = _folder(relative_to) / name_or_path
    return path / FOLDER_FILE if path.is_dir() else path


def _folder(relative_to: Path | None) -> Path:
    """The folder of a plan, or that folder itself."""
    folder = relative_to or Path()
    return folder.parent if folder.suffix == SUFFIX else folder
