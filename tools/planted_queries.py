"""Prints the calls of `tools/planted_application`: SQL of a few queries that change, and of others.

    python3 tools/planted_queries.py postgres    # eight that change on 18, 40 that do not
    python3 tools/planted_queries.py mariadb     # two that change by a setting of 11.4, eight

Each of those that change is called twelve times, each of the others twenty times, in a drawn order.
"""

import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROWS = 300_000
COLUMNS = ("id", "grp", "x", "y", "a", "b", "note", "d")
FUNCTIONS = ("count", "min", "max", "count")


@dataclass(frozen=True)
class Application:
    """What an application asks."""

    changing: Callable[[random.Random], list[str]]  # a call of each query that changes
    alike: int  # so many queries differ in nothing


def on_postgres(draw: random.Random) -> list[str]:
    """A call of each query that is planned, fails or answers otherwise on 18."""
    return [
        f"SELECT * FROM f WHERE x={draw.randrange(40)} ORDER BY grp, y LIMIT 10",
        "SELECT id, grp, y FROM f ORDER BY grp, y LIMIT 10",
        "SELECT sum(s) FROM (SELECT row_number() OVER (PARTITION BY grp ORDER BY y) AS s FROM f) w",
        f"SELECT count(*) FROM f WHERE b = {draw.randrange(5000)}",
        f"SELECT count(*) FROM f WHERE id={draw.randrange(1000)}OR id=2",
        f"SELECT {draw.randrange(3, 8)} !",
        "SELECT to_tsquery('pg_class')",
        f"SELECT extract(epoch from d) FROM f WHERE id = {draw.randrange(ROWS)}",
    ]


def on_mariadb(draw: random.Random) -> list[str]:
    """A call of each query that an arm with two settings plans otherwise, and refuses.

    `grp` is 0 in 95 % of the rows. With `eq_range_index_dive_limit = 1` the server no longer looks
    how many rows have it, and takes the index on it. With ONLY_FULL_GROUP_BY the second is error
    1055, as `note` is neither grouped nor aggregated.
    """
    at, b = draw.randrange(ROWS - 100), draw.randrange(4900)
    rare = 1 + draw.randrange(1000)
    return [
        f"SELECT count(note) FROM f WHERE grp IN (0, {rare}) AND b BETWEEN {b} AND {b + 50}",
        f"SELECT grp, note, max(y) FROM f WHERE id BETWEEN {at} AND {at + 20} GROUP BY grp",
    ]


APPLICATIONS: Mapping[str, Application] = {
    "postgres": Application(on_postgres, 40),
    "mariadb": Application(on_mariadb, 8),
}


def alike(number: int, draw: random.Random) -> str:
    """A call of one of the queries that differ in nothing."""
    column, function = COLUMNS[number % 8], FUNCTIONS[number // 10]
    at = draw.randrange(1, ROWS - 1000)
    compared = "x" if column in ("note", "d") else column
    return (
        f"SELECT {column}, {number} AS k{number} FROM f WHERE id = {at}",
        f"SELECT {function}({column}) AS k{number} FROM f WHERE id BETWEEN {at} AND {at + 100}",
        f"SELECT {column} AS k{number} FROM f WHERE id IN ({at}, {at + 5}, {at + 9}) ORDER BY id",
        f"SELECT count(*) AS k{number} FROM f WHERE grp = {1 + at % 1000} "
        f"AND {compared} > {number}",
    )[number % 4]


def main() -> None:
    """Prints all calls."""
    application = APPLICATIONS[sys.argv[1]]
    draw = random.Random(1)
    calls = [call for _ in range(12) for call in application.changing(draw)]
    calls += [alike(number, draw) for number in range(application.alike) for _ in range(20)]
    draw.shuffle(calls)
    print(";\n".join(calls) + ";")


if __name__ == "__main__":
    main()
