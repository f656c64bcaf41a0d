"""Scripts on a real server, beside pgbench itself: verdicts, and the values of expressions."""

import math
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Arm, Json
from dbdyno.run.driver.pgbench import client
from pgbench_expressions import DRAWS, EXPRESSIONS, FAULTS
from pgbench_facts import FACTS, Fact
from server_place import a_place, address, ends, started
from step_load import events, load, only_step

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        client.newest() is None, reason="no pgbench here: `apt-get install postgresql`"
    ),
]

DATABASE = "scripts"
SEED = 7
FILE = """
[transactions.mix]
script = "mix.sql"
protocol = "{protocol}"

[[steps]]
name = "mix"
roles.users = {{ per = "step", run = "mix", stop = {{ operations = {times} }} }}
"""
BEGINS = {name: fact for name, fact in FACTS.items() if fact.ours != "start"}
EARLY = {name: fact for name, fact in FACTS.items() if fact.pgbench == "run" != fact.ours}
DRAWS_EACH, TRANSACTIONS = 25, 400
"""How often a transaction draws of each kind, and how many transactions there are."""
NORMAL_MAX = 5.5
"""Standard deviations that a normal number exceeds once in fifty million times."""
VERDICTS = {0: "ok", 1: "start", 2: "run"}


@pytest.fixture(scope="module", name="server")
def _server() -> Iterator[Server]:
    """The newest PostgreSQL that is here."""
    arm = Arm(name="scripts", engine="postgres", base_dir=ends()[-1], settings={"fsync": "off"})
    with a_place() as place, started(arm, place) as made:
        made.create_database(DATABASE)
        yield made


def pgbench(
    server: Server, folder: Path, protocol: str, times: int = 1
) -> subprocess.CompletedProcess[str]:
    """pgbench goes through the script of the folder."""
    found, where = client.newest(), address(server)
    assert found is not None
    place = {"PGHOST": where.host, "PGPORT": str(where.port), "PGUSER": where.user}
    options = ("-n", "-t", str(times), "-M", protocol, f"--random-seed={SEED}")
    return subprocess.run(
        [found.path, *options, "-f", "mix.sql"],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, **place, "PGDATABASE": DATABASE},
    )  # fmt: skip


def ours(server: Server, folder: Path, protocol: str, times: int = 1) -> Json:
    """The last event of our going through it."""
    step = only_step(folder, FILE.format(protocol=protocol, times=times))
    return events(server, step, seed=SEED)[-1]


@pytest.mark.parametrize("fact", BEGINS.values(), ids=BEGINS)
def test_what_begins_ends_as_it_does_with_pgbench(server: Server, tmp_path: Path, fact: Fact):
    (tmp_path / "mix.sql").write_text(fact.script)
    theirs = pgbench(server, tmp_path, fact.protocol)
    assert VERDICTS[theirs.returncode] == fact.pgbench, theirs.stderr
    done = ours(server, tmp_path, fact.protocol)
    assert done["status"] == ("ok" if fact.ours == "ok" else "failed"), done["reason"]
    if fact.ours == "ok":
        assert done["totals"]["users"]["count"] == 1


@pytest.mark.parametrize("fact", EARLY.values(), ids=EARLY)
def test_what_does_not_begin_ends_as_pgbench_runs_it(server: Server, tmp_path: Path, fact: Fact):
    (tmp_path / "mix.sql").write_text(fact.script)
    theirs = pgbench(server, tmp_path, fact.protocol)
    assert VERDICTS[theirs.returncode] == "run", theirs.stderr


def test_expressions_have_pgbench_s_values(server: Server, tmp_path: Path) -> None:
    found = []
    for table in ("theirs", "ours"):
        server.execute(f"CREATE TABLE {table} (n int, v text)", database=DATABASE)
        lines = [
            f"\\set v {text}\nINSERT INTO {table} VALUES ({number}, ':v');\n"
            for number, text in enumerate(EXPRESSIONS)
        ]
        (tmp_path / "mix.sql").write_text("".join(lines))
        if table == "theirs":
            theirs = pgbench(server, tmp_path, "simple")
            assert theirs.returncode == 0, theirs.stderr
        else:
            done = ours(server, tmp_path, "simple")
            assert done["status"] == "ok", done["reason"]
        rows = server.execute(f"SELECT v FROM {table} ORDER BY n", database=DATABASE)
        found.append({text: row[0] for text, row in zip(EXPRESSIONS, rows, strict=True)})
    assert found[0] == found[1]


@pytest.mark.parametrize("expression", FAULTS)
def test_what_pgbench_cannot_compute_fails_the_step_for_the_same_reason(
    server: Server, tmp_path: Path, expression: str
) -> None:
    (tmp_path / "mix.sql").write_text(f"\\set v {expression}\nSELECT 1;\n")
    said = re.search(r"error: (.*)", pgbench(server, tmp_path, "simple").stderr)
    done = ours(server, tmp_path, "simple")
    assert (done["status"], done["reason"]) == ("failed", f"mix.sql:1:1: {said[1]}")


def chi_square(one: Counter[int], other: Counter[int]) -> tuple[float, float]:
    """How far two samples of one size differ, and what only chance hardly ever exceeds (Wilson and
    Hilferty, "The distribution of chi-square", 1931). Integers that are rare count together."""
    common = [value for value in one | other if one[value] + other[value] >= 20]
    pairs = [(one[value], other[value]) for value in common]
    rest = (one.total() - sum(a for a, _ in pairs), other.total() - sum(b for _, b in pairs))
    pairs += [rest] if sum(rest) else []
    square = sum((a - b) ** 2 / (a + b) for a, b in pairs)
    freedom = max(len(pairs) - 1, 1)
    spread = 2 / (9 * freedom)
    return square, freedom * (1 - spread + NORMAL_MAX * math.sqrt(spread)) ** 3


def test_what_is_drawn_is_distributed_as_what_pgbench_draws(server: Server, tmp_path: Path) -> None:
    found: dict[str, dict[int, Counter[int]]] = {}
    numbered = [(n % len(DRAWS), n) for n in range(len(DRAWS) * DRAWS_EACH)]
    for table, runs in (("drawn", pgbench), ("drawn_by_us", ours)):
        server.execute(f"CREATE TABLE {table} (kind int, value int)", database=DATABASE)
        lines = [f"\\set v{n} {DRAWS[kind]}" for kind, n in numbered]
        values = ", ".join(f"({kind}, :v{n})" for kind, n in numbered)
        text = "\n".join([*lines, f"INSERT INTO {table} VALUES {values};\n"])
        (tmp_path / "mix.sql").write_text(text)
        runs(server, tmp_path, "simple", TRANSACTIONS)
        by_kind = found[table] = {kind: Counter() for kind in range(len(DRAWS))}
        for kind, value in server.execute(f"SELECT * FROM {table}", database=DATABASE):
            by_kind[int(kind)][int(value)] += 1
    for kind, text in enumerate(DRAWS):
        theirs, mine = found["drawn"][kind], found["drawn_by_us"][kind]
        assert theirs.total() == mine.total() == DRAWS_EACH * TRANSACTIONS
        square, square_max = chi_square(theirs, mine)
        assert square < square_max, text


def test_values_are_kept_from_one_transaction_to_the_next(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mix.sql").write_text("\\set n :n + 1\nINSERT INTO kept VALUES (:client_id, :n);\n")
    text = FILE.format(protocol="prepared", times=6)
    (tmp_path / "w.toml").write_text(
        "[variables]\nn = 10\n" + text.replace('run = "mix"', 'connections = 2, run = "mix"')
    )
    server.execute("CREATE TABLE kept (c int, n int)", database=DATABASE)
    loaded = workload.load(str(tmp_path / "w.toml"))
    (step,) = workload.expand(loaded, {}, server.engine)
    load(server, step)
    rows = server.execute("SELECT c, n FROM kept ORDER BY 1, 2", database=DATABASE)
    assert [tuple(row) for row in rows] == [(c, n) for c in (0, 1) for n in (11, 12, 13)]
