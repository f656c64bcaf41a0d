"""What sessions of a server did in a window, as samples have it (spec pgbench-cbc-ybio.md 4.8)."""

from dataclasses import dataclass
from typing import Annotated

from dbdyno.model.facts import Facts, says

IDLE = "idle"
"""The kind of a session that waits for its client; it is not active."""
IN_TRANSACTION = "idle in transaction"
KINDS = (
    "CPU",
    "IO",
    "LWLock",
    "Lock",
    "IPC",
    "BufferPin",  # to 18
    "Buffer",
    "Timeout",
    "Extension",
    "Client",
    IN_TRANSACTION,
)
"""The kinds of activity, in the stacking order of charts."""
SERIES = "waits."
"""How the names of a run's series of active sessions begin; the kind follows."""


def kind_place(kind: str) -> int:
    """A kind's place among KINDS; those that are not known share the last."""
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


@dataclass(frozen=True, kw_only=True)
class SessionLoad:
    """How many sessions did one thing on average over a window."""

    owner: Annotated[str, says("role:NAME, background:KIND, backend:other …")]
    kind: Annotated[str, says("CPU, a class of wait events, or idle: waiting for its client")]
    event: Annotated[str | None, says("the wait event; null on CPU and of idle ones")] = None
    statement: Annotated[
        str | None, says("its name in the job, else its short text; null: unknown")
    ] = None
    sessions: Annotated[float, says("sessions that did so, mean of the samples")]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """The samples of a window."""

    samples: Annotated[int, says("samples in the window")]
    asked_s: Annotated[float, says("the time between them that the plan asks for", "s")]
    interval_s: Annotated[float, says("the mean time between them", "s")]
    interval_s_max: Annotated[float, says("the longest time between them", "s")]
    sample_us: Annotated[float, says("mean time that a sample took", "µs")]
    lab_cpu_us: Annotated[float, says("dyno's CPU for sampling in the window", "µs")]
    server_cpu_us: Annotated[float | None, says("the server's CPU for it; null: unknown", "µs")] = (
        None
    )
    hidden: Annotated[
        float, says("sessions that the server does not show to the plan's user, mean likewise")
    ] = 0.0
    loads: tuple[SessionLoad, ...]


@dataclass(frozen=True, kw_only=True)
class WaitFacts(Facts):
    """The sampled activity of a step's sessions: one sampling, or none where nobody sampled."""

    waits: Annotated[
        tuple[Sampling, ...],
        says(
            "what sessions of an owner did, in samples of a step's window; only if the plan's "
            "`[observe]` asks for them"
        ),
    ] = ()

    @property
    def loads(self) -> tuple[SessionLoad, ...]:
        """The loads of its samples."""
        return tuple(load for sampling in self.waits for load in sampling.loads)
