"""A step of two arms at once, each on cores of its own, which they swap at half time.

Both loads begin on one signal, pause at half time, and go on when each arm has the other's cores:
so what two sets of cores differ by cancels, and so does whatever slows the whole machine. In every
third block each arm then has a solo turn, by which analysis sees what company does to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

from msgspec import structs

from dbdyno.host import core_sets
from dbdyno.host.core_sets import CoreSet
from dbdyno.model import Step
from dbdyno.model.events import AnyEvent, Hello
from dbdyno.model.step import SOLO
from dbdyno.model.step_files import Cores, Halves
from dbdyno.plan.duet import SECONDS_MIN
from dbdyno.run import step as steps
from dbdyno.run.measurement import Measurement
from dbdyno.run.turns import SECOND_NS, Player, Show

SOLO_EVERY = 3
"""Blocks; the third, the sixth and so on have solo turns."""
SOLO_SHARE = 0.5
"""How long a solo turn's window is, by the step's."""


class Partner(Player):
    """One arm of a duet, which can be put on other cores between its halves."""

    def __init__(self, measurement: Measurement, show: Show) -> None:
        super().__init__(measurement, show)
        self.cores: list[CoreSet] = []  # of the halves so far
        self._warmup_ns = round(measurement.step.job.stop.warmup_s * SECOND_NS)
        self._generator_pid = 0

    def put(self, cores: CoreSet) -> None:
        """Moves the arm's server and generator, each with all its threads. Raises HostError."""
        if not self.playing:
            return
        pid = None if self.server.made is None else self.server.made.postmaster_pid
        assert pid is not None, "a duet is of servers that run here"
        core_sets.move(pid, cores.server)
        core_sets.move(self._generator_pid, cores.generator)
        self.cores.append(cores)

    def half(self) -> None:
        """Runs the first half of the window, then what is left of it."""
        window_s = self._measurement.step.job.stop.seconds
        assert window_s is not None, "a step of a duet is timed"
        self.turn(round(window_s * SECOND_NS) if self.turns else int(window_s // 2) * SECOND_NS)

    def abandon(self) -> None:
        """Tells the generator that nobody listens any more, so that a turn that goes on ends."""
        if self.playing:
            self._load.generator.hang_up()

    def after(self) -> None:
        """Ends the step, and says on which cores its halves were."""
        halves = [
            Cores(server=core_sets.listed(core.server), generator=core_sets.listed(core.generator))
            for core in self.cores
        ]
        bench = self._measurement.bench
        assert bench.turns is not None
        turns = structs.replace(bench.turns, duet=Halves(halves=halves))
        self._measurement.bench = replace(bench, turns=turns)
        super().after()

    def _go_on(self) -> int:
        """As any player; the first half begins when the warm-up is over."""
        begun_ns = super()._go_on()
        return begun_ns + (self._warmup_ns if self.turns == 1 else 0)

    def _take(self, event: AnyEvent) -> None:
        if isinstance(event, Hello) and event.pid is not None:
            self._generator_pid = event.pid
        super()._take(event)


def play(partners: Sequence[Partner], sets: tuple[CoreSet, CoreSet]) -> None:
    """Takes two arms through the step at once, or one of them alone: on its own set, then on the
    other one.

    Afterwards each partner's `found` says how it ended. Raises GeneratorError where the lab failed,
    HostError where a process may not be moved.
    """
    with ExitStack() as stack:
        for partner in partners:
            stack.enter_context(partner)
            partner.attempt(partner.before)
        for partner in partners:
            partner.attempt(partner.connect)
        for places in (sets, sets[::-1]):
            playing = [partner for partner in partners if partner.playing]
            for partner, cores in zip(partners, places, strict=False):
                partner.put(cores)
            at_once(playing)
        steps.wait_for_statistics(partner.server for partner in partners)
        for partner in partners:
            partner.attempt(partner.after)


def at_once(partners: Sequence[Partner]) -> None:
    """Each has its half, all at the same time. If the lab fails in one, all end."""
    with ThreadPoolExecutor(max_workers=len(partners) or 1) as pool:
        halves = [pool.submit(partner.attempt, partner.half) for partner in partners]
        try:
            for half in halves:
                half.result()
        except BaseException:
            for partner in partners:
                partner.abandon()
            raise


def has_solos(block: int) -> bool:
    """Whether the arms of this block have solo turns."""
    return block % SOLO_EVERY == 0


def solo(step: Step) -> Step:
    """The step as an arm takes it alone: shorter, and with a folder of its own."""
    stop = step.job.stop
    assert stop.seconds is not None, "a step of a duet is timed"
    seconds = max(SECONDS_MIN, stop.seconds * SOLO_SHARE)
    return replace(
        step,
        name=step.name + SOLO,
        job=structs.replace(step.job, stop=structs.replace(stop, seconds=seconds)),
        pad_to_s=None,
        solo=True,
        expected_s=float(seconds + stop.warmup_s),
    )
