"""The list of results for a terminal and for programs: what `dyno ls` prints."""

from collections.abc import Sequence
from pathlib import Path

from dbdyno.model import Json
from dbdyno.serve.folders import ListedResult
from dbdyno.serve.listing import blocks, day

HEADINGS = ("changed (UTC)", "state", "blocks", "workload", "arms", "folder")


def lines(results: Sequence[ListedResult], here: Path) -> list[str]:
    """A line for each result under a line of headings; folders as they are called from `here`."""
    rows = [HEADINGS, *(_row(result, here) for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _row(result: ListedResult, here: Path) -> tuple[str, ...]:
    base, *others = (f"{arm} ({of})" for arm, of in zip(result.arms, result.versions, strict=True))
    arms = f"{', '.join(others)} against {base}" if others else base
    path = result.path
    folder = path.relative_to(here) if path.is_relative_to(here) else path
    work = ", ".join(result.workloads)
    return (day(result.changed_s), result.state, blocks(result), work, arms, str(folder))


def document(results: Sequence[ListedResult]) -> list[Json]:
    """The same as JSON: an object for each result; times in seconds of Unix time."""
    return [
        {
            "folder": str(result.path),
            "plan": result.plan,
            "label": result.label,
            "state": result.state,
            "blocks": result.complete,
            "blocks_planned": result.planned,
            "until_decided": result.until_decided,
            "begun_unix_s": result.begun_s,
            "changed_unix_s": result.changed_s,
            "arms": [
                {"name": arm, "version": version, "config": config or None}
                for arm, version, config in zip(
                    result.arms, result.versions, result.configurations, strict=True
                )
            ],
            "workloads": list(result.workloads),
            "host": result.host,
        }
        for result in results
    ]
