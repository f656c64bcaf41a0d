"""What no client can do without: bare loops by epoll, by io_uring, by threads, on one server."""

from __future__ import annotations

from collections.abc import Iterator

from bench import contenders, point, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import Contender, steady

CONNECTIONS = (1, 2, 8, 64, 512)


def measure(bench: Bench) -> Iterator[Figure]:
    """The other bare loops, and the generator, beside the one by epoll."""
    with server.running() as running:
        server.make_accounts(running, point.SCALE)
        address = server.address_of(running)

        def bare(connections: int, way: str) -> Contender:
            loop = point.bare_loop(address, point.ACCOUNT, connections, way)
            return steady(server.observed(running, loop))

        for connections in CONNECTIONS:
            generator = point.generator(bench, address, point.ACCOUNT, connections)
            ways = [way for way in contenders.WAYS if way != contenders.EPOLL]
            others = {way: bare(connections, way) for way in ways}
            others["ours"] = steady(server.observed(running, generator))
            for name, one in others.items():
                subject = Subject(measurement=name, connections=connections)
                yield from compare(bench, subject, one, bare(connections, contenders.EPOLL))
