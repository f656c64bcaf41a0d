"""Scripts on a real server, beside pgbench itself: verdicts, and the values of expressions."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Arm, Json
from dbdyno.run.driver.pgbench import client
from pgbench_expressions import EXPRESSIONS
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
roles.users = {{ per = "step", run = "mix", stop = {{ operations = 1 }} }}
"""
BEGINS = {name: fact for name, fact in FACTS.items() if fact.ours != "start"}
EARLY = {name: fact for name, fact in FACTS.items() if fact.pgbench == "run" != fact.ours}
VERDICTS = {0: "ok", 1: "start", 2: "run"}


@pytest.fixture(scope="module", name="server")
def _server() -> Iterator[Server]:
    """The newest PostgreSQL that is here."""
    arm = Arm(name="scripts", engine="postgres", base_dir=ends()[-1], settings={"fsync": "off"})
    with a_place() as place, started(arm, place) as made:
        made.create_database(DATABASE)
        yield made


def pgbench(server: Server, folder: Path, protocol: str) -> subprocess.CompletedProcess[str]:
    """pgbench's one go through the script of the folder."""
    found, where = client.newest(), address(server)
    assert found is not None
    place = {"PGHOST": where.host, "PGPORT": str(where.port), "PGUSER": where.user}
    return subprocess.run(
        [found.path, "-n", "-t", "1", "-M", protocol, f"--random-seed={SEED}", "-f", "mix.sql"],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, **place, "PGDATABASE": DATABASE},
    )  # fmt: skip


def ours(server: Server, folder: Path, protocol: str) -> Json:
    """The last event of our one go through it."""
    step = only_step(folder, FILE.format(protocol=protocol))
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


def test_values_are_kept_from_one_transaction_to_the_next(server: Server, tmp_path: Path) -> None:
    (tmp_path / "mix.sql").write_text("\\set n :n + 1\nINSERT INTO kept VALUES (:client_id, :n);\n")
    text = FILE.format(protocol="prepared").replace("operations = 1", "operations = 6")
    (tmp_path / "w.toml").write_text(
        "[variables]\nn = 10\n" + text.replace('run = "mix"', 'connections = 2, run = "mix"')
    )
    server.execute("CREATE TABLE kept (c int, n int)", database=DATABASE)
    loaded = workload.load(str(tmp_path / "w.toml"))
    (step,) = workload.expand(loaded, {}, server.engine)
    load(server, step)
    rows = server.execute("SELECT c, n FROM kept ORDER BY 1, 2", database=DATABASE)
    assert [tuple(row) for row in rows] == [(c, n) for c in (0, 1) for n in (11, 12, 13)]
