"""The keys `initdb`, `transport` and `rest_s` on real servers: how they are made and reached."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.engine import Place
from dbdyno.engine.arm_server import provide
from dbdyno.engine.mysql import connection
from dbdyno.host import locales
from dbdyno.model import Arm, Initdb, Json
from dbdyno.run import blocks
from dbdyno.store import Results
from mysql_place import an_arm
from server_place import a_place, started

pytestmark = pytest.mark.live

LOCALE = "C.UTF-8"
PLAN = """
base = "plain"

[arms.plain]
base_dir = "{base_dir}"
settings = {{ log_connections = true, shared_buffers = "64MB" }}

[arms.other]
base_dir = "{base_dir}"
settings = {{ log_connections = true, shared_buffers = "64MB" }}
initdb = {{ locale = "{locale}", data_checksums = false, wal_segment_mb = 1 }}
transport = "tcp"

[workload]
name = "sysbench"
steps = ["fill", "point-query"]
parameters = {{ rows = 1000, clients = 2, seconds = 1, warmup_s = 0 }}

[server]
data_dir = "{data}"

[schedule]
rest_s = 1
void = {{ foreign = 1 }}
"""


@pytest.fixture(scope="module")
def measured(base_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a block of both arms."""
    if locales.encoding(LOCALE) is None:
        pytest.skip(f"no locale {LOCALE} here: `apt-get install locales`")
    data = Path("/var/tmp") / f"dyno-test-making-{os.getpid()}"
    written = PLAN.format(base_dir=base_dir, data=data, locale=LOCALE)
    try:
        out = tmp_path_factory.mktemp("out")
        outcome = blocks.run(plan.parse(written, None), out, wait=True)
        assert outcome.failed == 0
        (block,) = Results.open(outcome.folder).blocks()
        yield block.path
    finally:
        subprocess.run(["rm", "-rf", str(data)], check=True)


def server(block: Path, arm: str) -> Json:
    found: Json = json.loads((block / arm / "server.json").read_text())
    return found


def test_a_cluster_is_made_as_the_arm_says(measured: Path) -> None:
    plain, other = (server(measured, arm) for arm in ("plain", "other"))
    assert plain["initdb"] == {"locale": "C", "data_checksums": True, "wal_segment_mb": 16}
    assert other["initdb"] == {"locale": LOCALE, "data_checksums": False, "wal_segment_mb": 1}
    for name, values in {
        "data_checksums": ("on", "off"),
        "wal_segment_size": ("16MB", "1MB"),
        "lc_time": ("C", LOCALE),
        "lc_messages": ("C", "C"),
        "server_encoding": ("UTF8", "UTF8"),
    }.items():
        assert (plain["settings"][name], other["settings"][name]) == values


def test_the_load_comes_by_the_arm_s_transport_and_the_lab_by_the_socket(measured: Path) -> None:
    came = {
        arm: [
            "127.0.0.1" if "host=127.0.0.1" in line else "socket"
            for line in (measured / arm / "log" / "postgres.log").read_text().splitlines()
            if "connection received: " in line
        ]
        for arm in ("plain", "other")
    }
    assert set(came["plain"]) == {"socket"}
    assert set(came["other"]) == {"socket", "127.0.0.1"}
    assert came["other"].count("127.0.0.1") >= 3  # two clients, and the fill
    jobs = sorted((measured / "other").rglob("job.json"))
    assert {json.loads(job.read_text())["server"]["host"] for job in jobs} == {"127.0.0.1"}
    assert server(measured, "plain")["transport"] == "socket"
    assert server(measured, "other")["transport"] == "tcp"
    assert server(measured, "other")["encryption"] == "not encrypted: 127.0.0.1"


def test_the_second_server_came_after_a_rest(measured: Path) -> None:
    order = json.loads((measured / "order.json").read_text())["order"]
    first, second = (server(measured, arm).get("rested_s") for arm in order)
    assert first is None
    assert second is not None
    assert second >= 1


def test_both_are_part_of_what_a_golden_copy_is_found_by(base_dir: Path, place: Place) -> None:
    def identity(**keys: object) -> Json:
        arm = Arm(**{"name": "a", "engine": "postgres", "base_dir": base_dir, **keys})
        return provide(arm, place=place).identity

    plain = identity()
    assert "transport" not in plain and "collation" not in plain  # as older copies are found
    assert identity(transport="socket", initdb={"locale": "C"}) == plain
    assert identity(transport="tcp") == plain | {"transport": "tcp"}
    changed = identity(initdb={"data_checksums": not Initdb.data_checksums})
    assert changed != plain
    assert changed | {"initdb": plain["initdb"]} == plain


def test_a_mysql_is_reached_over_tcp(mysql_engine: str) -> None:
    with a_place(mysql_engine) as place:
        arm = an_arm(mysql_engine, transport="tcp")
        with started(arm, place) as made:
            assert made.load_address is not None
            assert made.load_address.host == "127.0.0.1"
            asked = connection.execute(made.load_address, ["SELECT USER()"], 30)
            assert asked == [("dyno@127.0.0.1",)]
            assert made.execute("SELECT USER()", database="mysql") == [("dyno@localhost",)]
            assert made.facts().transport == "tcp"
