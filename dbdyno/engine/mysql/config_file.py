"""my.cnf, read into options and written."""

import re
from collections.abc import Collection, Iterator, Mapping

from dbdyno.engine.preset.config_file import lines_of
from dbdyno.engine.preset.render import Settings
from dbdyno.model.error import PlanError

GROUP = re.compile(r"\[([^\]]+)\]\s*(?:[#;].*)?")
OPTION = re.compile(
    r"(?P<name>[A-Za-z][\w-]*)\s*(?:=\s*(?P<value>\"[^\"]*\"|'[^']*'|.*?))?\s*(?:\s#.*)?"
)


def read(text: str, source: str, *, groups: Collection[str], who: str) -> Settings:
    """The options of a file's text in the groups that the server `who` reads; of others it says so.

    Raises PlanError with one line that names file and line.
    """
    values: dict[str, str] = {}
    unread: dict[str, None] = {}
    for group, name, value in options(text, source):
        if group in groups:
            values[name] = value
        else:
            unread[group] = None
    departures = tuple(
        f"[{group}] of {source} is left out: no group that {who} reads" for group in unread
    )
    return Settings(values=values, departures=departures)


def options(text: str, source: str) -> Iterator[tuple[str, str, str]]:
    """Groups, names and values of a my.cnf; an option without a value is one that is on.

    Raises PlanError.
    """
    group = None
    for place, line in lines_of(text, "#;"):
        heading = GROUP.fullmatch(line)
        if heading is not None:
            group = heading[1].strip()
            continue
        found = OPTION.fullmatch(line)
        if found is None:
            raise PlanError(
                f"{source}: {place}: `{line}` is not an option: write it as `name = value`"
            )
        if group is None:
            raise PlanError(
                f"{source}: {place}: `{found['name']}` is in no group: begin the file "
                "with `[mysqld]`"
            )
        value = "ON" if found["value"] is None else found["value"]
        if value[:1] in ("'", '"') and value[-1:] == value[:1]:
            value = value[1:-1]
        yield group, found["name"].replace("-", "_"), value


def written(values: Mapping[str, str]) -> str:
    """Options as `dyno config show` shows them."""
    return "[mysqld]\n" + "".join(f"{line(name, value)}\n" for name, value in values.items())


def line(name: str, value: str) -> str:
    """A line of my.cnf. The binary log is on or off to us; a value there would name its files."""
    if name == "log_bin":
        return name if value == "ON" else f"skip_{name}"
    return f"{name} = {value}"
