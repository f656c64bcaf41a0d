"""What an application's answer stands on: captured, restored, answered, timed, counted."""

from collections.abc import Iterator
from datetime import UTC, datetime

from dbdyno.findings.application.own_query import share
from dbdyno.model.application import ApplicationResult, StageGap, StageReach
from dbdyno.parts import number
from dbdyno.parts.part import Finding
from dbdyno.parts.reasons import BETWEEN

GAPS_MAX = 4
"""So many reasons are named, those first that have the largest shares."""
ALIKE_S = 3600.0
"""Data that were dumped so near to the log are as old as that."""


def findings(result: ApplicationResult) -> Iterator[Finding]:
    """A line for each stage."""
    of = f"shares of the source's {result.by}"
    items = [Finding(label=reach.stage, text=_stage(result, reach)) for reach in result.stages]
    if age := _age(result):
        items.append(Finding(label="data", text=age))
    yield Finding(text=f"What that stands on ({of})", items=tuple(items))


def nothing(result: ApplicationResult) -> str:
    """Why nothing was compared: the largest gap; all 48 queries fail on both."""
    gaps = [gap for gap in result.gaps if gap.stage in ("answered", "timed")]
    if not gaps:
        return "no query was answered or timed by both"
    largest = max(gaps, key=lambda gap: gap.queries)
    return f"of its queries {_gap(largest, with_share=False)}"


def _stage(result: ApplicationResult, reach: StageReach) -> str:
    """97.1 %, 46 queries; left out: 2 fail on both (0.3 %), 1 not compared: writes (< 0.1 %)."""
    whole = f"{share(reach.share)}, {number.queries(reach.queries)}" if reach.queries else "nothing"
    every = [gap for gap in result.gaps if gap.stage == reach.stage]
    gaps = [_gap(gap) for gap in every[:GAPS_MAX]] if reach.queries or every[1:] else []
    if more := len(every) - GAPS_MAX:
        gaps += [f"{more} more reasons"] if more > 0 else []
    said = [whole, f"left out: {', '.join(gaps)}" if gaps else ""]
    if reach.stage == "captured":
        said.append(_when(result))
        said.append(
            f"the text of {number.queries(len(result.cut))} may be cut" if result.cut else ""
        )
    if reach.stage == "restored":
        said.append(number.few([each.rstrip(".") for each in result.lacks], GAPS_MAX, BETWEEN))
    return BETWEEN.join(filter(None, said))


def _gap(gap: StageGap, *, with_share: bool = True) -> str:
    what = f"{gap.queries} {gap.reason}" if gap.queries else gap.reason
    return f"{what} ({share(gap.share)})" if with_share else what


def _when(result: ApplicationResult) -> str:
    """From 2026-11-28 10:00:00 to 11:00:00 UTC."""
    first, last = _time(result.first), _time(result.last)
    if first is None or last is None:
        return ""
    end = f"{last:%H:%M:%S}" if first.date() == last.date() else f"{last:%Y-%m-%d %H:%M:%S}"
    return f"calls from {first:%Y-%m-%d %H:%M:%S} to {end} UTC"


def _age(result: ApplicationResult) -> str:
    """The data are 3 days older than the last call; nothing where either is not known."""
    dumped, last = _time(result.dumped), _time(result.last)
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
