"""The workload `orders` on real servers: what is loaded, and that its conditions hold and tell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.engine import Place, Server
from dbdyno.model import Arm, Step
from dbdyno.run import invariants, told
from mysql_steps import DATABASE
from server_place import a_place, ends, started
from step_load import load

pytestmark = pytest.mark.live

BREAKS = (
    ("UPDATE warehouse SET w_ytd = w_ytd + {by}", {"c1", "c8"}),
    ("UPDATE district SET d_next_o_id = d_next_o_id + {by} WHERE d_id = 2", {"c2"}),
    ("UPDATE orders SET o_ol_cnt = o_ol_cnt + {by} WHERE o_id = 7 AND o_d_id = 3", {"c4", "c6"}),
    ("UPDATE customer SET c_balance = c_balance + {by} WHERE c_id = 9", {"c10", "c12"}),
    ("UPDATE history SET h_amount = h_amount + {by} WHERE h_c_id = 9", {"c8", "c9", "c10"}),
    ("UPDATE new_order SET no_o_id = no_o_id + {by} WHERE no_d_id = 4 AND no_o_id >= 3000",
     {"c2", "c3", "c5"}),
)  # fmt: skip
"""Changes of a number, and the conditions that they break."""


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with a_place() as made:
        yield made


def steps(server: Server, **more: int | str) -> dict[str, Step]:
    given = {"warehouses": 1, "clients": 4, "seconds": 3, **more}
    made = workload.expand(workload.load("orders"), given, server.engine)
    return {step.name: step for step in made}


def broken(server: Server, step: Step) -> set[str]:
    """The conditions of a step that do not hold."""
    answers = ((c.name, server.execute(c.query, database=DATABASE)) for c in step.conditions)
    return {name for name, ((count,),) in answers if count != 0}


def check(server: Server) -> None:
    """Loads a warehouse, breaks its conditions one by one, runs the mix, and asks again."""

    def ask(sql: str) -> list[tuple[Any, ...]]:
        return server.execute(sql, database=DATABASE)

    made = steps(server)
    fill, first, run = made["fill"], made["check-load"], made["orders"]
    server.execute(*fill.setup, database=DATABASE)
    load(server, fill)
    assert broken(server, first) == set()
    for sql, expected in BREAKS:
        ask(sql.format(by=1))
        assert broken(server, first) == expected, sql
        ask(sql.format(by=-1).replace(">= 3000", ">= 3001"))
    assert broken(server, first) == set()
    ((original,),) = ask("SELECT count(*) FROM item WHERE i_data LIKE '%ORIGINAL%'")
    assert 9_500 < original < 10_500
    ((bad,),) = ask("SELECT count(*) FROM customer WHERE c_credit = 'BC'")
    assert 2_750 < bad < 3_250
    ((customers,),) = ask("SELECT count(DISTINCT o_c_id) FROM orders WHERE o_d_id = 5")
    assert customers == 3_000
    last, _ = load(server, run)
    assert last["totals"]["terminals"]["count"] > 20
    assert broken(server, run) == set()
    ((made_orders, next_order),) = ask(
        "SELECT (SELECT count(*) FROM orders) - 30000, sum(d_next_o_id - 3001) FROM district"
    )
    assert made_orders == next_order > 0
    deal(server, ask)


def deal(server: Server, ask: Callable[[str], list[tuple[Any, ...]]]) -> None:
    """Runs the deck: shares, roll-backs apart, and the change of counters is what was made."""
    run = steps(server, mix="deck", rollbacks=20, check=0)["orders"]
    before = told.before(server, run)
    lines: list[bytes] = []
    last, _ = load(server, run, lines.append)
    counts, rolled_back = outcomes(lines)
    ended = counts | {"new_order": counts["new_order"] + rolled_back}
    # The last deck of each of four clients may be dealt in part.
    decks = sum(ended.values()) / 23
    for name, cards in CARDS.items():
        assert abs(ended[name] - cards * decks) <= 4 * cards, (name, ended)
    assert 0 < rolled_back < ended["new_order"] / 2
    assert last["totals"]["terminals"]["rolled_back"] == rolled_back
    (counter,) = run.metrics
    ((next_order,),) = ask("SELECT sum(d_next_o_id) FROM district")
    assert counter.query == "SELECT sum(d_next_o_id) FROM district"
    assert next_order - before[counter.name] == counts["new_order"]


CARDS = {"new_order": 10, "payment": 10, "order_status": 1, "delivery": 1, "stock_level": 1}


def outcomes(lines: list[bytes]) -> tuple[dict[str, int], int]:
    """By transaction how many completed, and how many new orders were rolled back."""
    ticks = [event for event in map(json.loads, lines) if event["event"] == "tick"]
    parts = [tick["operations"] for tick in ticks]
    counts = {name: sum(part[name]["count"] for part in parts) for name in CARDS}
    return counts, sum(part["new_order"].get("rolled_back", 0) for part in parts)


def test_conditions_hold_on_postgresql_after_the_load_and_after_a_run(place: Place) -> None:
    settings = {"fsync": "off"}
    arm = Arm(name="orders", engine="postgres", base_dir=ends()[-1], settings=settings)
    with started(arm, place) as server:
        server.create_database(DATABASE)
        check(server)
        step = steps(server)["check-load"]
        held = {each.what for each in invariants.held(server, step) if each.ok}
        assert "condition `c11`" not in held, "orders have been delivered"


@pytest.mark.soak
def test_conditions_hold_on_mysql_and_mariadb(mysql_server: Server) -> None:
    mysql_server.create_database(DATABASE)
    check(mysql_server)
