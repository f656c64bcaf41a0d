"""By how many atomic instructions and system calls windows of one build differ, and what that says.

    python tools/event_pairs.py RESULT…

Each RESULT has a pass of counts with several repeats. For each step: the operations counted, the
range of the events of a window over the repeats of each arm, and the words of all ordered pairs of
repeats of one arm, each taken as two arms.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dbdyno.findings.work import event_changes
from dbdyno.findings.work import plan as analysis
from dbdyno.model.count import Count
from dbdyno.model.engine import recorded
from dbdyno.store import Results


def main() -> int:
    """Prints a line for each step of each arm; returns the exit status."""
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    pairs, words = 0, Counter[str]()
    for name in sys.argv[1:]:
        results = Results.open(Path(name))
        for (_, step), arms in analysis.read(analysis.repeats(results)).items():
            for arm, repeats in arms.items():
                counts = [count for count in repeats if isinstance(count, Count)]
                record = results.plan.arm(arm)
                threads = record is not None and recorded(record.engine).threads
                of_step = Counter(told(counts, threads=threads))
                pairs, words = pairs + len(counts) * (len(counts) - 1), words + of_step
                print(f"{step}, {arm}: {'; '.join(lines(counts))}; {dict(of_step)}")
    print(f"all: {pairs:,} ordered pairs: {dict(words)}")
    return 0


def lines(counts: Sequence[Count]) -> Iterator[str]:
    """How many windows there are, and by how many events they differ."""
    yield f"{len(counts)} windows of {counts[0].operations:,}"
    for event, amount in event_changes.OF_COUNT.items():
        of_windows = [round(amount(count) * count.operations) for count in counts]
        yield f"{event} {min(of_windows):,} to {max(of_windows):,}"


def told(counts: Sequence[Count], *, threads: bool) -> Iterator[str]:
    """The words of events of all ordered pairs, where they are not the same."""
    for base, arm in itertools.permutations(counts, 2):
        for change in event_changes.changes([base], [arm], [], threads=threads):
            yield f"{change.word} {change.event}"


if __name__ == "__main__":
    sys.exit(main())
