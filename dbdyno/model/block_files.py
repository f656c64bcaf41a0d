"""The files of a block: order.json at its begin, done.json at its end, void.json where it is void.

docs/results.md has their keys. Older results lack those that have a default.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from dbdyno.model.looks import Looks
from dbdyno.model.verdict import Aims

StepNames = Mapping[str, tuple[str, ...]]
"""Names of steps, or of arms, by workload or sweep."""


class Order(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """order.json: what a block does, in which order, and what measures it."""

    block: int = 0
    order: tuple[str, ...]  # the arms
    seed: int = 0
    interleave: str = "run"
    steps: StepNames | None = None  # by workload, the only steps that it does; None: all
    # By workload and sweep its steps, in the order in which the block goes through them.
    sweeps: Mapping[str, StepNames] = {}
    # By workload, as the block goes through them, the arms; empty: all have the order above.
    passes: StepNames = {}
    host: str | None = None  # that measures all of it; None: that of host.json, or several
    dyno: str | None = None  # the version that measures
    aims: Aims | None = None  # of the plan as it began; None: an older version did not say
    looks: Looks | None = None  # of the result as it began; None: also of a block of a node
    started_unix_ns: int | None = None
    boot_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class BlockDuration:
    """How long a block took, by the lab's monotonic clock."""

    took_s: float  # from its begin to its end
    steps_s: Mapping[str, Mapping[str, float]]  # of it each step: by workload and step, all arms


class BlockDone(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """done.json of a block that is complete."""

    ended_unix_ns: int | None = None
    took_s: float | None = None
    steps_s: Mapping[str, Mapping[str, float]] = {}
    disturbed: tuple[str, ...] = ()  # what disturbed a block that counts all the same, in sentences
    sha256: Mapping[str, str] | None = None  # of all other files of the block, by name


class VoidReason(Struct, frozen=True):
    """void.json: why a block was set aside."""

    reason: str
    cause: str | None = None  # why it is done again by itself (CAUSES of run.void)
