"""The answer of a gate by counts and races, and its forms: terminal, Markdown, JUnit, JSON."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import junitparser
import msgspec
import pytest

from dbdyno.analysis import compare
from dbdyno.analysis import gate as analysis
from dbdyno.model import Comparison
from dbdyno.model.gate import UNRACED, Gate, WorkCheck
from dbdyno.model.work import WorkChange
from dbdyno.report import gate as report
from gate_builder import HEAD, WORK_ALONE, counted, gate_of, race, step_of, work
from result_builder import build

LIFTS = (0.85, 0.88, 0.949, 1.0)
Load = Callable[[float], Comparison]


@pytest.fixture(name="raced", scope="module")
def _raced(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Races in which the head has so much of the base's throughput."""
    made = {faster: race(tmp_path_factory.mktemp("race"), faster) for faster in LIFTS}
    return made.__getitem__


def counts(raced: Load, *changes: WorkChange) -> Comparison:
    """The counts of a gate."""
    return counted(raced(1.0), *changes)


# --- Rules -----------------------------------------------------------------------------------


def test_a_loss_of_time_is_open_where_another_layout_is_not_known(raced: Load) -> None:
    measured = analysis.GateMeasurements(
        head=HEAD, counted=counts(raced, work(0.0)), raced=raced(0.85), relaid=raced(0.949)
    )
    step = step_of(measured)
    assert step.time is not None
    assert (step.answer, step.time.reason) == (
        "not yet", "slower with one layout of its code, and not known with another",
    )  # fmt: skip
    assert any("to exclude the loss takes" in reason for reason in report.reasons(step))


def test_losses_of_two_metrics_do_not_confirm_each_other(raced: Load) -> None:
    lost = raced(0.85)
    (step,) = lost.steps
    cells = tuple(
        each if each.tolerated is None
        else replace(each, tolerated=replace(each.tolerated, by=("cpu_per_op",)))
        for each in step.cells
    )  # fmt: skip
    of_cpu = replace(lost, steps=(replace(step, cells=cells),))
    measured = analysis.GateMeasurements(
        head=HEAD, counted=counts(raced, work(0.0)), raced=lost, relaid=of_cpu
    )
    first = step_of(measured)
    assert first.time is not None
    assert (first.answer, first.time.reason) == ("not yet", analysis.OTHERWISE)


def test_a_failed_step_of_the_head_needs_no_other_layout(tmp_path: Path, raced: Load) -> None:
    folder = build(tmp_path, blocks=3, steps=("qr100",), failed={(2, HEAD, "qr100"): "it crashed"})
    measured = analysis.GateMeasurements(
        head=HEAD, counted=counts(raced, work(0.0)), raced=compare.load(folder, tolerate=0.05)
    )
    assert analysis.lost(measured) == ()
    step = step_of(measured)
    assert step.answer == "no" and step.time is not None
    assert "failed in 1 of 3 blocks" in step.time.reason


# --- Forms -----------------------------------------------------------------------------------


@pytest.fixture(name="gate")
def _gate(raced: Load) -> Gate:
    """More work in one step; another one lost time with both layouts, and a third is fine."""
    of_work = analysis.GateMeasurements(
        head=HEAD, counted=counts(raced, work(0.0056)), raced=raced(1.0)
    )
    of_time = analysis.GateMeasurements(
        head=HEAD, counted=counts(raced, work(0.0)), raced=raced(0.85), relaid=raced(0.88)
    )
    fine = analysis.GateMeasurements(head=HEAD, counted=counts(raced, work(0.0)), raced=raced(1.0))
    opened = analysis.GateMeasurements(
        head=HEAD, counted=counts(raced, work(0.0)), unraced="the counts took all minutes"
    )
    named = zip(("fine", "open", "work", "time"), (fine, opened, of_work, of_time), strict=True)
    return gate_of(*(msgspec.structs.replace(step_of(each), step=name) for name, each in named))


def test_a_head_that_fails_as_it_is_counted_says_that_alone() -> None:
    check = WorkCheck(answer="no", instructions="no", reason="head: it crashed")
    assert list(report.of_work(check)) == ["work: head: it crashed"]


def test_the_worst_step_comes_first_with_its_functions(gate: Gate) -> None:
    lines = list(report.lines(gate))
    assert lines[0] == (
        "gate: no (. as it stands, 2 changed files against good 6ad5f1df2a)"
    )  # fmt: skip
    assert lines[1].startswith("work  no: work +0.56 % [+0.55, +0.57]; time throughput")
    assert any("IndexNext +225" in line for line in lines)
    assert any("with two layouts of its code" in line for line in lines)
    assert all(len(line) <= report.COLUMNS for line in lines)


def test_a_comment_tells_what_changed_in_25_lines_whatever_the_number_of_steps(gate: Gate) -> None:
    text = report.markdown(gate)
    assert text.startswith("### dyno gate: no\n")
    assert "| work | **no** | +0.56 % [+0.55, +0.57] |" in text
    assert "| more work, 40,000 → 40,224 instructions: IndexNext +225, ExecScan −1 |" in text
    assert "Within what is tolerated: fine." in text
    many = report.markdown(msgspec.structs.replace(gate, steps=gate.steps * 40)).splitlines()
    assert len(many) <= 25
    assert {line.count("|") for line in many if line.startswith("|")} == {6}


def test_a_comment_says_once_why_nothing_was_raced(raced: Load) -> None:
    measured = [
        analysis.GateMeasurements(head=HEAD, counted=counts(raced, change), unraced=UNRACED)
        for change in (work(0.0056), work(0.0), work(-0.02))
    ]
    named = zip(("more", "alike", "less"), measured, strict=True)
    text = report.markdown(
        gate_of(*(msgspec.structs.replace(step_of(each), step=name) for name, each in named))
    )
    assert text.count(UNRACED) == 1 and f"No more work, and {UNRACED}: alike." in text
    assert "| less | **not yet** | −2.00 % [−2.01, −1.99] | not raced | less work, " in text


def test_junit_has_a_failure_for_no_and_skips_what_is_not_known(gate: Gate, tmp_path: Path) -> None:
    path = tmp_path / "gate.xml"
    path.write_bytes(report.junit(gate))
    xml = junitparser.JUnitXml.fromfile(str(path))
    counted = {suite.name: (suite.tests, suite.failures, suite.skipped) for suite in xml}
    assert counted == {"work": (4, 1, 0), "time": (4, 1, 1)}
    before = (xml.tests, xml.failures, xml.errors)
    xml.update_statistics()  # by its cases
    assert (xml.tests, xml.failures, xml.errors) == before == (8, 2, 0)
    failures = [case.name for suite in xml for case in suite for result in case.result
                if isinstance(result, junitparser.Failure)]  # fmt: skip
    assert failures == ["work", "time"]


def test_json_has_every_key_and_no_other(gate: Gate) -> None:
    text = report.document(gate)
    written = json.loads(text)
    assert [step["answer"] for step in written["steps"]] == ["yes", "not yet", "no", "no"]
    assert msgspec.convert(written, Gate, strict=True) == gate
    assert json.loads(msgspec.json.encode(gate)) == written


def test_a_gate_of_work_alone_has_no_suite_of_time(raced: Load) -> None:
    measured = analysis.GateMeasurements(head=HEAD, counted=counts(raced, work(0.0)))
    alone = msgspec.structs.replace(gate_of(step_of(measured, tolerated=WORK_ALONE)), time=None)
    assert b'name="time"' not in report.junit(alone)
    assert "Not asked: time; counts see neither" in report.markdown(alone)
    assert "time" not in "".join(report.lines(alone))


# --- The page --------------------------------------------------------------------------------


PAGE = Path(__file__).parent.parent / "docs" / "howto" / "ci.md"


def fenced(kind: str, begin: str) -> list[str]:
    """The blocks of a kind on the page that begin so."""
    texts = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [text for text in texts if text.startswith(begin)]


def test_the_gates_on_the_page_have_one_answer_in_all_forms() -> None:
    gates = [msgspec.json.decode(text, type=Gate) for text in fenced("json", "{")]
    assert [gate.answer for gate in gates] == ["no", "yes", "no"]
    assert fenced("markdown", "### dyno gate") == [report.markdown(gate) for gate in gates]
    assert fenced("xml", "<?xml") == [report.junit(gate).decode() for gate in gates]
