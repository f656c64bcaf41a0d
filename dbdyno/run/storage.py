"""Log and pages of a counted operation: what the server's counters moved by between marks."""

from collections.abc import Mapping, Sequence

from dbdyno.engine.counting import CountMethod
from dbdyno.model.count import Count
from dbdyno.model.count_storage import StorageWork
from dbdyno.model.events import CapturedEvent


def read(answers: Sequence[CapturedEvent], count: Count, counting: CountMethod) -> StorageWork:
    """What an operation of the window did, less what a mark alone did.

    `answers`: the counters after each mark. A counter that the server lacks is None.
    """
    before, empty, full = (counters(answer) for answer in answers[-3:])

    def moved(name: str | None) -> float | None:
        if name is None or name not in full:
            return None
        window, mark = full[name] - empty[name], empty[name] - before[name]
        return (window - mark) / count.operations

    pages, missing = moved(counting.pages_asked), moved(counting.pages_read)
    if pages == 0:  # no operation asks for none: MariaDB 10.11.5 does not tell
        pages = missing = None
    dirtied = moved(counting.pages_dirtied)
    if counting.dirties:
        marked = (row.calls for row in count.functions if row.function in counting.dirties)
        dirtied = sum(marked)
    return StorageWork(
        log_bytes=moved(counting.log_bytes),
        pages_hit=None if pages is None or missing is None else pages - missing,
        pages_read=missing,
        pages_dirtied=dirtied,
    )


def counters(answer: CapturedEvent) -> Mapping[str, int]:
    """The counters of an answer by their names in lower case."""
    return {str(row[0]).lower(): int(str(row[1])) for row in answer.rows}
