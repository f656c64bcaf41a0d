"""A query that is many times slower on one server is said to be so, whatever its turn counts.

Two servers have a function of one name that sleeps for longer on one of them: longer than a turn,
and longer than the limit of a call.
"""

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine import LabServer
from dbdyno.findings.application import show as application
from dbdyno.model import Arm, Comparison
from dbdyno.run import blocks
from server_place import a_place, address, ends, started

pytestmark = [pytest.mark.live, pytest.mark.soak]
MEAN_S = 0.05
"""A call of each query on the source, and on the base."""
FILLS_S, ENDED_S = 0.5, 30.0
"""A call on the other server: more than a turn, and more than its limit, a second."""
APP = """
[source]
engine = "postgres"
"""
QUERY = """
[queries.{name}]
text = "{name}.sql"
calls = 10
time_s = 0.5
"""
PLAN = """
[arms.old]
dsn = "{old}"
[arms.new]
dsn = "{new}"
[[workloads]]
name = "{app}"
parameters = {{ seconds = 1 }}
[schedule]
blocks = 3
interleave = "turn"
turn_s = 0.2
rest_s = 0
"""
QUERIES = ("ended", "fills", "same")


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Comparison]:
    """Both servers beside each other, with the three queries."""
    folder = tmp_path_factory.mktemp("slow")
    app = folder / "app"
    app.mkdir()
    (app / "workload.toml").write_text(APP + "".join(QUERY.format(name=name) for name in QUERIES))
    for name in QUERIES:
        (app / f"{name}.sql").write_text(f"SELECT {name}()")
    arms = [Arm(name=name, engine="postgres", base_dir=ends()[-1]) for name in ("old", "new")]
    with a_place() as place, started(arms[0], place) as old, started(arms[1], place) as new:
        make(old, dict.fromkeys(QUERIES, MEAN_S))
        make(new, {"ended": ENDED_S, "fills": FILLS_S, "same": MEAN_S})
        places = [
            f"postgresql://reader@{quote(at.host, safe='')}:{at.port}/{at.database}"
            for at in map(address, (old, new))
        ]
        text = PLAN.format(old=places[0], new=places[1], app=app)
        outcome = blocks.run(
            replace(plan.parse(text, None), name="slow"), folder / "out", wait=True
        )
        yield compare.load(outcome.folder)


def make(server: LabServer, seconds: dict[str, float]) -> None:
    """A database with a function for each query, which sleeps for so long."""
    server.create_database("shop")
    server.execute("CREATE ROLE reader LOGIN")
    for name, sleep_s in seconds.items():
        server.execute(
            f"CREATE FUNCTION {name}() RETURNS int LANGUAGE sql AS "
            f"'SELECT 1 FROM pg_sleep({sleep_s})'"
        )


def test_a_query_many_times_slower_is_slower_by_the_factor_that_is_sure(compared: Comparison):
    cells = {step.step: step.cells[1] for step in compared.steps}
    for name, sure in (("fills", 0.7 * FILLS_S / MEAN_S), ("ended", 0.7 / MEAN_S)):
        cell = cells[name]
        assert cell.verdict is not None and cell.verdict.word == "slower", name
        assert cell.ratio is not None and cell.ratio_bound == "at most"
        assert 1 / cell.ratio.value > sure, name
    true = FILLS_S / MEAN_S
    assert cells["fills"].ratio is not None and 1 / cells["fills"].ratio.value < true
    same = cells["same"]
    assert same.ratio_bound == "exact"
    assert same.verdict is not None and same.verdict.word in ("same", "open")
    (result,) = compared.applications
    assert (result.failed, result.time_bound) == ((), "at least")
    assert result.time is not None and result.time.value > (1 + sure) / 3
    answer = application.ApplicationAnswer(compared, result)
    assert answer.sentence.startswith("No: ") and "on new alone" in answer.sentence
    assert answer.failing["ended"].startswith("ended by its limit")
    assert any(each.text.startswith(("time ≥ ", "≥ ")) for each in answer.sums())
