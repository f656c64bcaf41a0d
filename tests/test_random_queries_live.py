"""Random queries on two databases of equal rows, indexed and planned otherwise: none is wronged.

Every answer that differs there has to be told as open by the query's tree.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from dbdyno.engine import LabServer
from dbdyno.engine.answer_hash import Rows
from dbdyno.engine.inquiry import CallOutcome, Inquirer, QueryCall
from dbdyno.engine.mysql import inquiry as mysql_inquiry
from dbdyno.engine.postgres import inquiry
from dbdyno.model import Address, Arm
from dbdyno.model.answer import Answer, OpenQueryPart
from dbdyno.model.answer_word import DIFFER, compared
from dbdyno.workload.determined import open_parts
from query_maker import QueryMaker
from server_place import a_place, address, ends, started

pytestmark = pytest.mark.live

QUERIES = 400
FIRST, OTHER = "determined_first", "determined_other"
VIEWS = (
    "CREATE VIEW v AS SELECT id AS number, a FROM t ORDER BY a LIMIT 6",
    "CREATE VIEW w AS SELECT a, count(*) AS n FROM u GROUP BY a",
)
INDEXES = (
    "CREATE INDEX t_a ON t (a, id DESC)",
    "CREATE INDEX u_a ON u (a, k DESC)",
    "CREATE INDEX u_t ON u (t_id, id DESC)",
)


def rows(place: int, *, turned: bool) -> Sequence[str]:
    """The rows of both tables, each server's in an order of its own."""
    numbers = range(1, 61)
    order = sorted(numbers, key=lambda n: (n % 7, -n)) if turned else list(numbers)
    t = [
        f"({n}, {n % 5}, {n % 3}, {n / 7 * 10 ** (n % 20)!r}, '{'sS'[n % 2]}{n % 4}')"
        for n in order
        if n <= 40
    ]
    u = [f"({n}, {n % 13 or 'NULL'}, {n % 4}, {n * 7 % 101})" for n in order]
    float_, text = ("float8", "text") if place == 0 else ("double", "varchar(9)")
    return (
        f"CREATE TABLE t (id int PRIMARY KEY, a int, b int, x {float_}, s {text})",
        "CREATE TABLE u (id int PRIMARY KEY, t_id int, a int NOT NULL, k int NOT NULL UNIQUE)",
        f"INSERT INTO t VALUES {', '.join(t)}",
        f"INSERT INTO u VALUES {', '.join(u)}",
        *VIEWS,
        *(INDEXES if turned else ()),
    )


@dataclass(frozen=True)
class Pair:
    """Two sessions, one on each database."""

    first: Inquirer
    other: Inquirer
    backticks: bool

    def told(self, text: str) -> tuple[bool, str]:
        """Whether answers to a query differ anywhere, and the word beside what is open of it."""
        call = QueryCall(text=text, own_text=text)
        base = self.first.answer(call, Rows(key=b"key"), {})
        if base.outcome != "rows":
            return False, "refused"
        names = [column.name for column in base.columns]
        ordered = open_parts.ordered(text, names, backticks=self.backticks)
        with self.first.catalog(call) as catalog:
            parts = open_parts.of(text, catalog, names)
        left_open = [
            OpenQueryPart(query="q", reason=part.reason, columns=part.columns, order=part.order)
            for part in parts
        ]
        differs, word = False, "open" if parts else "determined"
        for _, planner in [("", {}), *self.other.other_settings]:
            again = self.other.answer(call, Rows(key=b"key"), planner)
            if again.outcome != "rows":
                continue
            both = as_answer(base), as_answer(again)
            differs |= compared(*both, ordered).word in DIFFER
            beside = compared(*both, ordered, left_open)
            word = f"{beside.word}: {beside.detail}" if beside.word in DIFFER else word
        return differs, word


def as_answer(answered: CallOutcome) -> Answer:
    """What a session answered, to be compared."""
    return Answer(
        query="q",
        rows=answered.rows,
        cut=answered.cut,
        columns=answered.columns,
        whole=answered.whole,
    )


def judged(pair: Pair, lists: str) -> None:
    """Asks random queries of both; none that differs may be without its reason."""
    words: dict[str, int] = {}
    differing = 0
    for seed in range(QUERIES):
        text = QueryMaker(random.Random(seed), lists).query()
        differs, word = pair.told(text)
        differing += differs
        words[word] = words.get(word, 0) + 1
        assert word in ("refused", "open", "determined"), f"{word}\n{text}"
    assert differing > QUERIES / 30, "the two databases do answer otherwise"
    assert words["determined"] > QUERIES / 5, "what is plain stays determined"


def filled(server: LabServer, place: int) -> Iterator[Address]:
    """The two databases of a server."""
    for name in (FIRST, OTHER):
        server.create_database(name)
        server.execute(*rows(place, turned=name == OTHER), database=name)
        yield replace(address(server), database=name)


def test_no_random_query_on_postgresql_differs_without_a_reason() -> None:
    arm = Arm(name="random", engine="postgres", base_dir=ends()[-1])
    with a_place() as place, started(arm, place) as server:
        first, other = filled(server, 0)
        with inquiry.connected(first) as one, inquiry.connected(other) as two:
            judged(Pair(one, two, backticks=False), "string_agg({}::text, ','{})")


def test_no_random_query_on_mysql_differs_without_a_reason(mysql_server: LabServer) -> None:
    first, other = filled(mysql_server, 1)
    with mysql_inquiry.connected(first) as one, mysql_inquiry.connected(other) as two:
        judged(Pair(one, two, backticks=True), "group_concat({}{})")
