"""Rows of a fill that a program writes or a file has, `from` of a table's `fill`, for a job."""

from dbdyno.model.job.fills import RowSource, RowsPart
from dbdyno.workload import schema
from dbdyno.workload.scope import Scope

PARTS_MAX = 10_000


def source(table: schema.TableForm, fill: schema.FillForm, scope: Scope) -> RowSource | None:
    """What gives the rows of a fill; None where values make them. Raises WorkloadError.

    `scope` is the fill's place.
    """
    written, place = fill.source, scope.at("from")
    if written is None:
        if not fill.columns:
            raise scope.error("needs `columns`, or `from`: a program or a file that gives the rows")
        return None
    if fill.columns:
        raise scope.at("columns").error("rows come `from` elsewhere; write `from.columns`")
    if place.integer(table.count, low=1) > 1:
        raise place.error("gives the rows of one table; remove `count`")
    if (written.command is None) == (written.file is None):
        raise place.error("needs one of `command` and `file`")
    if written.file is not None and (written.version or written.remedy):
        raise place.error("a file tells no version, and needs no `remedy`; remove them")
    parts = place.at("parts").integer(written.parts, low=1)
    if parts > PARTS_MAX:
        raise place.at("parts").error(f"at most {PARTS_MAX}, not {parts}")
    numbered = (place.knowing({"part": part, "parts": parts}) for part in range(1, parts + 1))
    return RowSource(
        format=written.format,
        header=bool(place.at("header").number(written.header)),
        columns=tuple(written.columns),
        folder=str(scope.folder.absolute()),
        parts=tuple(_part(written, part) for part in numbered),
        version=tuple(map(place.at("version").text, written.version)),
        remedy=written.remedy,
    )


def _part(written: schema.Supply, place: Scope) -> RowsPart:
    """A part of the rows, whose `{part}` and `{parts}` are known."""
    if written.command is not None:
        return RowsPart(command=tuple(map(place.at("command").text, written.command)))
    return RowsPart(file=place.at("file").text(written.file or ""))
