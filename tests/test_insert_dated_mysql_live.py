"""The Insert Benchmark's sets 2023 and 2020 on MySQL and MariaDB: what the general log says."""

import re
from collections.abc import Iterator, Mapping

import pytest

from dbdyno import workload
from dbdyno.engine import Server
from mysql_place import build_of
from mysql_steps import DATABASE, Seen, logging, run, totals

pytestmark = pytest.mark.live

PARAMETERS = {"clients": 2, "rows": 1_000, "rows_i1": 500, "rows_x": 200, "seconds": 1}
RATES = {"rates": [100, 200], "vacuum_wait_s": 30}
ROW = re.compile(r"\('\d{4}-\d\d-\d\d \d\d:\d\d:\d\d',\d+,(\d+),\d+,(\d+\.\d\d),'[^']+'\)")
QUERIES = {
    r"SELECT price,customerid FROM (pi[12]) FORCE INDEX \(\1_marketsegment\) WHERE "
    r"price >= \d+\.\d\d ORDER BY price,customerid LIMIT 10",
    r"SELECT cashregisterid,price,customerid FROM (pi[12]) FORCE INDEX \(\1_registersegment\) "
    r"WHERE cashregisterid > \d+ ORDER BY cashregisterid,price,customerid LIMIT 10",
    r"SELECT price,dateandtime,customerid FROM (pi[12]) FORCE INDEX \(\1_pdc\) WHERE "
    r"price >= \d+\.\d\d ORDER BY price,dateandtime,customerid LIMIT 10",
}


@pytest.fixture(scope="module")
def server(mysql_server: Server) -> Iterator[Server]:
    """A server of each engine, which logs what it is sent."""
    yield from logging(mysql_server)


def seen(server: Server, chosen: str, **more: str) -> Mapping[str, Seen]:
    """Every step of a set."""
    loaded = workload.load("insert-benchmark", set=chosen, **more)
    release = build_of(server.engine).release
    steps = workload.expand(loaded, PARAMETERS | RATES, server.engine, version=release)
    return {step.name: run(server, step) for step in steps}


@pytest.mark.parametrize(
    ("chosen", "query"), [("2023", ["q100", "q200"]), ("2020", ["q100.1", "q200.2"])]
)
def test_a_set_of_its_time_sends_what_was_sent_then(server: Server, chosen: str, query: list[str]):
    found = seen(server, chosen)
    for name in ("l.i0", "l.x", "l.i1", *query):
        inserts = [one for one in found[name].texts("Query") if one.startswith("INSERT")]
        rows = [row for one in inserts for row in ROW.findall(one)]
        assert rows
        for customer, price in rows:
            assert 0 <= round(float(price) * 100) - int(customer) < 500
    for name in query:
        queries = [one for one in found[name].texts("Query") if "LIMIT 10" in one]
        forms = {next(one for one in QUERIES if re.fullmatch(one, sql)) for sql in queries}
        assert forms == QUERIES
    sent = [one for each in found.values() for one in each.texts("Query")]
    assert not [one for one in sent if one.startswith(("ANALYZE", "VACUUM"))]
    # Those of 2023 come over connections of their own, which no event names.
    assert not [one for one in sent if "min(transactionid)" in one]
    if chosen == "2023":
        assert totals(found, "l.i1", "delete") == (20, 1_000)
    (row,) = server.execute(f"SHOW CREATE TABLE {DATABASE}.pi2")
    assert "`price` float NOT NULL" in str(row[1])
    assert re.findall(r"KEY `\w+` \(([^)]*)\)", str(row[1])) == [
        "`price`,`customerid`",
        "`cashregisterid`,`price`,`customerid`",
        "`price`,`dateandtime`,`customerid`",
    ]
