"""Response and service times of a step: shares of the published buckets, and percentiles."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbdyno.model import Bound, Cell, ResponseFacts, ResponseTimes, StepComparison
from dbdyno.model.metric.over import taken
from dbdyno.model.response_times import HEADINGS
from dbdyno.parts import cells, number
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import Group, Section, Subject
from dbdyno.parts.table import Column, Row, Table, TableCell

BUCKETS = (*HEADINGS, f">{HEADINGS[-1]}")
KINDS = ("query", "insert", "delete")


@dataclass(frozen=True, kw_only=True)
class _TimeSort:
    """From which moment on times are taken, and how their tables are headed."""

    title: str
    name: str
    since: str
    of: Callable[[ResponseFacts], Sequence[ResponseTimes]]
    colored: bool = False  # whether the longest have the published colours


_SERVICE = _TimeSort(
    title="Service time",
    name="service",
    since="From sending an operation to its answer, as published.",
    of=lambda facts: facts.service,
)

_RESPONSES = _TimeSort(
    title="Response time",
    name="response",
    since="From the due time of an operation to its answer, including the wait for earlier ones.",
    of=lambda facts: facts.response,
)


def tables(step: StepComparison, prefix: str, *, published: bool = False) -> Iterable[Table]:
    """Service times, as published; then response times of what is due by a schedule.

    In a closed loop the two are alike. Results that have no service times have the latter of all.
    `published`: whether the longest have a colour, though nothing is decided by them.
    """
    service, response = (replace(sort, colored=published) for sort in (_SERVICE, _RESPONSES))
    every = tuple(step.each(ResponseFacts))
    if not any(facts.service for facts in every):
        yield from _times_tables(step, prefix, response, lambda _: True)
        return
    paced = {times.name for facts in every for times in facts.response if times.paced}
    yield from _times_tables(step, prefix, service, lambda _: True)
    yield from _times_tables(step, prefix, response, paced.__contains__)


def _times_tables(
    step: StepComparison, prefix: str, sort: _TimeSort, wanted: Callable[[str], bool]
) -> Iterable[Table]:
    """Rows for each kind; where a kind has several operations another table with each of them."""
    there = dict.fromkeys(
        (times.of, times.name) for facts in step.each(ResponseFacts) for times in sort.of(facts)
    )
    kinds = [work for work in KINDS if ("kind", work) in there and wanted(work)]
    names = [name for of, name in there if of == "operation" and name not in KINDS]
    operations = [name for name in names if wanted(name)] if len(names) > 1 or not kinds else []
    for of, some, of_each in (("kind", kinds, ""), ("operation", operations, " of each operation")):
        rows = [row for name in some for row in _response_rows(step, sort, (of, name))]
        if rows:
            name = f"{prefix}-{sort.name}{'-operation' if of_each else ''}-times"
            yield _response_table(name, f"{sort.title}{of_each}", rows, sort)


def _response_table(name: str, title: str, rows: Sequence[Row], sort: _TimeSort) -> Table:
    columns = (
        *Column.words("arm"),
        *Column.under("percent of responses, each bucket up to", *BUCKETS),
        *Column.under(sort.title.lower(), *(text for text, _ in _TIMES), "max"),
    )
    return Table(
        name=name,
        title=title,
        look="wide",
        columns=columns,
        rows=tuple(rows),
        note="All clients and blocks together; mean and percentiles are geometric means of the "
        "blocks'; a block's mean comes from exact sums, which not every load reports. "
        f"{sort.since}{_notes(rows)}",
    )


_NOTES: Mapping[Bound, str] = {
    "at most": "more than a tenth may be the load generator's own delay, as the doubts say.",
    "at least": "the load's histogram ends there.",
}


def _notes(rows: Sequence[Row]) -> str:
    """What `≤` and `≥` mean, where they stand in one of these rows."""
    texts = [cell.text for row in rows for cell in row.cells]
    return "".join(
        f" {cells.SIGNS[bound]}: {note}"
        for bound, note in _NOTES.items()
        if any(text.startswith(cells.SIGNS[bound]) for text in texts)
    )


def merged(parts: Sequence[ResponseTimes]) -> ResponseTimes:
    """Response times of several blocks as one: counts added, the largest maximum.

    Mean and percentiles are geometric means of the blocks', as those of the metrics (the datum that
    is compared is the logarithm of a run's); `parts` must not be empty.
    """
    times_us: dict[str, Any] = {
        name: taken((getattr(part, name) for part in parts), "ratio") for _, name in _TIMES
    }
    return replace(
        parts[0],
        count=sum(part.count for part in parts),
        buckets=tuple(
            sum(column) for column in zip(*(part.buckets for part in parts), strict=True)
        ),
        **times_us,
        max_us=max(part.max_us for part in parts),
        sd_us=None,
        at_least=tuple(dict.fromkeys(name for part in parts for name in part.at_least)),
    )


_TIMES = (
    ("mean", "mean_us"), ("p50", "p50_us"), ("p90", "p90_us"), ("p99", "p99_us"),
    ("p99.9", "p999_us"),
)  # fmt: skip


def _response_rows(step: StepComparison, sort: _TimeSort, key: tuple[str, str]) -> list[Row]:
    """Percent of responses in the ten published buckets, percentiles, and the longest, by arm."""
    by_arm = {
        result.arm: [
            times
            for facts in result.each(ResponseFacts)
            for times in sort.of(facts)
            if (times.of, times.name) == key
        ]
        for result in step.cells
    }
    whole = {arm: merged(parts) for arm, parts in by_arm.items() if parts}
    longest = [times.max_us for times in whole.values()] if sort.colored else []
    return [_bucket_row(result, whole.get(result.arm), longest, key[1]) for result in step.cells]


def _bucket_row(
    result: Cell, times: ResponseTimes | None, longest: Sequence[int], group: str
) -> Row:
    if times is None or times.count == 0:
        nothing = TableCell(text=cells.words_for_nothing(result), tone="failed")
        blank = [""] * (len(BUCKETS) + len(_TIMES))
        return Row.of(result.arm, nothing, *blank, group=group, arm=result.arm)
    total = sum(times.buckets) or 1
    shares = [
        TableCell(
            text=number.share(count / total),
            shade=round(100 * count / total / 5),
            title=f"{count:,} of {total:,}",
        )
        for count in times.buckets
    ]

    bound = "exact" if result.time_bound == "at least" else result.time_bound  # of percentiles

    def signed(time_us: float, name: str = "") -> str:
        return cells.signed(
            number.time_us(time_us), "at least" if name in times.at_least else bound
        )

    figures = ((name, getattr(times, name)) for _, name in _TIMES)
    own = ("" if us is None else signed(us, name) for name, us in figures)
    tone = longest_tone(times.max_us, longest) if longest else ""
    slowest = TableCell(text=signed(times.max_us), tone=tone)
    return Row.of(result.arm, *shares, *own, slowest, group=group, arm=result.arm)


def longest_tone(value: float, all_values: Sequence[float]) -> Tone:
    """Colour of a longest response time: red in the longest quarter, green in the shortest.

    Neither where the shortest is at least 0.8 of the longest: the published legend leaves out red
    then, the published code green, and both say that such values are alike.
    """
    low, high = min(all_values), max(all_values)
    if low >= 0.8 * high:
        return ""
    quarter = (high - low) / 4
    return "red" if value >= high - quarter else "green" if value <= low + quarter else ""


def _parts(subject: Subject) -> Iterable[Group]:
    published = subject.colors == "published"
    shown = tuple(tables(subject.step, subject.anchor, published=published))
    if shown:
        more = (replace(table, depth="detail") for table in shown[1:])
        name = f"{subject.anchor}-response"
        yield Group(name=name, title="", parts=(shown[0], *more), entry="response")


SECTION = Section("step", _parts)
