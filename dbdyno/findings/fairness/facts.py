"""How evenly the clients of a role were served, and the seconds in which it all but stood still.

The columns of finish times are those that Mark Callaghan's tables of fairness have: first and last
client to finish, their difference, and that divided by the first's time. What shows unfairness in
steps bound by time as well is Jain's index of the clients' rates (Jain, Chiu, Hawe: A Quantitative
Measure of Fairness and Discrimination, DEC-TR-301, 1984).
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from dbdyno.model import StepComparison
from dbdyno.model.facts import Facts, says


@dataclass(frozen=True, kw_only=True)
class ClientWork:
    """What a client of a role did in the window of a step."""

    client: Annotated[int, says("the client's number, from 0")]
    count: Annotated[int, says("count in the window")]
    per_s: Annotated[float, says("count per second, until the client's own end", "1/s")]
    finish_s: Annotated[
        float | None, says("the client's end; null in a step bound by time", "s")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Fairness:
    """How evenly the clients of a role were served."""

    role: Annotated[str, says("the role's name")]
    kind: Annotated[str, says("its kind: insert, delete, query or other")]
    unit: Annotated[Literal["rows", "operations"], says("the unit counted: rows or operations")]
    jain: Annotated[float | None, says("Jain's index of the role's rates: 1 if all are equal")]
    clients: tuple[ClientWork, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The count of each client."""
        return tuple(client.count for client in self.clients)

    @property
    def rates(self) -> tuple[float, ...]:
        """The rate of each client, per second."""
        return tuple(client.per_s for client in self.clients)

    @property
    def finish_s(self) -> tuple[float, ...]:
        """When each client ended, since the start; empty for a step bound by time."""
        return tuple(each.finish_s for each in self.clients if each.finish_s is not None)

    @property
    def min_s(self) -> float | None:
        """When the first client ended; None for a step bound by time."""
        return min(self.finish_s, default=None)

    @property
    def max_s(self) -> float | None:
        """When the last client ended, likewise."""
        return max(self.finish_s, default=None)

    @property
    def diff_s(self) -> float | None:
        """How much later the last ended than the first, likewise."""
        return max(self.finish_s) - min(self.finish_s) if self.finish_s else None

    @property
    def pct(self) -> float | None:
        """That divided by the first one's time, in percent, as published."""
        diff_s, first_s = self.diff_s, self.min_s
        return 100.0 * diff_s / first_s if diff_s is not None and first_s else None


@dataclass(frozen=True, kw_only=True)
class Stalls:
    """The seconds in which a role all but stood still."""

    role: Annotated[str, says("the role's name")]
    kind: Annotated[str, says("its kind: insert, delete, query or other")]
    median: Annotated[float, says("the rate of its median whole second", "1/s")]
    seconds: Annotated[int, says("whole seconds of the window", "s")]
    stalled: Annotated[int, says("of these, with less than 10 % of the median", "s")]
    longest_s: Annotated[int, says("the longest run of such seconds", "s")]


@dataclass(frozen=True, kw_only=True)
class FairnessFacts(Facts):
    """How a step served the clients of its roles."""

    fairness: Annotated[
        tuple[Fairness, ...], says("a client of a role that has several, in a step's window")
    ] = ()
    stalls: Annotated[tuple[Stalls, ...], says("a role's stalled seconds in a step's window")] = ()

    def of(self, role: str | None) -> Fairness | None:
        """The fairness among the clients of a role; None where it has no several."""
        return next((fair for fair in self.fairness if fair.role == role), None)

    def stalls_of(self, role: str | None) -> Stalls | None:
        """The stalls of a role; None where its seconds cannot tell."""
        return next((stalls for stalls in self.stalls if stalls.role == role), None)


def never_stalled(step: StepComparison) -> bool:
    """Whether stalls were looked for, and there were none in any block of any arm."""
    counted = [
        stalls for facts in step.each(FairnessFacts) for stalls in facts.stalls if stalls.seconds
    ]
    return bool(counted) and not any(stalls.stalled for stalls in counted)
