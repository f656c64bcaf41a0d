"""Prints the calls of `tools/planted_application`: SQL of eight queries that change on 18, and 40.

Each of the eight is called twelve times, each of the others twenty times, in a drawn order.
"""

from __future__ import annotations

import random

ROWS = 300_000
COLUMNS = ("id", "grp", "x", "y", "a", "b", "note", "d")
FUNCTIONS = ("count", "min", "max", "count")


def changing(draw: random.Random) -> list[str]:
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
    draw = random.Random(1)
    calls = [call for _ in range(12) for call in changing(draw)]
    calls += [alike(number, draw) for number in range(40) for _ in range(20)]
    draw.shuffle(calls)
    print(";\n".join(calls) + ";")


if __name__ == "__main__":
    main()
