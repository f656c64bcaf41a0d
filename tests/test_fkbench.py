"""The shipped workload `fkbench`: the transactions of fk.py, its draws, what is refused."""

from typing import Any

import pytest

from dbdyno import workload
from dbdyno.model import Step
from dbdyno.model.error import WorkloadError

ENGINES = ("postgres", "mysql", "mariadb")
ACTIONS = ("child_delete_insert", "child_update", "parent_delete_insert", "parent_update")


def steps(engine: str = "mysql", *, set: str = "all", **given: Any) -> dict[str, Step]:
    made = workload.expand(workload.load("fkbench", set=set), given, engine)
    return {step.name: step for step in made}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_four_actions_run_in_the_order_of_the_script(engine: str) -> None:
    made = steps(engine)
    assert tuple(made) == ("fill", *ACTIONS)
    assert {made[action].nominal_s for action in ACTIONS} == {20}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scale_up_has_the_numbers_of_clients_of_the_script(engine: str) -> None:
    names = [name for name in steps(engine, set="scale-up") if name.startswith("child_update")]
    assert names == [f"child_update@clients={number}" for number in (1, 2, 4, 8, 12, 16, 18)]


@pytest.mark.parametrize("engine", ENGINES)
def test_without_a_key_children_are_deleted_by_a_statement_of_their_own(engine: str) -> None:
    for fk in (0, 1):
        made = steps(engine, fk=fk)
        assert ("FOREIGN KEY" in str(made["fill"].job)) == bool(fk)
        job = made["parent_delete_insert"].job
        sent = {statement.name for statement in job.statements}
        assert ("delete_children" in sent) == (not fk)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"parent_table_size": 1500}, "parent_table_size has to be a multiple of 1000"),
        ({"connect": "never"}, "connect has to be once or each"),
        ({"storage_engine": "rocksdb"}, "RocksDB has no foreign keys: take `fk = 0`"),
        ({"children_per_parent": 0}, "children_per_parent has to be from 1 to 1000"),
    ],
)
def test_a_wrong_parameter_gets_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(WorkloadError, match=line):
        steps(**given)


def test_a_storage_engine_is_none_of_postgresql() -> None:
    with pytest.raises(WorkloadError, match="PostgreSQL's tables have no `storage_engine`"):
        steps("postgres", storage_engine="rocksdb")
