"""count.json of a counted step: the work that its server did for an operation (docs/results.md)."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dbdyno.model.count_storage import NOT_TOLD, StorageWork
from dbdyno.model.error import ResultError
from dbdyno.model.work import MARGIN


class FunctionWork(Struct, frozen=True, kw_only=True):
    """The work of one function in an operation."""

    function: str
    binary: str  # the last name of its program or library
    instructions: float  # by itself
    with_callees: float  # instructions, with all that it calls
    calls: float
    atomics: float = 0.0
    system_calls: float = 0.0


class Count(Struct, frozen=True, kw_only=True):
    """The work of one operation in a server's user space: sums of its functions.

    Functions in `left_out`, whose work depends on real time, are in no figure.
    """

    tool: str  # "valgrind 3.19.0"
    architecture: str = ""  # of the host's processor, as uname says it; "": not told
    role: str
    warmup: int  # operations before the window
    operations: int  # in the window
    left_out: tuple[str, ...]
    instructions: float  # of the session and its parallel workers
    atomics: float  # bus-locked instructions of the session
    system_calls: float  # of the session
    workers: float = 0.0  # instructions of parallel workers alone
    mark: float  # instructions of a mark, already taken off
    writes: bool = False  # whether the step does
    margin: float = MARGIN  # below it, two counts are the same work
    storage: StorageWork = NOT_TOLD
    # By kind the instructions of background processes, in the whole step, warm-up included, by its
    # operations; None: not told.
    background: Mapping[str, float] | None = None
    functions: tuple[FunctionWork, ...]


def counter_of(counts: Sequence[Count]) -> str:
    """What has counted, such as `valgrind 3.19.0 on x86_64`.

    Raises ResultError where architectures differ: other instructions do the same there.
    """
    architectures = sorted({count.architecture for count in counts if count.architecture})
    if len(architectures) > 1:
        raise ResultError(
            f"these counts are of {' and of '.join(architectures)}, and do not compare: count all "
            "on hosts of one architecture"
        )
    return " on ".join((counts[0].tool, *architectures))
