"""The devices of the data and of the log in a step's window, in the columns of `iostat -x`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.model import Comparison, StepComparison
from dbdyno.model.host_facts import Storage
from dbdyno.model.host_reading import Device
from dbdyno.model.metric.device import COLUMNS, DEVICES, Column, name_of
from dbdyno.parts import cells, number
from dbdyno.parts.part import Column as Heading
from dbdyno.parts.part import Group, Row, Section, Subject, Table, TableCell

SELDOM = ("discards", "flushes")
"""What is left out where there was none of it."""


def table(step: StepComparison, comparison: Comparison, prefix: str) -> Table | None:
    """A row for each arm, of both devices where the log has its own; None where none was read."""
    devices = [device for device in DEVICES if _any(step, device, "wps")]
    if not devices:
        return None
    shown = [one for one in COLUMNS if _shown(step, devices, one)]
    rows = tuple(
        Row(
            cells=(
                TableCell(text=result.arm),
                *(_cell(step, place, device, one) for one in shown),
            ),
            group=_title(comparison, device) if len(devices) > 1 else "",
            arm=result.arm,
        )
        for device in devices
        for place, result in enumerate(step.cells)
    )
    headings = (
        Heading(text=one.heading, group=one.requests, title=f"{one.title} ({one.unit}): {one.how}")
        for one in shown
    )
    return Table(
        name=f"{prefix}-iostat",
        title="The device" if len(devices) == 1 else "The devices",
        depth="detail",
        look="wide",
        columns=(Heading(text="arm", left=True), *headings),
        rows=rows,
        note=_note(step, comparison, devices),
    )


def _any(step: StepComparison, device: Device, column: str) -> bool:
    """Whether an arm has this figure."""
    return any(value is not None for value in _values(step, device, column))


def _values(step: StepComparison, device: Device, column: str) -> list[float | None]:
    return [result.metrics.get(name_of(device, column)) for result in step.cells]


def _shown(step: StepComparison, devices: Sequence[Device], one: Column) -> bool:
    """Whether any arm and device has a figure, which of seldom requests is not 0."""
    values = [value for device in devices for value in _values(step, device, one.name)]
    return any(values) if one.requests in SELDOM else any(value is not None for value in values)


def _cell(step: StepComparison, place: int, device: Device, one: Column) -> TableCell:
    """A figure, with the digits that it has for every arm."""
    values = _values(step, device, one.name)
    return TableCell(text=number.number(values[place], number.digits_alike(values, one.digits)))


def _note(step: StepComparison, comparison: Comparison, devices: Sequence[Device]) -> str:
    """Whose figures these are, and how they are made, in sentences."""
    whose = "" if len(devices) > 1 else f"{cells.capitalized(_title(comparison, devices[0]))}."
    blocks = max((len(result.runs) for result in step.cells), default=0)
    return cells.sentences(
        whose,
        "Columns of iostat -x, from counters over exactly the window: MB is MiB, sizes are KiB, "
        "waits ms.",
        "Means of the blocks." if blocks > 1 else "",
        "" if any(_any(step, device, "fps") for device in devices) else "No flushes were counted.",
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


def _parts(subject: Subject) -> Iterable[Group]:
    found = table(subject.step, subject.comparison, subject.anchor)
    if found is not None:
        yield Group(
            name=f"{subject.anchor}-device",
            title="",
            parts=(found,),
            depth="detail",
            entry="device",
            click="The device, as iostat tells it",
            fold="the device, as iostat tells it",
        )


SECTION = Section("step", _parts)
