"""The metrics by which steps are judged beside their headline, and those that costs add up to."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from dbdyno.model.metric import less_is_better

CPU = "cpu_per_op"
"""Primary beside a step's headline: on a machine that others use it is the sharper witness."""
SESSIONS_CPU = "server_cpu_per_op"
"""The same without helpers: that of sessions alone, a part of their time."""
CONNECTIONS_CPU = "connections_cpu_per_op"
"""That of all connections: primary where a program makes the load and does not tell which of them
are its own."""
UNDISTURBED = "undisturbed_us"
"""Primary in place of CPU where a step is of its domain: on any machine the sharpest witness."""
TAIL = "service_p999_us"
"""Asked beside undisturbed time, which does not see what only some operations lose."""
TIME = "connection_us_per_op"
"""Time of connections by operations: what the costs in microseconds that are parts of it add to."""
REMAINDER = "unaccounted_us_per_op"
"""The part of that time without an account."""
SAMPLED = (
    *(f"wait_{wait}_us_per_op" for wait in ("io", "lwlock", "lock", "ipc", "other")),
    "client_us_per_op",
)
"""The parts that only samples tell."""
LEDGER = (SESSIONS_CPU, "runnable_us_per_op", *SAMPLED, REMAINDER, TIME)
"""All parts, and their whole."""


class MetricHolder(Protocol):
    """A run, or an arm in a step."""

    @property
    def metrics(self) -> Mapping[str, float | None]:
        """By name."""


def cpu_of(compared: Iterable[MetricHolder]) -> str:
    """The primary CPU metric of what is compared: CPU, but where a program makes the load."""
    programs = any(step.metrics.get(CONNECTIONS_CPU) is not None for step in compared)
    return CONNECTIONS_CPU if programs else CPU


def second_of(compared: Iterable[MetricHolder]) -> str:
    """What judges beside the headline: undisturbed time where there is any, else CPU."""
    every = list(compared)
    within = any(step.metrics.get(UNDISTURBED) is not None for step in every)
    return UNDISTURBED if within else cpu_of(every)


def is_second(name: str) -> bool:
    """Whether a primary metric judges beside the headline; else it is the headline's."""
    return name == UNDISTURBED or is_cpu(name)


def is_cpu(name: str) -> bool:
    """Whether a primary metric is one of CPU."""
    return name in (CPU, CONNECTIONS_CPU)


def called(name: str) -> str:
    """A primary metric's name in sentences: CPU, undisturbed time, time or throughput."""
    if is_cpu(name):
        return "CPU"
    if name == UNDISTURBED:
        return "undisturbed time"
    return "time" if less_is_better(name) else "throughput"
