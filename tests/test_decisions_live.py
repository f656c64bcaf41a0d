"""The workload `decisions` on real servers: the 22 known answers, on all engines."""

import shutil
import sysconfig

import pytest

import decisions_answers
from dbdyno import workload
from dbdyno.engine import LabServer
from dbdyno.model import Arm, Step
from mysql_place import an_arm
from server_place import a_place, ends, started
from step_load import load

GENERATOR = shutil.which("tpchgen-cli") or shutil.which(
    "tpchgen-cli", path=sysconfig.get_path("scripts")
)
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(GENERATOR is None, reason="no tpchgen-cli here: `pip install tpchgen-cli`"),
]
DATABASE = "ib"
SETTINGS = {"shared_buffers": "512MB", "fsync": "off"}
INNODB = {"innodb_buffer_pool_size": "2500M", "innodb_flush_log_at_trx_commit": "2"}
LIMIT_S = 3600
"""Of a query: on a busy host q15 takes MySQL ten minutes at scale 1."""


def answers(server: LabServer, scale: float) -> dict[str, decisions_answers.Answer]:
    """Loads the tables, and takes the answers of all queries."""
    made = workload.expand(
        workload.load("decisions"), {"scale_factor": scale, "warm": 0}, server.engine
    )
    server.create_database(DATABASE)
    server.execute(*made[0].setup, database=DATABASE)
    load(server, made[0])
    rows = {
        step.name: server.execute(text(step), database=DATABASE, limit_s=LIMIT_S)
        for step in made[1:]
    }
    return {name: decisions_answers.summary(answer) for name, answer in rows.items()}


def text(step: Step) -> str:
    """A query's text."""
    (sql,) = step.job.statements[0].pieces
    assert isinstance(sql, str)
    return sql


def differing(found: dict[str, decisions_answers.Answer], scale: str) -> list[str]:
    """The queries whose answers are not the known ones."""
    known = decisions_answers.known(scale)
    assert found.keys() == known.keys()
    return [name for name in known if not decisions_answers.same(found[name], known[name])]


@pytest.mark.capability("decisions")
def test_postgresql_gives_the_known_answers() -> None:
    arm = Arm(name="a", engine="postgres", base_dir=ends()[-1], settings=SETTINGS)
    with a_place() as place, started(arm, place) as server:
        assert differing(answers(server, 0.01), "0.01") == []


def test_mysql_and_mariadb_give_the_known_answers(mysql_server: LabServer) -> None:
    assert differing(answers(mysql_server, 0.01), "0.01") == []


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["postgres", "mysql", "mariadb"])
def test_the_answers_at_scale_1_are_those_of_tpc(engine: str) -> None:
    if engine == "postgres":
        arm = Arm(name="a", engine=engine, base_dir=ends()[-1], settings=SETTINGS)
    else:
        arm = an_arm(engine, settings=INNODB)
    with a_place(engine) as place, started(arm, place) as server:
        assert differing(answers(server, 1), "1") == []
