"""How often plans without data are told, and right, of a captured application.

    python tests/plans_only_application.py app site.dump 13 15 17 18

restores the dump with its data on a server of each version, takes each one's statistics, and asks
labs without data of each version beside the last, and of the last but one by `random_page_cost`.
Truth are the servers with the data, the last one by the statistics of the other.
"""

import argparse
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from msgspec import structs

import own_lab
from dbdyno import workload
from dbdyno.analysis.plans_only import flipped
from dbdyno.capture.view import ViewedServer
from dbdyno.engine import LabServer, Place
from dbdyno.engine.postgres import inquiry
from dbdyno.model import engine
from dbdyno.model.plan_tree import PlanTree
from dbdyno.model.plans_only import FlippedQuery, PlansRecord
from dbdyno.run import plans_only, source_plans
from plans_only_trial import (
    Source,
    as_statistics,
    dumped,
    request_of,
    sized_as,
    source_arm,
    version,
)

FLIPS = ("another plan", "near")
SETTINGS = {"random_page_cost": "1.1"}


def restored(server: LabServer, database: str, dump: Path) -> None:
    """A database with the data of a dump, but for extensions that the build does not have."""
    server.create_database(database)
    address = server.address()
    assert address is not None
    words = ["pg_restore", "-h", address.host, "-p", str(address.port), "-U", address.user]
    subprocess.run([*words, "--no-owner", "-d", database, str(dump)], check=False)
    server.execute("VACUUM ANALYZE", database=database)


def source(major: str, server: LabServer, app: Path, own: Path) -> Source:
    """A server with the data, the application, and what its planner knows."""
    shutil.copytree(app, own)
    address = server.address()
    assert address is not None
    named = {query.role for query in source_plans.queries_of(workload.captured(own))} - {None}
    for role in sorted(filter(None, named)):
        server.execute(f'CREATE ROLE "{role}" SUPERUSER LOGIN', database="shop")
    kept = source_plans.keep(ViewedServer(f"pg{major}", address), "postgres", own, texts=True)
    return Source(major, server, own, kept)


def asked(of: Source, database: str, settings: Mapping[str, str] | None = None) -> list[PlanTree]:
    """The plans of a server with the data, as its capture asks for them."""
    for name, value in (settings or {}).items():
        of.server.execute(f"ALTER DATABASE {database} SET {name} = {value}", database="postgres")
    with inquiry.connected(replace(of.address, database=database)) as inquirer:
        trees = [
            tree
            for query in source_plans.queries_of(workload.captured(of.app))
            for tree in source_plans.trees(inquirer, query, engine.of("postgres"))
        ]
    of.server.execute(f"ALTER DATABASE {database} RESET ALL", database="postgres")
    return trees


def truth(record: PlansRecord, real: Sequence[PlanTree]) -> Mapping[str, str]:
    """By query its word where both arms have the plans of servers with the data."""
    base, other = (
        structs.replace(arm, trees=structs.replace(arm.trees, trees=tuple(trees)))
        for arm, trees in zip(record.arms, (record.source, real), strict=True)
    )
    rows = flipped(structs.replace(record, arms=(base, other)))
    return {row.query: row.word for row in rows}


def sentence(record: PlansRecord, real: Sequence[PlanTree]) -> str:
    """What was told of the queries, and what of it is wrong."""
    rows, words = flipped(record), truth(record, real)
    told = [row for row in rows if row.word != "not told"]
    wrong = [row.query for row in told if (row.word in FLIPS) != (words[row.query] in FLIPS)]
    reasons = Counter(row.reason for row in rows if row.word == "not told")
    found = sum(row.word in FLIPS for row in told)
    flips = sum(word in FLIPS for word in words.values())
    proven = sum(row.proven for row in told)
    return (
        f"{len(told)} of {len(rows)} told ({proven} proven), {found} of {flips} flips found, "
        f"{len(wrong)} wrong {wrong}; not told: {dict(reasons)}; {_named(rows)}"
    )


def _named(rows: Sequence[FlippedQuery]) -> str:
    counts = Counter(row.word for row in rows)
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())


def lines(sources: Mapping[str, Source], dump: Path) -> Iterator[str]:
    """What each version's lab tells, a line each."""
    *older, newest = sources
    target = sources[newest]
    for major in older:
        each = sources[major]
        arms = [version(major), replace(version(newest), name="other")]
        as_statistics(target, each.statistics, "other")
        real = asked(replace(target, app=each.app), "other")
        record = plans_only.planned(request_of(each, dump, arms))
        yield f"{major}→{newest}: {sentence(record, real)}"
        # The newer version has loaded other files than the older one has.
        sized = sized_as(each.statistics, target.statistics)
        (other,) = plans_only.planned(request_of(each, dump, arms[1:], statistics=sized)).arms
        record = structs.replace(record, arms=(record.arms[0], other))
        yield f"{major}→{newest}, files of the newer: {sentence(record, real)}"
    each = sources[older[-1]]
    arms = [version(each.major), replace(version(each.major, SETTINGS), name="other")]
    record = plans_only.planned(request_of(each, dump, arms))
    yield f"{each.major}, {SETTINGS}: {sentence(record, asked(each, 'shop', SETTINGS))}"


def main() -> None:
    """The trial on servers that it makes."""
    from server_place import a_place, started

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("app", type=Path)
    parser.add_argument("dump", type=Path)
    parser.add_argument("versions", nargs="+")
    words = parser.parse_args()
    with ExitStack() as stack:
        place: Place = stack.enter_context(a_place())
        own_lab.take(place.data_root)
        sources = {}
        for major in words.versions:
            server = stack.enter_context(started(source_arm(major), place))
            restored(server, "shop", words.dump)
            sources[major] = source(major, server, words.app, place.data_root / f"app{major}")
        schema = dumped(next(iter(sources.values())).address, place.data_root / "shop.sql")
        for line in lines(sources, schema):
            print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
