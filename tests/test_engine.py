"""Traits, what engines can, and that a new engine is one folder and one row of traits."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import engine, plan, workload
from dbdyno.analysis import compare
from dbdyno.model import Arm, can
from dbdyno.model.engine import OURS, TRAITS, Traits, recorded
from dbdyno.model.error import PlanError
from dbdyno.run import blocks
from server_place import ends

FOLDER = '''
"""An engine that speaks PostgreSQL's protocol under a name of its own."""
from dbdyno.engine.postgres import PostgresEngine

def of(traits):
    return PostgresEngine(traits)
'''
PLAN = """
name = "new"
[arms.a]
engine = "lookalike"
base_dir = "{base_dir}"
settings = {{ jit = false }}
[server]
data_dir = "{data}"
[schedule]
blocks = 1
[schedule.void]
foreign = 1
[[workloads]]
name = "insert-benchmark"
parameters = {{ clients = 1, rows = 2_000 }}
steps = ["l.i0"]
"""


@pytest.fixture
def lookalike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Traits]:
    """A new engine: a folder, and a row."""
    (tmp_path / "lookalike").mkdir()
    (tmp_path / "lookalike" / "__init__.py").write_text(FOLDER)
    monkeypatch.setattr(engine, "__path__", [*engine.__path__, str(tmp_path)])
    its = replace(
        TRAITS["postgres"],
        name="lookalike",
        product="Lookalike",
        family="lookalike",
        can=TRAITS["postgres"].can - {"presets", "prebuilt", "release"},
    )
    monkeypatch.setitem(TRAITS, "lookalike", its)
    yield its
    sys.modules.pop("dbdyno.engine.lookalike", None)


def test_every_row_of_traits_has_its_folder_and_knows_the_keys_of_workload_files() -> None:
    for name, traits in TRAITS.items():
        assert (traits.name, engine.of(name).traits) == (name, traits)
        assert traits.job in TRAITS and set(traits.sql) <= {"postgres", "mysql", "mariadb"}


def test_a_dsn_takes_away_what_only_our_own_servers_can() -> None:
    for name in ("postgres", "mysql", "mariadb"):
        here, elsewhere = Arm(name="a", engine=name), Arm(name="a", engine=name, dsn="x://")
        for what in TRAITS[name].can:
            assert can(here, what) and can(elsewhere, what) == (what not in OURS)
    assert not can(Arm(name="a", engine="fake"), "clock")


def test_an_engine_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(PlanError, match=r"no engine `postgre`; did you mean `postgres`\?"):
        engine.of("postgre")


def test_an_engine_that_only_a_later_version_knows_can_be_read_of_in_results() -> None:
    its = recorded("later")
    assert (its.product, its.statistics, its.names_compiler) == ("later", "PostgreSQL", False)
    assert "clock" in its.can


def test_importing_an_engine_imports_no_client_library() -> None:
    code = (
        "import sys; from dbdyno import engine; from dbdyno.model.engine import TRAITS\n"
        "for name in TRAITS: engine.of(name)\n"
        "sys.exit(bool({'psycopg', 'pymysql'} & sys.modules.keys()))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_new_engine_goes_through_plans_and_workloads(lookalike: Traits) -> None:
    made = plan.parse(PLAN.format(base_dir="/builds/its", data="/data"), None)
    assert made.arms[0].engine == "lookalike"
    loaded = workload.load("insert-benchmark")
    its, known = (
        workload.expand(loaded, {"clients": 1, "rows": 2_000}, name, steps=["l.i0"])
        for name in ("lookalike", "postgres")
    )
    assert its == known, "it reads PostgreSQL's SQL, and the generator speaks PostgreSQL's protocol"
    with pytest.raises(PlanError, match="`version` and `build` are there: no version of lookalike"):
        written = PLAN.replace('base_dir = "{base_dir}"', 'version = "1"\nbuild = "o3"')
        plan.parse(written.format(data="/data"), None)


@pytest.mark.live
def test_a_new_engine_is_made_run_and_judged(lookalike: Traits, tmp_path: Path) -> None:
    data = Path("/var/tmp") / f"dyno-test-{os.getpid()}"
    try:
        text = PLAN.format(base_dir=ends()[-1], data=data)
        outcome = blocks.run(plan.parse(text, None), tmp_path, wait=True)
    finally:
        subprocess.run(["rm", "-rf", str(data)], check=True)
    assert outcome.failed == 0
    comparison = compare.load(outcome.folder)
    assert comparison.servers["a"].engine == "lookalike"
    assert [step.step for step in comparison.steps] == ["l.i0"]
