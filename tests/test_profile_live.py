"""Profiles on a real server: what is sampled, and that no judged step finds a trace of it."""

import json

import pytest

from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.host import perf
from dbdyno.model.error import HostError
from dbdyno.run import blocks
from dbdyno.store import Results, StepFolder
from doubted import doubted
from server_place import ends

pytestmark = pytest.mark.live

WORKLOAD = """
[parameters]
seconds = 1
[tables.t]
numbered = false
create.any = "CREATE TABLE {t} (id int PRIMARY KEY, n int DEFAULT 0)"
[tables.t.fill]
rows = 2000
columns = { id = ":row" }
[values]
id = { uniform = [1, 2000] }
[statements]
raise = { any = "UPDATE {t} SET n = n + 1 WHERE id = :id" }
read = { any = "SELECT n FROM {t} WHERE id = :id" }

[[steps]]
name = "raise"
headline = { metric = "qps", role = "write", count = "operations" }
roles.write = { run = "raise", stop = { operations = 700 } }
stop = "write"
metrics.sum = { query = "SELECT sum(n) FROM t" }

[[steps]]
name = "read"
seconds = "{seconds}"
writes = false
headline = { metric = "qps", role = "query", count = "operations" }
roles.query = { run = "read" }

[[steps]]
name = "more"
headline = { metric = "qps", role = "write", count = "operations" }
roles.write = { run = "raise", stop = { operations = 300 } }
stop = "write"
metrics.sum = { query = "SELECT sum(n) FROM t" }
"""
PLAN = """
[observe]
profile = {{ seconds = 1, hertz = 499 }}
[arms.profiled]
base_dir = "{folder}"
[[workloads]]
name = "./w.toml"
save = "post-raise"
[schedule.void]
foreign = 1
"""


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StepFolder]:
    """The steps of a block that keeps its data after one of them."""
    try:
        perf.find()
    except HostError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("profiled")
    (folder / "w.toml").write_text(WORKLOAD)
    of = plan.parse(PLAN.format(folder=ends()[-1]), folder / "p.toml")
    (block,) = Results.open(blocks.run(of, folder, wait=True).folder).blocks()
    return {step.name: step for step in block.runs()[0].steps()}


def told(step: StepFolder | None) -> float:
    done = None if step is None else step.done()
    assert done is not None
    return float(done.metrics["sum"].value)


@pytest.mark.capability("profile")
def test_no_judged_step_finds_what_a_profile_has_done(steps: dict[str, StepFolder]) -> None:
    assert list(steps) == ["fill", "raise", "read", "more"]
    assert told(steps["raise"]) == 700
    assert told(steps["more"]) == 1_000


def test_a_step_that_writes_is_repeated_from_where_it_began(steps: dict[str, StepFolder]) -> None:
    """The one before the kept data from an empty server, the one after it from the golden copy."""
    assert told(steps["raise"].profile()) == 700
    assert told(steps["more"].profile()) == 1_000
    log = steps["more"].path.parents[1] / "log" / "profile"
    assert (log / "server.json").is_file()
    assert steps["fill"].profile() is None, "it is not measured"


@pytest.mark.capability("profile")
@pytest.mark.parametrize("name", ["raise", "read", "more"])
def test_what_a_server_did_is_in_the_profile(steps: dict[str, StepFolder], name: str) -> None:
    run = assemble.step_run(steps[name])
    its = run.profile
    assert its is not None, doubted(run)
    assert its.operations and its.cpu_us
    assert sum(its.stacks.values()) == its.samples > 0
    if name == "read":
        assert (its.seconds, its.hertz) == (pytest.approx(1, abs=0.5), 499)
    else:
        assert its.operations == run.window.counted


def test_the_time_of_profiles_counts(steps: dict[str, StepFolder]) -> None:
    found = json.loads((steps["read"].path.parents[2] / "done.json").read_text())
    assert found["steps_s"]["w"]["read"] > 2, "the judged second, and the profiled one"
    assert found["took_s"] > sum(found["steps_s"]["w"].values())
