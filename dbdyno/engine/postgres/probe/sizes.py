"""Measures how much room the database takes: as it says itself, and as its files are."""

from pathlib import Path

from dbdyno.engine import snapshot
from dbdyno.engine.postgres import fingerprint
from dbdyno.engine.postgres.probe.reader import PostgresProbe
from dbdyno.model import Json


def sizes(reader: PostgresProbe, data_dir: Path | None, wal_dir: Path | None) -> Json:
    """Sizes of the database and of its folders; the data folder's includes the log's."""
    found = {
        "database_bytes": reader.part(
            "sizes.database_bytes",
            lambda _: reader.row("SELECT pg_database_size(current_database()) AS bytes")["bytes"],
        ),
        "data_dir_bytes": reader.part(
            "sizes.data_dir_bytes", lambda _: data_dir_bytes(data_dir, wal_dir)
        ),
    }
    log = reader.part("sizes.wal_dir_bytes", lambda _: wal_files(reader, data_dir, wal_dir))
    return found | (log or {"wal_dir_bytes": None, "wal_files": None})


def data_dir_bytes(data_dir: Path | None, wal_dir: Path | None) -> int:
    """All files of the data folder, and of the log where that lies elsewhere, by their length."""
    return snapshot.data_dir_bytes(data_dir, wal_folder(data_dir, wal_dir))


def wal_files(reader: PostgresProbe, data_dir: Path | None, wal_dir: Path | None) -> Json:
    """The write-ahead log's folder: bytes of all files, number of segments."""
    log = wal_folder(data_dir, wal_dir)
    if log is not None:
        found = list(snapshot.files(log))
    else:
        reader.need(100000, "pg_ls_waldir, and its data folder is not known")
        rows = reader.rows("SELECT name, size FROM pg_ls_waldir()")
        found = [(row["name"], row["size"]) for row in rows]
    return {
        "wal_dir_bytes": sum(size for _, size in found),
        "wal_files": sum(1 for name, _ in found if fingerprint.WAL_FILE.fullmatch(name)),
    }


def wal_folder(data_dir: Path | None, wal_dir: Path | None) -> Path | None:
    """The folder of the log's files; None if unknown."""
    if wal_dir is not None or data_dir is None:
        return wal_dir
    return fingerprint.wal_folder(data_dir)
