"""The files of a step: step.json says what it is, done.json or failed.json how it ended.

docs/results.md has their keys. Older results lack the keys that have a default; keys that nothing
here names are passed over.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from dbdyno.model.events import PROTOCOL, Totals
from dbdyno.model.find import SearchWindow
from dbdyno.model.step import Headline, Sla


class StepRecord(Struct, frozen=True, kw_only=True):
    """What judging needs of step.json, which has all of a `Step` but its job."""

    workload: str
    ordinal: int
    name: str
    measured: bool
    headline: Headline | None = None
    sla: Sla | None = None
    roles: Mapping[str, str] = {}  # role -> kind in the published tables
    group: str | None = None
    probed: SearchWindow | None = None
    arm: str = ""
    block: int = 0
    remote: bool = False  # whether its server runs on a host that is not the lab's
    protocol: int = PROTOCOL


# --- Parts of done.json ------------------------------------------------------------------------


class Link(Struct, frozen=True, kw_only=True):
    """The network between the host of a generator and the server; None: not known."""

    round_trip_us: float | None  # to the server's port, before the load; the shortest of some
    offset_us: float | None  # its CLOCK_MONOTONIC less that of the server's host
    offset_bound_us: float | None  # how far wrong that may be
    sent_bytes: int | None  # by its interface, from the load's beginning to the window's end
    received_bytes: int | None


class DeviceReading(Struct, frozen=True, kw_only=True):
    """What a device did with a file: rates of writing and reading it in sequence."""

    bytes: int
    write_mbps: float
    read_mbps: float
    direct: bool = True  # past the page cache


class CanaryReading(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The times of fixed work on the idle machine (contract/README.md)."""

    cpu_us: float
    memory_ns: float
    fsync_us_p50: float
    fsync_us_max: float
    device: DeviceReading | None = None  # where it was asked for


class Canary(Struct, kw_only=True, omit_defaults=True):
    """The canary before and after a step; None where the lab does not see the arm's data."""

    before: CanaryReading | None = None
    after: CanaryReading | None = None
    device: DeviceReading | None = None  # before this step, or before an earlier one of the run


class LogEvent(Struct, frozen=True, kw_only=True):
    """A message of the server's log."""

    unix_ms: float
    name: str = field(name="kind")  # as docs/results.md has it
    text: str
    duration_s: float | None = None  # how long what has ended took


class StepCheck(Struct, frozen=True, kw_only=True):
    """A fact that a step has to leave as expected: rows of a role, the answer to an invariant."""

    what: str
    expected: int | float | str | None
    actual: int | float | str | None
    ok: bool


class HeadlineWork(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The work of the headline's role in the window."""

    seconds: float
    operations: int
    rows: int
    statements: int
    named: int | None = None  # of the operations those that the headline names

    def amount(self, count: str) -> int:
        """The amount of what a headline counts: "operations", "rows" or "statements"."""
        named = self.operations if self.named is None else self.named
        amounts = {"operations": named, "rows": self.rows, "statements": self.statements}
        return amounts[count]


class DeviceWait(Struct, frozen=True, kw_only=True):
    """A wait until what was written is on the disk and the device has nothing to do."""

    sync_s: float
    quiet_s: float
    reason: str | None  # why it ended before there was quiet; None: there was


class Resident(Struct, frozen=True, kw_only=True):
    """How much of a relation is in the server's own cache."""

    name: str
    bytes: int
    resident_bytes: int


class CacheWarming(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a server's cache was filled before a step."""

    how: str  # "prewarm" or "scan"
    seconds: float
    relations: int
    bytes: int
    left_out: Sequence[str]
    resident: Sequence[Resident] | None = None  # of the relations that a step names


class Turns(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a step was interleaved with the same step of other arms."""

    order: Sequence[str]  # of the arms, for their first turns
    # The length of a turn; None: one turn was the whole step.
    turn_s: float | None = field(default=None, name="slice_s")
    turns: int | None = field(default=None, name="rounds")  # that this arm took


# --- done.json, failed.json --------------------------------------------------------------------


class ToldMetric(Struct, frozen=True, kw_only=True):
    """A value that a step tells by itself, as its workload says."""

    value: int | float | str | None  # None: it was not told
    unit: str
    title: str
    better: Literal["more", "less"] | None  # which way is; None: neither


class StepDone(Struct, kw_only=True, omit_defaults=True):
    """done.json of a step that ended well; filled as the step goes on, written at its end."""

    status: Literal["ok"]
    window_ns: int = 0
    counted: HeadlineWork | None = None
    totals: Mapping[str, Totals] = {}  # by role
    checks: Sequence[StepCheck] = ()
    network: Mapping[str, Link] = {}  # by host, where others made the load
    catch_up_s: float | None = None  # until standbys had replayed it
    warm: CacheWarming | None = None
    checkpoint_s: float | None = None  # of the checkpoint before the step
    rest: DeviceWait | None = None  # after that checkpoint
    canary: Canary | None = None
    warnings: list[str] = []
    work: int | float | None = None  # the answer to the headline's `work_query`
    metrics: Mapping[str, ToldMetric] = {}  # that the step tells by itself, by name
    waited_s: float | None = None  # for the pad
    switch: DeviceWait | None = None  # before the arm's server started
    turns: Turns | None = None
    log_events: Sequence[LogEvent] = ()
    sampler_cpu_us: float | None = None


class StepFailure(Struct, frozen=True, kw_only=True):
    """failed.json of a step that did not end well, or was skipped."""

    status: str  # "failed" or "skipped"
    reason: str | None
    log_tail: Sequence[str] = ()
    log_events: Sequence[LogEvent] = ()
