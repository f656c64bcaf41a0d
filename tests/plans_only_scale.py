"""How long plans without data take, and how much room, of a large schema (docs/query-plans.md).

    python tests/plans_only_scale.py 13 18

makes a server of the first version with 300 tables of a few rows, 1,200 indexes and 300 queries,
takes its statistics, and calls every table 20,000 times as large. Then the lab plans on both
versions, once with these sizes and once with one table of 1 TB. Takes two minutes.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from msgspec import structs

import own_lab
from dbdyno.engine import Place
from dbdyno.engine.planner_lab import PREFIX
from dbdyno.host import place as places
from dbdyno.model import Arm
from dbdyno.model.planner_statistics import FILE, RelationSize, ServerStatistics
from dbdyno.run import plans_only
from plans_only_trial import Source, dumped, request_of, source, source_arm, version

TABLES, ROWS, TIMES = 300, 500, 20_000
TERABYTE = 1 << 40
BLOCK_BYTES = 8192
LARGEST = "public.t0"
TABLE = """CREATE TABLE t{n} (id int PRIMARY KEY, parent int NOT NULL, kind int NOT NULL,
    made timestamptz NOT NULL, name text NOT NULL, price numeric(10, 2), note text, state text);
INSERT INTO t{n} SELECT i, i % 50, i % 7, timestamptz '2026-01-01' + i * interval '1 hour',
    'name ' || i, i * 1.5, repeat('x', i % 40), (ARRAY['new', 'sent', 'paid'])[1 + i % 3]
    FROM generate_series(1, {rows}) i;
CREATE INDEX t{n}_parent ON t{n} (parent, made DESC);
CREATE INDEX t{n}_made ON t{n} (made);
CREATE INDEX t{n}_name ON t{n} (lower(name))"""
QUERIES = (
    "SELECT * FROM t{n} WHERE parent = 7 ORDER BY made DESC LIMIT 10",
    "SELECT kind, count(*), sum(price) FROM t{n} WHERE made > '2026-01-10' GROUP BY kind",
    "SELECT a.name, b.name FROM t{n} a JOIN t{m} b ON b.parent = a.id WHERE a.kind = 3",
    "SELECT a.id, count(*) FROM t{n} a JOIN t{m} b ON b.parent = a.id JOIN t{o} c "
    "ON c.parent = b.id WHERE lower(a.name) = 'name 9' AND c.state = 'new' GROUP BY a.id",
)


def schema() -> Iterator[str]:
    """The statements that make and fill the tables."""
    for number in range(TABLES):
        yield from TABLE.format(n=number, rows=ROWS).split(";\n")


def queries() -> list[str]:
    """A query of each table."""
    return [
        QUERIES[n % len(QUERIES)].format(n=n, m=(n + 1) % TABLES, o=(n + 2) % TABLES)
        for n in range(TABLES)
    ]


def enlarged(statistics: ServerStatistics, largest_bytes: int = 0) -> ServerStatistics:
    """The statistics with tables and indexes that are so many times as large."""
    return structs.replace(
        statistics, relations=tuple(_enlarged(each, largest_bytes) for each in statistics.relations)
    )


def _enlarged(relation: RelationSize, largest_bytes: int) -> RelationSize:
    times = TIMES
    if largest_bytes and relation.name == LARGEST:
        times = largest_bytes // BLOCK_BYTES // relation.blocks
    return structs.replace(
        relation,
        pages=relation.pages * times,
        blocks=relation.blocks * times,
        rows=relation.rows * times,
        height=None if relation.height is None else 2,
    )


@dataclass
class Room:
    """What the lab's servers take, the largest of all looks."""

    taken_bytes: int = 0
    apparent_bytes: int = 0
    said: list[str] = field(default_factory=list)

    def look(self, line: str) -> None:
        """Looks at all servers when another is ready."""
        self.said.append(line)
        folders = places.data_root().glob(f"{PREFIX}*")
        files = chain.from_iterable(folder.rglob("*") for folder in folders)
        facts = [path.lstat() for path in files]
        self.taken_bytes = max(self.taken_bytes, sum(fact.st_blocks * 512 for fact in facts))
        self.apparent_bytes = max(self.apparent_bytes, sum(fact.st_size for fact in facts))


def lines(of: Source, arms: list[Arm], dump: Path) -> Iterator[str]:
    """What the lab takes, a line for each size of the largest table."""
    for words, statistics in (
        ("as large as all", enlarged(of.statistics)),
        ("of 1 TB", enlarged(of.statistics, TERABYTE)),
    ):
        room = Room()
        request = request_of(of, dump, arms, statistics=statistics)
        record = plans_only.planned(replace(request, say=room.look))
        planned = {
            arm.name: sum(tree.root is not None for tree in arm.trees.trees) for arm in record.arms
        }
        yield (
            f"largest table {words}: {record.seconds} s, {room.taken_bytes / 1e6:.0f} MB of disk "
            f"for {room.apparent_bytes / 1e12:.1f} TB; {'; '.join(room.said)}; plans: {planned}"
        )


def main() -> None:
    """The trial on servers that it makes."""
    from server_place import a_place, started

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs=2)
    words = parser.parse_args()
    with ExitStack() as stack:
        place: Place = stack.enter_context(a_place())
        own_lab.take(place.data_root)
        server = stack.enter_context(started(source_arm(words.versions[0]), place))
        server.create_database("shop")
        server.execute(*schema(), "ANALYZE", database="shop")
        begun_s = time.monotonic()
        of = source(words.versions[0], server, place.data_root / "app", queries())
        taken_s = time.monotonic() - begun_s
        kept_bytes = (of.app / FILE).stat().st_size
        print(f"capture: {taken_s:.1f} s, {FILE} of {kept_bytes / 1e6:.1f} MB", flush=True)  # noqa: T201
        dump = dumped(of.address, place.data_root / "large.sql")
        for line in lines(of, [version(major) for major in words.versions], dump):
            print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
