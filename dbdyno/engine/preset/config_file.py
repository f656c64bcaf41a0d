"""A configuration file of one's own: postgresql.conf or my.cnf, read into settings.

Only what stands in the file itself is read: directives that include others are refused, as the
result has to say what a server ran with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbdyno.engine.preset.render import Settings
from dbdyno.model import version
from dbdyno.model.error import PlanError

ENDINGS = (".conf", ".cnf")
INCLUDES = frozenset({"include", "include_dir", "include_if_exists"})
POSTGRES_LINE = re.compile(
    r"(?P<name>[A-Za-z_][\w.]*)\s*(?:=\s*|\s+)(?P<value>'(?:[^'\\]|\\.|'')*'|[^\s#']+)\s*(?:#.*)?"
)
GROUP = re.compile(r"\[([^\]]+)\]\s*(?:[#;].*)?")
OPTION = re.compile(
    r"(?P<name>[A-Za-z][\w-]*)\s*(?:=\s*(?P<value>\"[^\"]*\"|'[^']*'|.*?))?\s*(?:\s#.*)?"
)
GROUPS = {"mysql": ("mysqld", "server"), "mariadb": ("mysqld", "server", "mariadbd", "mariadb")}
"""The groups of my.cnf that a server reads; with `-8.4` behind it, one of that series."""


def is_file(config: str) -> bool:
    """Whether an arm's `config` is a file's path; else it is a preset's name."""
    return "/" in config or config.endswith(ENDINGS)


def parse(text: str, *, source: str, engine: str, version_num: int) -> Settings:
    """The settings of a file's text. Raises PlanError with one line that names file and line."""
    if engine == "postgres":
        return Settings(values=dict(of_postgres(text, source)), departures=())
    release = version.text(version.of_number(engine, version_num)[:2])
    values: dict[str, str] = {}
    unread: dict[str, None] = {}
    for group, name, value in of_mysql(text, source):
        if group in reads(engine, release):
            values[name] = value
        else:
            unread[group] = None
    departures = tuple(
        f"[{group}] of {source} is left out: no group that {engine} {release} reads"
        for group in unread
    )
    return Settings(values=values, departures=departures)


def reads(engine: str, release: str) -> frozenset[str]:
    """The groups that a server of a series reads."""
    plain = GROUPS[engine]
    return frozenset(plain) | {f"{group}-{release}" for group in plain}


def lines_of(text: str, comments: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers from 1."""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and stripped[0] not in comments:
            yield number, stripped


def of_postgres(text: str, source: str) -> Iterator[tuple[str, str]]:
    """Names and values of a postgresql.conf. Raises PlanError."""
    for number, line in lines_of(text, "#"):
        found = POSTGRES_LINE.fullmatch(line)
        if found is None:
            raise PlanError(
                f"{source}: line {number}: `{line}` is no setting: write it as `name = 'value'`"
            )
        if found["name"].lower() in INCLUDES:
            raise includes(source, number, found["name"])
        yield found["name"].lower(), unquoted(found["value"])


def unquoted(value: str) -> str:
    """A value of postgresql.conf without its quotes."""
    if not value.startswith("'"):
        return value
    return re.sub(r"''|\\(.)", lambda found: found[1] or "'", value[1:-1])


def of_mysql(text: str, source: str) -> Iterator[tuple[str, str, str]]:
    """Groups, names and values of a my.cnf; an option without a value is one that is on.

    Raises PlanError.
    """
    group = None
    for number, line in lines_of(text, "#;"):
        if line.startswith("!"):
            raise includes(source, number, line.split()[0])
        heading = GROUP.fullmatch(line)
        if heading is not None:
            group = heading[1].strip()
            continue
        found = OPTION.fullmatch(line)
        if found is None:
            raise PlanError(
                f"{source}: line {number}: `{line}` is no option: write it as `name = value`"
            )
        if group is None:
            raise PlanError(
                f"{source}: line {number}: `{found['name']}` stands in no group: begin the file "
                "with `[mysqld]`"
            )
        value = "ON" if found["value"] is None else found["value"]
        if value[:1] in ("'", '"') and value[-1:] == value[:1]:
            value = value[1:-1]
        yield group, found["name"].replace("-", "_"), value


def includes(source: str, number: int, directive: str) -> PlanError:
    """The error for a directive that includes another file."""
    return PlanError(
        f"{source}: line {number}: `{directive}` reads another file: put what it says into this one"
    )
