"""The shipped workload `orders`: its mix, what its transactions send, what it refuses."""

import re
from dataclasses import replace
from itertools import product

import pytest

from dbdyno import workload
from dbdyno.model import Step
from dbdyno.model.error import WorkloadError
from dbdyno.model.job.role import ConstantThinkTime, ExponentialThinkTime
from dbdyno.workload.computed import evaluate

ENGINES = ("postgres", "mysql", "mariadb")
ROWS = {"item": 100_000, "warehouse": 2, "district": 20, "customer": 60_000, "history": 60_000,
        "orders": 60_000, "new_order": 18_000, "order_line": 600_000, "stock": 200_000}  # fmt: skip
"""Of two warehouses; order lines as many as are likely."""


def steps(engine: str = "postgres", *, used: str = "client", **given: int | str) -> dict[str, Step]:
    loaded = replace(workload.load("orders"), set=used)
    made = workload.expand(loaded, {"warehouses": 2, **given}, engine)
    return {step.name: step for step in made}


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_have_the_rows_of_the_specification(engine: str) -> None:
    fills = steps(engine)["fill"].job.fills
    assert {fill.table: fill.expected_rows for fill in fills} == ROWS


@pytest.mark.parametrize("engine", ENGINES)
def test_the_mix_is_that_of_weights(engine: str) -> None:
    job = steps(engine)["orders"].job
    (role,) = job.roles
    total = sum(choice.weight for choice in role.choose)
    shares = {job.programs[c.program].name: 100 * c.weight / total for c in role.choose}
    assert shares == {"new_order": 45.0, "payment": 43.0, "order_status": 4.0, "delivery": 4.0,
                      "stock_level": 4.0}  # fmt: skip


def sent(name: str, engine: str = "postgres") -> list[str]:
    """The statements of a transaction, those under conditions among them."""
    job = steps(engine)["orders"].job
    (program,) = (program for program in job.programs if program.name == name)
    return [job.statements[number].name for number in program.sends]


def test_a_new_order_sends_six_statements_and_four_for_each_line() -> None:
    whole = sent("new_order")
    assert whole[1:6] == ["buyer", "next_order", "count_order", "add_order", "add_new_order"]
    assert whole[6:-3] == ["item", "stock", "take_stock", "add_line"] * 15
    assert (whole[0], whole[-3:]) == ("BEGIN", ["missing_item", "ROLLBACK", "COMMIT"])
    (missing,) = (each for each in steps()["orders"].job.statements if each.name == "missing_item")
    assert missing.rows == 0, "that it finds no row is no reason to warn"


def test_a_new_order_without_its_last_item_ends_as_rolled_back() -> None:
    job = steps()["orders"].job
    (code,) = (program.code for program in job.programs if program.name == "new_order")
    verbs = [verb for verb, _ in code]
    assert verbs[-3:] == ["send", "rolled_back", "send"], "ROLLBACK, the end, or else COMMIT"
    assert job.rolls_back


def test_the_headline_is_new_orders_a_minute() -> None:
    headline = steps()["orders"].headline
    assert headline is not None
    assert (headline.metric, headline.operations) == ("opm", ("new_order",))


def test_a_deck_has_23_cards_and_standard_waits_are_the_specification_s() -> None:
    (role,) = steps(mix="deck", waits="standard", clients=20)["orders"].job.roles
    assert role.choice == "deck"
    waits = [(c.weight, c.before, c.after) for c in role.choose]
    assert waits == [
        (
            10,
            ConstantThinkTime(18_000_000),
            ExponentialThinkTime(mean_us=12_000_000, max_us=120_000_000),
        ),
        (
            10,
            ConstantThinkTime(3_000_000),
            ExponentialThinkTime(mean_us=12_000_000, max_us=120_000_000),
        ),
        (
            1,
            ConstantThinkTime(2_000_000),
            ExponentialThinkTime(mean_us=10_000_000, max_us=100_000_000),
        ),
        (
            1,
            ConstantThinkTime(2_000_000),
            ExponentialThinkTime(mean_us=5_000_000, max_us=50_000_000),
        ),
        (
            1,
            ConstantThinkTime(2_000_000),
            ExponentialThinkTime(mean_us=5_000_000, max_us=50_000_000),
        ),
    ]
    (plain,) = steps()["orders"].job.roles
    assert not plain.thinks
    assert plain.choice == "random"


@pytest.mark.parametrize(
    ("used", "name", "a", "low", "high"),
    [
        ("client", "c_id", 1023, 1, 3_000),
        ("client", "i_id", 8191, 1, 100_000),
        ("client", "run_name", 255, 0, 999),
        ("procedures", "c_id", 1023, 1, 3_000),
        ("procedures", "line_item", 8191, 1, 100_000),
        ("procedures", "run_name", 255, 0, 999),
    ],
)
def test_customers_items_and_names_are_drawn_by_nurand(
    used: str, name: str, a: int, low: int, high: int
) -> None:
    values = steps(used=used)["orders"].job.values
    (drawn,) = (value.compute for value in values if value.name == name)
    assert drawn is not None
    uniform = {place: value.uniform for place, value in enumerate(values)}

    def of(first: int, second: int) -> int:
        """The value from its two draws; clause 2.1.6 gives it but for the constant."""
        given = {(0, a): first, (low, high): second}
        return evaluate(drawn.expression, lambda place: given[uniform[place]])  # type: ignore[index]

    constant = of(0, low) - 2 * low
    for first, second in product((0, 1, a // 3, a), (low, low + 7, high // 2, high - 1, high)):
        expected = ((first | second) + constant) % (high - low + 1) + low
        assert of(first, second) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_with_procedures_a_transaction_is_a_call_of_a_routine_that_the_step_makes(engine: str):
    step = steps(engine, used="procedures")["orders"]
    sends = {each.name: [step.job.statements[n].name for n in each.sends]
             for each in step.job.programs}  # fmt: skip
    assert sends == {name: [f"call_{name}"] for name in sends}
    assert len(sends) == 5
    routines = [sql.split("(")[0].split()[-1] for sql in step.setup if "CREATE PROCEDURE" in sql]
    called = {str(each.pieces[0]).split("(")[0].split()[-1] for each in step.job.statements}
    assert called == set(routines)
    assert len(routines) == 5
    assert steps(engine)["orders"].setup == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_schema_of_sysbench_tpcc_has_its_names_and_indexes(engine: str) -> None:
    made = steps(engine, schema="sysbench-tpcc")
    tables = {"new_orders1" if name == "new_order" else f"{name}1" for name in ROWS}
    assert set(made["orders"].tables) == tables
    after = [sql for fill in made["fill"].job.fills for sql in fill.after]
    assert sum("CREATE INDEX" in sql for sql in after) == 6
    assert not any("FOREIGN KEY" in sql for sql in after)
    texts = [*made["fill"].setup, *(each.query for each in made["orders"].conditions)]
    texts += [str(piece) for each in made["orders"].job.statements for piece in each.pieces]
    places = re.compile(r"(?:FROM|JOIN|INTO|UPDATE) (\w+)")
    named = {word for text in texts for word in places.findall(text)}
    assert named >= tables
    assert not named & ROWS.keys()


@pytest.mark.parametrize("engine", ENGINES)
def test_foreign_keys_come_with_their_indexes_when_all_tables_are_there(engine: str) -> None:
    fills = steps(engine, foreign_keys=1)["fill"].job.fills
    assert sum("FOREIGN KEY" in sql for sql in fills[-1].after) == 10
    assert sum("CREATE INDEX" in sql for fill in fills for sql in fill.after) == 6


def test_sessions_take_the_isolation_that_is_asked_for() -> None:
    def session(engine: str, isolation: str) -> tuple[str, ...]:
        (role,) = steps(engine, isolation=isolation)["orders"].job.roles
        return role.session

    assert session("postgres", "default") == session("mysql", "default") == ()
    assert session("postgres", "serializable") == (
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL serializable",
    )
    assert session("mariadb", "read committed") == (
        "SET SESSION TRANSACTION ISOLATION LEVEL read committed",
    )


@pytest.mark.parametrize(("engine", "quote"), [("postgres", "$$"), ("mariadb", '"')])
def test_kept_texts_are_in_quotes_where_they_stand_in_the_sql(engine: str, quote: str) -> None:
    def pieces(protocol: str) -> tuple[object, ...]:
        job = steps(engine, protocol=protocol)["orders"].job
        (statement,) = (each for each in job.statements if each.name == "add_line")
        return statement.pieces

    assert pieces("simple")[-1] == f"{quote})"
    assert pieces("prepared")[-1] == ")"


def test_all_conditions_are_asked_after_the_load_and_all_but_one_after_the_run() -> None:
    made = steps()
    names = [f"c{number}" for number in range(1, 13)]
    assert [condition.name for condition in made["check-load"].conditions] == names
    asked = [condition.name for condition in made["orders"].conditions]
    assert asked == [name for name in names if name != "c11"]
    assert "check-load" not in steps(check=0)
    assert steps(check=0)["orders"].conditions == ()


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"warehouses": 32_768}, "at most 32767"),
        ({"waits": "standard", "clients": 21}, "has 10 terminals: set warehouses"),
        ({"waits": "some"}, "waits has to be none or standard"),
        ({"mix": "cards"}, "mix has to be weights or deck"),
        ({"skew": "zipf"}, "skew has to be nurand or uniform"),
        ({"schema": "hammerdb"}, "schema has to be standard or sysbench-tpcc"),
        ({"isolation": "snapshot"}, "isolation has to be default, read committed"),
        ({"home": "away"}, "home has to be fixed or drawn"),
        ({"partitions": 2000}, "partitions has to be from 0 to 1024"),
        ({"protocol": "execute"}, "protocol has to be simple, extended or prepared"),
    ],
)
def test_what_is_not_supported_gets_one_line(given: dict[str, int | str], line: str) -> None:
    with pytest.raises(WorkloadError) as raised:
        steps("postgres", **given)
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


def test_innodb_refuses_foreign_keys_of_partitions() -> None:
    assert steps("postgres", partitions=4, foreign_keys=1)
    with pytest.raises(WorkloadError, match="no foreign keys of partitioned tables"):
        steps("mysql", partitions=4, foreign_keys=1)
