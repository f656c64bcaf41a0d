"""Reads a running MySQL or MariaDB: version, compiler's target, every variable."""

from collections.abc import Callable, Mapping
from typing import Any

from dbdyno.engine.mysql import connection, options, settings
from dbdyno.engine.mysql.flavour import Flavour
from dbdyno.engine.settings import without_secrets
from dbdyno.model.error import ServerError
from dbdyno.model.server_facts import ServerFacts

Query = Callable[[str], list[tuple[Any, ...]]]

VARIABLES = "SHOW GLOBAL VARIABLES"
PAGE_BYTES = 16384
"""InnoDB's pages before 5.6, which has no setting of their size."""
PLACES = frozenset(
    {"basedir", "datadir", "init_file", "pid_file", "port", "secure_file_priv", "socket", "tmpdir"}
)
"""Variables that name an arm's place, which nobody chose: `data_dir` of server.json has it."""


def ask(query: Query, engine: str, flavour: Flavour) -> ServerFacts:
    """The part of server.json (docs/results.md) that the server itself knows."""
    values = without_secrets({str(name): str(value) for name, value in query(VARIABLES)})
    _, number = told(values["version"])
    changed = nondefault(query, flavour, number)
    return ServerFacts(
        engine=engine,
        version=values["version"].split("-")[0],
        version_text=f"{values['version']} {values['version_comment']}",
        version_num=number,
        compiler=compiler_of(values),
        block_size=int(values.get("innodb_page_size", PAGE_BYTES)),
        settings=values,
        nondefault={
            name: values[name] for name in changed if name in values and name not in PLACES
        },
        data_checksums=values.get("innodb_checksum_algorithm"),
    )


def told(version: str) -> tuple[str, int]:
    """Engine and number, as Build has them, of what a server says. Raises ServerError."""
    found = connection.told(version)
    if found is None:
        raise ServerError(f"`{version}` is not a version of MySQL or MariaDB")
    return found


def nondefault(query: Query, flavour: Flavour, number: int) -> list[str]:
    """The variables that were set; empty where the server keeps no account of that."""
    if number < flavour.tells_changed_from:
        return []
    return sorted(str(name).lower() for (name,) in query(flavour.changed))


def compiler_of(values: Mapping[str, str]) -> str | None:
    """The server's word on its compilation: its machine and system; it names no compiler."""
    words = [values.get(f"version_compile_{key}") for key in ("machine", "os")]
    return " ".join(word for word in words if word) or None


def read_back(query: Query, wanted: Mapping[str, str]) -> list[str]:
    """A sentence for each option that the running server holds otherwise than it was written."""
    values = {str(name): str(value) for name, value in query(VARIABLES)}
    found = []
    for written, value in wanted.items():
        name = options.canonical(written)
        if written.startswith(options.LOOSE) and name not in values:
            found.append(f"{name} = {value} is not in force: this build does not have it")
        elif name in values and not alike(value, values[name]):
            found.append(f"{name} is {values[name]}, not {value}: the server changed it")
    return found


def alike(written: str, read: str) -> bool:
    """Whether a value as written and as read back mean the same."""
    one, other = plain(written), plain(read)
    return one == other or {one, other} == {"", "null"}


def plain(value: str) -> str:
    """A value in one form of the many: numbers without units, switches as 1 and 0, lists sorted."""
    text = value.strip().lower()
    if settings.SIZE.fullmatch(text):
        return str(settings.amount(text))
    if text in options.ON | options.OFF:
        return "1" if text in options.ON else "0"
    try:
        return f"{float(text):g}"
    except ValueError:
        return ",".join(sorted(part.strip() for part in text.split(",")))
