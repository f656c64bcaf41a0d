"""What a report says of functions: sentences, tables that add up, notes."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from dbdyno.model import StepComparison
from dbdyno.model.profile import ProfileComparison
from dbdyno.parts.part import Table, Text, flat
from dbdyno.report import page
from dbdyno.report.export.function_rows import functions as functions_exported
from dbdyno.report.export.tables import by_name
from dbdyno.report.render import terminal
from dbdyno.report.section import functions
from profile_builder import COMPARE, beside, comparison, cost, pair, profile, profiled, stack, step
from run_builder import run


def shown(found: ProfileComparison) -> StepComparison:
    made = step(run("old", 1, 100.0), run("new", 1, 100.0))
    return replace(made, profiles=(found,))


def test_changed_functions_are_told_with_their_intervals() -> None:
    found = beside(
        cost("_bt_compare", 0.9), cost("ExecInitExpr", -0.4), cost("f", 0.1, found=False)
    )
    assert functions.changed(shown(found), found) == (
        "new: `_bt_compare` 0.90 µs more CPU per query [0.70, 1.10]; "
        "`ExecInitExpr` 0.40 µs less [0.20, 0.60]."
    )
    assert functions.changed(shown(found), beside(cost("f", 0.1, found=False))) == ""


def test_many_changed_functions_are_counted() -> None:
    found = beside(*(cost(f"f{place}", 1.0) for place in range(8)))
    assert functions.changed(shown(found), found).endswith("; and 3 more functions.")


def test_long_operations_are_told_in_milliseconds() -> None:
    found = beside(cost("ExecScan", 2_500.0), us=44_000.0)
    assert "`ExecScan` 2.50 ms more CPU per query" in functions.changed(shown(found), found)


def tables(its: StepComparison) -> dict[str, Table]:
    return {one.name: one for one in functions.tables(its, "w-01")}


def test_the_rows_of_a_table_add_up_to_the_last() -> None:
    stacks = {stack(f"f{place}"): 30 + place for place in range(40)} | {stack("?"): 17}
    its = step(profiled("old", 1, 44.0, stacks), profiled("new", 1, 45.0, stacks))
    for table in tables(its).values():
        at = [column.text for column in table.columns].index("old")
        *parts, whole = (float(row.cells[at].text) for row in table.rows)
        assert abs(sum(parts) - whole) < 0.005 * len(parts)
    words = [row.cells[0].text for row in tables(its)["w-01-new-functions"].rows]
    assert words[-3:] == ["no symbol", "10 other functions", "the whole server"]
    assert len(words) == functions.ROWS_MAX + functions.DEAREST_MAX + 3


def test_an_arm_alone_has_no_columns_of_changes() -> None:
    its = step(pair(1)[0], arms=("old",))
    table = tables(its)["w-01-functions"]
    assert [column.text for column in table.columns] == [
        "function", "subsystem", "binary", "old", "old",
    ]  # fmt: skip
    assert {len(row.cells) for row in table.rows} == {5}


def test_the_note_tells_samples_losses_symbols_and_what_profiling_cost() -> None:
    old, new = pair(1)
    blind = profile({COMPARE: 900}, lost=7, without_symbols={"/usr/bin/postgres": 225})
    its = step(replace(old, profile=blind), new)
    note = tables(its)["w-01-new-functions"].note
    assert re.match(r"1,900 samples \(cpu-clock, 99 a second\) in 1 block;", note)
    assert "perf lost 7 further samples." in note
    assert "without symbols: /usr/bin/postgres (11.8 %)." in note
    assert "beside the judged ones: +5.0 % in old, +5.0 % in new." in note


def said(shown: page.Page, name: str) -> list[str]:
    texts = (one for one in flat(shown.parts) if isinstance(one, Text) and one.name.endswith(name))
    return [item.text for text in texts for item in text.items]


def test_changed_functions_are_told_in_brief_and_in_their_step() -> None:
    shown = page.make(comparison(beside(cost("_bt_compare", 0.9)), step="l.i0"))
    words = "`_bt_compare` 0.90 µs more CPU per row [0.70, 1.10]."
    assert said(shown, "-overview-functions") == [f"l.i0, new: {words}"]
    assert said(shown, "-functions-changed") == [f"new: {words}"]
    console = Console(file=io.StringIO(), width=100)
    terminal.print_page(shown, console)
    assert isinstance(console.file, io.StringIO) and words in console.file.getvalue()


def test_where_no_function_changed_only_the_step_says_so() -> None:
    shown = page.make(comparison(beside(cost("f", 0.1, found=False)), step="l.i0"))
    assert said(shown, "-overview-functions") == []
    assert said(shown, "-functions-changed") == [
        "new: no function changed more than chance explains."
    ]


def test_a_step_without_profiles_has_no_section(shown: page.Page) -> None:
    assert not [one for one in flat(shown.parts) if one.name.endswith("-functions")]


def test_an_export_has_a_row_for_each_function_and_subsystem() -> None:
    its = step(*pair(1), *pair(2))
    rows = list(functions_exported(replace(comparison(), steps=(its,))))
    names = {column.name for column in by_name("functions").columns}
    assert {key for row in rows for key in row} == names - {"result", "plan"}
    for kind in ("function", "subsystem"):
        assert sum(row["arm_us"] for row in rows if row["kind"] == kind) == pytest.approx(100.0)
    assert {row["name"]: row["subsystem"] for row in rows}["_bt_compare"] == "indexes"
