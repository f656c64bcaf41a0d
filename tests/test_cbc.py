"""The shipped workload `cbc`: its sets, sizes and statements, as published."""

from collections.abc import Mapping
from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Json, Step
from dbdyno.model.error import WorkloadError
from workload_reader import job_of

COLLECTOR = (
    *("create-table", "vacuum", "create-index", "select-u1", "select-c1", "select-r"),
    *("cluster", "select-u2", "select-c2"),
)
ENGINES = ("postgres", "mysql", "mariadb")


def made(chosen: str = "collector", engine: str = "postgres", **parameters: Any) -> dict[str, Step]:
    """The steps of a set, by name."""
    loaded = workload.load("cbc", set=chosen)
    return {step.name: step for step in workload.expand(loaded, parameters, engine)}


def sent(step: Step) -> list[str]:
    """The texts that a step's programs send, in their order."""
    texts: Mapping[int, str] = {
        number: "".join(statement["pieces"])
        for number, statement in enumerate(job_of(step)["statements"])
    }
    programs: list[Json] = job_of(step)["programs"]
    return [texts[number] for one in programs for _, number in one["code"]]


def test_the_collector_sends_each_statement_once_over_one_connection_in_order() -> None:
    steps = made()
    assert tuple(steps) == COLLECTOR
    for step in steps.values():
        (role,) = job_of(step)["roles"]
        assert (role["per"], role["connections"]) == ("step", 1)
        assert role["stop"]["operations"] == 1
        assert step.headline is not None
        assert step.headline.metric == "seconds"


def test_postgresqls_statements_are_the_published_ones() -> None:
    texts = {name: sent(step) for name, step in made(size_gb=20).items()}
    assert texts["create-table"] == [
        "CREATE TABLE settings_loop AS SELECT seq, s.* FROM generate_series(0, 12500 * 20, 1) "
        "AS seq LEFT JOIN pg_settings AS s ON true"
    ]
    assert texts["vacuum"] == ["VACUUM (FREEZE, ANALYZE, VERBOSE) settings_loop"]
    assert texts["create-index"] == ["CREATE INDEX by_name ON settings_loop (name)"]
    assert texts["select-u1"] == [
        "EXPLAIN (ANALYZE, BUFFERS) SELECT max(sourceline) FROM settings_loop "
        "WHERE name = 'shared_buffers'"
    ]
    for name in ("select-c1", "select-u2", "select-c2"):
        assert texts[name] == texts["select-u1"]
    assert texts["select-r"] == [
        "EXPLAIN (ANALYZE, BUFFERS) SELECT max(sourceline) FROM settings_loop "
        "WHERE seq < 20 * 6250 LIMIT 20 * 125"
    ]
    assert texts["cluster"] == ["CLUSTER VERBOSE settings_loop USING by_name"]


def test_a_fraction_of_a_gigabyte_stands_in_the_sql_as_it_is_written() -> None:
    texts = {name: sent(step) for name, step in made(size_gb=0.2).items()}
    assert "generate_series(0, 12500 * 0.2, 1)" in texts["create-table"][0]
    assert texts["select-r"][0].endswith("WHERE seq < 0.2 * 6250 LIMIT 0.2 * 125")


@pytest.mark.parametrize(("size_gb", "copies"), [(0.2, 2_501), (1, 12_501), (20, 250_001)])
def test_the_series_includes_both_of_its_ends(size_gb: float, copies: int) -> None:
    step = made(size_gb=size_gb)["create-table"]
    told = {one.name: one.query for one in step.metrics}
    assert told["copies"] == f"SELECT {copies}"
    loaded = workload.load("cbc")
    guess = workload.estimate(loaded, {"size_gb": size_gb}, [step])
    assert guess.disk_bytes / (size_gb * 2**30) == pytest.approx(1.14, abs=0.01)


def test_the_pgbench_edition_has_every_number_of_clients_and_the_collectors_selects() -> None:
    """As pgbench-tools' tests/cbc/cbc-t03 to t06 have them since their first commit."""
    steps = made("clients", client_counts=[1, 4], seconds=7)
    assert list(steps) == [
        *("t00-ctas", "t01-vacuum", "t02-index"),
        *("t03-select-max@clients=1", "t03-select-max@clients=4"),
        *("t04-selectr@clients=1", "t04-selectr@clients=4", "t05-cluster"),
        *("t06-iselect-max@clients=1", "t06-iselect-max@clients=4"),
    ]
    collected = made()
    for name, step in steps.items():
        twin = {"t03": "select-u1", "t04": "select-r", "t06": "select-u2"}.get(name[:3])
        if twin is not None:
            assert sent(step) == sent(collected[twin])
            assert sent(step)[0].startswith("EXPLAIN (ANALYZE, BUFFERS) SELECT max(sourceline)")
    timed = steps["t04-selectr@clients=4"]
    assert job_of(timed)["roles"][0]["connections"] == 4
    assert job_of(timed)["stop"]["seconds"] == 7
    assert timed.headline is not None
    assert timed.headline.metric == "qps"
    usual = made("clients")
    assert len(usual) == 22
    assert {job_of(step)["stop"]["seconds"] for step in usual.values()} == {None, 120}


@pytest.mark.parametrize("chosen", ["clients", "write"])
def test_nothing_but_t01_vacuums(chosen: str) -> None:
    steps = made(chosen)
    assert steps["t00-ctas"].setup == ("DROP TABLE IF EXISTS settings_loop",)
    for name, step in steps.items():
        assert step.setup == () or name == "t00-ctas"
        assert any("VACUUM" in text for text in sent(step)) == (name == "t01-vacuum")


def test_the_edition_that_writes_has_four_steps() -> None:
    assert list(made("write")) == ["t00-ctas", "t01-vacuum", "t02-index", "t05-cluster"]


def test_a_lone_step_brings_the_table_vacuumed_and_indexed() -> None:
    found = workload.expand(workload.load("cbc"), {}, "postgres", steps=["cluster"])
    assert [step.name for step in found] == ["create-table", "vacuum", "create-index", "cluster"]


def test_a_failed_select_takes_no_other_step_with_it() -> None:
    assert {name: step.goes_on for name, step in made().items()} == {
        name: name.startswith("select") for name in COLLECTOR
    }


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_the_form_of_the_other_engines_has_as_many_copies_in_a_series_of_its_own(engine: str):
    steps = made(engine=engine, size_gb=0.01)
    more, create = sent(steps["create-table"])
    copies = {"mysql": 201, "mariadb": 53}[engine]
    assert more.endswith(f" = {copies}")
    assert "CREATE TABLE settings_loop ENGINE = InnoDB AS WITH RECURSIVE series" in create
    assert sent(steps["vacuum"]) == ["ANALYZE TABLE settings_loop"]
    assert sent(steps["cluster"]) == [
        "ALTER TABLE settings_loop ADD PRIMARY KEY (VARIABLE_NAME, seq)"
    ]
    assert "SELECT max(" in sent(steps["select-r"])[0]


def test_the_device_is_asked_once_before_the_first_step() -> None:
    for chosen in ("collector", "clients", "write"):
        first, *others = made(chosen).values()
        assert first.device_gb == 1
        assert {step.device_gb for step in others} == {0}
    assert made(device_gb=0)["create-table"].device_gb == 0


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(WorkloadError, match="size_gb has to be above 0"):
        made(size_gb=0)
