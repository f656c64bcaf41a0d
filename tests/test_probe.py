"""The probe's parts that need no server."""

import socket
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest

from dbdyno.engine import snapshot
from dbdyno.engine.connection import cut_off
from dbdyno.engine.postgres.probe import query_plans, sizes, statistics
from dbdyno.engine.postgres.probe.reader import PostgresProbe
from dbdyno.engine.snapshot import UnavailableError, plain


def a_reader(version_num: int) -> PostgresProbe:
    """A reader of a server of this version that answers nothing."""
    info = SimpleNamespace(server_version=version_num)
    connection = SimpleNamespace(info=info, cursor_factory=psycopg.Cursor)
    return PostgresProbe(cast(Any, connection))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (7, 7),
        (Decimal("49308692"), 49308692),
        (Decimal("0.25"), 0.25),
        (Decimal("NaN"), None),
        (float("inf"), None),
        (1.5, 1.5),
        ("text", "text"),
        (["integer", Decimal(1)], ["integer", 1]),
        (timedelta(seconds=90), "0:01:30"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (b"x", "b'x'"),
    ],
)
def test_values_are_as_json_has_them(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


def test_versions_are_named_as_people_do() -> None:
    assert a_reader(90624).product == "PostgreSQL 9.6"
    assert a_reader(170006).product == "PostgreSQL 17"


def test_a_part_that_fails_is_null_with_its_reason_and_hinders_no_other() -> None:
    asked = a_reader(150000)

    def refused(_: PostgresProbe) -> int:
        raise psycopg.errors.InsufficientPrivilege("permission denied\nDETAIL: none")

    def lacking(known: PostgresProbe) -> int:
        known.need(160000, "pg_stat_io")
        return 1

    assert asked.part("a", refused) is None
    assert asked.part("b", lacking) is None
    assert asked.part("c", lambda _: 0) == 0
    assert asked.unavailable == {"a": "permission denied", "b": "PostgreSQL 15 has no pg_stat_io"}


def test_a_mistake_of_our_own_is_not_hidden_as_unavailable() -> None:
    with pytest.raises(KeyError):
        a_reader(150000).part("a", lambda _: cast("dict[str, int]", {})["missing"])


def test_a_server_that_never_answers_is_cut_off() -> None:
    ours, theirs = socket.socketpair()
    begun_s = time.monotonic()
    with theirs, ours, cut_off(ours, 0.1):
        assert ours.recv(1) == b""
    assert 0.1 <= time.monotonic() - begun_s < 60


def test_a_connection_in_time_is_not_cut_off() -> None:
    ours, theirs = socket.socketpair()
    with theirs, ours:
        with cut_off(ours, 0.2):
            pass
        time.sleep(0.3)
        theirs.send(b"x")
        assert ours.recv(1) == b"x"


def test_samples_fit_the_parameters_types() -> None:
    types = ["bigint", "timestamp without time zone", "date", "boolean", "text"]
    called = query_plans.call("dyno_explain_0", types)
    assert called == "EXECUTE dyno_explain_0('1', '2000-01-01', '2000-01-01', 'true', '5')"
    assert query_plans.call("dyno_explain_1", []) == "EXECUTE dyno_explain_1"


def test_rows_in_which_nothing_happened_are_left_out() -> None:
    idle = {"backend_type": "walwriter", "reads": 0, "writes": None, "op_bytes": 8192}
    assert not statistics.happened(idle)
    assert statistics.happened({**idle, "reads": 1})


def test_io_has_bytes_in_all_versions() -> None:
    row = {"reads": 2, "writes": None, "extends": 0, "op_bytes": 8192}
    expected = {"read_bytes": 16384, "write_bytes": None, "extend_bytes": 0}
    assert statistics.io_row(row) == {"reads": 2, "writes": None, "extends": 0, **expected}
    newer = {"reads": 2, "read_bytes": 5}
    assert statistics.io_row(dict(newer)) == newer


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data folder of 100 bytes with a log of 30, of which one segment."""
    data = tmp_path / "data"
    (data / "pg_wal/archive_status").mkdir(parents=True)
    (data / "base").mkdir()
    (data / "base/1").write_bytes(b"x" * 70)
    (data / "pg_wal/000000010000000000000001").write_bytes(b"x" * 20)
    (data / "pg_wal/archive_status/000000010000000000000001.done").write_bytes(b"x" * 10)
    return data


def test_the_data_folder_includes_its_log(data_dir: Path) -> None:
    assert sizes.data_dir_bytes(data_dir, None) == 100
    assert sizes.data_dir_bytes(data_dir, data_dir / "pg_wal") == 100
    found = sizes.wal_files(a_reader(150000), data_dir, None)
    assert found == {"wal_dir_bytes": 30, "wal_files": 1}


def test_a_log_elsewhere_is_counted_once(data_dir: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "wal"
    (data_dir / "pg_wal").rename(elsewhere)
    (data_dir / "pg_wal").symlink_to(elsewhere)
    assert sizes.data_dir_bytes(data_dir, elsewhere) == 100
    assert sizes.data_dir_bytes(data_dir, None) == 100
    assert sizes.wal_files(a_reader(150000), data_dir, elsewhere)["wal_dir_bytes"] == 30


def test_files_that_go_while_we_look_count_nothing(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    walk = snapshot.files(data_dir)
    next(walk)
    for path in sorted(data_dir.rglob("*"), reverse=True):
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()
    assert sum(size for _, size in walk) <= 100


def test_a_folder_that_is_not_there_is_an_error_not_a_zero(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sizes.data_dir_bytes(tmp_path / "missing", None)
    with pytest.raises(UnavailableError, match="not known"):
        sizes.data_dir_bytes(None, None)
