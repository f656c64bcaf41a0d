"""The Insert Benchmark on MySQL and MariaDB: what the general log says that they were sent."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

import mysql_place
from dbdyno import workload
from dbdyno.engine import Server
from mysql_place import build_of
from mysql_steps import DATABASE, Seen, is_execution, logging, run, totals

pytestmark = pytest.mark.live

PARAMETERS = {"clients": 2, "rows": 1_000, "rows_i1": 500, "rows_i2": 50}
TIMED = {"rates": [100], "seconds": 1, "wait_s": 1}
SWITCHED = {
    "indexes": 2,
    "partitions": 3,
    "rows_per_partition": 600,
    "delete_form": "range",
    "htap_seconds": 0.1,
    "htap_isolation": "READ COMMITTED",
    "query_protocol": "prepared",
}
LIMITS = "innodb_max_dirty_pages_pct, innodb_max_dirty_pages_pct_lwm"
HEAD = (
    r"INSERT INTO pi[12] "
    r"\(dateandtime,cashregisterid,customerid,productid,price,data\) VALUES "
)
ROW = r"\('\d{4}-\d\d-\d\d \d\d:\d\d:\d\d',\d+,\d+,\d+,\d+\.00,'a*[A-Za-z0-9+/]+'\)"


@pytest.fixture(scope="module")
def server(mysql_server: Server) -> Iterator[Server]:
    """A server of each engine, which logs what it is sent."""
    yield from logging(mysql_server)


@pytest.fixture(scope="module")
def seen(server: Server) -> Mapping[str, Seen]:
    """Every step as published."""
    release = build_of(server.engine).release
    steps = workload.expand(
        workload.load("insert-benchmark"), PARAMETERS | TIMED, server.engine, version=release
    )
    return {step.name: run(server, step) for step in steps}


def test_the_tables_are_innodbs_with_three_indexes(server: Server, seen: Mapping[str, Seen]):
    (row,) = server.execute(f"SHOW CREATE TABLE {DATABASE}.pi2")
    made = str(row[1])
    assert "ENGINE=InnoDB" in made
    assert re.findall(r"KEY (?:`(\w+)` )?\(([^)]*)\)", made) == [
        ("", "`transactionid`"),
        ("pi2_marketsegment", "`productid`,`customerid`,`price`"),
        ("pi2_registersegment", "`cashregisterid`,`customerid`,`price`"),
        ("pi2_pdc", "`price`,`dateandtime`,`customerid`"),
    ]
    alters = [one for one in seen["l.x"].texts() if one.startswith("ALTER")]
    assert len(alters) == 2
    assert all(one.count("ADD INDEX") == 3 for one in alters), "one pass makes all three"


@pytest.mark.capability("insert benchmark")
def test_inserts_are_texts_of_100_50_and_5_rows_and_nothing_is_prepared(seen: Mapping[str, Seen]):
    for name, rows in (("l.i0", 100), ("l.x", 100), ("l.i1", 50), ("l.i2", 5), ("qr100", 50)):
        inserts = [one for one in seen[name].texts("Query") if one.startswith("INSERT")]
        wanted = re.compile(rf"{HEAD}{ROW}(,{ROW}){{{rows - 1}}}")
        assert inserts
        assert all(wanted.fullmatch(one) for one in inserts), name
    for one in seen.values():
        assert not one.texts("Prepare", "Execute")


@pytest.mark.capability("insert benchmark")
def test_deletes_follow_the_tail_and_find_all_their_rows(seen: Mapping[str, Seen]) -> None:
    wanted = (
        r"DELETE FROM (pi[12]) WHERE transactionid >= (\d+) ORDER BY transactionid ASC LIMIT (\d+)"
    )
    tails = {"pi1": [0], "pi2": [0]}
    for name, rows in (("l.i1", 50), ("l.i2", 5), ("qr100", 50), ("qp100", 50)):
        deletes = [one for one in seen[name].texts("Query") if one.startswith("DELETE")]
        for one in deletes:
            match = re.fullmatch(wanted, one)
            assert match is not None, one
            assert int(match[3]) == rows
            tails[match[1]].append(int(match[2]))
        done = totals(seen, name, "delete")
        assert done == totals(seen, name, "insert")
        assert done == (len(deletes), rows * len(deletes)), "each found as many as it wanted"
    for found in tails.values():
        assert found == sorted(found)


def test_queries_are_texts_that_name_their_index(seen: Mapping[str, Seen]) -> None:
    forms = {
        r"SELECT productid,customerid,price FROM (pi[12]) FORCE INDEX \(\1_marketsegment\) WHERE "
        r"productid >= \d+ ORDER BY productid,customerid,price LIMIT 10",
        r"SELECT cashregisterid,customerid,price FROM (pi[12]) FORCE INDEX \(\1_registersegment\) "
        r"WHERE cashregisterid > \d+ ORDER BY cashregisterid,customerid,price LIMIT 10",
        r"SELECT price,dateandtime,customerid FROM (pi[12]) FORCE INDEX \(\1_pdc\) WHERE "
        r"price >= \d+ ORDER BY price,dateandtime,customerid LIMIT 10",
    }
    queries = [one for one in seen["qr100"].texts("Query") if "LIMIT 10" in one]
    found = Counter(next(f for f in forms if re.fullmatch(f, one)) for one in queries)
    assert set(found) == forms
    points = [one for one in seen["qp100"].texts("Query") if " IN (" in one]
    wanted = (
        r"SELECT transactionid, productid, data FROM pi[12] WHERE transactionid IN \(\d+(,\d+){9}\)"
    )
    assert points
    assert all(re.fullmatch(wanted, one) for one in points)
    count, rows = totals(seen, "qp100", "query")
    assert 5 * count < rows <= 10 * count


def test_cleanup_lowers_the_limits_of_dirty_pages_for_the_wait_and_puts_them_back(
    server: Server, seen: Mapping[str, Seen]
) -> None:
    mysql_place.needs(server.engine, "innodb_max_dirty_pages_pct_lwm", mysql=80000)
    (analyze1, analyze2, flush) = sorted(seen["cleanup"].sessions(), key=len)
    tables = {one.sql for one in analyze1 + analyze2 if one.sql.startswith("ANALYZE")}
    assert tables == {"ANALYZE TABLE pi1", "ANALYZE TABLE pi2"}
    sets = [one.sql for one in flush if one.sql.startswith("SET") and "pages_pct" in one.sql]
    assert [one.split()[1] for one in sets] == ["@lwm", "GLOBAL", "GLOBAL"]
    assert "innodb_max_dirty_pages_pct = 1" in sets[1]
    assert "innodb_max_dirty_pages_pct = @pct" in sets[2]
    (limits,) = server.execute(f"SELECT @@GLOBAL.{LIMITS.replace(', ', ', @@GLOBAL.')}")
    assert limits[0] > 1, "as they were"
    assert seen["cleanup"].last["totals"]["write_back"]["errors"] == 0


def test_binary_logs_are_purged_before_each_step_where_they_are_on(
    server: Server, seen: Mapping[str, Seen]
) -> None:
    ((on,),) = server.execute("SELECT @@log_bin")
    assert seen["l.i0"].step.setup[0].startswith("SET @reset_logs = IF(@@log_bin AND 1")
    server.execute(*seen["qp100"].step.setup)
    if on:
        server.execute("FLUSH BINARY LOGS")
        assert len(server.execute("SHOW BINARY LOGS")) == 2
        server.execute(*seen["qp100"].step.setup)
        assert len(server.execute("SHOW BINARY LOGS")) == 1


def test_switches_do_on_mysql_what_they_do_elsewhere(server: Server, seen: Mapping[str, Seen]):
    """Two indexes, three partitions, ranges of deletes, long transactions, prepared statements."""
    assert seen, "the steps as published come first, as these take their tables"
    loaded = workload.load("insert-benchmark", set="prepared")
    given = PARAMETERS | TIMED | SWITCHED
    names = ["l.i0", "l.x", "l.i1p", "qr100e"]
    steps = workload.expand(loaded, given, server.engine, steps=names)
    found = {step.name: run(server, step) for step in steps}
    (row,) = server.execute(f"SHOW CREATE TABLE {DATABASE}.pi1")
    partitions = re.findall(r"PARTITION `?(p\d)`? VALUES LESS THAN \(?(\w+)\)?", str(row[1]))
    assert partitions == [("p0", "600"), ("p1", "1200"), ("p2", "MAXVALUE")]
    assert str(row[1]).count("  KEY ") == 2
    prepared = found["l.i1p"].texts("Prepare")
    delete = "DELETE FROM pi1 WHERE transactionid >= ? AND transactionid < ?"
    assert delete in prepared
    executed = [one for one in found["l.i1p"].texts("Execute") if "DELETE FROM pi1" in one]
    assert len(executed) == 10
    assert all(is_execution(one, delete) for one in executed)
    assert totals(found, "l.i1p", "delete") == (20, 1_000)
    long = [one for one in found["l.i1p"].texts("Query") if "pi" not in one]
    assert long[:2] == ["SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"] or (
        Counter(long)["START TRANSACTION"] == Counter(long)["COMMIT"] > 0
    )
    shapes = {one.split(" FORCE ")[0] for one in found["qr100e"].texts("Prepare") if "FORCE" in one}
    assert {one.split()[1].split(",")[0] for one in shapes} == {"productid", "cashregisterid"}
