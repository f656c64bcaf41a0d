"""The table of what steps tell by themselves."""

from dbdyno.findings.told import show as told
from dbdyno.model import StepComparison, ToldValue
from dbdyno.parts.table import Table
from run_builder import concluded, plan_of, run


def read_rate(value: float | str | None) -> ToldValue:
    text = value if isinstance(value, str) else None
    return ToldValue(
        metric="m", value=None if isinstance(value, str) else value, text=text, unit="MB/s",
        title="read rate", better="more",
    )  # fmt: skip


def table_of(**arms: list[float | str | None]) -> Table:
    runs = [
        run(arm, block, 100.0, told=(read_rate(value),))
        for arm, values in arms.items()
        for block, value in enumerate(values, start=1)
    ]
    (step,) = concluded(runs, plan_of(tuple(arms))).steps
    assert isinstance(step, StepComparison)
    (found,) = told.tables(step, "base", "a")
    return found


def row(**arms: list[float | str | None]) -> list[tuple[str, str]]:
    (found,) = table_of(**arms).rows
    return [(cell.text, cell.detail) for cell in found.cells]


def test_figures_ranges_and_ratios_stand_arm_by_arm() -> None:
    assert row(base=[10.0, 30.0], other=[40.0, 40.0]) == [
        ("read rate", ""),
        ("17.3", "10.0–30.0"),
        ("40.0", ""),
        ("2.31", "too few repeats"),
        ("MB/s", ""),
        ("more", ""),
    ]


def test_texts_are_counted_where_blocks_differ() -> None:
    found = row(base=["Seq Scan", "Seq Scan"], other=["Seq Scan", "Index Scan"])
    assert [text for text, _ in found[1:4]] == ["Seq Scan", "Seq Scan (1), Index Scan (1)", ""]


def test_what_was_not_told_is_missing() -> None:
    found = row(base=[None, None], other=[4.0, None])
    assert [text for text, _ in found[1:4]] == ["NA", "4.00", ""]


def test_a_step_that_tells_nothing_has_no_table() -> None:
    (step,) = concluded([run("base", 1, 1.0)], plan_of(("base",))).steps
    assert not list(told.tables(step, "base", "a"))
