"""Relations that a step reads into the cache before it: in their order, or refused."""

from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan, workload
from dbdyno.engine.mysql import buffer_pool
from dbdyno.engine.postgres import cache_warming
from dbdyno.model.error import PlanError, ServerError
from dbdyno.run.check import preflight

FILE = """
[parameters]
prewarm = 1
[tables.t]
create = "CREATE TABLE {t} (id int)"
fill.rows = 10
fill.columns.id = ":row"
[statements]
get = "SELECT id FROM {t}"
[[steps]]
name = "get"
seconds = 1
warm = ["t1", "{'t1_pkey' if prewarm else ''}"]
roles.query = { run = "get" }
"""
PLAN = """
arms.a = { engine = "fake", fake = { default_us = 100 } }
[[workloads]]
name = "./mine.toml"
"""


def test_names_have_an_order_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(FILE)
    loaded = workload.load("./mine.toml", tmp_path / "plan.toml")
    for given, names in (({}, ("t1", "t1_pkey")), ({"prewarm": 0}, ("t1",))):
        *_, step = workload.expand(loaded, given, "postgres")
        assert step.warm == names


def test_a_server_that_cannot_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(FILE)
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.raises(PlanError, match="step `get`: key `warm`: the server of arm a has nothing"):
        preflight.prepare(plan.load(tmp_path / "plan.toml"))


# --- What is read ------------------------------------------------------------------------------

POSTGRES = {
    cache_warming.RELATIONS: [(1, "t", "r", 80), (2, "t_pkey", "i", 8), (3, "t_gin", "i", 4)],
    cache_warming.INDEXES: [
        ("t_pkey", "t", "btree", "id > 0", "id"),
        ("t_gin", "t", "gin", "", ""),
    ],
    "FROM unnest(ARRAY['t_pkey', 't'])": [(2, "t_pkey", None, 8), (1, "t", None, 80)],
    "FROM unnest(ARRAY['none'])": [(None, "none", None, None)],
    "IN (2, 1)": [(1, 40), (2, 8)],
}
MYSQL = {
    buffer_pool.WITHOUT_INDEX: [("heap",)],
    buffer_pool.INDEXES: [("t", "PRIMARY", "BTREE"), ("t", "words", "FULLTEXT")],
    buffer_pool.SIZES: [(92,)],
}


class Answers:
    """A session that answers statements by what is in them, and keeps the others."""

    def __init__(self, answers: dict[str, list[Any]]) -> None:
        self.answers, self.done = answers, list[str]()

    def __call__(self, *statements: str, limit_s: float = 0) -> list[tuple[Any, ...]]:
        found = [rows for text, rows in self.answers.items() if text in statements[-1]]
        self.done += statements[:-1] if found else statements
        return found[0] if found else []


def test_each_relation_is_read_or_named_as_left_out() -> None:
    for how, left_out in (("prewarm", []), ("scan", ["t_gin"])):
        execute = Answers(POSTGRES)
        warmed = cache_warming.warm(how, execute)
        read = [text for text in execute.done if "prewarm(" in text or "count(*)" in text]
        assert (warmed.relations, warmed.left_out, len(read)) == (len(read), left_out, len(read))
        assert warmed.bytes == 92 - 4 * len(left_out)
    assert "WHERE id > 0 ORDER BY id OFFSET 0" in read[-1]
    execute = Answers(MYSQL)
    warmed = buffer_pool.warm(execute)
    assert (warmed.relations, warmed.left_out, warmed.bytes) == (2, ["t.words"], 92)
    assert [text.partition("FROM ")[2][:12] for text in execute.done] == ["`heap`", "(SELECT 1 FR"]


def test_named_relations_are_read_in_their_order_and_what_stays_is_told() -> None:
    execute = Answers(POSTGRES)
    warmed = cache_warming.warm(("t_pkey", "t"), execute)
    assert execute.done[-2:] == [f"SELECT pg_prewarm({oid}::oid::regclass)" for oid in (2, 1)]
    resident = [(each.name, each.resident_bytes) for each in warmed.resident or ()]
    assert (resident, warmed.bytes) == ([("t_pkey", 8), ("t", 40)], 88)
    with pytest.raises(ServerError, match="there is no table or index `none`"):
        cache_warming.warm(("none",), Answers(POSTGRES))


@pytest.mark.parametrize("pages", [[500, 64], [500, 500]])
def test_dirty_pages_are_waited_for_and_their_shares_are_as_before(pages: list[int]) -> None:
    shares = [("innodb_max_dirty_pages_pct", "90"), ("innodb_max_dirty_pages_pct_lwm", "10")]
    left = [[("dirty", each)] for each in pages]
    done: list[str] = []

    def execute(*statements: str, limit_s: float = 0) -> list[tuple[Any, ...]]:
        if statements == (buffer_pool.DIRTY,):
            return left.pop(0)
        done.extend(statements)
        return shares if statements == (buffer_pool.ALLOWED,) else []

    if pages[-1] > buffer_pool.DIRTY_PAGES_MAX:
        with pytest.raises(ServerError, match="500 pages are still dirty after 0 s"):
            buffer_pool.write_all(execute, 0.0)
    else:
        buffer_pool.write_all(execute, 60.0)
    (high, _), (low, _) = shares
    assert done[1:] == [
        f"SET GLOBAL {low} = 0", f"SET GLOBAL {high} = 0",
        f"SET GLOBAL {high} = 90", f"SET GLOBAL {low} = 10",
    ]  # fmt: skip
