"""postgresql.conf, read into settings and written."""

import re
from collections.abc import Iterator, Mapping

from dbdyno.engine.preset.config_file import lines_of
from dbdyno.engine.preset.render import Settings
from dbdyno.model.error import PlanError

LINE = re.compile(
    r"(?P<name>[A-Za-z_][\w.]*)\s*(?:=\s*|\s+)(?P<value>'(?:[^'\\]|\\.|'')*'|[^\s#']+)\s*(?:#.*)?"
)


def read(text: str, source: str) -> Settings:
    """The settings of a file's text. Raises PlanError with one line that names file and line."""
    return Settings(values=dict(settings(text, source)), departures=())


def settings(text: str, source: str) -> Iterator[tuple[str, str]]:
    """Names and values of a postgresql.conf. Raises PlanError."""
    for place, line in lines_of(text, "#"):
        found = LINE.fullmatch(line)
        if found is None:
            raise PlanError(
                f"{source}: {place}: `{line}` is not a setting: write it as `name = 'value'`"
            )
        yield found["name"].lower(), unquoted(found["value"])


def unquoted(value: str) -> str:
    """A value of postgresql.conf without its quotes."""
    if not value.startswith("'"):
        return value
    return re.sub(r"''|\\(.)", lambda found: found[1] or "'", value[1:-1])


def written(values: Mapping[str, str]) -> str:
    """Settings as `dyno config show` shows them."""
    return "".join(f"{name} = '{value}'\n" for name, value in values.items())
