"""The Insert Benchmark's sets 2023 and 2020: what the published client did at the time."""

from collections.abc import Mapping
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Json, Step
from dbdyno.model.error import WorkloadError
from workload_reader import job_of, role, sql

DATED = ("2023", "2020")
FIRST = {"2023": "q100", "2020": "q100.1"}
LATER = {"2023": ("q500", "q1000"), "2020": ("q100.2", "q200.1", "q1000.2")}


def made(
    chosen: str, parameters: Mapping[str, Any] | None = None, engine: str = "postgres"
) -> dict[str, Step]:
    """The steps of a set by name."""
    loaded = workload.load("insert-benchmark", set=chosen)
    return {step.name: step for step in workload.expand(loaded, parameters or {}, engine)}


def value(step: Step, name: str) -> Json:
    (found,) = [one for one in job_of(step)["values"] if one["name"] == name]
    return found


def statement(step: Step, name: str) -> Json:
    (found,) = [one for one in job_of(step)["statements"] if one["name"] == name]
    return found


def code(step: Step, name: str) -> list[tuple[str, object]]:
    """What a role's only program sends, by the statements' names, and how long it sleeps in s."""
    program = job_of(step)["programs"][role(step, name)["choose"][0]["program"]]
    names = [one["name"] for one in job_of(step)["statements"]]
    return [
        (what, number / 1e6 if what == "sleep" else names[number])
        for what, number in program["code"]
    ]


# --- Vacuums before steps ------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", DATED)
def test_two_rounds_of_vacuum_begin_before_each_later_step_and_before_the_first_none(chosen: str):
    expanded = made(chosen, {"clients": 3})
    first = expanded[FIRST[chosen]]
    assert not {"vacuum", "wait"} & {one["name"] for one in job_of(first)["roles"]}
    assert job_of(first)["stop"]["warmup_s"] == 0
    assert role(first, "insert")["after"] == role(first, "query")["after"] == []
    for name in LATER[chosen]:
        step = expanded[name]
        for one in ("vacuum", "vacuum_again"):
            found = role(step, one)
            assert (found["per"], found["connections"]) == ("step", 3)
            assert found["stop"] == {"operations": 3}
            assert found["table"] == {"of": "pi", "by": "by_connection"}
        assert sql(step, "vacuum") == "VACUUM (VERBOSE) <pi>"
        for one in ("wait", "wait_again"):
            assert code(step, one) == [("send", "nothing"), ("sleep", 5.0), ("send", "nothing")]
        after = {one["name"]: one["after"] for one in job_of(step)["roles"]}
        assert after["vacuum"] == after["wait"] == []
        assert after["vacuum_again"] == after["wait_again"] == ["wait"]
        assert after["insert"] == after["query"] == ["wait_again"]
        assert job_of(step)["stop"] == {
            "roles": ["insert"],
            "seconds": None,
            "warmup_s": 10,
            "seconds_max": None,
        }
        starts_s = job_of(step)["clients"] - 1
        assert step.nominal_s == (3600 if chosen == "2023" else 1800) + 10 + starts_s


@pytest.mark.parametrize("chosen", DATED)
def test_the_wait_between_vacuums_is_a_parameter(chosen: str) -> None:
    step = made(chosen, {"vacuum_wait_s": 0.5})[LATER[chosen][0]]
    assert job_of(step)["stop"]["warmup_s"] == 1
    assert code(step, "wait")[1] == ("sleep", 0.5)


@pytest.mark.parametrize("chosen", DATED)
@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_tables_of_mysql_are_never_vacuumed(chosen: str, engine: str) -> None:
    expanded = made(chosen, engine=engine)
    assert list(expanded) == list(made(chosen))
    assert sql(expanded["vacuum"], "nothing") == "SELECT 1"
    for name in (FIRST[chosen], *LATER[chosen]):
        names = [one["name"] for one in job_of(expanded[name])["roles"]]
        assert names == ["insert", "delete", "query"][:: 1 if chosen == "2023" else 2]
        assert job_of(expanded[name])["stop"]["warmup_s"] == 0


# --- What was inserted and asked -----------------------------------------------------------------


@pytest.mark.parametrize("chosen", DATED)
@pytest.mark.parametrize(("engine", "price"), [("postgres", "real"), ("mysql", "float")])
def test_prices_are_fractions_near_the_rows_own_customer(chosen: str, engine: str, price: str):
    step = made(chosen, engine=engine)["l.i0"]
    (create,) = [one for one in step.setup if "CREATE TABLE pi1" in one]
    assert f"  price {price} NOT NULL,\n" in create
    names = [one["name"] for one in job_of(step)["values"]]
    found = value(step, "price")
    assert found["format"] == "hundredths"
    assert [names[found["add"][key]] for key in ("value", "other")] == ["customer", "price_part"]
    assert value(step, "price_part")["uniform"] == [0, 499]


def test_the_fast_load_has_the_same_prices() -> None:
    loaded = workload.load("insert-benchmark", set="2023", fill="fast")
    step = workload.expand(loaded, {}, "postgres")[0]
    (fill,) = job_of(step)["fills"]
    columns = {one["name"]: one for one in fill["columns"]}
    assert columns["price"]["type"] == "float4"
    assert "add" in job_of(step)["values"][columns["price"]["value"]]
    today = workload.expand(workload.load("insert-benchmark", fill="fast"), {}, "postgres")[0]
    assert [
        one["type"] for one in job_of(today)["fills"][0]["columns"] if one["name"] == "price"
    ] == ["int4"]


@pytest.mark.parametrize("chosen", DATED)
def test_two_indexes_begin_with_the_price_and_none_has_the_product(chosen: str) -> None:
    step = made(chosen, {"clients": 8})["l.x"]
    assert sql(step, "create_market") == (
        "CREATE INDEX <pi>_marketsegment ON <pi> (price,customerid)"
    )
    assert sql(step, "create_register") == (
        "CREATE INDEX <pi>_registersegment ON <pi> (cashregisterid,price,customerid)"
    )
    assert sql(step, "create_pdc") == "CREATE INDEX <pi>_pdc ON <pi> (price,dateandtime,customerid)"
    inserts = [one for one in code(step, "index") if one == ("send", "insert")]
    assert len(inserts) == 100_000 // 8 // 100
    mysql = made(chosen, engine="mysql")["l.x"]
    assert sql(mysql, "add_3") == (
        "ALTER TABLE <pi> ADD INDEX <pi>_marketsegment (price,customerid), "
        "ADD INDEX <pi>_registersegment (cashregisterid,price,customerid), "
        "ADD INDEX <pi>_pdc (price,dateandtime,customerid)"
    )


@pytest.mark.parametrize("chosen", DATED)
def test_queries_are_in_the_order_of_those_indexes(chosen: str) -> None:
    step = made(chosen)[LATER[chosen][0]]
    assert sql(step, "market") == (
        "SELECT price,customerid FROM <pi> WHERE price >= <from_price> "
        "ORDER BY price,customerid LIMIT 10"
    )
    assert sql(step, "register") == (
        "SELECT cashregisterid,price,customerid FROM <pi> WHERE cashregisterid > "
        "<from_cashregister> ORDER BY cashregisterid,price,customerid LIMIT 10"
    )
    assert value(step, "from_price")["format"] == "hundredths"
    assert value(step, "from_customer")["uniform"] == [0, 99_999]
    mysql = made(chosen, engine="mysql")[LATER[chosen][0]]
    assert sql(mysql, "market") == (
        "SELECT price,customerid FROM <pi> FORCE INDEX (<pi>_marketsegment) "
        "WHERE price >= <from_price> ORDER BY price,customerid LIMIT 10"
    )


def test_queries_were_prepared_in_2023_and_literals_in_2020() -> None:
    prepared, literal = made("2023")["q500"], made("2020")["q200.1"]
    assert {
        name: (statement(prepared, name)["protocol"], statement(prepared, name)["types"])
        for name in ("market", "register", "pdc")
    } == {
        "market": ("execute", ["real"]),
        "register": ("execute", ["int"]),
        "pdc": ("execute", ["real"]),
    }
    for name in ("market", "register", "pdc"):
        assert statement(literal, name)["protocol"] == "simple"


def test_the_smallest_key_is_read_once_a_step_in_2023() -> None:
    expanded = made("2023")
    for name in ("l.i1", "q100", "q1000"):
        (tail,) = job_of(expanded[name])["cursors"]
        assert (tail["name"], tail["resync_every"]) == ("tail", None)
    assert job_of(made("2023", {"resync": 7})["l.i1"])["cursors"][0]["resync_every"] == 7


def test_until_june_2025_each_reading_of_a_cursor_had_a_connection_of_its_own() -> None:
    """mytools' bench/ibench/iibench.py until e5e4d88f of 2025-06-03: `get_min_or_max_trxid`."""
    posts = ("48c128g-cached-2024-09", "48c128g-less-io-bound-2024-09")
    for preset, connect in (*((post, "each") for post in posts), ("8c32g-cached-2025-06", "once")):
        loaded = workload.load("insert-benchmark", preset=preset)
        expanded = {step.name: step for step in workload.expand(loaded, {}, "mysql")}
        for name, cursors in (("l.i2", ["tail"]), ("qp100", ["tail", "head"])):
            read = job_of(expanded[name])["cursors"]
            assert [one["name"] for one in read] == cursors
            assert {one.get("connect", "once") for one in read} == {connect}
    (tail,) = job_of(made("2023")["l.i1"])["cursors"]
    assert tail["connect"] == "each"
    with pytest.raises(WorkloadError, match="`reader_connect` has to be once or each"):
        made("current", {"reader_connect": "never"})


def test_a_form_of_prices_that_there_is_not_is_refused() -> None:
    with pytest.raises(WorkloadError, match="`price_form` has to be int or real"):
        made("current", {"price_form": "float"})
