"""sysbench's file: tables, content and statements are those of sysbench 1.0.20."""

from __future__ import annotations

from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Headline, Step
from workload_reader import role, sql

BUFFER_BYTES = 512 << 10
"""What an INSERT of sysbench's prepare is at most."""


def sysbench(fill: str | None = None, **parameters: Any) -> dict[str, Step]:
    loaded = workload.load("sysbench", fill=fill)
    return {step.name: step for step in workload.expand(loaded, parameters, "postgres")}


def test_the_tables_are_filled_in_bulk_unless_a_plan_asks_for_the_published_load() -> None:
    assert list(sysbench()) == ["fill", "point-query"]
    assert list(sysbench("published")) == ["prepare", "vacuum", "point-query"]
    assert [step.measured for step in sysbench().values()] == [False, True]
    assert [step.measured for step in sysbench("published").values()] == [True, False, True]


def test_prepare_sends_what_sysbench_sends() -> None:
    prepare = sysbench("published", rows=10_000, tables=3, prepare_threads=2)["prepare"]
    assert " ".join(prepare.setup[1].split()) == (
        "CREATE TABLE sbtest1 ( id SERIAL, k INTEGER DEFAULT '0' NOT NULL, "
        "c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id) )"
    )
    head = "INSERT INTO <sbtest>(k, c, pad) VALUES"
    assert sql(prepare, "insert") == f"{head}[2680× (<k>, <c>, <pad>)]"
    assert sql(prepare, "insert_rest") == f"{head}[1960× (<k>, <c>, <pad>)]"
    assert sql(prepare, "create_index") == "CREATE INDEX k_<number of sbtest> ON <sbtest>(k)"
    assert {one["protocol"] for one in prepare.job["statements"]} == {"simple"}
    (program,) = prepare.job["programs"]
    assert program["code"] == [["send", 0]] * 3 + [["send", 1], ["send", 2]]
    assert prepare.headline == Headline(metric="ips", role="insert", count="rows")
    insert = role(prepare, "insert")
    assert (insert["connections"], insert["stop"]) == (2, {"operations": 3})


def test_an_insert_of_prepare_fills_sysbenchs_buffer() -> None:
    for rows in (1_000_000, 10_000_000):
        prepare = sysbench("published", rows=rows)["prepare"]
        values = {one["name"]: one for one in prepare.job["values"]}
        assert values["k"]["uniform"] == [1, rows]
        lengths = [len(values[name]["pattern"]) for name in ("c", "pad")]
        assert lengths == [119, 59]
        # Brackets, two commas with a space each, four quotes, and the comma before the next row.
        digits = len(str(rows)) - 1 - 1 / 9
        row_bytes = digits + sum(lengths) + 2 + 4 + 4 + 1
        insert = prepare.job["statements"][0]
        # The buffer is never filled to the last byte, nor are all numbers equally long.
        assert insert["rows"] * row_bytes == pytest.approx(BUFFER_BYTES, rel=0.005)


def test_the_point_query_is_prepared_and_reads_one_column_by_key() -> None:
    for fill in ("fast", "published"):
        query = sysbench(fill, clients=8, rows=500, seconds=7)["point-query"]
        assert sql(query, "point") == "SELECT c FROM <sbtest> WHERE id=<id>"
        assert query.job["statements"][0]["protocol"] == "prepared"
        assert query.job["values"][0]["uniform"] == [1, 500]
        assert (query.job["clients"], query.job["stop"]["seconds"]) == (8, 7)
        assert not query.writes
