"""`[generator] spin`: in the plan, in what is kept of it, in the job, and on a real server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import read_steps
from comparison_builder import comparison
from dbdyno import plan
from dbdyno.model.plan_record import GeneratorRecord
from dbdyno.report.section import setup
from dbdyno.run import blocks
from dbdyno.run.check import plan_record
from dbdyno.store import Results
from server_place import builds
from wire_form import plain

FAKE = """
[arms.a]
engine = "fake"
fake = { default_us = 100 }
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
"""
SPIN = "[generator]\nspin = true\n"
LIVE = """
name = "spin"
[arms.a]
base_dir = "{base_dir}"
[[workloads]]
name = "./reads.toml"
parameters = {{ seconds = 1, warmup_s = 0.2 }}
steps = ["fill", "one"]
[schedule]
blocks = 1
[schedule.void]
foreign = 1
"""


def test_a_plan_keeps_the_key_only_where_it_spins() -> None:
    found = [plan.parse(FAKE + more, None) for more in ("", SPIN)]
    assert [one.spin for one in found] == [False, True]
    kept = [plan_record.generator_json(one) for one in found]
    assert kept == [{"threads": None}, {"threads": None, "spin": True}]


def test_the_introduction_of_a_report_says_so() -> None:
    made = comparison(blocks=1)
    spun = replace(made, plan=structs.replace(made.plan, generator=GeneratorRecord(spin=True)))
    words = "looked for each answer before it slept"
    assert words in "\n".join(setup.paragraphs(spun))
    assert words not in "\n".join(setup.paragraphs(made))


@pytest.mark.live
@pytest.mark.parametrize(("more", "way"), [("", "receive"), (SPIN, "spin")])
def test_a_thread_with_one_connection_spins_where_the_plan_wants_it(
    tmp_path: Path, more: str, way: str
) -> None:
    (tmp_path / "reads.toml").write_text(read_steps.text())
    text = LIVE.format(base_dir=builds()[-1]) + more
    outcome = blocks.run(plan.parse(text, tmp_path / "spin.toml"), tmp_path / "out", wait=True)
    assert outcome.failed == 0
    ((run,),) = [block.runs() for block in Results.open(outcome.folder).blocks()]
    (step,) = [step for step in run.steps() if step.name == "one"]
    *_, done = map(plain, step.events())
    assert [thread["wait"] for thread in done["threads"]] == [way]
