"""Dumps of a real MariaDB become the data of MariaDB and MySQL; what does not come along."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import mydumper_folder
from dbdyno.engine import LabServer
from dbdyno.engine.mysql.restore import MysqlDump, MysqlRestorer, definers_of, taken
from dbdyno.engine.restore import Session
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.job.external import Restore
from mysql_place import an_arm, needs
from server_place import a_place, address, started

MARKER = "Zaubernuss-4711"
ROWS = 500
DUMP = shutil.which("mariadb-dump")
SHOP = (
    "CREATE TABLE orders (id INT PRIMARY KEY, who VARCHAR(20), note TEXT, KEY (who)) "
    "DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci",
    *(
        f"INSERT INTO orders VALUES ({number}, 'c{number % 7}', '{MARKER}\\nUSE `x`;')"
        for number in range(ROWS)
    ),
    "CREATE USER app@localhost IDENTIFIED BY 'x'",
    "GRANT ALL ON shop.* TO app@localhost",
    "CREATE DEFINER=app@localhost VIEW c AS SELECT who, count(*) AS n FROM orders GROUP BY who",
    "CREATE DEFINER=app@localhost TRIGGER t BEFORE INSERT ON orders FOR EACH ROW "
    "BEGIN SET NEW.note = 'noted'; SET NEW.who = 'x'; END",
    "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO DELETE FROM orders",
)


def test_lines_that_begin_replication_or_change_the_database_are_left_out() -> None:
    dump = (
        b"/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n"
        b"SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-5,\nb:1';\n"
        b"CHANGE MASTER TO MASTER_HOST='prod';\nCREATE DATABASE `shop`;\nUSE `shop`;\n"
        b"INSERT INTO t VALUES ('\nUSE `shop`;\n"
        b"(1,'x'),\nCREATE TABLE u (a int);\n"
    )
    kept = b"".join(taken(dump.splitlines(keepends=True)))
    for gone in (b"sandbox", b"GTID", b"b:1", b"MASTER", b"CREATE DATABASE"):
        assert gone not in kept
    assert b"(1,'x'),\nCREATE TABLE u" in kept


def test_a_table_on_another_server_is_refused() -> None:
    lines = [b"CREATE TABLE t (a int\n", b") ENGINE=FEDERATED CONNECTION='mysql://prod/x';\n"]
    with pytest.raises(PlanError, match="FEDERATED, which reads another server"):
        definers_of(lines, Path("app.sql"))


def test_two_databases_are_refused() -> None:
    with pytest.raises(PlanError, match="has 2 databases"):
        definers_of([b"USE `a`;\n", b"USE `b`;\n"], Path("app.sql"))


@pytest.fixture(scope="module")
def source() -> Iterator[LabServer]:
    if DUMP is None:
        pytest.skip("no mariadb-dump here: `dyno server fetch mariadb 11.4.5`")
    with a_place("mariadb") as place, started(an_arm("mariadb"), place) as server:
        server.create_database("shop")
        server.execute(*SHOP)
        yield server


@pytest.fixture(scope="module")
def dumped(source: LabServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dump") / "app.sql"
    at = address(source)
    server = [f"--socket={at.host}", f"--user={at.user}"]
    options = ["--no-defaults", *server, "--events", "--routines", "--triggers"]
    command = [str(DUMP), *options, f"--result-file={path}", "shop"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module", params=["mariadb", "mysql"])
def arm(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    made = an_arm(request.param)
    with a_place(request.param) as place, started(made, place) as server:
        server.create_database("ib")
        yield server


def looked_into(path: Path) -> MysqlDump:
    return MysqlRestorer().read(Restore(path=str(path)), [])


@pytest.mark.capability("restore")
@pytest.mark.live
def test_a_dump_becomes_the_data_and_nothing_acts_by_itself(dumped: Path, arm: LabServer) -> None:
    assert looked_into(dumped).carry_out(address(arm), Session()) == []
    assert arm.execute("SELECT count(*), count(DISTINCT who) FROM orders") == [(ROWS, 7)]
    assert arm.execute("SELECT count(*) FROM c") == [(7,)], "a view of a user who was made"
    arm.execute("INSERT INTO orders (id) VALUES (100000)")
    assert arm.execute("SELECT note FROM orders WHERE id = 100000") == [("noted",)]
    assert arm.execute(
        "SELECT status FROM information_schema.events WHERE event_schema = DATABASE()"
    ) == [("DISABLED",)]


STATISTICS = """
    SELECT index_name, stat_name, stat_value FROM mysql.innodb_index_stats
    WHERE database_name = DATABASE() AND stat_name LIKE 'n\\_diff%' ORDER BY 1, 2
"""


@pytest.mark.live
def test_arms_of_a_dump_share_one_sample_of_statistics(
    dumped: Path, arm: LabServer, tmp_path: Path
) -> None:
    needs(arm.engine, "statistics that stay", mysql=50606)
    file = tmp_path / "statistics"
    assert looked_into(dumped).carry_out(address(arm), Session(), file) == []
    assert file.stat().st_mode & 0o777 == 0o600
    own = arm.execute(STATISTICS)
    kept = json.loads(file.read_text())
    ((who, distinct),) = [(each, each[3]) for each in kept["prefixes"] if each[1:3] == WHO]
    assert distinct == 7
    who[3] = 499  # another arm's, that would have drawn other pages
    kept["tables"] = [["orders", 12345]]
    kept["prefixes"].append(["gone", "who", "n_diff_pfx01", 1, 1])
    file.write_text(json.dumps(kept))
    said = looked_into(dumped).carry_out(address(arm), Session(), file)
    assert said == ["statistics of 1 tables and prefixes are the server's own"]
    taken = arm.execute(STATISTICS)
    assert len(taken) == len(own)
    assert ("who", "n_diff_pfx01", 499) in [tuple(map(text_or_number, row)) for row in taken]
    arm.stop()  # as after each restore, before its data are copied
    arm.start()
    plan = str(arm.execute("EXPLAIN SELECT * FROM orders WHERE note = 'x'"))
    assert "12345" in plan, "the planner has them, too"


WHO = ["who", "n_diff_pfx01"]


def text_or_number(cell: object) -> object:
    """A cell with bytes as a text."""
    return cell.decode() if isinstance(cell, bytes) else cell


@pytest.mark.live
def test_a_folder_by_mydumper_becomes_the_data(arm: LabServer, tmp_path: Path) -> None:
    folder = mydumper_folder.write(tmp_path / "dump", packed=True)
    assert looked_into(folder).carry_out(address(arm), Session()) == []
    rows = mydumper_folder.ROWS
    assert arm.execute("SELECT count(*), count(DISTINCT who) FROM orders") == [(rows, 7)]
    assert arm.execute("SELECT note FROM orders WHERE id = 0") == [("ü; \n--",)]
    assert arm.execute("SELECT sum(n) FROM c") == [(rows,)]
    arm.execute("INSERT INTO orders (id) VALUES (100000)")
    assert arm.execute("SELECT note, who FROM orders WHERE id = 100000") == [("noted", "x")]


@pytest.mark.live
def test_a_refused_statement_is_told_without_its_values(
    dumped: Path, arm: LabServer, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.sql"
    whole = dumped.read_text()
    assert "KEY `who` (`who`)" in whole
    broken.write_text(whole.replace("KEY `who` (`who`)", "UNIQUE KEY `who` (`note`(20))"))
    with pytest.raises(ServerError) as refused:
        looked_into(broken).carry_out(address(arm), Session())
    assert "ERROR 1" in str(refused.value)  # 1062, or 1180 of a load in bulk
    assert MARKER not in str(refused.value)
