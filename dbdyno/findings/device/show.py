"""The devices of the data and of the log in a step's window, in the columns of `iostat -x`."""

from collections.abc import Iterable, Sequence

from dbdyno.model import Comparison, StepComparison
from dbdyno.model.host_facts import Storage
from dbdyno.model.host_reading import Device
from dbdyno.model.metric.device import COLUMNS, DEVICES, DeviceColumn, name_of
from dbdyno.parts import cells
from dbdyno.parts.part import Group, Section
from dbdyno.parts.table import Column, Row, Table

SELDOM = ("discards", "flushes")
"""What is left out where there was none of it."""


def tables(step: StepComparison, comparison: Comparison, prefix: str) -> Iterable[Table]:
    """A row for each arm, of both devices where the log has its own; none where none was read."""
    devices = [device for device in DEVICES if _known(step, device, "wps")]
    if not devices:
        return
    shown = [column for column in COLUMNS if _shown(step, devices, column)]
    yield Table(
        name=f"{prefix}-iostat",
        title="The device" if len(devices) == 1 else "The devices",
        depth="detail",
        look="wide",
        columns=(
            Column(text="arm", left=True),
            *(
                Column(
                    text=column.heading,
                    group=column.requests,
                    title=f"{column.title} ({column.unit}): {column.how}",
                )
                for column in shown
            ),
        ),
        rows=tuple(
            Row.of(
                cell.arm,
                *(cells.figure(step, cell, name_of(device, column.name)) for column in shown),
                group=_title(comparison, device) if len(devices) > 1 else "",
                arm=cell.arm,
            )
            for device in devices
            for cell in step.cells
        ),
        note=_note(step, comparison, devices),
    )


def _values(step: StepComparison, device: Device, column: str) -> list[float | None]:
    return [cell.metrics.get(name_of(device, column)) for cell in step.cells]


def _known(step: StepComparison, device: Device, column: str) -> bool:
    """Whether an arm has this figure."""
    return any(value is not None for value in _values(step, device, column))


def _shown(step: StepComparison, devices: Sequence[Device], column: DeviceColumn) -> bool:
    """Whether any arm and device has a figure, which of seldom requests is not 0."""
    if column.requests in SELDOM:
        return any(any(_values(step, device, column.name)) for device in devices)
    return any(_known(step, device, column.name) for device in devices)


def _note(step: StepComparison, comparison: Comparison, devices: Sequence[Device]) -> str:
    """Whose figures these are, and how they are made, in sentences."""
    whose = "" if len(devices) > 1 else f"{cells.capitalized(_title(comparison, devices[0]))}."
    return cells.sentences(
        whose,
        "Columns of iostat -x, from counters over exactly the window: MB is MiB, sizes are KiB, "
        "waits ms.",
        "Means of the blocks." if step.blocks > 1 else "",
        ""
        if any(_known(step, device, "fps") for device in devices)
        else "No flushes were counted.",
        "docs/metrics.md explains each.",
    )


def _title(comparison: Comparison, device: Device) -> str:
    """What a device holds, and its name."""
    data, log = comparison.host.data, comparison.host.wal
    if device == "wal_disk":
        return f"the log's device{_named(log or Storage())}"
    if comparison.host.one_device:
        return f"the device of the data and of the log{_named(data)}"
    unsure = "" if not log or log.device else f"; of the log's: {log.unsure}"
    return f"the data's device{_named(data)}{unsure}"


def _named(storage: Storage) -> str:
    return f", {storage.device}" if storage.device else ""


SECTION = Section.grouped(
    "step",
    lambda subject: tables(subject.step, subject.comparison, subject.anchor),
    Group(
        name="-device",
        depth="detail",
        entry="device",
        click="The device, as iostat tells it",
        fold="the device, as iostat tells it",
    ),
)
