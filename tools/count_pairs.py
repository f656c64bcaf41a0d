"""How far counts of one build repeat, and whether planted changes are told.

    python tools/count_pairs.py RESULT

RESULT is a result with a pass of counts of many repeats. For each step: the scatter of the base's
repeats, all pairs of them taken as two arms, and how many of these lie beyond the margin; what a
repeat takes of time and disk; for each other arm, how often two repeats beside two of the base are
*more* or *less*, and the function that is named first.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from dbdyno.evidence.subsystems import Subsystems
from dbdyno.findings.work import plan as analysis
from dbdyno.findings.work import repeatability
from dbdyno.model.count import Count
from dbdyno.stats import work as stats
from dbdyno.store import Results

TRY = 2
"""The repeats of a try, as many as a race has."""


def main() -> int:
    """Prints the lines of a result; returns the exit status."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    results = Results.open(Path(sys.argv[1]))
    base = results.plan.base
    steps = list(repeatability.steps(results))
    taken = costs(results)
    for step in steps:
        print(f"{step.words}; {taken[step.step]}")
    scatter = repeatability.pooled(steps)
    print(
        f"all: {scatter.beyond} of {scatter.pairs} pairs; a ratio scatters by "
        f"{100 * scatter.deviation:.4f} % ({scatter.freedom} degrees of freedom) where steps "
        f"read, {100 * scatter.deviation_of_writes:.4f} % ({scatter.freedom_of_writes}) where "
        "they write"
    )
    for (_, name), arms in analysis.read(analysis.repeats(results)).items():
        counts = {
            arm: [count for count in repeats if isinstance(count, Count)]
            for arm, repeats in arms.items()
        }
        for arm, repeats in counts.items():
            if arm != base:
                print(f"{name}: {arm}: {of_tries(counts[base], repeats)}")
    return 0


def costs(results: Results) -> dict[tuple[str, str], str]:
    """By step: the seconds of its load, and the bytes of its folder, medians and largest."""
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    sizes: dict[tuple[str, str], list[int]] = defaultdict(list)
    for block in analysis.repeats(results):
        for run in block.runs():
            for folder in run.steps():
                done = folder.done()
                if done is None:
                    continue
                files = [path for path in folder.path.rglob("*") if path.is_file()]
                seconds[folder.workload, folder.name].append(1e-9 * done.window_ns)
                sizes[folder.workload, folder.name].append(sum(f.stat().st_size for f in files))
    return {
        step: f"{statistics.median(of):.1f} s, {max(of):.1f} at most; {max(sizes[step]):,} bytes"
        for step, of in seconds.items()
    }


def of_tries(base: Sequence[Count], arm: Sequence[Count]) -> str:
    """How many tries tell a change, by how much, with which function first."""
    verdicts = list(tries(base, arm))
    words = Counter(word for word, _, _ in verdicts)
    changes = [change for _, change, _ in verdicts]
    first = Counter(function for _, _, function in verdicts)
    return (
        f"{', '.join(f'{count} {word}' for word, count in words.items())} of {len(verdicts)} "
        f"tries; {100 * min(changes):+.3f} to {100 * max(changes):+.3f} %; first "
        f"{', '.join(f'{name} ({count})' for name, count in first.items())}"
    )


def tries(base: Sequence[Count], arm: Sequence[Count]) -> Iterator[tuple[str, float, str]]:
    """Of each two repeats: the word, the change, and the function that changed most."""
    table = Subsystems([])
    for place in range(0, min(len(base), len(arm)) - TRY + 1, TRY):
        ours, theirs = arm[place : place + TRY], base[place : place + TRY]
        pairs = zip(ours, theirs, strict=True)
        logs = [math.log(own.instructions / other.instructions) for own, other in pairs]
        interval = stats.ratio(logs, stats.pooled([logs]))
        named = [row.function for row in analysis.functions(theirs, ours, table) if row.changed]
        word = stats.word(interval, ours[0].margin)
        yield word, interval.value - 1, (named or ["no function"])[0]


if __name__ == "__main__":
    sys.exit(main())
