"""golden.json of a run (docs/results.md): the golden copy that the run began from, or made."""

from msgspec import Struct

RESTORED = "restore"
"""The step that makes data from a dump."""


class RestoreSummary(Struct, frozen=True, kw_only=True):
    """What a restore told at its end; older ones say less."""

    lacks: tuple[str, ...] = ()  # a sentence for each thing of the dump that was left out
    dumped: str | None = None  # when the dump was made, in ISO 8601; None: not known


class GoldenUse(Struct, frozen=True, kw_only=True):
    """How a run of a workload came to the state after a step that is kept."""

    began: bool  # from a copy; else it went through all steps and made the copy
    fill: int = 1
    workload: str
    step: str  # after which the state is kept
    step_ordinal: int
    key: str  # of the copy
    made_unix_ns: int
    bytes: int | None = None
    report: RestoreSummary | None = None  # None: data of no dump, or an older copy
    restarted: bool = False  # on the copy that an earlier block left, which nothing has written to
