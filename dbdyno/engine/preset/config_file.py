"""A configuration file of one's own, in place of a preset: what all engines' have in common.

Files that it includes are read in their places, as the result has to say what a server ran with.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from dbdyno.engine.preset.render import Settings
from dbdyno.model.document import text_of
from dbdyno.model.error import PlanError

ENDINGS = (".conf", ".cnf")
INCLUDE = re.compile(
    r"\s*(?:!(include(?:dir)?)\s+(\S.*?)"
    r"|(include(?:_dir|_if_exists)?)\s*(?:=\s*|\s+)('[^']+'|[^\s#'=]+)(?:\s*#.*)?)"
    r"\s*",
    re.IGNORECASE,
)
"""A line of my.cnf, or of postgresql.conf, that reads another file, or those of a folder."""
DEPTH_MAX = 10
"""How deep files include each other at most, as in both servers."""
MARK = "#dyno "
"""Begins a line that says which file the next one is of, and the number of the line before it."""


def is_file(config: str) -> bool:
    """Whether an arm's `config` is a file's path; else it is a preset's name."""
    return "/" in config or config.endswith(ENDINGS)


def whole(path: Path, above: tuple[Path, ...] = ()) -> str:
    """The text of a file, with the files that it includes in their places.

    Raises PlanError in one line that names the file and the line.
    """
    lines: list[str] = []
    heading = ""  # of my.cnf: what follows an included file is in the group as before it
    for number, line in enumerate(text_of(path, PlanError).splitlines(), start=1):
        heading = line if line.lstrip().startswith("[") else heading
        match = INCLUDE.fullmatch(line)
        if match is None:
            lines.append(line)
            continue
        where = f"{path}: line {number}: `{line.strip()}`"
        if len(above) == DEPTH_MAX:
            raise PlanError(f"{where}: files include each other {DEPTH_MAX} deep: remove a line")
        for included in files_of(match, path, where):
            lines += [f"{MARK}{included}: 0", whole(included, (*above, path))]
        lines += [*filter(None, [heading]), f"{MARK}{f'{path}: ' if above else ''}{number}"]
    return "".join(f"{line}\n" for line in lines)


def files_of(match: re.Match[str], path: Path, where: str) -> list[Path]:
    """The files that a line of `path` includes, in the servers' order. Raises PlanError."""
    option, option_place, setting, setting_place = match.groups()
    word = (option or setting).lower()
    place = path.parent / (option_place or setting_place.strip("'"))
    if not word.endswith("dir"):
        return [place] if place.exists() or not word.endswith("exists") else []
    if not place.is_dir():
        raise PlanError(f"{where}: there is no such folder: make it, or remove the line")
    files = sorted(place.glob("[!.]*.cnf" if option else "[!.]*.conf"))
    return [file for file in files if file.is_file()]


def lines_of(text: str, comments: str) -> Iterator[tuple[str, str]]:
    """The lines that say something, each with its place: `line 3`, `more.conf: line 3`."""
    file, number = "", 0
    for line in text.splitlines():
        if line.startswith(MARK):
            file, _, last = line.removeprefix(MARK).rpartition(": ")
            file, number = file and f"{file}: ", int(last)
            continue
        number += 1
        stripped = line.strip()
        if stripped and stripped[0] not in comments:
            yield f"{file}line {number}", stripped


def without_places(settings: Settings, file: str | None, places: Collection[str]) -> Settings:
    """The settings of a file without those of these names; a sentence says which it had."""
    left_out = sorted(name for name in settings.values if name in places)
    if not left_out:
        return settings
    said = f"left out of {file}, as dyno says where its servers lie: {', '.join(left_out)}"
    kept = {name: value for name, value in settings.values.items() if name not in left_out}
    return replace(settings, values=kept, departures=(*settings.departures, said))
