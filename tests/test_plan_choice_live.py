"""Sessions of a prepared query begin anew in each turn and tell what they chose, by version."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.engine import LabServer
from dbdyno.engine.postgres import numbering
from dbdyno.evidence.plan_choice import shares
from dbdyno.model import Arm, Json, Step
from dbdyno.model.events import SessionEnd
from dbdyno.run.driver import registry
from dbdyno.run.driver.interface import RunningLoad
from server_place import a_place, outermost, started
from step_load import bench, heard
from test_own_queries import entry, folder_of

pytestmark = pytest.mark.live

SELECT = "SELECT count(other) FROM rows WHERE one_of = $1"
PREPARED = 'protocol = "prepared"\nvalues = "values/a.jsonl"\ntypes = ["int"]'
TURNS = 3


@pytest.fixture(params=outermost(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """PostgreSQL with a table whose index holds all of its values but 0."""
    arm = Arm(name="a", engine="postgres", base_dir=request.param, settings={"fsync": "off"})
    with a_place() as place, started(arm, place) as made:
        made.create_database("ib")
        made.execute(
            "CREATE TABLE rows AS SELECT g AS other, CASE WHEN g % 10 = 0 THEN 0 ELSE g % 1000 END "
            "AS one_of FROM generate_series(1, 20000) AS g",
            "CREATE INDEX ON rows (one_of) WHERE one_of > 0",
            "ANALYZE rows",
            database="ib",
        )
        yield made


def query(folder: Path, server: LabServer, values: list[int]) -> Step:
    """The step of the query with these values."""
    app = folder_of(folder, entry("a", more=PREPARED), {"a": SELECT})
    lines = (json.dumps({"weight": 1, "values": [value]}) + "\n" for value in values)
    (app / "values" / "a.jsonl").write_text("".join(lines))
    (release,) = server.execute("SELECT current_setting('server_version')")
    version = numbering.of_folder_name(str(release[0]).split()[0])
    parameters = {"seconds": 0.3, "warmup_s": 0}
    (step,) = workload.expand(workload.load(str(app)), parameters, "postgres", version=version)
    return step


def in_turns(server: LabServer, step: Step) -> list[Json]:
    """The events of the step with a pause after each turn but the last."""
    begun = 0

    def then(running: RunningLoad, event: Json) -> None:
        nonlocal begun
        begun += event["event"] in ("started", "resumed")
        if event["event"] in ("started", "resumed") and begun < TURNS:
            running.pause()
        elif event["event"] == "paused":
            running.resume()

    makes = registry.of(step)
    return heard(makes.start(makes.prepare(step, bench(server)), lambda _: None, None), then)


@pytest.mark.parametrize(("values", "share"), [(list(range(1, 9)), 0.0), ([0], 1.0)])
def test_each_turn_has_a_session_that_tells_its_plans(
    server: LabServer, tmp_path: Path, values: list[int], share: float
) -> None:
    """A plan for any value cannot use the index, and one for 0 does not."""
    step = query(tmp_path, server, values)
    said = in_turns(server, step)
    assert said[-1]["status"] == "ok", said[-1]["reason"]
    connected = [event["server_pid"] for event in said if event["event"] == "connected"]
    assert len(set(connected)) == TURNS
    ends = [
        SessionEnd(**{key: value for key, value in event.items() if key != "event"})
        for event in said
        if event["event"] == "session_end"
    ]
    assert len(ends) == TURNS
    known = shares(ends, step.job)
    (number,) = server.execute("SELECT current_setting('server_version_num')::int")
    if number[0] < 120000:
        assert known == []
    else:
        assert known
        assert set(known) == {share}
