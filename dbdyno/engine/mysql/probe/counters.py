"""Reads what MySQL, MariaDB and their InnoDB count, whichever place the version keeps it in."""

import re
from collections.abc import Mapping

from dbdyno.engine.mysql.probe.reader import MysqlProbe
from dbdyno.engine.snapshot import UnavailableError
from dbdyno.model import Json
from dbdyno.model.snapshot import Binlog

Status = Mapping[str, float]

POSITION = ("innodb_redo_log_current_lsn", "innodb_lsn_current")
"""The place of the next redo record: MySQL from 8.0.30 on, MariaDB."""
CHECKPOINT = ("innodb_redo_log_checkpoint_lsn", "innodb_lsn_last_checkpoint")
MONITOR = {
    "position": re.compile(r"^Log sequence number\s+(\d+)", re.MULTILINE),
    "checkpoint": re.compile(r"^Last checkpoint at\s+(\d+)", re.MULTILINE),
    "history": re.compile(r"^History list length\s+(\d+)", re.MULTILINE),
}
"""Lines of SHOW ENGINE INNODB STATUS, which every version has."""
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def read(reader: MysqlProbe) -> Json:
    """The counters and gauges of the server, by part; a part that it does not have is None."""
    monitor = reader.part("monitor", lambda: engine_status(reader)) or ""
    metrics = reader.part("innodb_metrics", lambda: innodb_metrics(reader))
    # Last: what was asked before has left its traces in these, and so is in no difference.
    status = reader.part("status", lambda: global_status(reader))
    known = status or {}
    return {
        "status": status,
        "innodb_metrics": metrics,
        "wal": reader.part("wal", lambda: redo(known, monitor)),
        "purge": reader.part("purge", lambda: purge(known, metrics or {}, monitor)),
        "buffers": reader.part("buffers", lambda: buffers(known)),
        "binlog": reader.part("binlog", lambda: binlog(reader)),
    }


def global_status(reader: MysqlProbe) -> dict[str, float]:
    """SHOW GLOBAL STATUS as numbers, by lower-case names; texts are left out."""
    rows = reader.rows("SHOW GLOBAL STATUS")
    found = {row["variable_name"].lower(): number(row["value"]) for row in rows}
    return {name: value for name, value in found.items() if value is not None}


def number(text: object) -> float | None:
    """A number of a text that is one; None of others, such as `ON` or a date."""
    if not isinstance(text, str) or NUMBER.fullmatch(text) is None:
        return None
    return float(text) if "." in text else int(text)


def innodb_metrics(reader: MysqlProbe) -> dict[str, float]:
    """Rows of information_schema.INNODB_METRICS that are switched on: their counts by name."""
    on = "enabled = 1" if reader.is_mariadb else "status = 'enabled'"
    rows = reader.rows(f"SELECT name, `count` FROM information_schema.innodb_metrics WHERE {on}")
    return {row["name"]: row["count"] for row in rows}


def engine_status(reader: MysqlProbe) -> str:
    """The text of SHOW ENGINE INNODB STATUS."""
    return str(reader.row("SHOW ENGINE INNODB STATUS")["status"])


def redo(status: Status, monitor: str) -> Json:
    """The redo log: its position in bytes ever written, and how far back its checkpoint is."""
    position = either(status, POSITION, monitor, "position")
    checkpoint = either(status, CHECKPOINT, monitor, "checkpoint")
    if position is None:
        raise UnavailableError("neither the status nor the monitor tells the log sequence number")
    return {
        "position_bytes": position,
        "since_checkpoint_bytes": None if checkpoint is None else position - checkpoint,
        "bytes": status.get("innodb_os_log_written"),
        "writes": status.get("innodb_log_writes"),
        "fsyncs": status.get("innodb_os_log_fsyncs"),  # MariaDB from 10.8 on has none
        "waits": status.get("innodb_log_waits"),
    }


def either(status: Status, names: tuple[str, ...], monitor: str, line: str) -> float | None:
    """The first of these names that the status has, else what the monitor's line says."""
    known = (status[name] for name in names if name in status)
    return next(known, None) if any(name in status for name in names) else monitored(monitor, line)


def monitored(monitor: str, line: str) -> int | None:
    """The number in a line of the monitor; None where it lacks the line."""
    found = MONITOR[line].search(monitor)
    return int(found[1]) if found else None


def purge(status: Status, metrics: Status, monitor: str) -> Json:
    """The work left to purge: undo logs of committed transactions that are not purged yet."""
    history = metrics.get("trx_rseg_history_len", status.get("innodb_history_list_length"))
    if history is None:
        history = monitored(monitor, "history")
    if history is None:
        raise UnavailableError("neither the metrics nor the monitor tell the history list's length")
    return {"history": history}


def buffers(status: Status) -> Json:
    """The content of the buffer pool, in pages; `dirty_bytes` of those that are not written yet."""
    name = "innodb_buffer_pool_pages_"
    if f"{name}total" not in status:
        raise UnavailableError("the status has nothing of the buffer pool")
    dirty, size = status.get(f"{name}dirty"), status.get("innodb_page_size")
    unknown = dirty is None or size is None
    return {
        "used": status.get(f"{name}data"),
        "unused": status.get(f"{name}free"),
        "dirty": dirty,
        "total": status[f"{name}total"],
        "page_bytes": size,
        "dirty_bytes": None if unknown else (dirty or 0) * (size or 0),
    }


def binlog(reader: MysqlProbe) -> Binlog:
    """The binary log: whether it is on, its files with their sizes, and where the next event goes.

    A position counts within its file, so what was written between two snapshots is found from the
    files of the second one (dbdyno/findings/server_counters/metrics.py).
    """
    if int(reader.row("SELECT @@global.log_bin AS yes")["yes"]) == 0:
        return Binlog(enabled=False, file=None, position_bytes=None, files={})
    new = not reader.is_mariadb and reader.version_num >= 80200
    now = reader.row("SHOW BINARY LOG STATUS" if new else "SHOW MASTER STATUS")
    files = reader.rows("SHOW BINARY LOGS")
    return Binlog(
        enabled=True,
        file=now["file"],
        position_bytes=now["position"],
        files={row["log_name"]: row["file_size"] for row in files},
    )
