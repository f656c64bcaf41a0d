"""One step of several arms in turns, of a second or so each.

Everything that asks a server anything is done on all arms before the first turn or after the last.
In between an arm's generator goes on, is left alone for its turn, pauses and is waited for, then
the next. Counters are read at both ends of each turn and of each wait (docs/results.md,
host.jsonl).
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Self

from dbdyno.model import events
from dbdyno.model.error import ServerError
from dbdyno.model.step_files import StepDone
from dbdyno.run import step
from dbdyno.run.driver.inbox import Inbox
from dbdyno.run.measurement import Measurement, StepFailed
from dbdyno.run.progress import Pulse
from dbdyno.run.step import Load

SECOND_NS = 1_000_000_000

Show = Callable[[Pulse, str], None]
"""Gets how the step does, and of which arm."""


class Player:
    """One arm in a step of turns; a context manager: its generator is gone afterwards.

    If the arm fails, failed.json is written, `found` is the failure, and the arm takes no more
    part.
    """

    def __init__(self, measurement: Measurement, show: Show) -> None:
        self.arm, self.server = measurement.bench.arm, measurement.bench.server
        self.found: StepDone | StepFailed | None = None  # done.json once it has ended well
        self.turns = 0
        self._measurement = measurement
        self._settle_ns = round(measurement.step.job.settle_s * SECOND_NS)
        self._show = show
        self._stack = ExitStack()
        self._load: Load
        self._inbox: Inbox
        self._open = False  # whether the window is
        self._turn_ns = 0
        self._end_ns = 0  # of the turn that goes on

    def __enter__(self) -> Self:
        self._measurement.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._stack.close()
        finally:
            self._measurement.__exit__()

    def attempt(self, what: Callable[[], None]) -> None:
        """Does a part of the step; a failure is a result. An arm that has failed is left out."""
        if isinstance(self.found, StepFailed):
            return
        try:
            what()
        except (StepFailed, ServerError) as error:
            self._stack.close()
            self.found = self._measurement.failed(error)

    # --- The parts, in their order ---

    def before(self) -> None:
        """Makes the arm ready and reads its state."""
        self._measurement.before(each_second=False)

    def connect(self) -> None:
        """Starts the generator and waits until it could go."""
        self._load = self._stack.enter_context(Load(self._measurement))
        self._inbox = self._stack.enter_context(Inbox(self._load.generator))
        self._wait_for(events.ReadyEvent)

    def next_turn(self, turn_ns: int) -> None:
        """Reads what the server did while it waited, then lets the load run for so long, or to
        its end.
        """
        if self._load.over:
            return
        if self._open:
            self._read("resume", None)
        self.turns += 1
        self._turn_ns = turn_ns
        begun_ns = self._go_on()
        self._end_ns = begun_ns + turn_ns
        self._run(begun_ns)
        if not self._load.closed:
            self._load.generator.pause()
            event = self._wait_for(events.PausedEvent)
            if event is not None and self._open:
                self._read("pause", event.mono_ns)
        if self._load.closed:
            self._wait_for(events.DoneEvent)
            self._stack.close()  # its process has gone before the next arm's turn begins

    def after(self) -> None:
        """Reads the state and ends the step; StepFailed where the load did not end well."""
        self._load.end(self._measurement.done)
        self._measurement.took_turns(self.turns)
        self.found = self._measurement.after()

    @property
    def playing(self) -> bool:
        """Whether there are further turns to take, once it is connected."""
        return not isinstance(self.found, StepFailed) and not self._load.over

    # --- A turn ---

    def _go_on(self) -> int:
        """Starts the load, or resumes it; when counting begins in this turn, in ns."""
        if self.turns == 1:
            self._load.generator.go()
            started = self._wait_for(events.StartedEvent)
            return started.mono_ns if started else time.monotonic_ns()
        self._load.generator.resume()
        resumed = self._wait_for(events.ResumedEvent)
        if resumed is None:
            return time.monotonic_ns()
        settled_ns = resumed.mono_ns + self._settle_ns
        self._follow(settled_ns)
        if self._open:
            self._read("settled", settled_ns)
        return settled_ns

    def _run(self, begun_ns: int) -> None:
        """Follows the load until the turn is over, with a reading each second of a long one."""
        second_ns = begun_ns + SECOND_NS
        while not self._load.closed and time.monotonic_ns() < self._end_ns:
            if second_ns + SECOND_NS // 2 < self._end_ns:
                self._follow(second_ns)
                if self._open:
                    self._read("second", None)
                second_ns += SECOND_NS
            else:
                self._follow(self._end_ns)

    def _follow(self, until_ns: int) -> None:
        """Takes the events up to a moment, or the window's close."""
        while not self._load.closed:
            event = self._inbox.next(until_ns)
            if event is None:
                return
            self._take(event)

    def _wait_for(self, form: type[events.EventOf]) -> events.EventOf | None:
        """Takes the events up to this one; None where the generator ends before it."""
        while not self._load.over:
            event = self._inbox.next()
            assert event is not None
            self._take(event)
            if isinstance(event, form):
                return event
        return None

    def _take(self, event: events.AnyEvent) -> None:
        if isinstance(event, events.WindowOpen):
            # The turn in which warm-up ends goes on for a whole one: none is cut in two.
            self._open, self._end_ns = True, event.mono_ns + self._turn_ns
        pulse = self._load.take(event)
        if pulse is not None:
            self._show(pulse, self.arm)
        if isinstance(event, events.WindowClose):
            self._open = False

    def _read(self, edge: str, event_mono_ns: int | None) -> None:
        self._measurement.sampler.read(edge, event_mono_ns)


def play(
    players: Sequence[Player], *, turn_s: float, order: Callable[[int], Iterable[str]]
) -> None:
    """Takes all arms through the step; afterwards each player's `found` says how it ended.

    `order`: the arms that take their turn of a number (from 1). Raises GeneratorError where the lab
    failed.
    """
    with ExitStack() as stack:
        for player in players:
            stack.enter_context(player)
            player.attempt(player.before)
        for player in players:
            player.attempt(player.connect)
        by_name = {player.arm: player for player in players}
        number = 0
        while any(player.playing for player in players):
            number += 1
            for name in order(number):
                if name in by_name and by_name[name].playing:
                    player = by_name[name]
                    player.attempt(partial(player.next_turn, round(turn_s * SECOND_NS)))
        step.wait_for_statistics(player.server for player in players)
        for player in players:
            player.attempt(player.after)
