"""What a report says of sweeps: the table of peaks and the curves."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from comparison_builder import comparison
from dbdyno.findings.sweeps import show as sweeps
from dbdyno.findings.sweeps.facts import Peak, Sweep, SweepFacts, SweepPoint
from dbdyno.model import Ratio
from dbdyno.model.sweep import P99
from dbdyno.parts import table_layout
from dbdyno.parts.drawing import Curves
from dbdyno.parts.part import Chart, Page, flat
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.report import chart
from dbdyno.report.chart import curves
from dbdyno.report.page import make
from dbdyno.report.render import picture

ARMS = ("pg17", "pg18")


def figure(value: float, spread: float = 0.1, blocks: int = 3) -> Ratio:
    return Ratio(value=value, low=value * (1 - spread), high=value * (1 + spread), blocks=blocks)


def swept(parameter: str, values: tuple[float, ...], **more: object) -> Sweep:
    """Throughput grows with the value, p99 with its square."""
    points = tuple(
        SweepPoint(
            arm=arm, value=value, figures={"qps": figure(100 * value), P99: figure(1000 * value**2)}
        )
        for value in values
        for arm in ARMS
    )
    its = {"title": "read", "headline": "qps", "paced": parameter == "rate", **more}
    return Sweep(workload="w", parameter=parameter, points=points, **its)  # type: ignore[arg-type]


def peak(arm: str, **changed: object) -> Peak:
    made = Peak(
        workload="w", sweep="read", base="pg17", arm=arm, clients=64, fewest=32, most=64, blocks=5,
        peak=figure(26_000), drop_factor=figure(0.46),
        ratio=None if arm == "pg17" else figure(1.2),
        drop_ratio=None if arm == "pg17" else figure(0.9), stood_still=0, limited=False,
    )  # fmt: skip
    return replace(made, **changed)  # type: ignore[arg-type]


def shown(*sweeps: Sweep, peaks: Sequence[Peak] = ()) -> Page:
    made = comparison(blocks=3)
    workload = made.steps[0].workload
    facts = SweepFacts(
        peaks=tuple(replace(each, workload=workload) for each in peaks),
        sweeps=tuple(replace(each, workload=workload) for each in sweeps),
    )
    return make(replace(made, findings={"SweepFacts": facts}))


def drawn(page: Page) -> list[Chart]:
    return [one for one in flat(page.parts) if isinstance(one, Chart) and type(one.data) is Curves]


def test_a_peak_is_said_in_words() -> None:
    assert sweeps.said(peak("pg17")) == "pg17 peaks at 64 clients (32 to 64 in 5 blocks)"
    one = peak("pg18", clients=1, fewest=1, most=1, blocks=1)
    assert sweeps.said(one) == "pg18 peaks at 1 client (1 block)"


@pytest.mark.long
def test_the_table_of_peaks_has_a_row_for_each_arm() -> None:
    page = shown(swept("clients", (1, 64)), peaks=(peak("pg17"), peak("pg18")))
    (table,) = [one for one in flat(page.parts) if isinstance(one, Table) and "peaks" in one.name]
    texts = [[cell.text for cell in row.cells] for row in table.rows]
    assert texts == [
        ["pg17", "64", "26,000", "", "0.46", ""],
        ["pg18", "64", "26,000", "1.20", "0.46", "0.90"],
    ]
    assert table.rows[1].cells[1].detail == "32\u201364"
    assert table.rows[1].cells[3].detail == "1.08\u20131.32"


def test_a_limit_of_the_generator_and_a_standstill_are_said() -> None:
    limited, still = peak("pg17", limited=True), peak("pg18", drop_factor=None, stood_still=2)
    page = shown(swept("clients", (1, 64)), peaks=(limited, still))
    (table,) = [one for one in flat(page.parts) if isinstance(one, Table) and "peaks" in one.name]
    assert table.rows[0].cells[2].text == "≥ 26,000"
    assert (table.rows[1].cells[4].text, table.rows[1].cells[4].mark) == ("NA", "‖")
    assert "≥: the load generator" in table.note and "‖: stood still" in table.note


@pytest.mark.long
def test_clients_have_two_curves_and_a_rate_has_its_latency() -> None:
    page = shown(swept("clients", (1, 2, 4)), swept("rate", (0, 500, 1000)))
    throughput, p99, latency = drawn(page)
    assert [one.title for one in (throughput, p99, latency)] == [
        "read: queries/s, by clients",
        "read: p99 in ms (log scale), by clients",
        "read: p99 in ms, by rate",
    ]
    assert isinstance(latency.data, Curves)
    assert {point.x for point in latency.data.points} == {500, 1000}  # 0 asks for no rate
    assert "pg18 1.00 ms at 1.00, 16.0 ms at 4.00" in p99.describe


def test_another_parameter_and_a_single_point_have_no_curve() -> None:
    assert drawn(shown(swept("fillfactor", (70, 100)), swept("rate", (0, 10)))) == []


@pytest.mark.long
def test_clients_are_as_far_apart_as_they_multiply_and_bands_are_drawn() -> None:
    page = shown(swept("clients", (1, 4, 64)))
    first, second = drawn(page)
    assert isinstance(first.data, Curves) and isinstance(second.data, Curves)
    spec = curves.spec(first.data, ARMS)
    assert all(one["encoding"]["color"]["legend"]["values"] == list(ARMS) for one in spec["layer"])
    x = spec["layer"][0]["encoding"]["x"]
    assert (x["scale"]["type"], x["scale"]["base"], x["axis"]["values"]) == ("log", 2, [1, 4, 64])
    assert spec["layer"][0]["mark"]["type"] == "area"
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [
        0,
        pytest.approx(7_040, rel=0.01),
    ]
    assert curves.spec(second.data, ARMS)["layer"][1]["encoding"]["y"]["scale"]["type"] == "log"
    text = picture.svg(chart.specs(page)[first.name], page.arms).decode()
    assert "clients" in text and "pg18" in text and "geometric means" in text.lower()


def test_an_interval_that_says_nothing_does_not_press_the_line_flat() -> None:
    wild = swept("clients", (1, 2))
    points = tuple(
        replace(one, figures={"qps": Ratio(value=100, low=1e-3, high=1e9, blocks=2)})
        for one in wild.points
    )
    (one,) = drawn(shown(replace(wild, points=points)))
    assert isinstance(one.data, Curves)
    domain = curves.spec(one.data, ARMS)["layer"][1]["encoding"]["y"]["scale"]["domain"]
    assert domain == [0, pytest.approx(115)]


def test_steps_with_long_names_stand_in_rows_on_the_page() -> None:
    columns = ("arm", *(f"select-only@clients={n}" for n in (1, 2, 4, 8, 16)))
    made = Table(
        name="t",
        title="Throughput",
        columns=tuple(Column(text=text) for text in columns),
        rows=tuple(
            Row(cells=(TableCell(text=arm), *[TableCell(text="1")] * 5), arm=arm) for arm in ARMS
        ),
    )
    turned = table_layout.standing(made, 90)
    assert [row.cells[0].text for row in turned.rows] == list(columns[1:])
    assert [column.arm for column in turned.columns] == [None, *ARMS]
    assert table_layout.standing(made, 200) is made
    few = replace(made, columns=made.columns[:2], rows=made.rows * 3)
    assert table_layout.standing(few, 10) is few
