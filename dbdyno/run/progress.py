"""Shows a plan while it runs: its place, how its step does, the time left.

Everything goes to standard error; results go to standard output elsewhere.
"""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from statistics import median
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dbdyno.host.terminal import VisibleConsole
from dbdyno.model import metric

STEP_OVERHEAD_S = 2.5
"""Around each step: canary, statistics, connections; measured ones replace this guess."""
RESTARTED_STEP_S = 1.0
"""The same on a server that was only restarted, which has no canary."""
RUN_OVERHEAD_S = 6.0
"""Around each run: initdb, start, shutdown, write-back (a first guess)."""
RESTART_S = 1.0
"""The same around a run whose server was only stopped and started."""
UNKNOWN_STEP_S = 10.0
"""The assumed length of a step that gives no expectation, until it was seen once."""
REST = "rest between servers"
"""In place of a workload in a leg, which no workload is called."""
LINE_EVERY_S = 60.0
"""In a log, between two lines within a step."""
TARGET_JUDGED_S = 20.0
"""Before that a burst more or less decides: the published pacing has one operation in its first
second."""
KNOWN_SHARE = 0.001
"""A step says how long the rest takes once it has done this share of its work."""


@dataclass(frozen=True)
class Leg:
    """A part of the way: one step of one run, or a run's own overhead (`step` is then empty)."""

    workload: str
    step: str
    expected_s: float | None


def rest_leg(rest_s: float) -> Leg:
    """The part of the way on which the host is idle between two servers."""
    return Leg(REST, "", rest_s)


@dataclass
class Forecast:
    """How long the rest takes: what was seen of each step, else what the plan expects of it."""

    legs: list[Leg]
    seen: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    took: list[tuple[Leg, float]] = field(default_factory=list)  # what is over, in seconds
    done: int = 0
    sure: int = 0  # of the legs, those that are walked however the time is

    def seconds(self, leg: Leg) -> float:
        """The expected length of `leg`, in seconds."""
        seen = self.seen.get((leg.workload, leg.step))
        if seen:
            return sum(seen) / len(seen)
        expected_s = UNKNOWN_STEP_S if leg.expected_s is None else leg.expected_s
        return expected_s + (self.overhead_s if leg.step else 0)

    @property
    def overhead_s(self) -> float:
        """Seconds around a step, by those that are over; at first a guess."""
        beyond = [
            took_s - leg.expected_s
            for leg, took_s in self.took
            if leg.step and leg.expected_s is not None and took_s >= leg.expected_s
        ]
        return median([STEP_OVERHEAD_S, *beyond])

    def finish(self, leg: Leg, took_s: float) -> None:
        """Takes note that `leg` is over and lasted `took_s` seconds."""
        self.seen.setdefault((leg.workload, leg.step), []).append(took_s)
        self.took.append((leg, took_s))
        self.done += 1

    def after_s(self, running: int, end: int | None = None) -> float:
        """Seconds of all legs up to `end` that are not over, without those that are `running`."""
        return sum(self.seconds(leg) for leg in self.legs[self.done + running : end])

    def place(self) -> tuple[int, int] | None:
        """The next leg's place among the steps of its run, and their number; None if it is none."""
        before, after = self.legs[: self.done], self.legs[self.done :]
        above = [leg.step for leg in takewhile(lambda leg: leg.step, reversed(before))]
        below = [leg.step for leg in takewhile(lambda leg: leg.step, after)]
        # Arms that take a step one after the other, before any takes the next, are at one step.
        reached, whole = (
            sum(1 for _ in groupby([*reversed(above), *rest])) for rest in (below[:1], below)
        )
        return (reached, whole) if below else None


@dataclass(frozen=True, kw_only=True)
class Pulse:
    """A step's figures, now (the last second) and so far; None: it has none."""

    unit: str  # of the rates: "rows/s" or "queries/s"; empty without a headline
    rate: float | None
    rate_so_far: float | None
    p99_us: float | None
    p99_so_far_us: float | None
    target: float | None  # rows per second, all clients
    achieved: float | None  # the same, so far
    errors: int  # so far, all roles, those that were tried again too
    retries: int
    elapsed_s: float  # of active time, with warm-up
    share: float | None  # of what the step has to do
    enough_s: float | None = None  # a window with enough operations; None: this one has, or unknown

    @property
    def held(self) -> bool | None:
        """Whether the target was held so far; None where there is none, or too early to say."""
        if self.target is None or self.achieved is None or self.elapsed_s < TARGET_JUDGED_S:
            return None
        return metric.held(self.achieved, self.target)

    @property
    def left_s(self) -> float | None:
        """How long the rest of the step takes, if it goes on as so far; None where unknown."""
        if self.share is None or self.share < KNOWN_SHARE or not self.elapsed_s:
            return None
        return self.elapsed_s * (1 - self.share) / self.share


class Watch:
    """Shows how a plan goes on; a context manager around the whole of it.

    In a terminal some lines at its foot, drawn anew once a second by a thread of their own, and
    gone at the end; elsewhere plain lines.
    """

    def __init__(
        self, legs: Sequence[Leg], console: Console | None = None, *, quiet: bool = False
    ) -> None:
        """`legs` are all steps that are still to run, in order; `quiet`: nothing is shown."""
        self.console = console or VisibleConsole(stderr=True, quiet=quiet)
        self.forecast = Forecast(list(legs))
        self._plan_started_s = self._leg_started_s = self._said_s = time.monotonic()
        self._leg: Leg | None = None
        self._title = "starting"
        self._pulses: dict[str, Pulse] = {}  # by arm where several share a step, else by ""
        self._few: set[str] = set()  # arms of which a log says that their operations are too few
        self._pulse_s = 0.0
        self._so_far: Sequence[str] = ()
        self._end_s: float | None = None  # by the monotonic clock
        self.later_s = 0.0  # what comes after all legs, as a guess: the blocks after a trial
        self._live = Live(
            console=self.console, get_renderable=self.view, refresh_per_second=1, transient=True
        )

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def ends_within(self, seconds: float) -> None:
        """The plan goes on for so long, unless it is decided earlier: that is the time left."""
        self._end_s = time.monotonic() + seconds

    def left_s(self, running_s: float, running: int) -> float:
        """Seconds to the end, of which the leg that is `running` takes so many."""
        if self._end_s is None:
            return running_s + self.forecast.after_s(running) + self.later_s
        sure_s = self.forecast.after_s(running, self.forecast.sure)
        return max(running_s + sure_s, self._end_s - time.monotonic())

    def say(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def so_far(self, lines: Sequence[str]) -> None:
        """The evidence of all blocks so far: at the foot of a terminal, else lines that stay."""
        self._so_far = lines
        if not self.console.is_terminal:
            for line in lines:
                self.say(line)

    def begin(self, title: str, leg: Leg) -> None:
        """`leg` begins; `title` says where it is, such as `block 1/3 pg18 l.i0`."""
        self._leg, self._title, self._pulses, self._few = leg, title, {}, set()
        self._leg_started_s = self._said_s = time.monotonic()

    def retitle(self, title: str) -> None:
        """The leg that runs is at another place."""
        self._title = title

    def rate(self, pulse: Pulse, arm: str = "") -> None:
        """How the step does; called about once a second while its window is open.

        `arm`: whose figures they are, where several arms share the step in turns.
        """
        self._pulses, self._pulse_s = self._pulses | {arm: pulse}, time.monotonic()
        if self.console.is_terminal:
            return
        if pulse.enough_s is not None and arm not in self._few:
            self._few.add(arm)
            self.say(f"{self._title}: {f'{arm} {too_few(pulse.enough_s)}'.lstrip()}")
        if self._pulse_s - self._said_s >= LINE_EVERY_S:
            self._said_s = self._pulse_s
            left = f"{duration(self.step_left_s(self._leg, self._pulses))} of the step left"
            self.say(f"{self._title}: {'; '.join([*shown(self._pulses), left])}")

    def again(self, legs: Sequence[Leg], sure: int | None = None) -> None:
        """A block begins, or is done again: `legs` are all that is still to be walked.

        `sure`: the first of them, which are walked even if the time is over; None: all.
        """
        self.forecast.legs[self.forecast.done :] = legs
        self.forecast.sure = self.forecast.done + (len(legs) if sure is None else sure)
        self._leg = None

    def end(self, text: str, *, alarm: bool = False) -> None:
        """The leg that began last is over; `text` says what came out.

        The text becomes a line if there is no terminal, or if it is an `alarm`.
        """
        assert self._leg is not None
        self.forecast.finish(self._leg, time.monotonic() - self._leg_started_s)
        if not self.console.is_terminal:
            self.say(f"{self._title}: {text} ({duration(self.left_s(0.0, 0))} left)")
        elif alarm:
            self.say(f"{self._title}: {text}")
        self._leg, self._pulses = None, {}

    # --- What is shown in a terminal ---

    def step_left_s(self, leg: Leg | None, pulses: Mapping[str, Pulse]) -> float:
        """How long `leg` takes on: as far as the step knows itself, else as is expected."""
        now_s = time.monotonic()
        pulse = pulses.get("")
        if pulse is not None and pulse.left_s is not None:
            return max(0.0, pulse.left_s - (now_s - self._pulse_s))
        if leg is None:
            return 0.0
        return max(0.0, self.forecast.seconds(leg) - (now_s - self._leg_started_s))

    def view(self) -> Group:
        """The lines as they are now, for the terminal's width.

        Another thread asks for them, so what may change meanwhile is looked at once.
        """
        leg, pulses = self._leg, self._pulses
        step_left_s = self.step_left_s(leg, pulses)
        left_s = self.left_s(step_left_s, 0 if leg is None else 1)
        spent_s = time.monotonic() - self._plan_started_s
        first = [self._title]
        if leg is not None and (place := self.forecast.place()) is not None:
            first += ["step {} of {}".format(*place)]
            first += [f"{duration(step_left_s)} left"] if step_left_s else []
        width = self.console.width
        return Group(
            *(Text(line, style="dim") for line in self._so_far),
            *(Text(line, style="bold") for line in filled(first, width)),
            *(figure_line(line) for line in filled(shown(pulses), width)),
            bar(spent_s / ((spent_s + left_s) or 1.0), f"plan {duration(left_s)} left"),
        )


def filled(parts: Iterable[str], width: int) -> list[str]:
    """The parts in lines of at most `width`, never broken inside where they fit a line."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]} · {part}" if lines else part
        if lines and len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


def figure_line(line: str) -> Text:
    """A line of figures, with what is missed in another colour."""
    text = Text(line)
    text.highlight_regex(r"missed by [\d,]+ %|too few operations", "bold yellow")
    return text


def bar(share: float, text: str) -> Table:
    """A bar over the width, with its percent and a text at its end."""
    grid = Table.grid(expand=True, padding=(0, 1))
    grid.add_column(ratio=1)
    grid.add_column(no_wrap=True)
    grid.add_row(ProgressBar(total=1.0, completed=share), f"{100 * share:.0f} % · {text}")
    return grid


def duration(seconds: float) -> str:
    """Seconds as a person reads them: `45 s`, `3 min 20 s`, `2 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def shown(pulses: Mapping[str, Pulse]) -> Iterable[str]:
    """The figures of a step: of an arm that has it for itself, or of several, with their names."""
    for arm, pulse in sorted(pulses.items()):
        yield from (f"{arm} {figure}".lstrip() for figure in figures(pulse))


def figures(pulse: Pulse) -> Iterable[str]:
    """A pulse in words, a figure each: "51,200 rows/s now, 50,800 so far"."""
    if pulse.rate is not None:
        so_far = "" if pulse.rate_so_far is None else f", {pulse.rate_so_far:,.0f} so far"
        yield f"{pulse.rate:,.0f} {pulse.unit} now{so_far}"
    if pulse.p99_so_far_us is not None:
        now = "none" if pulse.p99_us is None else milliseconds(pulse.p99_us)
        yield f"p99 {now} now, {milliseconds(pulse.p99_so_far_us)} so far"
    if pulse.target is not None and pulse.achieved is not None:
        yield f"target {pulse.target:,.0f} rows/s {verdict(pulse)}"
    if pulse.errors:
        yield f"{pulse.errors:,} errors, {pulse.retries:,} retries"
    if pulse.enough_s is not None:
        yield too_few(pulse.enough_s)


def too_few(enough_s: float) -> str:
    """Says that operations are too few for the plan's margin, and the seconds that would do."""
    return f"too few operations for the plan's margin: `seconds = {math.ceil(enough_s):,}` would do"


def verdict(pulse: Pulse) -> str:
    """Whether the target was held so far, and by how much it was missed."""
    assert pulse.target is not None and pulse.achieved is not None
    so_far = f"({pulse.achieved:,.0f} so far)"
    if pulse.held is None:
        return so_far
    missing = 1 - pulse.achieved / pulse.target
    return f"held {so_far}" if pulse.held else f"missed by {100 * missing:.0f} % {so_far}"


def milliseconds(microseconds: float) -> str:
    """A response time in three digits: `0.45 ms`, `12.3 ms`, `1,230 ms`."""
    value = microseconds / 1e3
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} ms"
