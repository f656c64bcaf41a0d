"""One build against itself: how often does a word call a difference that is none?

Forty runs of one build in each block give 780 pairs, each a comparison of two arms of which the
truth is known. So a rate of errors needs minutes, not hundreds of races.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from bench import arms, jobs, server
from bench.point import ACCOUNT, SCALE
from dbdyno.model import Address
from dbdyno.model.verdict import Aims
from trials import false_words
from trials.trial import Figures, Kept, Measure, Side, Trial

ARMS, BLOCKS, SECONDS, CONNECTIONS = 40, 4, 1, 2
NAMES = tuple(f"arm {number:02}" for number in range(1, ARMS + 1))
RATE, CPU = "per_s", "cpu_us"


@contextmanager
def opened() -> Iterator[Mapping[str, Measure]]:
    """One server, for all arms."""
    with server.running() as running:
        server.make_accounts(running, SCALE)
        address = server.address_of(running)
        yield {name: partial(measure, address) for name in NAMES}


def measure(address: Address, side: Side) -> Figures:
    """A run of the point query. Raises DynoError where it does not end well."""
    job = jobs.point(
        address, ACCOUNT.sql, key_max=ACCOUNT.rows, connections=CONNECTIONS, seconds=SECONDS
    )
    sample = arms.run_generator(side.generator, job).sample
    return {RATE: sample.per_s, CPU: sample.cpu_us}


def summary(runs: Sequence[Kept]) -> Iterator[str]:
    """The share of false words, by figure."""
    for figure in (RATE, CPU):
        values = false_words.by_arm(runs, figure)
        yield f"- {figure}: {false_words.words(values, Aims())}"


TRIAL = Trial(
    name="same",
    question="how often does a word call a difference between two runs of one build?",
    rounds=BLOCKS,
    minutes=5,
    rows=NAMES,
    columns=(),
    opened=opened,
    summary=summary,
    by_row=False,
)
