"""The network between the hosts of generators and a step's server."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from dbdyno.model.facts import Facts, says

Way = Literal["sent", "received"]


@dataclass(frozen=True, kw_only=True)
class HostLink:
    """The network between the host of a generator and the server; None: not known."""

    host: Annotated[str, says("the host's name")]
    round_trip_us: Annotated[
        float | None, says("until a connection is up, before the load; the shortest", "µs")
    ]
    offset_us: Annotated[
        float | None, says("its monotonic clock less that of the server's host", "µs")
    ]
    offset_bound_us: Annotated[float | None, says("how far wrong the offset may be", "µs")]
    sent_bytes: Annotated[
        int | None, says("by its interface, from the load's begin to window's end", "bytes")
    ]
    received_bytes: Annotated[int | None, says("likewise", "bytes")]
    seconds: Annotated[float | None, says("in which the bytes were counted", "s")]
    operations: Annotated[int | None, says("of the headline's role in that time, all hosts")]


@dataclass(frozen=True, kw_only=True)
class NetworkFacts(Facts):
    """The network of a step whose load came from other hosts; without rows: it came from here."""

    network: Annotated[
        tuple[HostLink, ...],
        says(
            "a generator's host in a step whose load came from other hosts: its network to the "
            "server"
        ),
    ] = ()

    def per_operation(self, way: Way) -> float | None:
        """Bytes of all hosts for each operation; None where those of a host are not known."""
        return next((_per(self.network, way, link.operations) for link in self.network), None)

    def per_s(self, way: Way, host: str | None = None) -> float | None:
        """Bytes a second of a host, or of all of them."""
        links = [link for link in self.network if host in (None, link.host)]
        return next((_per(links, way, link.seconds) for link in links), None)


def _per(links: Iterable[HostLink], way: Way, amount: float | None) -> float | None:
    counts = [link.sent_bytes if way == "sent" else link.received_bytes for link in links]
    known = [count for count in counts if count is not None]
    return sum(known) / amount if len(known) == len(counts) and amount else None
