"""Query plans of two arms: what counts as another plan, and how it is said."""

from dbdyno.evidence import query_plans
from dbdyno.model import StepRun
from dbdyno.model.snapshot import Snapshot, StatementPlan
from run_builder import step_run

INDEX = """Aggregate  (cost=8.45..8.46 rows=1 width=8)
  ->  Index Scan using t_pkey on t  (cost=0.42..8.44 rows=1 width=121)
        Index Cond: (id = 1)"""
SEQUENTIAL = """Aggregate  (cost=170.02..170.03 rows=1 width=8)
  ->  Seq Scan on t  (cost=0.00..170.00 rows=1 width=121)
        Filter: (id = $1)"""


def run(arm: str, block: int, **shapes: str) -> StepRun:
    return step_run(
        workload="w", arm=arm, block=block, ordinal=1, step="s", measured=True, status="ok",
        reason=None, headline="qps", sla_target=None, plans=shapes,
    )  # fmt: skip


def shape(custom: str | None, generic: str | None) -> str | None:
    return query_plans.plans(
        Snapshot(explain={"q": StatementPlan(custom=custom, generic=generic)})
    ).get("q")


def test_costs_rows_and_values_are_no_part_of_a_plan() -> None:
    other = INDEX.replace("8.45", "9.99").replace("rows=1 ", "rows=70 ").replace("= 1)", "= 2)")
    assert shape(INDEX, INDEX) == shape(other, None)
    assert shape(INDEX, None) == "Aggregate\n  ->  Index Scan using t_pkey on t"


def test_a_generic_plan_stands_beside_where_it_is_another() -> None:
    assert shape(INDEX, SEQUENTIAL) == (
        "Aggregate\n  ->  Index Scan using t_pkey on t\n"
        f"{query_plans.GENERIC}\nAggregate\n  ->  Seq Scan on t"
    )


def test_a_statement_without_any_plan_is_left_out() -> None:
    assert shape(None, None) is None
    assert query_plans.plans(None) == {}


def test_another_plan_names_the_nodes_that_only_one_has() -> None:
    base = [run("a", block, q="Aggregate\n  ->  Index Scan using i on t") for block in (1, 2)]
    other = [run("b", block, q="Aggregate\n  ->  Seq Scan on t") for block in (1, 2)]
    (found,) = query_plans.changes(base, other)
    assert (
        query_plans.words(found)
        == "another plan of `q`: Index Scan using i on t became Seq Scan on t"
    )


def test_a_plan_that_differs_in_half_of_the_blocks_is_no_change() -> None:
    base = [run("a", block, q="Seq Scan on t") for block in (1, 2)]
    other = [run("b", 1, q="Index Scan using i on t"), run("b", 2, q="Seq Scan on t")]
    assert not list(query_plans.changes(base, other))


def test_a_plan_that_differs_in_most_blocks_says_in_how_many() -> None:
    base = [run("a", block, q="Seq Scan on t") for block in (1, 2, 3)]
    other = [run("b", block, q="Sort\n  ->  Seq Scan on t") for block in (1, 2)]
    other.append(run("b", 3, q="Seq Scan on t"))
    (found,) = query_plans.changes(base, other)
    assert query_plans.words(found) == "another plan of `q`: with Sort, in 2 of 3 blocks"


def test_nodes_that_changed_their_places_are_said_to_have() -> None:
    base = [run("a", 1, q="Hash Join\n  ->  Seq Scan on t\n  ->  Seq Scan on u")]
    other = [run("b", 1, q="Hash Join\n  ->  Seq Scan on u\n  ->  Seq Scan on t")]
    (found,) = query_plans.changes(base, other)
    assert query_plans.words(found) == "another plan of `q`: the same nodes in another order"


def test_a_statement_that_one_arm_could_not_plan_is_no_change() -> None:
    assert not list(query_plans.changes([run("a", 1)], [run("b", 1, q="Seq Scan on t")]))
