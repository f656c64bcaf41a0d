"""Presets for people to read: a list of them, and one as a configuration file."""

import re
from collections.abc import Iterator

from dbdyno import engine as registry
from dbdyno.engine.preset import files
from dbdyno.engine.preset import name as names
from dbdyno.engine.preset.render import render
from dbdyno.engine.preset.study import words
from dbdyno.model import Json, version
from dbdyno.model.error import PlanError
from dbdyno.model.size import UNITS, Capacity

VERSION = re.compile(r"\d+(\.\d+){0,2}")
MARIADB_FROM = 10
"""Major versions from here on are MariaDB's where an InnoDB preset is asked for: MySQL has none."""


def rows() -> list[Json]:
    """Each preset of each engine: engine, name, versions, title."""
    return [
        {"engine": engine, "name": name, "versions": versions(preset), "title": preset.title}
        for engine in files.engines()
        for name, preset in files.presets(engine).items()
    ]


def listing() -> Iterator[str]:
    """A line for each preset of each engine: engine, name, versions, title; then the tags."""
    shown = [tuple(row.values()) for row in rows()]
    widths = [max(len(row[column]) for row in shown) for column in range(3)]
    for row in shown:
        cells = [cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)]
        yield "  ".join([*cells, row[3]])
    for engine in ("postgres", "mysql"):
        tags = " ".join(f"_{tag.name}" for tag in files.tags(engine))
        yield f"tags of {engine}: {tags}"
    yield "hosts' sizes: " + " ".join(f"_{name}" for name in size_names())


def size_names() -> list[str]:
    """The hosts that presets are published for."""
    found = [
        size.name
        for engine in files.engines()
        for preset in files.presets(engine).values()
        for size in preset.sizes
    ]
    return list(dict.fromkeys(found))


def versions(preset: files.Preset) -> str:
    """The versions that a preset is published for."""
    least, most = preset.versions_min, preset.versions_max
    if least is None and most is None:
        return "all"
    return f"{least or ''}-{most or ''}" if most else f"{least}+"


def engine_of(preset: str, release: str | None) -> str:
    """The engine whose preset is meant: of two with one name by the version, else the first.

    Raises PlanError where none has it.
    """
    head = names.words(preset)[0]
    having = []
    for engine in files.engines():
        if any(files.pattern(one).fullmatch(head) for one in files.presets(engine)):
            having.append(engine)
    if not having:
        known = dict.fromkeys(one for of in files.engines() for one in files.presets(of))
        raise PlanError(f"config: there is no preset `{head}`: use one of {', '.join(known)}")
    if "mariadb" in having and release and int(release.split(".")[0]) >= MARIADB_FROM:
        return "mariadb"
    return having[0]


def show(
    preset: str, *, capacity: Capacity, release: str | None = None, engine: str | None = None
) -> str:
    """A preset as a configuration file for a host and a version, the newest where none is named.

    Raises PlanError where there is no such preset or version.
    """
    if release is not None and not VERSION.fullmatch(release):
        raise PlanError(f"--version: `{release}` is not a version: write it as 17, 9.6 or 8.4.6")
    if engine is not None and engine not in files.engines():
        raise PlanError(f"--engine: `{engine}`: use one of {', '.join(files.engines())}")
    of = engine or engine_of(preset, release)
    chosen = names.parse(preset, of)
    release = release or newest(chosen.preset)
    settings = render(chosen, capacity=capacity, version_num=version.number_of(of, release))
    host = f"{capacity.cores} cores, {capacity.memory_bytes / UNITS['GB']:.1f} GB of memory"
    lines = [f"# {preset}: {chosen.preset.title}", f"# for {of} {release}, {host}"]
    lines += [f"# {sentence}" for sentence in settings.departures]
    if chosen.preset.study:
        lines.append(
            f"# constants of its studies, by `_{files.STUDY}`: {words(chosen.preset.study)}"
        )
    return "\n".join(lines) + "\n" + registry.of(of).write_config(settings.values)


def newest(preset: files.Preset) -> str:
    """The newest version that a preset is published for and we know of."""
    known = registry.of(preset.engine).traits.newest
    most = preset.versions_max
    return min(known, most, key=version.bound) if most else known
