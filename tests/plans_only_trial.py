"""How often plans made without data are those of the server with the data (docs/query-plans.md).

    python tests/plans_only_trial.py --seed 5 --queries 1000 --size 200000 13 15 17 18

makes a server of each version with the shop of planned_shop.py, and asks it and labs without data
the same queries: as they are, under the last version by the statistics of each, by settings, and
with further indexes. Takes some 20 minutes; `test_plans_only_live.py` does a small part of it.
"""

import argparse
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

import own_lab
import planned_shop
from dbdyno import workload
from dbdyno.capture import folder
from dbdyno.capture.folder import Capture, CapturedQuery, CapturedServer
from dbdyno.capture.view import ViewedServer
from dbdyno.engine import LabServer, Place
from dbdyno.engine.planner_lab import IndexChanges
from dbdyno.engine.postgres import inquiry, statistics_import
from dbdyno.model import Address, Arm
from dbdyno.model.plan_tree import PlanNode, PlanTree
from dbdyno.model.planner_statistics import ServerStatistics
from dbdyno.run import plans_only, source_plans
from dbdyno.run.own_calls import calls
from dbdyno.run.plans_only import PlansRequest

SETTINGS = (
    {"random_page_cost": "1.1"},
    {"work_mem": "64MB"},
    {"effective_cache_size": "64MB"},
    {"enable_hashjoin": "off"},
)
MADE = (
    "CREATE INDEX made_1 ON orders (state, total)",
    "CREATE INDEX made_2 ON item (price)",
    "CREATE INDEX made_3 ON item (count, product)",
    "CREATE INDEX made_4 ON customer (score DESC)",
    "CREATE INDEX made_5 ON payment (amount)",
    "CREATE INDEX made_6 ON visit (page)",
    "CREATE INDEX made_7 ON place (zip)",
    "CREATE INDEX made_8 ON booking (room)",
    "CREATE INDEX made_9 ON product (weight)",
    "CREATE INDEX made_10 ON orders (total) WHERE state = 'sent'",
    "CREATE INDEX made_11 ON base (amount)",
    "CREATE INDEX made_12 ON customer (name)",
)
DROPPED = ("orders_created", "item_product", "visit_customer", "orders_customer")
WRITES = ("UPDATE", "DELETE", "INSERT")
Plans = Mapping[str, PlanNode | None]


@dataclass(frozen=True)
class Source:
    """A server with the data, and its application."""

    major: str
    server: LabServer
    app: Path
    statistics: ServerStatistics

    @property
    def address(self) -> Address:
        """Where it is asked."""
        address = self.server.address()
        assert address is not None
        return address


def loaded(server: LabServer, size: int) -> None:
    """Gives a server the shop with so many orders."""
    server.create_database("shop")
    script = planned_shop.SCHEMA + planned_shop.DATA.format(size=size) + planned_shop.INDEXES
    for statement in filter(str.strip, script.split(";\n")):
        server.execute(statement, database="shop")
    server.execute("REFRESH MATERIALIZED VIEW sales", "VACUUM ANALYZE", database="shop")


def application(app: Path, queries: Sequence[str]) -> None:
    """The queries as a captured folder, without a time of their own."""
    folder.write(
        app,
        Capture(
            source=CapturedServer(
                description="shop",
                engine="postgres",
                encoding="UTF8",
                locale="C.UTF-8",
                time_s=float(len(queries)),
                calls=len(queries),
            ),
            queries=[
                CapturedQuery(
                    name=f"q{number}", text=text, calls=1, time_s=1.0,
                    writes=text.startswith(WRITES),
                )
                for number, text in enumerate(queries)
            ],
        ),
    )  # fmt: skip


def source(major: str, server: LabServer, app: Path, queries: Sequence[str]) -> Source:
    """A loaded server with its statistics and its plans."""
    application(app, queries)
    address = server.address()
    assert address is not None
    kept = source_plans.keep(ViewedServer(f"pg{major}", address), "postgres", app, texts=True)
    return Source(major, server, app, kept)


def dumped(address: Address, file: Path) -> Path:
    """The schema as a dump of the distribution's pg_dump, which takes servers up to its own."""
    words = ["pg_dump", "-h", address.host, "-p", str(address.port), "-U", address.user]
    subprocess.run([*words, "--schema-only", "-f", str(file), "shop"], check=True)
    return file


def planned(
    of: Source,
    dump: Path,
    arms: Sequence[Arm],
    indexes: IndexChanges | None = None,
    statistics: ServerStatistics | None = None,
) -> list[Plans]:
    """By query the plans of each arm without data."""
    request = request_of(of, dump, arms, statistics=statistics)
    record = plans_only.planned(replace(request, indexes=indexes or IndexChanges()))
    return [roots(arm.trees.trees) for arm in record.arms]


def request_of(
    of: Source, dump: Path, arms: Sequence[Arm], statistics: ServerStatistics | None = None
) -> PlansRequest:
    """What a lab is asked."""
    return PlansRequest(
        folder=of.app,
        application=workload.captured(of.app),
        statistics=statistics or of.statistics,
        dump=dump,
        arms=arms,
        indexes=IndexChanges(),
        command="",
        race="",
        say=lambda line: None,
    )


def roots(trees: Sequence[PlanTree]) -> Plans:
    """By query the plan for its first values."""
    return {tree.query: tree.root for tree in trees if tree.moment == "first" and not tree.generic}


def asked(of: Source, database: str, settings: Mapping[str, str] | None = None) -> Plans:
    """By query the plan of the server with the data."""
    from dbdyno.model import engine

    traits, own = engine.of("postgres"), {}
    with inquiry.connected(replace(of.address, database=database)) as inquirer:
        for query in workload.captured(of.app).queries:
            (call,) = calls(query, traits, 1)
            own[query.name] = inquirer.explain(
                replace(call, settings={**call.settings, **(settings or {})})
            ).root
    return own


@dataclass
class Tally:
    """Flips of the lab beside those of servers with the data."""

    real: int = 0
    found: int = 0
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.real} real, {self.found} found, {len(self.missed)} missed {self.missed[:5]}, "
            f"{len(self.false)} false {self.false[:5]}"
        )


def flips(before: Plans, after: Plans) -> set[str]:
    """The queries that are planned otherwise."""
    return {
        name
        for name, root in before.items()
        if root is not None and (other := after.get(name)) is not None and root.form != other.form
    }


def tallied(real: set[str], lab: set[str]) -> Tally:
    """What a lab finds of real flips."""
    return Tally(len(real), len(real & lab), sorted(real - lab), sorted(lab - real))


def agreement(own: Plans, lab: Plans) -> tuple[int, int, float]:
    """Equal trees, all trees, and the largest factor of costs or rows among equal ones."""
    factor, same = 1.0, 0
    for name, root in own.items():
        other = lab.get(name)
        if root is None or other is None or root.form != other.form:
            continue
        same += 1
        for pair in ((root.cost, other.cost), (root.expected_rows, other.expected_rows)):
            low, high = sorted(max(value or 0.0, 1.0) for value in pair)
            factor = max(factor, high / low)
    return same, len(own), factor


def version(name: str, settings: Mapping[str, str] | None = None) -> Arm:
    """An arm of a version."""
    return Arm(name=f"pg{name}", engine="postgres", version=name, settings=settings or {})


# --- Servers with the data ------------------------------------------------------------------------


def as_statistics(of: Source, statistics: ServerStatistics, database: str) -> None:
    """A database of a server with the data that has another's statistics, without its sizes."""
    of.server.execute(f'DROP DATABASE IF EXISTS "{database}"', database="postgres")
    of.server.execute(f'CREATE DATABASE "{database}" TEMPLATE shop', database="postgres")
    statistics_import.take(
        replace(of.address, database=database), structs.replace(statistics, ends=())
    )


def sized_as(statistics: ServerStatistics, other: ServerStatistics) -> ServerStatistics:
    """Statistics with the files of another server."""
    sizes = {each.name: each for each in other.relations}
    return structs.replace(
        statistics,
        ends=other.ends,
        relations=tuple(
            structs.replace(
                each,
                blocks=sizes[each.name].blocks,
                height=sizes[each.name].height,
                pending=sizes[each.name].pending,
            )
            if each.name in sizes
            else each
            for each in statistics.relations
        ),
    )


def with_indexes(of: Source, database: str) -> tuple[Plans, Plans]:
    """The plans with further indexes, then without some, on the server with the data."""
    as_statistics(of, of.statistics, database)
    of.server.execute(*MADE, database=database)
    statistics_import.take(  # CREATE INDEX has counted the tables anew
        replace(of.address, database=database), structs.replace(of.statistics, ends=())
    )
    made = asked(of, database)
    as_statistics(of, of.statistics, database)
    of.server.execute(*(f"DROP INDEX {name}" for name in DROPPED), database=database)
    return made, asked(of, database)


# --- The trial ------------------------------------------------------------------------------------


def lines(sources: Mapping[str, Source], dump: Path) -> Iterator[str]:
    """What the trial finds, a line each."""
    *_, newest = sources
    for major, each in sources.items():
        own = roots(each.statistics.plans)
        other_arm = replace(version(newest), name="other")
        base, other = planned(each, dump, [version(major), other_arm])
        same, count, factor = agreement(own, base)
        yield f"{major}: {same} of {count} trees equal, largest factor {factor:.3f}"
        if major == newest:
            continue
        target = sources[newest]
        as_statistics(target, each.statistics, "other")
        real = asked(target, "other")
        yield f"{major}→{newest}: {tallied(flips(own, real), flips(base, other))}"
        (sized,) = planned(
            each, dump, [version(newest)], statistics=sized_as(each.statistics, target.statistics)
        )
        told = tallied(flips(own, real), flips(base, sized))
        yield f"{major}→{newest}, sizes of the newer: {told}"
    for each in (sources[next(iter(sources))], sources[newest]):
        own = roots(each.statistics.plans)
        for settings in SETTINGS:
            other_arm = replace(version(each.major, settings), name="set")
            base, other = planned(each, dump, [version(each.major), other_arm])
            real = flips(own, asked(each, "shop", settings))
            yield f"{each.major}, {settings}: {tallied(real, flips(base, other))}"
    each = sources[newest]
    own = roots(each.statistics.plans)
    made, dropped = with_indexes(each, "indexed")
    for what, real, changes in (
        ("made", made, IndexChanges(made=MADE)),
        ("dropped", dropped, IndexChanges(dropped=tuple(f"public.{name}" for name in DROPPED))),
    ):
        other_arm = replace(version(each.major), name="changed")
        base, other = planned(each, dump, [version(each.major), other_arm], changes)
        yield f"{each.major}, indexes {what}: {tallied(flips(own, real), flips(base, other))}"


def source_arm(major: str) -> Arm:
    """The server that is captured, of a version."""
    return Arm(
        name=f"source{major}", engine="postgres", version=major,
        settings={"fsync": "off", "autovacuum": "off", "jit": "off"},
        initdb={"locale": "C.UTF-8"},
    )  # fmt: skip


def main() -> None:
    """The trial on servers that it makes."""
    from server_place import a_place, started

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--size", type=int, default=200_000)
    words = parser.parse_args()
    queries = [*planned_shop.KNOWN, *planned_shop.drawn(words.seed, words.queries)]
    with ExitStack() as stack:
        place: Place = stack.enter_context(a_place())
        own_lab.take(place.data_root)
        sources = {}
        for major in words.versions:
            server = stack.enter_context(started(source_arm(major), place))
            loaded(server, words.size)
            sources[major] = source(major, server, place.data_root / f"app{major}", queries)
        dump = dumped(next(iter(sources.values())).address, place.data_root / "shop.sql")
        for line in lines(sources, dump):
            print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
