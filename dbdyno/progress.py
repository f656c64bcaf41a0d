"""What a person sees while a plan runs: a bar with step, rate and time left, or plain lines.

Everything goes to standard error; results go to standard output elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

STEP_OVERHEAD_S = 4.0
"""Around each step: canary, statistics, connections (a first guess; measured ones replace it)."""
RUN_OVERHEAD_S = 6.0
"""Around each run: initdb, start, shutdown, write-back (a first guess)."""
UNKNOWN_STEP_S = 10.0
"""What a step is taken to last that gives no expectation, until it was seen once."""


@dataclass(frozen=True)
class Leg:
    """A part of the way: one step of one run, or a run's own overhead (`step` is then empty)."""

    workload: str
    step: str
    expected_s: float | None


@dataclass
class Forecast:
    """How long the rest takes: what was seen of each step, else what the plan expects of it."""

    legs: list[Leg]
    seen: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    done: int = 0

    def seconds(self, leg: Leg) -> float:
        """What `leg` is taken to last, in seconds."""
        seen = self.seen.get((leg.workload, leg.step))
        if seen:
            return sum(seen) / len(seen)
        expected_s = UNKNOWN_STEP_S if leg.expected_s is None else leg.expected_s
        return expected_s + (STEP_OVERHEAD_S if leg.step else 0)

    def finish(self, leg: Leg, took_s: float) -> None:
        """Takes note that `leg` is over and lasted `took_s` seconds."""
        self.seen.setdefault((leg.workload, leg.step), []).append(took_s)
        self.done += 1

    def left_s(self) -> float:
        """Seconds of all legs that are not over."""
        return sum(self.seconds(leg) for leg in self.legs[self.done :])

    def total_s(self) -> float:
        """Seconds of all legs together."""
        return sum(self.seconds(leg) for leg in self.legs)


class Watch:
    """Shows how a plan goes on; a context manager around the whole of it."""

    def __init__(self, legs: Sequence[Leg], console: Console | None = None) -> None:
        """`legs` are all steps that are still to run, in order."""
        self.console = console or Console(stderr=True)
        self.forecast = Forecast(list(legs))
        self._leg_started_s = time.monotonic()
        self._leg: Leg | None = None
        self._title = ""
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        if self.console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[left]}"),
                console=self.console,
                transient=True,
                expand=True,
            )

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("starting", total=1.0, left="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def begin(self, title: str, leg: Leg) -> None:
        """`leg` begins; `title` says where it is, such as `block 1/3 pg18 l.i0`."""
        self._leg, self._title = leg, title
        self._leg_started_s = time.monotonic()
        self.rate(None)

    def rate(self, text: str | None) -> None:
        """The rate now, such as `51,200 rows/s`; called about once a second."""
        if self._bar is None or self._task is None or self._leg is None:
            return
        expected_s = self.forecast.seconds(self._leg)
        spent_s = min(time.monotonic() - self._leg_started_s, expected_s)
        left_s = max(0.0, self.forecast.left_s() - spent_s)
        total_s = self.forecast.total_s() or 1.0
        self._bar.update(
            self._task,
            description=self._title + (f"  {text}" if text else ""),
            completed=1 - left_s / total_s,
            left=f"{duration(left_s)} left",
        )

    def again(self, legs: Sequence[Leg]) -> None:
        """A block was broken off and is done again: `legs` are all that is still to be walked."""
        self.forecast.legs[self.forecast.done :] = legs
        self._leg = None

    def end(self, text: str, *, alarm: bool = False) -> None:
        """The leg that began last is over; `text` says what came out.

        It becomes a line where there is no bar, and beside a bar where it is an `alarm`.
        """
        assert self._leg is not None
        self.forecast.finish(self._leg, time.monotonic() - self._leg_started_s)
        if self._bar is None:
            self.say(f"{self._title}: {text} ({duration(self.forecast.left_s())} left)")
        elif alarm:
            self.say(f"{self._title}: {text}")
        self._leg = None


def duration(seconds: float) -> str:
    """Seconds as a person reads them: `45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
