"""One sample of InnoDB's statistics for all arms that have the same dump.

ANALYZE TABLE looks at some pages of an index, by default 20, drawn anew each time. So two arms may
take other indexes for no other reason. The first arm's are kept in a file, and put in the place of
the others' own: rows of a table, and distinct values of each prefix of an index. Sizes stay each
arm's own. (MySQL manual, 17.8.10.1, "Configuring Persistent Optimizer Statistics Parameters".)
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from dbdyno.engine.mysql import connection
from dbdyno.engine.mysql.quoting import literal, named
from dbdyno.engine.restore import RESTORE_S_MAX, keep
from dbdyno.model import Address

KEPT = """
    SELECT table_name FROM information_schema.tables
    WHERE table_schema = 'mysql' AND table_name = 'innodb_index_stats'
"""
"""Tables keep their statistics from MySQL 5.6 on."""
TABLES = """
    SELECT table_name, n_rows FROM mysql.innodb_table_stats
    WHERE database_name = DATABASE() ORDER BY table_name
"""
PREFIXES = """
    SELECT table_name, index_name, stat_name, stat_value, sample_size
    FROM mysql.innodb_index_stats
    WHERE database_name = DATABASE() AND stat_name LIKE 'n\\\\_diff%'
    ORDER BY table_name, index_name, stat_name
"""


class TableStatistics(Struct, frozen=True, array_like=True):
    """How many rows a table is taken to have."""

    name: str
    rows: int


class IndexPrefix(Struct, frozen=True, array_like=True):
    """How many values the first columns of an index are taken to have."""

    table: str
    index: str
    prefix: str  # "n_diff_pfx01": of the first column
    distinct: int
    pages: int | None  # that were looked at


class Statistics(Struct, frozen=True):
    """The statistics of a database."""

    tables: tuple[TableStatistics, ...] = ()
    prefixes: tuple[IndexPrefix, ...] = ()


def share(address: Address, file: Path) -> int:
    """Takes the statistics that the file has, or makes it of the server's own.

    Returns of how many tables and prefixes they could not be taken. Raises ServerError.
    """
    if not connection.execute(address, [KEPT], RESTORE_S_MAX):
        return 0
    keep_still(address, exported(address))
    own = exported(address)
    if not file.exists():
        keep(file, msgspec.json.encode(own))
        return 0
    return take(address, msgspec.json.decode(file.read_bytes(), type=Statistics), own)


def keep_still(address: Address, own: Statistics) -> None:
    """Has the server leave statistics as they are, which it draws anew by itself after changes.

    Raises ServerError.
    """
    # A partition has rows of its own, under its table's name and behind a sign.
    tables = dict.fromkeys(table.name.partition("#")[0] for table in own.tables)
    still = [f"ALTER TABLE {named(table)} STATS_AUTO_RECALC = 0" for table in tables]
    if still:
        connection.execute(address, still, RESTORE_S_MAX)


def exported(address: Address) -> Statistics:
    """The statistics of the database of an address. Raises ServerError."""
    tables, prefixes = (
        [
            [cell.decode() if isinstance(cell, bytes) else cell for cell in row]
            for row in connection.execute(address, [question], RESTORE_S_MAX)
        ]
        for question in (TABLES, PREFIXES)
    )
    return msgspec.convert({"tables": tables, "prefixes": prefixes}, Statistics, strict=False)


def take(address: Address, given: Statistics, own: Statistics) -> int:
    """Puts statistics into the place of a server's own; how many have none. Raises ServerError."""
    tables = {table.name for table in own.tables}
    prefixes = {(each.table, each.index, each.prefix) for each in own.prefixes}
    statements, lacking = [], 0
    for table in given.tables:
        lacking += table.name not in tables
        statements.append(
            f"UPDATE mysql.innodb_table_stats SET n_rows = {table.rows} "
            f"WHERE database_name = DATABASE() AND table_name = {literal(table.name)}"
        )
    for each in given.prefixes:
        lacking += (each.table, each.index, each.prefix) not in prefixes
        pages = "NULL" if each.pages is None else each.pages
        statements.append(
            f"UPDATE mysql.innodb_index_stats SET stat_value = {each.distinct}, "
            f"sample_size = {pages} WHERE database_name = DATABASE() "
            f"AND table_name = {literal(each.table)} AND index_name = {literal(each.index)} "
            f"AND stat_name = {literal(each.prefix)}"
        )
    # A table that is open keeps what it was opened with; newer MariaDBs until they start again.
    names = dict.fromkeys(name.partition("#")[0] for name in tables)
    flushes = [f"FLUSH TABLES {named(name)}" for name in names]
    connection.execute(address, [*statements, *flushes], RESTORE_S_MAX)
    return lacking
