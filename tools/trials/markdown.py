"""The table of a trial as Markdown: medians, smallest to largest, ratios pair by pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bench.pairs import spread
from trials.trial import Column, Kept, Side, Trial

Rounds = Mapping[int, float | str]
"""A figure of a row and side, by round."""


def document(trial: Trial, sides: Sequence[Side], runs: Sequence[Kept]) -> Iterator[str]:
    """The lines: the question, what was measured, the table, and what else the trial says."""
    yield f"**{trial.name}**: {trial.question}"
    yield ""
    yield "; ".join(f"{side.name} is {side.commit}" for side in sides) + "."
    done, wanted = len(runs), len(trial.rows) * len(sides) * trial.rounds
    missing = "" if done >= wanted else f" {wanted - done} runs are missing."
    medians = f"Medians of {trial.rounds} rounds (smallest to largest)."
    yield f"{medians if trial.rounds > 1 else 'One round.'}{missing}"
    if trial.by_row:
        yield ""
        yield from table(trial, sides, runs)
    if trial.summary is not None:
        for side in sides:
            own = [run for run in runs if run.side == side.name]
            yield from ["", f"{side.name}:", "", *trial.summary(own)]


def table(trial: Trial, sides: Sequence[Side], runs: Sequence[Kept]) -> Iterator[str]:
    """A line for each row and side; below two sides, the ratio of the first to the second."""
    yield line(["", "", *(column.heading for column in trial.columns)])
    yield line(["---"] * (2 + len(trial.columns)))
    names = [side.name for side in sides]
    for row in trial.rows:
        of_side = {
            side: [rounds_of(runs, row, side, column.figure) for column in trial.columns]
            for side in names
        }
        for side, found in of_side.items():
            if any(found):
                cells = (shown(one, of) for one, of in zip(found, trial.columns, strict=True))
                yield line([row, side, *cells])
        if len(names) == 2 and any(column.ratio for column in trial.columns):
            pairs = zip(*of_side.values(), trial.columns, strict=True)
            cells = (ratios(one, other) if of.ratio else "" for one, other, of in pairs)
            yield line([row, " / ".join(names), *cells])


def line(cells: Iterable[str]) -> str:
    """A line of the table."""
    return f"| {' | '.join(cells)} |"


def rounds_of(runs: Iterable[Kept], row: str, side: str, figure: str) -> Rounds:
    """A figure by round."""
    return {
        run.round: run.figures[figure]
        for run in runs
        if (run.row, run.side) == (row, side) and figure in run.figures
    }


def shown(rounds: Rounds, column: Column) -> str:
    """Numbers as their median with the smallest and the largest, words with how often they came."""
    numbers = [value for value in rounds.values() if not isinstance(value, str)]
    words = Counter(value for value in rounds.values() if isinstance(value, str))
    parts = [spread(numbers, column.digits)] if numbers else []
    if len(words) == 1 and not numbers:
        return next(iter(words))
    return ", ".join([*parts, *(f"{count} × {word}" for word, count in words.items())])


def ratios(first: Rounds, second: Rounds) -> str:
    """The ratio of two sides in the rounds that have both."""
    pairs = [(first[one], second[one]) for one in sorted(first.keys() & second.keys())]
    values = [
        own / other
        for own, other in pairs
        if not isinstance(own, str) and not isinstance(other, str) and other
    ]
    return spread(values, 3) if values else ""
