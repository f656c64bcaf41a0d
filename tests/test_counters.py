"""Counters of perf become metrics, reasons of verdicts, and a witness that decides nothing."""

import re
from dataclasses import replace

import pytest

from changed_builder import changed
from dbdyno.evidence import counters
from dbdyno.findings.metrics import show as metrics
from dbdyno.findings.why import show as why
from dbdyno.judge import witness
from dbdyno.judge.explanation import explain
from dbdyno.model.metric.counter import COUNTER, INSTRUCTIONS
from dbdyno.model.profile import Profile
from dbdyno.model.verdict import Aims
from profile_builder import profile

pytestmark = pytest.mark.usefixtures("independent_blocks")

COUNTED = {
    "instructions:u": 9_000_000.0,
    "instructions:k": 1_000_000.0,
    "cycles:u": 4_500_000.0,
    "cache-misses:u": 500.0,
    "page-faults": 30.0,
    "task-clock": 2e9,
}


def test_counters_are_told_for_each_operation_user_code_and_the_kernel_apart():
    found = counters.metrics(profile({}, counters=COUNTED))
    told = {name: value for name, value in found.items() if value is not None}
    assert told == {
        "instructions_per_op": 9000.0,
        "kernel_instructions_per_op": 1000.0,
        "cycles_per_op": 4500.0,
        "cache_misses_per_op": 0.5,
        "page_faults_per_op": 0.03,
        "instructions_per_cycle": 2.0,
    }


def test_every_metric_of_counters_is_there_without_a_profile_or_operations():
    names = [row.name for row in COUNTER]
    assert counters.metrics(None) == dict.fromkeys(names)
    of_none = counters.metrics(profile({}, counters={"instructions:u": 5.0}, operations=0.0))
    assert of_none == dict.fromkeys(names)


def test_faults_of_user_code_alone_stand_where_the_kernel_may_not_be_counted():
    found = counters.metrics(profile({}, counters={"page-faults:u": 20.0}))
    assert found["page_faults_per_op"] == 0.02


SLOWER = {"qps": 1 / 1.1, "connection_us_per_op": 1.1, "server_cpu_per_op": 1.1}


def test_more_instructions_are_named_among_the_reasons():
    step = changed(**SLOWER, instructions_per_op=1.08)
    found = explain(step, step.cells[1], step.cells[0], Aims())
    assert found is not None
    assert INSTRUCTIONS in [cause.metric for cause in found.causes]
    assert "8.0 % more instructions" in found.text


@pytest.mark.parametrize(
    ("factor", "said"),
    [
        (1.012, r"1\.2 % more instructions per query \[0\.7, 1\.7\]"),
        (0.98, r"2\.0 % fewer instructions per query \[1\.5, 2\.4\]"),
        (1.0001, r"0\.0 % more instructions per query \[.*\], which may be chance"),
    ],
)
def test_a_witness_is_told_with_its_interval_whatever_the_verdict(factor: float, said: str):
    step = changed(instructions_per_op=factor)
    words = witness.words(step.cells[1], "query", Aims())
    assert re.fullmatch(said, words), words


def test_without_counters_there_is_no_witness():
    cell = changed().cells[1]
    assert INSTRUCTIONS in cell.costs
    costs = {name: one for name, one in cell.costs.items() if name != INSTRUCTIONS}
    assert witness.words(replace(cell, costs=costs), "query", Aims()) == ""


@pytest.mark.parametrize("factor", [1.0, 1 / 1.1])
def test_the_report_names_the_witness_beside_any_verdict(factor: float):
    step = changed(qps=factor)
    base, cell = step.cells
    assert cell.verdict is not None
    said = replace(cell, verdict=replace(cell.verdict, witness="2.0 % more instructions per query"))
    (finding,) = why.findings(replace(step, cells=(base, said)))
    assert "witness, which decides nothing: 2.0" in finding.text.replace("\u00a0", " ")
    assert list(why.findings(step)) == []


def test_the_report_says_in_one_line_why_there_are_no_hardware_counters():
    step = changed()
    missing = profile({}, no_counters="this host counts no hardware events")

    def note(of: Profile | None) -> str:
        base, cell = step.cells
        runs = tuple(replace(run, profile=of) for run in cell.runs)
        profiled = replace(step, cells=(base, replace(cell, runs=runs)))
        return [table.note for table in metrics.tables(profiled, "old", "p")][-1]

    assert note(missing).startswith("Hardware counters: this host counts no")
    assert note(profile({}, counters=COUNTED)) == note(None) == ""
