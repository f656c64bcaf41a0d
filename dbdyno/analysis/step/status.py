"""What a server said of its own state in a window, question by question."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.step import raw_files
from dbdyno.analysis.step.evidence import Evidence
from dbdyno.model import ServerStatus
from dbdyno.model.server_status import StatusLook
from dbdyno.model.step_run import WalRange

TEXT_MAX = 20_000
"""Characters of an answer that a report shows; status.jsonl has all."""


def status(evidence: Evidence) -> tuple[ServerStatus, ...]:
    """The answers to each question, in the order of the questions."""
    by_part: dict[str, list[StatusLook]] = {}
    for look in evidence.status:
        by_part.setdefault(look.part, []).append(look)
    open_ns = evidence.load.open_ns or 0
    return tuple(_of_part(part, looks, open_ns) for part, looks in by_part.items())


def _of_part(part: str, looks: Sequence[StatusLook], open_ns: int) -> ServerStatus:
    logs = [look.wal for look in looks if look.wal is not None]
    texts = [look.text for look in looks if look.text is not None]
    return ServerStatus(
        part=part,
        looks=sum(look.failed is None for look in looks),
        at_s=(looks[-1].mono_ns - open_ns) / raw_files.NS_PER_S,
        wal=WalRange(
            files_min=min(log.files for log in logs),
            files_max=max(log.files for log in logs),
            bytes_max=max(log.bytes for log in logs),
        )
        if logs
        else None,
        text=texts[-1][:TEXT_MAX] if texts else "",
        failed=looks[-1].failed,
    )
