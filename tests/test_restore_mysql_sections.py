"""What of a dump by mysqldump or mariadb-dump a server takes; without a server."""

from pathlib import Path

import pytest

from dbdyno.engine.mysql.collations import substitutes
from dbdyno.engine.mysql.restore import complaint, contents_of
from dbdyno.engine.mysql.sections import DumpExclusions, MysqlFeed, words_of
from dbdyno.model.error import PlanError


def taken(lines: list[bytes], taking: DumpExclusions | None = None) -> list[bytes]:
    return list(MysqlFeed(taking or DumpExclusions()).lines(lines))


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
        contents_of(lines, Path("app.sql"))


def test_two_databases_are_refused() -> None:
    with pytest.raises(PlanError, match="has 2 databases"):
        contents_of([b"USE `a`;\n", b"USE `b`;\n"], Path("app.sql"))


NEWER = b"""-- MySQL dump 10.13
/*M!100616 SET @OLD_NOTE_VERBOSITY=@@NOTE_VERBOSITY, NOTE_VERBOSITY=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
SET character_set_client = utf8mb4;
-- Table structure for table `t`
CREATE TABLE `t` (`a` int) COLLATE=utf8mb4_0900_ai_ci;
-- Dumping data for table `t`
INSERT INTO `t` VALUES (1,' COLLATE=utf8mb4_0900_ai_ci');
/*!50003 SET sql_mode = 'STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER' */ ;
DELIMITER ;;
CREATE TRIGGER `x` BEFORE INSERT ON `t` FOR EACH ROW BEGIN
SET note_verbosity = 1;
END ;;
DELIMITER ;
-- Dump completed on 2026-11-20  9:05:01
""".splitlines(keepends=True)


def test_what_a_server_lacks_is_left_out_and_rows_and_bodies_are_not_touched() -> None:
    taking = DumpExclusions(
        variables=frozenset({"note_verbosity"}),
        modes=frozenset({"NO_AUTO_CREATE_USER"}),
        collations={"utf8mb4_0900_ai_ci": "utf8mb4_other"},
    )
    said = b"".join(taken(NEWER, taking))
    assert b"NOTE_VERBOSITY" not in said
    assert b"SET note_verbosity = 1" in said, "a body's own variable"
    assert b"sql_mode = 'STRICT_TRANS_TABLES' */" in said
    assert b"`a` int) COLLATE=utf8mb4_other;" in said
    assert b"' COLLATE=utf8mb4_0900_ai_ci'" in said


def test_a_dump_tells_what_it_asks_of_a_server_and_when_it_was_made() -> None:
    contents = contents_of(NEWER, Path("app.sql"))
    assert {"note_verbosity", "sql_mode", "character_set_client"} <= contents.words.variables
    assert contents.words.modes >= {"NO_AUTO_CREATE_USER", "NO_AUTO_VALUE_ON_ZERO"}
    assert contents.words.collations == {"utf8mb4_0900_ai_ci"}
    assert contents.dumped == "2026-11-20T09:05:01" and contents.complete
    assert not contents_of(NEWER[:-1], Path("app.sql")).complete


def test_variables_are_those_of_the_server() -> None:
    words = words_of(b"SET @a = @@SESSION.SQL_LOG_BIN, unique_checks=0, @b = 1;\n")
    assert words.variables == {"sql_log_bin", "unique_checks"}


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("utf8mb4_0900_ai_ci", "utf8mb4_uca1400_nopad_ai_ci", "utf8mb4_unicode_ci"),
        ("utf8mb4_de_pb_0900_ai_ci", "utf8mb4_uca1400_german2_nopad_ai_ci", "utf8mb4_unicode_ci"),
        ("utf8mb4_0900_bin", "utf8mb4_nopad_bin", "utf8mb4_bin"),
        ("utf8mb4_ja_0900_as_cs_ks", "utf8mb4_uca1400_nopad_as_cs", "utf8mb4_nopad_bin"),
        ("utf8mb4_uca1400_ai_ci", "utf8mb4_unicode_520_ci", "utf8mb4_0900_ai_ci"),
        ("utf8mb4_uca1400_nopad_ai_ci", "utf8mb4_0900_ai_ci", "utf8mb4_unicode_ci"),
        ("utf8mb4_uca1400_swedish_nopad_as_cs", "utf8mb4_sv_0900_as_cs", "utf8mb4_bin"),
        ("utf8mb3_general_ci", "utf8_general_ci", "utf8_general_ci"),
        ("latin1_swedish_nopad_ci", "latin1_swedish_ci", "latin1_swedish_ci"),
    ],
)
def test_another_collation_stands_for_one_that_lacks(name: str, first: str, last: str) -> None:
    others = substitutes(name)
    assert (others[0], others[-1]) == (first, last)


def test_no_collation_stands_for_one_that_tells_more_letters_apart() -> None:
    assert substitutes("utf8mb4_0900_as_ci") == ["utf8mb4_uca1400_nopad_as_ci"]


def test_an_error_is_told_with_its_object_and_without_rows() -> None:
    feed = MysqlFeed(DumpExclusions())
    list(feed.lines(NEWER))
    row = "ERROR 1062 (23000) at line 8: Duplicate entry 'Zaubernuss' for key 'PRIMARY'"
    assert "Zaubernuss" not in complaint([row], feed, 1)
    assert complaint([row], feed, 1).startswith("rows or triggers of table `t`: ERROR 1062")
    name = "ERROR 1193 (HY000) at line 2: Unknown system variable 'NOTE_VERBOSITY'"
    assert complaint([name], feed, 1) == "ERROR 1193: Unknown system variable `NOTE_VERBOSITY`"
