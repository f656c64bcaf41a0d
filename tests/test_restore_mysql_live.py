"""Dumps of a real MariaDB become the data of MariaDB and MySQL; what does not come along."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import mydumper_folder
from dbdyno.engine import LabServer, installed
from dbdyno.engine import restore as restores
from dbdyno.engine.mysql.restore import MysqlDump, MysqlRestorer
from dbdyno.engine.restore import ClientPrograms
from dbdyno.model.error import ServerError
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
    assert looked_into(dumped).carry_out(address(arm), ClientPrograms()) == []
    assert arm.execute("SELECT count(*), count(DISTINCT who) FROM orders") == [(ROWS, 7)]
    assert arm.execute("SELECT count(*) FROM c") == [(7,)], "a view of a user who was made"
    arm.execute("INSERT INTO orders (id) VALUES (100000)")
    assert arm.execute("SELECT note FROM orders WHERE id = 100000") == [("noted",)]
    assert arm.execute(
        "SELECT status FROM information_schema.events WHERE event_schema = DATABASE()"
    ) == [("DISABLED",)]


CLIENTS = [path for program in ("mariadb", "mysql") for path in installed.programs(program)]


@pytest.mark.live
@pytest.mark.parametrize("client", CLIENTS, ids=str)
def test_each_client_that_runs_here_is_let_in_without_tls(
    dumped: Path, arm: LabServer, client: Path
) -> None:
    tools = restores.tools([client.name], [client], "NONE")
    own = tuple(tool for tool in tools if tool.path == client)
    if not own:
        pytest.skip(f"`{client}` does not run here: `apt-get install libncurses5`")
    if arm.engine == "mysql" and "MariaDB" in own[0].said:
        own = (*own, *(tool for tool in looked_into(dumped).tools if tool not in own))
    assert replace(looked_into(dumped), tools=own).carry_out(address(arm), ClientPrograms()) == []


MYSQL_8 = """-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */;
/*!80000 SET @x = 1 */;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5';
-- Table structure for table `t`
CREATE TABLE `t` (
  `a` varchar(20) COLLATE utf8mb4_0900_as_cs DEFAULT NULL,
  `b` varchar(40) COLLATE utf8mb4_0900_bin DEFAULT NULL,
  KEY `a` (`a`) /*!80000 INVISIBLE */
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
INSERT INTO `t` VALUES ('x',' COLLATE=utf8mb4_0900_bin');
/*!50003 SET sql_mode = 'STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER' */ ;
/*!50003 SET collation_connection  = utf8mb4_0900_ai_ci */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`app`@`%`*/ /*!50003 TRIGGER `tr` BEFORE INSERT ON `t`
FOR EACH ROW BEGIN
SET NEW.a = 'noted';
END */;;
DELIMITER ;
-- Dump completed on 2026-11-20  9:05:01
"""


@pytest.mark.live
def test_a_dump_of_mysql_8_becomes_the_data_of_either(arm: LabServer, tmp_path: Path) -> None:
    needs(arm.engine, "utf8mb4 with long keys", mysql=80000, mariadb=100200)
    path = tmp_path / "app.sql"
    path.write_text(MYSQL_8)
    dump = looked_into(path)
    lacks = dump.carry_out(address(arm), ClientPrograms())
    assert dump.dumped == "2026-11-20T09:05:01"
    assert all(lack.startswith("collation `utf8mb4_0900") for lack in lacks)
    assert arm.execute("SELECT b FROM t") == [(" COLLATE=utf8mb4_0900_bin",)]
    arm.execute("INSERT INTO t VALUES ('a', 'b')")
    assert arm.execute("SELECT count(*) FROM t WHERE a = 'noted'") == [(1,)]


@pytest.mark.live
def test_a_collation_for_which_none_stands_is_named(arm: LabServer, tmp_path: Path) -> None:
    path = tmp_path / "app.sql"
    path.write_text(MYSQL_8.replace("utf8mb4_0900_bin DEFAULT", "utf8mb4_none_ci DEFAULT"))
    with pytest.raises(ServerError, match=r"table `t`: ERROR 1273: .*`utf8mb4_none_ci`.*CONVERT"):
        looked_into(path).carry_out(address(arm), ClientPrograms())


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
    assert looked_into(dumped).carry_out(address(arm), ClientPrograms(), file) == []
    assert file.stat().st_mode & 0o777 == 0o600
    own = arm.execute(STATISTICS)
    kept = json.loads(file.read_text())
    ((who, distinct),) = [(each, each[3]) for each in kept["prefixes"] if each[1:3] == WHO]
    assert distinct == 7
    who[3] = 499  # another arm's, that would have drawn other pages
    kept["tables"] = [["orders", 12345]]
    kept["prefixes"].append(["gone", "who", "n_diff_pfx01", 1, 1])
    file.write_text(json.dumps(kept))
    said = looked_into(dumped).carry_out(address(arm), ClientPrograms(), file)
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
    assert looked_into(folder).carry_out(address(arm), ClientPrograms()) == []
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
        looked_into(broken).carry_out(address(arm), ClientPrograms())
    assert "ERROR 1" in str(refused.value)  # 1062, or 1180 of a load in bulk
    assert MARKER not in str(refused.value)
