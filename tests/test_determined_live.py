"""Queries that are not determined, on two real servers of equal data and other planner settings."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine import LabServer
from dbdyno.engine.inquiry import QueryCall
from dbdyno.engine.postgres import inquiry
from dbdyno.model import Arm
from dbdyno.run import blocks
from dbdyno.workload.determined import open_parts
from server_place import a_place, address, ends, started

pytestmark = pytest.mark.live

TABLES = (
    "CREATE TABLE f (id int PRIMARY KEY, status int NOT NULL, n numeric(9, 2), x float8)",
    "INSERT INTO f SELECT n, n % 3, n, n / 7.0 FROM generate_series(1, 20000) AS n",
    "CREATE INDEX f_status ON f (status, id DESC)",
    "CREATE TABLE g (f int, line int, PRIMARY KEY (f, line), other int)",
    "INSERT INTO g SELECT n, line, n FROM generate_series(1, 3000) AS n, generate_series(1,"
    " 3) AS line",
    "CREATE VIEW top AS SELECT id AS number, status FROM f ORDER BY status LIMIT 7",
    "CREATE TABLE parent (id int PRIMARY KEY); CREATE TABLE heir () INHERITS (parent)",
    "CREATE TABLE keys (id int UNIQUE, a int NOT NULL, b int NOT NULL, c text NOT NULL)",
    "CREATE UNIQUE INDEX ON keys (a) WHERE b > 0; CREATE UNIQUE INDEX ON keys ((b + 1))",
    "CREATE UNIQUE INDEX ON keys (b, c)",
    "CREATE FUNCTION own(int) RETURNS int LANGUAGE sql AS 'SELECT $1'",
    "ANALYZE f; ANALYZE g",
)
OTHER = ("enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan", "enable_hashjoin")
"""What the second server's planner goes without."""
NOT_UNIQUE = "is ordered by `status`, which is not unique"
QUERIES = {
    "nested": (
        "SELECT x.id FROM (SELECT id FROM f ORDER BY status LIMIT 5) AS x ORDER BY x.id",
        ("not determined", f"`LIMIT 5` in subquery `x` {NOT_UNIQUE}"),
    ),
    "common": (
        "WITH x AS (SELECT id FROM f ORDER BY status LIMIT 5) SELECT sum(id) FROM x",
        ("not determined", f"`LIMIT 5` in CTE `x` {NOT_UNIQUE}"),
    ),
    "view": (
        "SELECT number FROM top ORDER BY 1",
        ("not determined", f"`LIMIT 7` in view `top` {NOT_UNIQUE}"),
    ),
    "ranked": (
        "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY status) AS r FROM f) AS x"
        " WHERE r < 4",
        ("not determined", f"the window of `row_number` in subquery `x` {NOT_UNIQUE}"),
    ),
    "clock": ("SELECT id, clock_timestamp() FROM f WHERE id = 5", None),
    "moved": ("SELECT n, now() FROM f WHERE id = 77", ("different", "other values of `n`")),
    "joined": (
        "SELECT f.*, g.other FROM f JOIN g ON g.f = f.id AND line = 1 ORDER BY f.id LIMIT 9",
        ("same", ""),
    ),
    "counted": ("SELECT status, count(*), sum(id) FROM f WHERE id <> 77 GROUP BY 1", ("same", "")),
    "latest": ("SELECT id FROM f ORDER BY status, id DESC LIMIT 5", ("same", "")),
}
PLAN = """
[arms.a]
dsn = "{a}"
[arms.b]
dsn = "{b}"
[[workloads]]
name = "{app}"
parameters = {{ seconds = 1, top = 1 }}
[schedule]
blocks = 1
interleave = "turn"
turn_s = 0.3
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[list[LabServer]]:
    """Two servers of one version with equal data but for one value."""
    arms = [Arm(name=name, engine="postgres", base_dir=ends()[-1]) for name in ("a", "b")]
    with a_place() as place, started(arms[0], place) as a, started(arms[1], place) as b:
        for server in (a, b):
            server.create_database("shop")
            server.execute(*TABLES, database="shop")
        b.execute(
            *(f"ALTER DATABASE shop SET {name} = off" for name in OTHER),
            "ALTER DATABASE shop SET max_parallel_workers_per_gather = 0",
            "UPDATE f SET n = -1 WHERE id = 77",
            database="shop",
        )
        yield [a, b]


def test_what_a_query_does_not_determine_is_never_called_different(
    servers: list[LabServer], tmp_path: Path
) -> None:
    app = tmp_path / "app"
    app.mkdir()
    lines = ['[source]\nengine = "postgres"']
    for name, (text, _) in QUERIES.items():
        (app / f"{name}.sql").write_text(text)
        lines.append(f'[queries.{name}]\ntext = "{name}.sql"\ncalls = 9\ntime_s = 1.0')
    (app / "workload.toml").write_text("\n".join(lines))
    a, b = (
        f"postgresql://{at.user}@{quote(at.host, safe='')}:{at.port}/shop"
        for at in map(address, servers)
    )
    planned = replace(plan.parse(PLAN.format(a=a, b=b, app=app), None), name="determined")
    compared = compare.load(blocks.run(planned, tmp_path / "out", wait=True).folder)
    words = {
        change.place.query: (change.word, change.detail) for change in compared.queries.answers
    }
    clock = ("not determined", "the clock: `clock_timestamp`")
    assert words == {name: word or clock for name, (_, word) in QUERIES.items()}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT * FROM f ORDER BY id LIMIT 3", ""),
        ("SELECT * FROM keys ORDER BY b, c LIMIT 3", ""),
        ("SELECT * FROM keys ORDER BY id LIMIT 3", "`LIMIT 3` is ordered by `id`"),
        ("SELECT * FROM keys ORDER BY a LIMIT 3", "`LIMIT 3` is ordered by `a`"),
        ("SELECT * FROM keys ORDER BY b LIMIT 3", "`LIMIT 3` is ordered by `b`"),
        ("SELECT parent.*, 1 FROM parent ORDER BY id LIMIT 3", ""),
        ("SELECT sum(x) FROM f", "`sum` adds floating-point numbers"),
        ("SELECT sum(n), avg(id) FROM f", ""),
        ("SELECT DISTINCT n FROM f", ""),
        ("SELECT DISTINCT n * 1.000 FROM f", ""),
        ("SELECT own(id) FROM f", "the function `own`, which is not declared"),
        ("SELECT lower('A'), coalesce(n, 0), greatest(id, 3) FROM f", ""),
        ("SELECT array_agg(id) FROM f", "`array_agg` has no ORDER BY"),
        ("SELECT g FROM generate_series(1, 3) AS g", ""),
        ("SELECT relname FROM pg_class", "`pg_class`, which the server keeps for itself"),
        ("SELECT * FROM information_schema.tables", "`tables`, which the server keeps"),
        ("SELECT nothing FROM f", "no table is known that has the column `nothing`"),
        ("SELECT * FROM nothing", "the server tells nothing of `nothing`"),
    ],
)
def test_the_server_tells_what_a_tree_does_not(servers: list[LabServer], text: str, reason: str):
    at = replace(address(servers[0]), database="shop")
    with (
        inquiry.connected(at) as inquirer,
        inquirer.catalog(QueryCall(text=text, own_text=text)) as held,
    ):
        parts = open_parts.of(text, held, [])
    said = [part.reason for part in parts if not part.order]
    assert (said[0] if said else "").startswith(reason) and bool(said) == bool(reason)
