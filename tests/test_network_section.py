"""The network between generators on other hosts and the server: from done.json to every reader."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import report_parts
from comparison_builder import comparison
from dbdyno import store
from dbdyno.analysis import compare
from dbdyno.findings.network.facts import HostLink, NetworkFacts
from dbdyno.findings.setup import show as setup
from dbdyno.model import Comparison, Json, StepRun
from dbdyno.model.plan_record import GeneratorRecord
from dbdyno.parts.part import flat
from dbdyno.parts.table import Table
from dbdyno.report import json_document, page
from dbdyno.run.agent import network as interfaces
from dbdyno.run.driver.interface import NetworkReading
from result_builder import build, plant
from run_builder import changed

MIB = 1 << 20
SECONDS = 20.0
"""The length of the window of qr100, which has no warm-up."""


def told(sent: int | None, received: int | None, trip_us: float | None = 200.0) -> Json:
    """What done.json has of one host."""
    return {
        "round_trip_us": trip_us,
        "offset_us": 29e6,
        "offset_bound_us": 150.0 if trip_us is None else trip_us / 2,
        "sent_bytes": sent,
        "received_bytes": received,
    }


def done_files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("blocks/*/*/*/*qr100/done.json"))


def result(folder: Path, found: Json, turns: Json | None = None) -> Path:
    """A result of one block, each of whose steps has this network."""
    made = build(folder, arms=("pg17",), blocks=1, steps=("qr100",))
    for path in done_files(made):
        store.write_json(path, store.read_struct(path, Json) | {"network": found, "turns": turns})
    return made


def run_of(folder: Path) -> StepRun:
    (step,) = compare.load(folder).steps
    return step.cells[0].runs[0]


def link(host: str, trip_us: float | None = 200.0, **other: Any) -> HostLink:
    row: Json = told(30 * MIB, 60 * MIB, trip_us) | other
    return HostLink(host=host, seconds=30.0, operations=60_000, **row)


def elsewhere(*links: tuple[HostLink, ...]) -> Comparison:
    """A comparison of one arm, whose first step has these networks, one in each block."""
    made = comparison(blocks=len(links), arms=("pg17",))
    (cell,) = made.steps[0].cells
    runs = tuple(
        changed(run, network=of_block) for run, of_block in zip(cell.runs, links, strict=True)
    )
    first = replace(made.steps[0], cells=(replace(cell, runs=runs),))
    return replace(made, steps=(first, *made.steps[1:]))


def table(made: Comparison, name: str) -> Table:
    found = [one for one in flat(page.make(made).parts) if isinstance(one, Table)]
    return next(one for one in found if one.name == name)


def texts(made: Comparison, name: str) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table(made, name).rows]


# --- From the files --------------------------------------------------------------------------


def test_a_step_has_the_network_that_its_done_json_tells(tmp_path: Path) -> None:
    run = run_of(result(tmp_path, {"c1": told(4_000, 9_000), "c2": told(None, None, None)}))
    operations = round(plant("qr100").operations_per_s("query") * SECONDS)
    first, second = run.of(NetworkFacts).network
    assert first == HostLink(
        host="c1", seconds=SECONDS, operations=operations, **told(4_000, 9_000)
    )
    assert (second.host, second.round_trip_us) == ("c2", None)


def test_a_load_beside_the_server_has_no_network(tmp_path: Path) -> None:
    assert (
        run_of(build(tmp_path, arms=("pg17",), blocks=1, steps=("qr100",))).of(NetworkFacts)
        == NetworkFacts()
    )


@pytest.mark.parametrize(
    ("sent", "turns"), [(4_000, {"order": ["pg17"], "slice_s": 1.0, "rounds": 2}), (-4_000, None)]
)
def test_bytes_that_are_not_the_steps_own_are_not_known(
    tmp_path: Path, sent: int, turns: Json | None
) -> None:
    run = run_of(result(tmp_path, {"c1": told(sent, 9_000)}, turns))
    (known,) = run.of(NetworkFacts).network
    assert (known.sent_bytes, known.received_bytes, known.round_trip_us) == (None, None, 200.0)


def test_a_network_of_another_form_is_named(tmp_path: Path) -> None:
    run = run_of(result(tmp_path, {"c1": {"round_trip_us": "long"}}))
    assert "done.json" in str(run.ending.reason)


def test_an_interface_is_not_counted_where_nothing_leaves_the_host() -> None:
    assert interfaces.reading("127.0.0.1", None) == NetworkReading(None, None, None)


# --- In a report -----------------------------------------------------------------------------


def test_hosts_stand_with_their_median_round_trip_their_worst_clock_and_their_bytes() -> None:
    made = elsewhere(*((link("c1", trip), link("c2", trip * 2)) for trip in (100.0, 200.0, 400.0)))
    assert texts(made, "network-hosts") == [
        ["pg17", "c1", "200 µs", "200 µs", "1.00", "2.00"],
        ["pg17", "c2", "400 µs", "400 µs", "1.00", "2.00"],
    ]
    cell = table(made, "network-hosts").rows[0].cells[2]
    assert cell.detail == "100–400 µs"


def test_a_step_has_the_bytes_of_its_operations_from_all_hosts() -> None:
    made = elsewhere((link("c1"), link("c2")))
    (row,) = table(made, "network-steps").rows
    assert row.group == made.steps[0].step
    assert [cell.text for cell in row.cells] == ["pg17", "1,049", "2,097", "2.00", "4.00"]


def test_bytes_of_which_a_host_knows_nothing_are_not_those_of_the_others() -> None:
    made = elsewhere((link("c1"), link("c2", sent_bytes=None)))
    (row,) = table(made, "network-steps").rows
    assert [cell.text for cell in row.cells][1:3] == ["NA", "2,097"]
    assert "NA: nobody knows" in table(made, "network-steps").note


def test_the_text_says_what_the_slowest_way_allows() -> None:
    said = " ".join(report_parts.texts(page.make(elsewhere((link("c1"), link("c2", 300.0)))),
                                       "network-means"))  # fmt: skip
    assert "from c2, 300 µs away, no more than about 3,330" in said
    assert "known to ±150 µs or better" in said


def test_nothing_is_said_of_clocks_and_round_trips_that_nobody_knows() -> None:
    made = elsewhere((link("c1", None, offset_us=None, offset_bound_us=None),))
    assert report_parts.texts(page.make(made), "network-means") == ()
    assert texts(made, "network-hosts")[0][2:4] == ["NA", "NA"]


def test_a_report_of_one_host_has_no_such_section() -> None:
    names = [getattr(part, "name", "") for part in page.make(comparison(blocks=1)).parts]
    assert "network" not in names and "measured-on" in names


@pytest.mark.parametrize(("tls", "how"), [(True, "encrypted by TLS"), (False, "not encrypted")])
def test_the_introduction_says_where_load_came_from(tls: bool, how: str) -> None:
    made = comparison(blocks=1)
    generator = GeneratorRecord(hosts=("c1", "c2"), tls=tls)
    plan = structs.replace(made.plan, generator=generator)
    said = "\n".join(setup.paragraphs(replace(made, plan=plan)))
    assert f"The load came from c1, c2 over the network, {how}." in said
    assert "The load came" not in "\n".join(setup.paragraphs(made))


def test_programs_get_the_same_rows() -> None:
    first, second, *_ = json_document.form(elsewhere((link("c1"), link("c2", None))))["steps"]
    rows = [told(30 * MIB, 60 * MIB, trip_us) for trip_us in (200.0, None)]
    assert first["tables"]["network"] == [
        {"arm": "pg17", "block": 1, "host": host, "seconds": 30.0, "operations": 60_000} | row
        for host, row in zip(("c1", "c2"), rows, strict=True)
    ]
    assert "network" not in second["tables"]
