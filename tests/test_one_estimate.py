"""Each figure of the examples has one value: on the page, in JSON and in exports."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import pandas
import pytest

import dbdyno
import example_figures
from dbdyno.analysis import compare
from dbdyno.model import Json, metric
from dbdyno.parts import number
from dbdyno.parts.part import Page, flat
from dbdyno.parts.table import Table
from dbdyno.report import json_document, page
from dbdyno.report.estimate_form import of_estimate
from dbdyno.store.bisection import FILE

pytestmark = pytest.mark.long
KEYS = tuple(of_estimate(None))


class Read(NamedTuple):
    """One result in its three forms."""

    base: str
    steps: list[Json]
    page: Page
    export: dbdyno.Result

    def compared(self) -> Iterator[tuple[Json, str, str, Json]]:
        """Each step, arm and metric of JSON that stands beside the base's."""
        for step in self.steps:
            for arm in step["arms"]:
                for name, figures in arm["metrics"].items():
                    if figures["estimate"] is not None:
                        yield step, arm["arm"], name, figures


@pytest.fixture(scope="module", params=example_figures.examples(), ids=lambda path: path.name)
def result(request: pytest.FixtureRequest) -> Iterator[Read]:
    with example_figures.unpacked(request.param) as folder:
        if (folder / FILE).exists():
            folder = min((folder / "tests").iterdir())
        comparison = compare.load(folder)
        steps = json_document.form(comparison)["steps"]
        yield Read(comparison.base, steps, page.make(comparison), dbdyno.read(folder))


def test_what_stands_beside_the_base_is_what_its_columns_say(result: Read) -> None:
    for step, arm, name, figures in result.compared():
        own, base, estimate = figures["value"], figures["base"], figures["estimate"]
        said = own / base if figures["kind"] == "ratio" else own - base
        slack = 0.0 if figures["kind"] == "ratio" else 1e-9 * max(own, base)
        where = (step["step"], arm, name, figures)
        assert math.isclose(said, estimate, rel_tol=1e-9, abs_tol=slack), where
        assert not figures["apart"], where
        if figures["low"] is not None:
            assert figures["low"] <= estimate <= figures["high"], where


def test_what_adds_up_is_compared_by_differences_and_shares_by_nothing(result: Read) -> None:
    for _, _, name, figures in result.compared():
        over = metric.by_name(name).over
        assert figures["kind"] == "difference" if over == "sum" else over == "ratio", name


def test_the_page_has_the_estimates_of_json(result: Read) -> None:
    shown = {part.name: part for part in flat(result.page.parts) if isinstance(part, Table)}
    tables = [table for name, table in shown.items() if name.endswith("-more")]
    texts = [
        (row.cells[0].title.split(":")[0], [cell.text for cell in row.cells[2:]])
        for table in tables
        for row in table.rows
    ]
    steps = [step for step in result.steps if step["arms"] and step["headline"]]
    expected = [
        (name, [_beside(step, name, arm["metrics"].get(name)) for arm in step["arms"]])
        for step in steps
        for name in step["base_values"]
    ]
    for name, cells in texts:
        beside = cells[-(len(cells) // 2) :] if len(cells) > 1 else []
        assert any((name, beside) == pair for pair in expected) or not any(beside), (name, beside)


def _beside(step: Json, name: str, figures: Json | None) -> str:
    if figures is None or figures["estimate"] is None:
        return ""
    sign = {"at least": "≥ ", "at most": "≤ "}.get(figures["bound"], "")
    if figures["kind"] == "ratio":
        return sign + number.ratio(figures["estimate"])
    values = [step["base_values"].get(name)]
    values += [arm["metrics"].get(name, {}).get("value") for arm in step["arms"]]
    digits = number.digits_alike(values, metric.by_name(name).digits)
    return sign + number.difference(figures["estimate"], 0.0, digits)


def test_exports_have_the_figures_of_json(result: Read) -> None:
    rows = _by_place(result.export.table("comparisons"))
    verdicts = _by_place(result.export.table("verdicts"))
    for step, arm, name, figures in result.compared():
        place = (step["workload"], step["ordinal"], arm, name)
        row = rows[place]
        assert _alike(row["value"], figures["value"]) and _alike(row["base_value"], figures["base"])
        for table in (rows, verdicts):
            if place in table:
                assert all(_alike(table[place][key], figures[key]) for key in KEYS), place


def _by_place(table: pandas.DataFrame) -> dict[tuple[object, ...], Json]:
    keys = ("workload", "ordinal", "arm", "metric")
    return {tuple(row[key] for key in keys): row for row in table.to_dict("records")}


def _alike(exported: object, value: object) -> bool:
    return exported == value or (value is None and bool(pandas.isna(exported)))


def test_the_parts_of_a_ledger_add_up_to_their_whole(result: Read) -> None:
    ledgers = [
        part
        for part in flat(result.page.parts)
        if isinstance(part, Table) and part.name.endswith("-ledger")
    ]
    for table in ledgers:
        *parts, whole = [[_figure(cell.text) for cell in row.cells[1:]] for row in table.rows]
        digits = len(table.rows[-1].cells[1].text.partition(".")[2])
        arms = (len(whole) + 1) // 2  # then a difference of each but the base
        beyond = not all(parts[-1][:arms])  # helpers worked while the session did: nothing is left
        for place, (column, total) in enumerate(zip(zip(*parts, strict=True), whole, strict=True)):
            if table.rows[0].cells[place + 1].text in ("NA", ""):
                continue  # the time on CPU is not known
            rounding = 10**-digits * len(parts) / 2
            if beyond:
                assert place >= arms or sum(column) >= total - rounding, table.name
            else:
                assert abs(sum(column) - total) <= rounding, table.name


def _figure(text: str) -> float:
    """A number as the page writes it; 0 of what has none."""
    text = text.replace(number.MINUS, "-").replace(",", "")
    return float(text) if any(sign.isdigit() for sign in text) else 0.0
