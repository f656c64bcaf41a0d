"""The table of the devices: iostat's columns by arm, one device said once, two apart."""

from dataclasses import replace

import pytest
from msgspec import UNSET, UnsetType, structs

from comparison_builder import comparison
from dbdyno.findings.device import show as device
from dbdyno.findings.measured_on import show as measured_on
from dbdyno.findings.metrics import show as metrics
from dbdyno.model import Comparison, StepComparison
from dbdyno.model.host_facts import Storage
from dbdyno.model.metric.device import COLUMNS, Device, name_of
from dbdyno.parts.part import flat
from dbdyno.parts.table import Table
from run_builder import concluded, plan_of, run

PUBLISHED = {
    "wps": 1175.0, "wmbps": 196.9, "wrqmps": 0.0, "w_await": 0.935, "wareq_sz": 165.3,
    "aqu_sz": 2.329, "util_pct": 66.6,
}  # fmt: skip
"""What seed 000 has of l.i1, PostgreSQL 15.3, cached."""
NEVER = {"dps": 0.0, "dmbps": 0.0, "drqmps": 0.0, "fps": 0.0}
FACTS = Storage(file_system="xfs", device="sdb", path="/wal")


def step_of(*devices: Device) -> StepComparison:
    """A step in which every arm's devices did what was published, and the log's half of it."""
    figures = {
        name_of(one, column): value / (1 + place)
        for place, one in enumerate(devices)
        for column, value in (PUBLISHED | NEVER).items()
    }
    runs = [run(arm, block, 10.0, metrics=figures) for arm in ("base", "other") for block in (1, 2)]
    (step,) = concluded(runs, plan_of(("base", "other"))).steps
    return step


def on(wal: Storage | UnsetType | None = UNSET) -> Comparison:
    """A comparison on a host with this storage of logs; its data lie on nvme0n1."""
    made = comparison()
    return replace(made, host=structs.replace(made.host, wal=wal))


def table(step: StepComparison, its: Comparison) -> Table:
    (found,) = device.tables(step, its, "a")
    return found


def test_the_published_columns_stand_under_their_names() -> None:
    found = table(step_of("disk"), on())
    heads = [column.text for column in found.columns]
    assert heads == ["arm", "w/s", "wMB/s", "wrqm/s", "w_await", "wareq-sz", "aqu-sz", "%util"]
    texts = ["1,175", "197", "0", "0.935", "165", "2.33", "66.6"]
    assert [[cell.text for cell in row.cells] for row in found.rows] == [
        ["base", *texts],
        ["other", *texts],
    ]
    assert "Means of the blocks." in found.note


@pytest.mark.parametrize(
    ("wal", "said"),
    [
        (None, "The device of the data and of the log, nvme0n1."),
        (
            structs.replace(FACTS, device="nvme0n1"),
            "The device of the data and of the log, nvme0n1.",
        ),
        (
            structs.replace(FACTS, device=None, unsure="tmpfs: in memory"),
            "The data's device, nvme0n1; of the log's: tmpfs: in memory.",
        ),
    ],
)
def test_one_device_is_said_once(wal: Storage | None, said: str) -> None:
    found = table(step_of("disk"), on(wal=wal))
    assert found.note.startswith(said)
    assert {row.group for row in found.rows} == {""}


def test_results_that_do_not_say_where_the_log_is_claim_nothing_of_it() -> None:
    assert table(step_of("disk"), on()).note.startswith("The data's device, nvme0n1.")


def test_two_devices_stand_apart_each_with_its_name() -> None:
    found = table(step_of("disk", "wal_disk"), on(wal=FACTS))
    assert found.title == "The devices"
    assert [(row.group, row.arm, row.cells[1].text) for row in found.rows] == [
        ("the data's device, nvme0n1", "base", "1,175"),
        ("the data's device, nvme0n1", "other", "1,175"),
        ("the log's device, sdb", "base", "588"),
        ("the log's device, sdb", "other", "588"),
    ]


def test_a_server_elsewhere_has_no_device_and_no_table() -> None:
    assert not list(device.tables(step_of(), on(), "a"))


def test_devices_have_no_second_place_among_the_other_metrics() -> None:
    names = {one.title for one in COLUMNS}
    step = step_of("disk", "wal_disk")
    texts = {
        row.cells[0].text
        for part in flat(metrics.tables(step, "base", "a"))
        if isinstance(part, Table)
        for row in part.rows
    }
    assert not {text for text in texts if text.partition(",")[0] in names}


def test_the_machine_names_the_storage_of_a_log_of_its_own() -> None:
    assert "Storage of the log" not in dict(measured_on.machine(on(wal=None)))
    assert dict(measured_on.machine(on(wal=FACTS)))["Storage of the log"] == "xfs, on sdb"
    same = structs.replace(FACTS, device="nvme0n1")
    said = dict(measured_on.machine(on(wal=same)))["Storage of the log"]
    assert said == "on the data's device, in /wal"
