"""What servers said of their own state in a step, and their indexes at the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dbdyno.model import Cell, ServerStatus, StepComparison, StepRun
from dbdyno.model.server_status import IndexState
from dbdyno.report import number
from dbdyno.report.parts import (
    AnyPart,
    Column,
    Finding,
    Group,
    Row,
    Section,
    Subject,
    Table,
    TableCell,
    Text,
)

_NAMES = {
    "activity": "pg_stat_activity",
    "processlist": "SHOW FULL PROCESSLIST",
    "innodb": "SHOW ENGINE INNODB STATUS",
    "rocksdb": "SHOW ENGINE ROCKSDB STATUS",
    "wal": "pg_ls_waldir()",
}
_FIGURES: tuple[tuple[str, Callable[[IndexState], float | None], int], ...] = (
    ("bytes", lambda index: index.index_size, 0),
    ("leaf pages", lambda index: index.leaf_pages, 0),
    ("deleted pages", lambda index: index.deleted_pages, 0),
    ("leaf density, %", lambda index: index.avg_leaf_density, 2),
    ("fragmentation, %", lambda index: index.leaf_fragmentation, 2),
)
"""What is shown of an index: its title, and its digits."""


def _parts(subject: Subject) -> Iterable[Group]:
    """The answers in each arm's last block, and the indexes at its end, folded."""
    name = f"{subject.anchor}-status"
    parts = tuple(_made(subject.step, name))
    if parts:
        title = "The server's own state"
        yield Group(name=name, title=title, parts=parts, depth="detail", fold=title)


def _made(step: StepComparison, prefix: str) -> Iterable[AnyPart]:
    last = [run for cell in step.cells if (run := _last(cell)) is not None]
    if any(answer.wal for run in last for answer in run.server.status):
        yield _wal(last, prefix)
    for run in last:
        for answer in run.server.status:
            if answer.text or answer.failed is not None:
                yield _text(run, answer, prefix)
    if any(run.server.indexes for run in last):
        yield _indexes(last, prefix)


def _last(cell: Cell) -> StepRun | None:
    """An arm's last run in which its server was asked."""
    runs = [run for run in cell.runs if run.server.status or run.server.indexes]
    return max(runs, key=lambda run: run.block, default=None)


def _wal(runs: Iterable[StepRun], prefix: str) -> Table:
    rows = tuple(
        Row(
            cells=(
                TableCell(text=run.arm),
                TableCell(text=f"{answer.wal.files_min:,}"),
                TableCell(text=f"{answer.wal.files_max:,}"),
                TableCell(text=number.size_bytes(answer.wal.bytes_max)),
                TableCell(text=f"{answer.looks:,}"),
            ),
            arm=run.arm,
        )
        for run in runs
        for answer in run.server.status
        if answer.wal is not None
    )
    titles = ("fewest files", "most files", "most bytes", "looks")
    columns = (Column(text="arm", left=True), *(Column(text=title) for title in titles))
    name, title = f"{prefix}-wal", "WAL files"
    return Table(name=name, title=title, columns=columns, rows=rows, depth="detail")


def _text(run: StepRun, answer: ServerStatus, prefix: str) -> Text:
    title = f"{run.arm}: {_NAMES.get(answer.part, answer.part)}"
    text = answer.text if answer.failed is None else f"{answer.text}\n{answer.failed}".strip()
    looks = f"{answer.looks:,} answer{'' if answer.looks == 1 else 's'}"
    last = (
        f"{title}, the last of {looks}, {answer.at_s:.1f} s after the window opened, in block "
        f"{run.block}; all are in "
    )
    return Text(
        name=f"{prefix}-{run.arm}-{answer.part}",
        title="",
        items=(Finding(label="text", text=text),),
        depth="detail",
        form="code",
        look="folded",
        lead=(last, "status.jsonl", "."),
        lead_in_post=(last, "status.jsonl", ":"),
        narrow=f"{title}: {looks} in status.jsonl",
    )


def _indexes(runs: Iterable[StepRun], prefix: str) -> Table:
    rows = tuple(
        Row(
            cells=(
                TableCell(text=name),
                TableCell(text=run.arm),
                *(TableCell(text=number.number(of(index), digits)) for _, of, digits in _FIGURES),
            ),
            arm=run.arm,
        )
        for run in runs
        for name, index in run.server.indexes.items()
    )
    titles = ("arm", *(title for title, _, _ in _FIGURES))
    return Table(
        name=f"{prefix}-indexes",
        title="Indexes at the end of the run (pgstatindex)",
        columns=(Column(text="index", left=True), *(Column(text=title) for title in titles)),
        rows=rows,
        depth="detail",
    )


SECTION = Section("step", _parts)
