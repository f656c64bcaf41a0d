"""What a report says of functions: sentences, tables that add up, notes."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from dbdyno.findings.profiles import show as functions
from dbdyno.findings.profiles.facts import ProfileFacts
from dbdyno.model import StepRun
from dbdyno.parts.part import Text, flat
from dbdyno.parts.table import Table
from dbdyno.report import page
from dbdyno.report.export import derived
from dbdyno.report.export.tables import by_name
from dbdyno.report.render import terminal
from profile_builder import (
    COMPARE,
    beside,
    comparison,
    cost,
    pair,
    profile,
    profiled,
    profiles,
    stack,
)


def test_changed_functions_are_told_with_their_intervals() -> None:
    found = beside(
        cost("_bt_compare", 0.9), cost("ExecInitExpr", -0.4), cost("f", 0.1, changed=False)
    )
    assert functions.changed(found) == (
        "new: `_bt_compare` 0.90 µs more CPU per query [0.70, 1.10]; "
        "`ExecInitExpr` 0.40 µs less [0.20, 0.60]."
    )
    assert functions.changed(beside(cost("f", 0.1, changed=False))) == ""


def test_many_changed_functions_are_counted() -> None:
    found = beside(*(cost(f"f{place}", 1.0) for place in range(8)))
    assert functions.changed(found).endswith("; and 3 more functions.")


def test_long_operations_are_told_in_milliseconds() -> None:
    found = beside(cost("ExecScan", 2_500.0), us=44_000.0)
    assert "`ExecScan` 2.50 ms more CPU per query" in functions.changed(found)


def tables(*runs: StepRun, arms: Sequence[str] = ("old", "new")) -> dict[str, Table]:
    made = functions.tables(runs, profiles(*runs, arms=arms), "w-01")
    return {table.name: table for table in made}


def test_the_rows_of_a_table_add_up_to_the_last() -> None:
    stacks = {stack(f"f{place}"): 30 + place for place in range(40)} | {stack("?"): 17}
    shown = tables(profiled("old", 1, 44.0, stacks), profiled("new", 1, 45.0, stacks))
    for table in shown.values():
        at = [column.text for column in table.columns].index("old")
        *parts, whole = (float(row.cells[at].text) for row in table.rows)
        assert abs(sum(parts) - whole) < 0.005 * len(parts)
    words = [row.cells[0].text for row in shown["w-01-new-functions"].rows]
    assert words[-3:] == ["no symbol", "10 other functions", "the whole server"]
    assert len(words) == functions.ROWS_MAX + functions.DEAREST_MAX + 3


def test_an_arm_alone_has_no_columns_of_changes() -> None:
    table = tables(pair(1)[0], arms=("old",))["w-01-functions"]
    assert [column.text for column in table.columns] == [
        "function", "subsystem", "binary", "old", "old",
    ]  # fmt: skip
    assert {len(row.cells) for row in table.rows} == {5}


def test_the_note_tells_samples_losses_symbols_and_what_profiling_cost() -> None:
    old, new = pair(1)
    blind = profile({COMPARE: 900}, lost=7, without_symbols={"/usr/bin/postgres": 225})
    note = tables(replace(old, profile=blind), new)["w-01-new-functions"].note
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
    shown = page.make(comparison(beside(cost("f", 0.1, changed=False)), step="l.i0"))
    assert said(shown, "-overview-functions") == []
    assert said(shown, "-functions-changed") == [
        "new: no function changed more than chance explains."
    ]


def test_a_step_without_profiles_has_no_section(shown: page.Page) -> None:
    assert not [one for one in flat(shown.parts) if one.name.endswith("-functions")]


def test_an_export_has_a_row_for_each_function_and_subsystem() -> None:
    facts = ProfileFacts(functions=profiles(*pair(1), *pair(2)))
    rows = [row for _, row in derived.rows(facts)]
    names = {column.name for column in by_name("functions").columns}
    assert {key for row in rows for key in row} == names - {"result", "plan"}
    for kind in ("function", "subsystem"):
        assert sum(row["arm_us"] for row in rows if row["kind"] == kind) == pytest.approx(100.0)
    assert {row["name"]: row["subsystem"] for row in rows}["_bt_compare"] == "indexes"
