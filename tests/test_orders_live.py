"""The workload `orders` on real servers: what is loaded, and that its conditions hold and tell."""

import json
from collections.abc import Iterator

import pytest

from dbdyno.engine import LabServer, Place
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from dbdyno.run import invariants, load_output
from mysql_steps import DATABASE
from orders_steps import ask, broken, filled, steps
from server_place import a_place, ends, started
from step_load import load

pytestmark = pytest.mark.live

ORDER = "INSERT INTO orders VALUES (0, 1, 1, 0, CURRENT_TIMESTAMP, {carrier}, 0, 1)"
PAID = "INSERT INTO history VALUES (0, 1, 1, {district}, 1, CURRENT_TIMESTAMP, {amount}, 'none')"
NO_ORDER = "DELETE FROM orders WHERE o_id = 0"
NOT_PAID = "DELETE FROM history WHERE h_c_id = 0"
BREAKS: dict[str, tuple[list[str], list[str]]] = {
    "c1": (
        ["UPDATE warehouse SET w_ytd = w_ytd + 1", PAID.format(district=0, amount=1)],
        ["UPDATE warehouse SET w_ytd = w_ytd - 1", NOT_PAID],
    ),
    "c2": (
        ["UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 2"],
        ["UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 2"],
    ),
    "c3": (
        [ORDER.format(carrier="NULL"), "INSERT INTO new_order VALUES (0, 1, 1)"],
        [NO_ORDER, "DELETE FROM new_order WHERE no_o_id = 0"],
    ),
    "c4": (
        ["INSERT INTO order_line VALUES (0, 1, 1, 1, 1, 1, NULL, 5, 1, 'none')"],
        ["DELETE FROM order_line WHERE ol_o_id = 0"],
    ),
    "c5": (
        [ORDER.format(carrier=1), "INSERT INTO new_order VALUES (2100, 1, 1)"],
        [NO_ORDER, "DELETE FROM new_order WHERE no_o_id = 2100"],
    ),
    "c6": (
        ["UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_id = 7 AND o_d_id = 3",
         "UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_id = 8 AND o_d_id = 3"],
        ["UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_id = 7 AND o_d_id = 3",
         "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_id = 8 AND o_d_id = 3"],
    ),
    "c7": (
        ["UPDATE order_line SET ol_delivery_d = NULL"
         " WHERE ol_o_id = 1 AND ol_d_id = 1 AND ol_number = 1"],
        ["UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP"
         " WHERE ol_o_id = 1 AND ol_d_id = 1 AND ol_number = 1"],
    ),
    "c8": ([PAID.format(district=0, amount=1)], [NOT_PAID]),
    "c9": ([PAID.format(district=1, amount=1), PAID.format(district=2, amount=-1)], [NOT_PAID]),
    "c10": (
        ["UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1"
         " WHERE c_id = 9 AND c_d_id = 1"],
        ["UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1"
         " WHERE c_id = 9 AND c_d_id = 1"],
    ),
    "c11": ([ORDER.format(carrier=1)], [NO_ORDER]),
    "c12": (
        ["UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 9 AND c_d_id = 1"],
        ["UPDATE customer SET c_ytd_payment = c_ytd_payment - 1 WHERE c_id = 9 AND c_d_id = 1"],
    ),
}  # fmt: skip
"""For each condition the least that breaks it alone, and what mends that."""
MISSING = {
    "postgres": "CALL take_order(1, 11, 1, 1, '{1}', '{1}', '{1}', NULL)",
    "mysql": "CALL take_order(1, 11, 1, 1, '1', '1', '1')",
    "mariadb": "CALL take_order(1, 11, 1, 1, '1', '1', '1')",
}
"""An order of a district that does not exist."""
ISOLATIONS = ("default", "read committed", "repeatable read", "serializable")


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with a_place() as made:
        yield made


@pytest.fixture(scope="module")
def postgres(place: Place) -> Iterator[LabServer]:
    arm = Arm(name="orders", engine="postgres", base_dir=ends()[-1], settings={"fsync": "off"})
    with started(arm, place) as server:
        yield server


def check_load(server: LabServer) -> None:
    """Loads a warehouse, looks at what is in it, and breaks its conditions one by one."""
    made = steps(server)
    filled(server, made)
    first = made["check-load"]
    assert broken(server, first) == set()
    for name, (changes, mends) in BREAKS.items():
        server.execute(*changes, database=DATABASE)
        assert broken(server, first) == {name}
        server.execute(*mends, database=DATABASE)
    assert broken(server, first) == set()
    ((original,),) = ask(server, "SELECT count(*) FROM item WHERE i_data LIKE '%ORIGINAL%'")
    assert 9_500 < original < 10_500
    ((bad,),) = ask(server, "SELECT count(*) FROM customer WHERE c_credit = 'BC'")
    assert 2_750 < bad < 3_250
    ((customers,),) = ask(server, "SELECT count(DISTINCT o_c_id) FROM orders WHERE o_d_id = 5")
    assert customers == 3_000


def check_runs(server: LabServer) -> None:
    """Runs both forms on the loaded warehouse; an order of nowhere changes nothing, and says so."""
    for used in ("client", "procedures"):
        check_deck(server, used)
    ((made,),) = ask(server, "SELECT count(*) FROM orders")
    with pytest.raises(ServerError):
        ask(server, MISSING[server.engine])
    assert ask(server, "SELECT count(*) FROM orders") == [(made,)]
    held = {each.what for each in invariants.held(server, steps(server)["check-load"]) if each.ok}
    assert "condition `c11`" not in held, "orders have been delivered"


def check_deck(server: LabServer, used: str) -> None:
    """Runs the deck: shares, roll-backs apart, and the change of counters is what was made."""
    step = steps(server, used, clients=4, mix="deck", rollbacks=20)["orders"]
    if step.setup:
        server.execute(*step.setup, database=DATABASE)
    before = load_output.before(server, step)
    lines: list[bytes] = []
    last, _ = load(server, step, lines.append)
    assert broken(server, step) == set(), used
    counts, rolled_back = outcomes(lines)
    ended = counts | {"new_order": counts["new_order"] + rolled_back}
    # The last deck of each of four clients may be dealt in part.
    decks = sum(ended.values()) / 23
    for name, cards in CARDS.items():
        assert abs(ended[name] - cards * decks) <= 4 * cards, (name, ended)
    assert 0 < rolled_back < ended["new_order"] / 2
    assert last["totals"]["terminals"]["rolled_back"] == rolled_back
    (counter,) = step.metrics
    ((next_order,),) = ask(server, "SELECT sum(d_next_o_id) FROM district")
    assert counter.query == "SELECT sum(d_next_o_id) FROM district"
    assert float(next_order) - before[counter.name] == counts["new_order"]


NONE = {"count": 0}
CARDS = {"new_order": 10, "payment": 10, "order_status": 1, "delivery": 1, "stock_level": 1}


def outcomes(lines: list[bytes]) -> tuple[dict[str, int], int]:
    """By transaction how many completed, and how many new orders were rolled back.

    A transaction of one statement alone, as a CALL is, counts under the statement's name.
    """
    ticks = [event for event in map(json.loads, lines) if event["event"] == "tick"]
    parts = [tick["operations"] for tick in ticks]
    counts = {
        name: sum(part.get(name, part.get(f"call_{name}", NONE))["count"] for part in parts)
        for name in CARDS
    }
    back = (part["new_order"].get("rolled_back", 0) for part in parts if "new_order" in part)
    return counts, sum(back)


@pytest.mark.capability("orders")
def test_conditions_hold_on_postgresql_after_the_load_and_after_runs(postgres: LabServer) -> None:
    check_load(postgres)
    check_runs(postgres)


@pytest.mark.soak
def test_conditions_hold_on_mysql_and_mariadb(mysql_server: LabServer) -> None:
    check_load(mysql_server)
    check_runs(mysql_server)


def check_isolations(server: LabServer) -> int:
    """Runs both forms at every isolation with 8 clients on a warehouse; how much they did."""
    made = steps(server)
    filled(server, made)
    done = 0
    for isolation in ISOLATIONS:
        for used, protocol in (("client", "simple"), ("procedures", "prepared")):
            step = steps(server, used, isolation=isolation, protocol=protocol, seconds=5)["orders"]
            if step.setup:
                server.execute(*step.setup, database=DATABASE)
            last, _ = load(server, step)
            assert broken(server, step) == set(), (isolation, used)
            done += last["totals"]["terminals"]["count"]
    return done


@pytest.mark.soak
def test_conditions_hold_on_postgresql_at_every_isolation(postgres: LabServer) -> None:
    assert check_isolations(postgres) > 10_000


@pytest.mark.soak
def test_conditions_hold_on_mysql_and_mariadb_at_every_isolation(mysql_server: LabServer) -> None:
    assert check_isolations(mysql_server) > 1_000
