"""Relations that a step reads into the cache before it: in their order, or refused."""

from pathlib import Path

import pytest

from dbdyno import plan, workload
from dbdyno.model.error import PlanError
from dbdyno.run.check import preflight

FILE = """
[parameters]
prewarm = 1
[tables.t]
create = "CREATE TABLE {t} (id int)"
fill.rows = 10
fill.columns.id = ":row"
[statements]
get = "SELECT id FROM {t}"
[[steps]]
name = "get"
seconds = 1
warm = ["t1", "{'t1_pkey' if prewarm else ''}"]
roles.query = { run = "get" }
"""
PLAN = """
arms.a = { engine = "fake", fake = { default_us = 100 } }
[[workloads]]
name = "./mine.toml"
"""


def test_names_have_an_order_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(FILE)
    loaded = workload.load("./mine.toml", tmp_path / "plan.toml")
    for given, names in (({}, ("t1", "t1_pkey")), ({"prewarm": 0}, ("t1",))):
        *_, step = workload.expand(loaded, given, "postgres")
        assert step.warm == names


def test_a_server_that_cannot_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(FILE)
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.raises(PlanError, match="step `get`: key `warm`: the server of arm a has nothing"):
        preflight.prepare(plan.load(tmp_path / "plan.toml"))
