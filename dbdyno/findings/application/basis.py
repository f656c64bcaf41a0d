"""What an application's answer stands on: captured, restored, answered, timed, counted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from dbdyno.findings.application.own_query import share
from dbdyno.model.basis import Basis, BasisPart, Gap
from dbdyno.model.comparison import ApplicationResult
from dbdyno.parts import number
from dbdyno.parts.part import Finding
from dbdyno.parts.reasons import BETWEEN

GAPS_MAX = 4
"""So many reasons are named, those first that have the largest shares."""
ALIKE_S = 3600.0
"""Data that were dumped so near to the log are as old as that."""


def findings(result: ApplicationResult) -> Iterator[Finding]:
    """A line for each part; nothing of a result without any."""
    basis = result.basis
    if basis is None:
        return
    of = f"shares of the source's {basis.by}"
    items = [Finding(label=part.stage, text=_part(basis, part)) for part in basis.parts]
    if age := _age(basis):
        items.append(Finding(label="data", text=age))
    yield Finding(text=f"What that stands on ({of})", items=tuple(items))


def nothing(result: ApplicationResult) -> str:
    """Why nothing was compared: the largest gap; all 48 queries fail on both."""
    parts = () if result.basis is None else result.basis.parts
    gaps = [gap for part in parts if part.stage in ("answered", "timed") for gap in part.gaps]
    if not gaps:
        return "no query was answered or timed by both"
    largest = max(gaps, key=lambda gap: gap.queries)
    return f"of its queries {_gap(largest, with_share=False)}"


def _part(basis: Basis, part: BasisPart) -> str:
    """97.1 %, 46 queries; left out: 2 fail on both (0.3 %), 1 not compared: writes (< 0.1 %)."""
    whole = f"{share(part.share)}, {number.queries(part.queries)}" if part.queries else "nothing"
    known = part.gaps[:GAPS_MAX] if part.queries or part.gaps[1:] else ()
    gaps = [_gap(gap) for gap in known]
    if more := len(part.gaps) - GAPS_MAX:
        gaps += [f"{more} more reasons"] if more > 0 else []
    said = [whole, f"left out: {', '.join(gaps)}" if gaps else ""]
    if part.stage == "captured":
        said.append(_when(basis))
        said.append(f"the text of {number.queries(len(basis.cut))} may be cut" if basis.cut else "")
    if part.stage == "restored":
        said.append(number.few([each.rstrip(".") for each in basis.lacks], GAPS_MAX, BETWEEN))
    return BETWEEN.join(filter(None, said))


def _gap(gap: Gap, *, with_share: bool = True) -> str:
    what = f"{gap.queries} {gap.reason}" if gap.queries else gap.reason
    return f"{what} ({share(gap.share)})" if with_share else what


def _when(basis: Basis) -> str:
    """From 2026-11-28 10:00:00 to 11:00:00 UTC."""
    first, last = _time(basis.first), _time(basis.last)
    if first is None or last is None:
        return ""
    end = f"{last:%H:%M:%S}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M:%S}"
    return f"calls from {first:%Y-%m-%d %H:%M:%S} to {end} UTC"


def _age(basis: Basis) -> str:
    """The data are 3 days older than the last call; nothing where either is not known."""
    dumped, last = _time(basis.dumped), _time(basis.last)
    if dumped is None or last is None:
        return ""
    seconds = (dumped - last).total_seconds()
    if abs(seconds) < ALIKE_S:
        age = "as old as the log"
    else:
        length = number.minutes(abs(seconds) / 60)
        age = f"{length} {'newer' if seconds > 0 else 'older'} than the log's last call"
    return f"{age} (dumped {dumped:%Y-%m-%d %H:%M} UTC)"


def _time(text: str | None) -> datetime | None:
    """A time in ISO 8601; of another form None. Without a zone it is taken for UTC's."""
    try:
        time = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return time and (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
