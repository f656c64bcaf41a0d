"""What the arms of a block did not have alike: the state in which a step began, and what the server
did by itself in its window. Neither is the arms' fault or merit in this step, yet both move rates.

Arms are compared within blocks, as their ratios are.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from dbdyno.evidence import raw_files
from dbdyno.model import BackgroundFacts, Cell, StepRun
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.grouping import grouped
from dbdyno.model.metric.state import StateFacts
from dbdyno.parts.number import ARMS_NAMED_MAX, listed

LIVE_ROWS_MIN = 100_000
"""Shares of a smaller database move by themselves, and all of it is in the caches anyway."""
WINDOW_S_MIN = 1.0
"""That one arm must have had more of a checkpoint: what is over in less moves no rate."""
WINDOW_SHARE_MIN = 0.05
"""Of its window likewise: a rate moves by a part of that."""
FACTOR_MIN = 2.0
"""By which it must be more than another's: all arms of a long step have some of each."""

KINDS: Mapping[str, DoubtSubject] = {
    "checkpoint": DoubtSubject.CHECKPOINTS,
    "autovacuum": DoubtSubject.AUTOVACUUM,
}
"""Kinds of spans, and the subject of their doubts."""
MIB = 1 << 20
WAL_DEBT = "WAL since the last checkpoint"


@dataclass(frozen=True)
class _Rule:
    """When a value of the state at the start differs enough to be told."""

    name: str
    words: str
    least: float  # the difference that can matter
    factor: float  # by which the larger must be more than the smaller
    shown: Callable[[float], str]
    across: bool = True  # whether it says something of arms of other servers, too


def _percent(value: float) -> str:
    return f"{value:.1f} %"


def _mebibytes(value: float) -> str:
    return f"{value / MIB:,.0f} MiB"


def _rows(value: float) -> str:
    return f"{value:,.0f}"


RULES = (
    # Each dead row costs whoever comes by its index entry: 1 % of them is 1 % of the reads or more.
    _Rule("dead_share", "dead rows", 1.0, 1.5, _percent),
    # Work for a vacuum that then falls into one arm's window.
    _Rule("vacuum_backlog_rows", "rows due for vacuum", 10_000.0, 1.5, _rows),
    # What a version stores a little more tightly is its own merit; more decides what is cached.
    # How much room rows take is what another server is.
    _Rule("bytes", "tables and indexes", 64.0 * MIB, 1.1, _mebibytes, across=False),
    # Writes that this arm still owes: a second of a slow device.
    _Rule("dirty_bytes", "unwritten buffers", 64.0 * MIB, 1.5, _mebibytes),
    # A quarter of the default max_wal_size: by so much earlier the next checkpoint comes, and with
    # it the full-page images. InnoDB's checkpoint follows at a distance all the time.
    _Rule("wal_since_checkpoint_bytes", WAL_DEBT, 256.0 * MIB, 1.5, _mebibytes, across=False),
    # Undo logs that readers come by and that purge takes its time for: some seconds of writes.
    _Rule("history", "transactions to purge", 10_000.0, 1.5, _rows),
    # Index-only scans fetch the rows of all other pages.
    _Rule("all_visible_share", "all-visible pages", 5.0, 1.0, _percent),
)


def doubts(cells: Sequence[Cell]) -> Iterator[Doubt]:
    """What the arms of one step did not have alike, of each block."""
    blocks = _blocks(cells)
    for rule in RULES:
        yield from _state(rule, blocks)
    for event, subject in KINDS.items():
        yield from _window(event, subject, blocks)
    yield from _shapes(list(blocks.values()))


Runs = Mapping[str, StepRun]  # of one block, by arm, in the cells' order


def _blocks(cells: Sequence[Cell]) -> dict[int, Runs]:
    """The measured runs of each block that has several arms."""
    by_block: dict[int, dict[str, StepRun]] = {}
    for cell in cells:
        for run in cell.runs:
            if run.facts.measured and run.ending.status == "ok":
                by_block.setdefault(run.block, {})[cell.arm] = run
    return {block: runs for block, runs in sorted(by_block.items()) if len(runs) > 1}


# --- The state at the start ------------------------------------------------------------------


def _state(rule: _Rule, blocks: Mapping[int, Runs]) -> Iterator[Doubt]:
    """`dead rows 0.1 % (pg17) and 4.0 % (pg18)` of each block that differs: the arms' means.

    Where it is now this arm, now that one, means of all would look alike: each way has its own.
    """
    ahead: dict[str, dict[int, dict[str, float]]] = {}
    for block, runs in blocks.items():
        values = _values(rule, runs)
        low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
        if high - low >= rule.least and high >= low * rule.factor:
            ahead.setdefault(max(values, key=values.__getitem__), {})[block] = values
    for alike in ahead.values():
        by_arm = grouped(pair for values in alike.values() for pair in values.items())
        means = {arm: fmean(values) for arm, values in by_arm.items()}
        words = f"{rule.words} {_by_arm(means, rule.shown)}"
        yield from (DoubtSubject.STATE.doubt(words, block=block) for block in alike)


def _by_arm(values: Mapping[str, float], shown: Callable[[float], str]) -> str:
    """`0.1 % (pg17) and 4.0 % (pg18)`; of many arms the ends: `from 0 (a and 9 more) to 7 (b)`."""
    texts = {arm: shown(value) for arm, value in values.items()}
    if len(values) <= ARMS_NAMED_MAX:
        return listed([f"{text} ({arm})" for arm, text in texts.items()])
    ends = []
    for text in (shown(min(values.values())), shown(max(values.values()))):
        first, *more = (arm for arm, words in texts.items() if words == text)
        ends.append(f"{text} ({first}{f' and {len(more)} more' if more else ''})")
    return f"from {ends[0]} to {ends[1]}"


def _values(rule: _Rule, runs: Runs) -> dict[str, float]:
    """A value of each arm that has it, where its database is large enough to matter."""
    parts = ("table_bytes", "index_bytes") if rule.name == "bytes" else (rule.name,)
    known = {
        arm: raw_files.plus_all(_before(run).get(part) for part in parts)
        for arm, run in runs.items()
    }
    values = {arm: value for arm, value in known.items() if value is not None}
    if not rule.across and len({runs[arm].server.statistics for arm in values}) > 1:
        return {}
    live = [_before(run).get("live_rows") for run in runs.values()]
    large = any(rows is not None and rows >= LIVE_ROWS_MIN for rows in live)
    return values if large else {}


def _before(run: StepRun) -> Mapping[str, float]:
    return run.of(StateFacts).at("before")


# --- What ran in the window ------------------------------------------------------------------


def _window(event: str, subject: DoubtSubject, blocks: Mapping[int, Runs]) -> Iterator[Doubt]:
    """`none in pg17's, 12.1 s in pg18's` of each block that differs."""
    for block, runs in blocks.items():
        known = {arm: s for arm, run in runs.items() if (s := _seconds(event, run)) is not None}
        if _unlike(known, runs):
            yield subject.doubt(_amounts(known), block=block)


def _unlike(known: Mapping[str, float], runs: Runs) -> bool:
    """Whether one arm had much more of it than another, in seconds and as a share of its window."""
    shares = [seconds / (runs[arm].window.seconds or 1.0) for arm, seconds in known.items()]
    return _apart(list(known.values()), WINDOW_S_MIN) and _apart(shares, WINDOW_SHARE_MIN)


def _apart(values: Sequence[float], least: float) -> bool:
    if len(values) < 2:
        return False
    low, high = min(values), max(values)
    return high - low >= least and high >= low * FACTOR_MIN


def _amounts(known: Mapping[str, float]) -> str:
    """Each arm's seconds; of many arms the least and the most."""
    if len(known) > ARMS_NAMED_MAX:
        least, most = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
        return f"from {_amount(known[least], least)} to {_amount(known[most], most)}"
    return ", ".join(_amount(seconds, arm) for arm, seconds in known.items())


def _amount(seconds: float, arm: str) -> str:
    text = f"{seconds:.1f}"
    return f"none in {arm}'s" if text == "0.0" else f"{text} s in {arm}'s"


def _seconds(event: str, run: StepRun) -> float | None:
    """How long something ran in the window; None where the log does not tell."""
    if run.window.seconds is None:
        return None
    if event == "checkpoint":
        return run.metrics.get("checkpoint_overlap_s")
    background = run.of(BackgroundFacts)
    logged = any(span.kind == event for span in background.spans)
    counted = run.metrics.get("autovacuum_runs")
    if not logged and counted != 0:
        return None
    return background.overlap_s(event, run.window.seconds)


# --- The shape of the rate --------------------------------------------------------------------


def _shapes(blocks: Sequence[Mapping[str, StepRun]]) -> Iterator[Doubt]:
    """`flat in 3 of 3 blocks (pg17), slowed in 2 of 3 (pg18)`.

    `blocks`: the runs of each by arm. Told where the shapes differ that arms have in more than half
    of their blocks: about one flat run in twelve has another by chance (docs/method.md).
    """
    places = grouped(
        (arm, run.window.shape)
        for runs in blocks
        for arm, run in runs.items()
        if run.window.shape is not None
    )
    usual = {
        arm: (name, times, len(shapes))
        for arm, shapes in places.items()
        for name, times in Counter(shapes).most_common(1)
        if 2 * times > len(shapes)
    }
    if len({name for name, _, _ in usual.values()}) < 2:
        return
    lines = [
        f"{name} in {times} of {total} block{'s' if total > 1 else ''} ({arm})"
        for arm, (name, times, total) in usual.items()
    ]
    yield DoubtSubject.SHAPES.doubt(", ".join(lines))
