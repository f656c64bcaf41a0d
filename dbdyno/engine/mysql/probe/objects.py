"""Measures InnoDB's tables and indexes as the dictionary has them, and the server's folders.

Sizes of tables and indexes are InnoDB's estimates, kept with its statistics: as of the last ANALYZE
or automatic recalculation, in whole pages. Sizes of files are exact.
"""

from collections.abc import Sequence
from pathlib import Path

from dbdyno.engine import snapshot
from dbdyno.engine.mysql.probe.reader import MysqlProbe
from dbdyno.engine.snapshot import UnavailableError
from dbdyno.model import Json

REDO_FOLDER = "#innodb_redo"
"""In the folder of the redo log, of MySQL from 8.0.30 on; before and in MariaDB ib_logfile…"""
REDO_FILES = "ib_logfile*"


ESTIMATES = ("live_rows", "heap_bytes", "index_bytes", "row_bytes", "total_bytes")
"""Of a table, as InnoDB's statistics have them."""
STALE_SHARE = 0.5
"""Of a file that must be in the statistics, or free: else these are from before the rows."""
SMALL_BYTES = 1 << 20
"""Up to here a file is mostly what every tablespace has."""


def marks(names: Sequence[str]) -> str:
    """A placeholder for each name, and one for none: `IN ()` is no SQL."""
    return ", ".join(["%s"] * len(names)) or "NULL"


def names(reader: MysqlProbe, tables: Sequence[str]) -> list[str]:
    """The tables that there are; one that is not is named in `unavailable`."""
    rows = reader.rows(
        "SELECT table_name AS name FROM information_schema.tables "
        f"WHERE table_schema = database() AND table_name IN ({marks(tables)})",
        list(tables),
    )
    found = {row["name"] for row in rows}
    for name in tables:
        if name not in found:
            reader.unavailable[f"tables.{name}"] = "there is no such table"
    return [name for name in tables if name in found]


def tables(reader: MysqlProbe, known: Sequence[str]) -> Json:
    """Rows and sizes of each table by its name; of a partitioned one all of its parts together.

    `heap_bytes` is the clustered index, which is where InnoDB keeps the rows.
    """
    rows = reader.rows(
        "SELECT table_name AS name, table_rows AS live_rows, data_length AS heap_bytes, "
        "index_length AS index_bytes, data_free AS free_bytes, avg_row_length AS row_bytes "
        "FROM information_schema.tables "
        f"WHERE table_schema = database() AND table_name IN ({marks(known)})",
        list(known),
    )
    files = reader.part("tables.file_bytes", lambda: files_by_table(reader, known)) or {}
    found: Json = {}
    for row in rows:
        name = row.pop("name")
        row["total_bytes"] = (row["heap_bytes"] or 0) + (row["index_bytes"] or 0)
        row["file_bytes"] = files.get(name)
        if is_stale(row):
            reader.unavailable[f"tables.{name}"] = (
                f"InnoDB's statistics know {row['total_bytes']:,} bytes of a file of "
                f"{row['file_bytes']:,}: they are from before the rows; ANALYZE makes them anew"
            )
            row |= dict.fromkeys(ESTIMATES)
        found[name] = row
    return {name: found[name] for name in known if name in found}


def is_stale(table: Json) -> bool:
    """Whether the estimates are of a table that was far smaller than its file is now."""
    if table["file_bytes"] is None:
        return False
    known = table["total_bytes"] + (table["free_bytes"] or 0)
    return bool(known < STALE_SHARE * table["file_bytes"] and table["file_bytes"] > SMALL_BYTES)


def files_by_table(reader: MysqlProbe, known: Sequence[str]) -> dict[str, int]:
    """The lengths of each table's own files; without those that share the system tablespace."""
    wanted = {name.lower() for name in known}
    found: dict[str, int] = {}
    for row in tablespaces(reader):
        # `ib/pi1`, of a part `ib/pi1#p#p0`
        table = str(row["name"]).partition("/")[2].partition("#")[0]
        if table.lower() in wanted:
            found[table] = found.get(table, 0) + int(row["file_size"])
    return found


def tablespaces(reader: MysqlProbe) -> list[Json]:
    """Name and file size of each tablespace of this database."""
    prefix = "innodb_sys" if reader.is_mariadb or reader.version_num < 80000 else "innodb"
    return reader.rows(
        f"SELECT name, file_size FROM information_schema.{prefix}_tablespaces "
        "WHERE name LIKE concat(database(), '/%%')",
        [],
    )


def indexes(reader: MysqlProbe, known: Sequence[str]) -> Json:
    """Size of each index by `table.index`, and how often it was fetched from where that is counted.

    The clustered index is `PRIMARY`.
    """
    rows = reader.rows(
        "SELECT table_name, index_name, stat_name, stat_value * @@innodb_page_size AS bytes "
        "FROM mysql.innodb_index_stats "
        "WHERE database_name = database() AND stat_name IN ('size', 'n_leaf_pages')"
    )
    wanted = {name.lower(): name for name in known}
    fetched = reader.part("indexes.fetched", lambda: fetches(reader)) or {}
    found: Json = {}
    for row in rows:
        table = wanted.get(str(row["table_name"]).partition("#")[0].lower())
        if table is None:
            continue
        name = f"{table}.{row['index_name']}"
        key = {"size": "bytes", "n_leaf_pages": "leaf_bytes"}[row["stat_name"]]
        its = found.setdefault(
            name, {"table": table, "bytes": 0, "leaf_bytes": 0, "fetched": fetched.get(name)}
        )
        its[key] += row["bytes"]
    return found


def fetches(reader: MysqlProbe) -> dict[str, int]:
    """Rows fetched by each index, `table.index`; raises UnavailableError where nobody counts."""
    if int(reader.row("SELECT @@global.performance_schema AS yes")["yes"]) == 0:
        raise UnavailableError("performance_schema is off, which alone counts fetches by index")
    rows = reader.rows(
        "SELECT object_name AS name, index_name, count_fetch "
        "FROM performance_schema.table_io_waits_summary_by_index_usage "
        "WHERE object_schema = database() AND index_name IS NOT NULL"
    )
    return {f"{row['name']}.{row['index_name']}": row["count_fetch"] for row in rows}


def horizon(reader: MysqlProbe) -> Json:
    """The obstacles to purge: open transactions, and since when the oldest is."""
    return reader.row(
        "SELECT count(*) AS transactions, "
        "timestampdiff(SECOND, min(trx_started), now()) AS transaction_s "
        "FROM information_schema.innodb_trx"
    )


# --- Sizes -----------------------------------------------------------------------------------


def sizes(reader: MysqlProbe, data_dir: Path | None, wal_dir: Path | None) -> Json:
    """Sizes of the database's files and of the server's folders.

    The data folder's includes the redo log, and the binary log where that lies in it.
    """
    redo = wal_dir or data_dir
    return {
        "database_bytes": reader.part("sizes.database_bytes", lambda: database_bytes(reader)),
        "data_dir_bytes": reader.part(
            "sizes.data_dir_bytes", lambda: snapshot.data_dir_bytes(data_dir, wal_dir)
        ),
        **(
            reader.part("sizes.wal_dir_bytes", lambda: redo_files(redo))
            or {"wal_dir_bytes": None, "wal_files": None}
        ),
    }


def database_bytes(reader: MysqlProbe) -> int:
    """The lengths of the database's files."""
    found = tablespaces(reader)
    if not found:
        raise UnavailableError(
            "its tables have no files of their own (innodb_file_per_table is off)"
        )
    return sum(int(row["file_size"]) for row in found)


def redo_files(log: Path | None) -> Json:
    """The redo log: bytes of its files, and how many they are."""
    if log is None:
        raise UnavailableError("the server's data folder is not on this machine, or not known")
    inner = log / REDO_FOLDER
    if inner.is_dir():
        lengths = [size for _, size in snapshot.files(inner)]
    else:
        lengths = [path.stat().st_size for path in log.glob(REDO_FILES)]
    if not lengths:
        raise UnavailableError(f"there are no redo log files in {log}")
    return {"wal_dir_bytes": sum(lengths), "wal_files": len(lengths)}
