"""A plan that asks for profiles is checked against the host before anything starts."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dbdyno import plan
from dbdyno.builds import Build
from dbdyno.host.perf import elf
from dbdyno.model import Plan
from dbdyno.model.error import HostError
from dbdyno.run.check import notices, preflight
from dbdyno.run.ready_plan import ReadyPlan

PLAN = """
arms.old = { engine = "postgres", version = "17" }
arms.new = { engine = "postgres", version = "18" }
[[workloads]]
name = "pgbench"
[observe]
profile = {}
"""


def parsed(text: str) -> Plan:
    return plan.parse(text, Path("/plans/p.toml"))


def test_without_perf_the_plan_is_refused_in_one_line_that_names_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))  # nor any other program
    with pytest.raises(HostError, match=r"^/plans/p\.toml: `perf` is not installed: ") as error:
        preflight.prepare(parsed(PLAN))
    assert "\n" not in str(error.value)


def a_build(program: Path) -> Build:
    return Build(
        engine="postgres",
        base_dir=Path("/opt"),
        program=program,
        version="17.6",
        version_num=170006,
    )


def test_programs_without_symbols_are_said_once_with_their_arms(monkeypatch: pytest.MonkeyPatch):
    stripped, whole = Path("/opt/a/postgres"), Path("/opt/b/postgres")
    told = {
        stripped: elf.Binary(build_id=None, symbols=False, frame_pointers=True),
        whole: elf.Binary(build_id=None, symbols=True, frame_pointers=True),
    }
    monkeypatch.setattr(elf, "read", told.get)
    builds = {"old": a_build(stripped), "new": a_build(stripped), "other": a_build(whole)}
    (line,) = said(PLAN, builds)
    assert line.startswith("profile: /opt/a/postgres (old, new) has no symbols: ")
    assert said(PLAN.replace("profile = {}", ""), builds) == []
    later = {"old": dataclasses.replace(a_build(stripped), made=False)}
    assert said(PLAN, later) == []


def said(text: str, builds: dict[str, Build]) -> list[str]:
    prepared = SimpleNamespace(builds=builds)
    return list(notices.nameless_functions(parsed(text), cast(ReadyPlan, prepared)))
