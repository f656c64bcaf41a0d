"""What only one run of a step can have: when it was, and what its raw lines have by chance.

A clock that is read has nanoseconds that nobody chose, and a hundred response times together are
those of no other hundred. Single ones agree now and then, some in a row never do. Left out is what
the same run has several times, and times that were set, such as the end of a whole second.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise

import msgspec

from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import WindowTick
from dbdyno.findings.finding import StepFinding
from dbdyno.model.step_run import Imprint, ImprintFacts, Moment

SET_NS = 1_000
"""A time that was set, and not read, is a multiple of this."""
TIMES_IN_A_ROW = 3
OPERATIONS_MIN = 100
"""So many response times are a mark."""
MARKS_MAX = 128
"""Of each kind the least ones are kept: those of two runs with equal lines are the same."""
MARK_BYTES = 7  # msgspec's integers have 64 bits, with a sign


def of_step(evidence: Evidence) -> ImprintFacts:
    """The imprint of a step that ended well."""
    load = evidence.load
    ahead_ns = load.unix_minus_mono_ns
    begun, ended = (
        Moment(mono_ns=at_ns, unix_ns=None if ahead_ns is None else at_ns + ahead_ns)
        for at_ns in (load.stamps_ns[0], load.stamps_ns[-1])
    )
    return ImprintFacts(
        imprint=Imprint(
            begun=begun,
            ended=ended,
            times=_marks(_times(load.stamps_ns)),
            ticks=_marks(
                text
                for role in dict.fromkeys(tick.role for tick in load.ticks)
                for text in _seconds(load.of([role]))
            ),
        )
    )


FINDING = StepFinding(facts=ImprintFacts, of_step=of_step)


def _times(stamps_ns: Sequence[int]) -> Iterator[bytes]:
    """The times between events, some in a row, without those that were set."""
    times = [later - at for at, later in pairwise(stamps_ns) if (later - at) % SET_NS]
    for place in range(len(times) - TIMES_IN_A_ROW + 1):
        yield repr(times[place : place + TIMES_IN_A_ROW]).encode()


def _seconds(ticks: Sequence[WindowTick]) -> Iterator[bytes]:
    """What a role's seconds tell, as many at a time as have response times enough."""
    texts, operations = [], 0
    for tick in ticks:
        parts = tick.operations.values()
        operations += sum(part.count for part in parts if part.response or part.sums_us)
        texts.append(
            msgspec.json.encode([tick.clients, tick.operations, tick.lag, tick.queue, tick.cpu_us])
        )
        if operations >= OPERATIONS_MIN:
            yield b"".join(texts)
            texts, operations = [], 0


def _marks(texts: Iterable[bytes]) -> tuple[int, ...]:
    """A number for each text, without those that stand there several times."""
    counts = Counter(
        int.from_bytes(blake2b(text, digest_size=MARK_BYTES).digest()) for text in texts
    )
    return tuple(sorted(mark for mark, count in counts.items() if count == 1)[:MARKS_MAX])
