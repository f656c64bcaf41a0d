"""What no client can do without: bare loops by epoll, by io_uring, by threads, on one server.

On PostgreSQL, then on MySQL, each with the same table. What a PostgreSQL took is the CPU of its
sessions; a MySQL has threads, and what its process took is that of all of them.
"""

from collections.abc import Callable, Iterator, Mapping

from bench import arms, mysql, point, server
from bench.compare import Bench, Subject, compare
from bench.figure import Figure
from bench.pairs import BenchArm, steady
from dbdyno.engine import Build

CONNECTIONS = (1, 2, 8, 64, 512)
OURS = "ours"
POSTGRES = {"uring": "uring", "threads": "threads", OURS: OURS}
MYSQL = {"uring": "muring", "threads": "mthread", OURS: "mours"}
"""What the table calls the ways that are held against the one by epoll, and the generator."""
ENGINE = "mysql"


def measure(bench: Bench) -> Iterator[Figure]:
    """The other bare loops, and the generator, beside the one by epoll."""
    yield from on_postgres(bench)
    here = mysql.newest(ENGINE)
    if here is None:
        yield Figure(
            measurement=ENGINE,
            beside=arms.WAYS[arms.EPOLL],
            what="CPU",
            missing=mysql.missing(ENGINE),
        )
    else:
        yield from on_mysql(bench, here)


def on_postgres(bench: Bench) -> Iterator[Figure]:
    """All of them on the newest PostgreSQL."""
    with server.running() as running:
        server.make_accounts(running, point.SCALE)
        address = server.address_of(running)

        def client(connections: int, way: str) -> BenchArm:
            if way == OURS:
                one = point.generator(bench, address, point.ACCOUNT, connections)
            else:
                one = point.bare_loop(address, point.ACCOUNT, connections, way)
            return steady(server.observed(running, one))

        yield from beside_epoll(bench, POSTGRES, client)


def on_mysql(bench: Bench, here: Build) -> Iterator[Figure]:
    """All of them on a MySQL."""
    with mysql.running(ENGINE, here) as running:
        mysql.make_accounts(running, point.SCALE)
        address = server.address_of(running)

        def client(connections: int, way: str) -> BenchArm:
            if way == OURS:
                one = mysql.generator(bench, ENGINE, address, connections, point.ACCOUNT)
            else:
                one = point.bare_loop(address, point.ACCOUNT, connections, way, ENGINE)
            return steady(server.observed(running, one, server.process_s))

        yield from beside_epoll(bench, MYSQL, client)


def beside_epoll(
    bench: Bench, names: Mapping[str, str], client: Callable[[int, str], BenchArm]
) -> Iterator[Figure]:
    """Each way of `names` beside epoll at rising connections; `client` makes one of a way."""
    for connections in CONNECTIONS:
        for way, name in names.items():
            subject = Subject(measurement=name, connections=connections)
            one, epoll = (client(connections, each) for each in (way, arms.EPOLL))
            yield from compare(bench, subject, one, epoll)
