"""A folder that mydumper wrote, as the SQL of a dump in one file.

`myloader` is not needed: each file holds statements that the client takes. A table has a file of
its definition and files of its rows; views, triggers and routines have files of their own, in which
a semicolon at the very end of a line ends a statement (within a body a blank stands behind it).
"""

import gzip
from collections.abc import Iterator
from pathlib import Path

from dbdyno.engine.restore import KEY, moment
from dbdyno.model.error import PlanError

METADATA = "metadata"
PACKED = ".gz"
CREATED = "-schema-create.sql"
DEFINITIONS = ("-schema-sequence.sql", "-schema.sql")
PROGRAMS = ("-schema-view.sql", "-schema-triggers.sql", "-schema-post.sql")
"""What has to come behind the rows, in this order."""
SQL = ".sql"
PROLOGUE = (
    b"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0, unique_checks = 0, "
    b"time_zone = '+00:00';\n"
)
DELIMITER = b"$$dyno$$"
END, END_WITHIN = b";\n", b"; \n"


def is_one(path: Path) -> bool:
    """Whether a folder is mydumper's."""
    return (path / METADATA).is_file()


def refuse(path: Path) -> None:
    """Raises PlanError where a folder has what the client does not take, or several databases."""
    names = sorted(file.name for file in path.iterdir() if file.is_file())
    for name in names:
        if name.endswith((".zst", ".lz4")):
            raise PlanError(f"{KEY}: `{path}` is packed by zstd: unpack it (zstd -d --rm *.zst)")
        if name.removesuffix(PACKED).endswith((".dat", ".csv")):
            raise PlanError(
                f"{KEY}: `{path}` has rows as files of LOAD DATA: dump without --load-data, --csv"
            )
    databases = {database_of(file) for file in files(path)}
    if len(databases) > 1:
        raise PlanError(
            f"{KEY}: `{path}` has {len(databases)} databases: dump the one that is raced (-B)"
        )
    if not databases:
        raise PlanError(f"{KEY}: `{path}` has no table: it is no whole dump by mydumper")


def dumped(path: Path) -> str | None:
    """When a folder was made, in ISO 8601, where its metadata say so."""
    return moment((path / METADATA).read_text(errors="replace"))


def database_of(file: Path) -> str:
    """The database that a file is of; names with a dot are written otherwise by mydumper."""
    name = plain(file)
    whole = next((name.removesuffix(end) for end in PROGRAMS if name.endswith(end)), name)
    return whole.partition(".")[0]


def plain(file: Path) -> str:
    """A file's name without what packs it."""
    return file.name.removesuffix(PACKED)


def files(path: Path) -> list[Path]:
    """The files in the order in which they are restored: definitions, rows, views, programs."""
    every = [file for file in sorted(path.iterdir()) if plain(file).endswith(SQL)]
    ordered = sorted(every, key=lambda file: rank(plain(file)))
    return [file for file in ordered if not plain(file).endswith(CREATED)]


def rank(name: str) -> int:
    """When a file is restored, by its name."""
    ends = (*DEFINITIONS, "", *PROGRAMS)
    place = next((n for n, end in enumerate(ends) if end and name.endswith(end)), None)
    return ends.index("") if place is None else place


def has_rows(file: Path) -> bool:
    """Whether a file holds rows of a table rather than definitions."""
    return not plain(file).endswith((*DEFINITIONS, *PROGRAMS))


def lines(path: Path) -> Iterator[bytes]:
    """All statements, as one client takes them. Raises OSError, EOFError."""
    yield PROLOGUE
    for file in files(path):
        if plain(file).endswith(PROGRAMS):
            yield b"DELIMITER " + DELIMITER + b"\n"
            yield from map(delimited, lines_of(file))
            yield b"DELIMITER ;\n"
        else:
            yield from lines_of(file)


def definitions(path: Path) -> Iterator[bytes]:
    """The lines of all files but those of rows. Raises OSError, EOFError."""
    for file in files(path):
        if not has_rows(file):
            yield from lines_of(file)


def lines_of(file: Path) -> Iterator[bytes]:
    """The lines of a file, also of a packed one; the last ends as the others do."""
    with gzip.open(file) if file.suffix == PACKED else file.open("rb") as stream:
        for line in stream:
            yield line if line.endswith(b"\n") else line + b"\n"


def delimited(line: bytes) -> bytes:
    """A line whose semicolon, where it ends a statement, is the client's delimiter."""
    if line.endswith(END) and not line.endswith(END_WITHIN):
        return line.removesuffix(END) + DELIMITER + b"\n"
    return line
