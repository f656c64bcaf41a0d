"""The tables of an export that are of devices: what `iostat -x` tells, by step and by second."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model.metric.device import COLUMNS, IN_FLIGHT
from dbdyno.report.export.form import Table, table

_WHICH = """\
    holds  | text | | data, or log: of a separate device for the write-ahead log
    device | text | | its name: vda, sdb, md0"""


def _figures() -> Iterable[str]:
    """iostat's columns, each as a line of a table's."""
    for one in COLUMNS:
        if one.heading != IN_FLIGHT:
            yield f"{one.name} | number | {one.unit} | {one.heading}: {one.title}"


_FIGURES = "\n".join(_figures())

DEVICES: tuple[Table, ...] = (
    table(
        "device_samples", """a device between two readings, as in samples, in the columns of
        `iostat -x` (docs/metrics.md); null: no such request, or the kernel does not count them""",
        f"""
        second  | number | s | its end since the window opened
        seconds | number | s | its length
        {_WHICH}
        {_FIGURES}
        in_flight | integer | requests | requests in flight at its end""",
    ),
)  # fmt: skip
