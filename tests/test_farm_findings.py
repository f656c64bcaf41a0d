"""The report of a finding, for people and for programs."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

import farm_world
from dbdyno.farm import findings
from dbdyno.farm.journal import ChangedFunction, Culprit, Head, ResolutionEntry
from dbdyno.farm.state import FarmFinding
from dbdyno.model.json import decoder
from farm_world import BRANCH, SERIES, World, sha

CULPRIT = Culprit(
    commit=sha(2),
    subject="Make `it` slow | fast",
    before=sha(1),
    functions=(
        ChangedFunction(function="IndexNext", step="point-query", before=900.0, after=1780.4),
    ),
    command="dyno race a@1 a@2 --count",
    folder="2026-01-02-master-000/work",
)


@pytest.fixture(name="finding")
def _finding(tmp_path: Path) -> FarmFinding:
    pair = farm_world.HeadPair(branch=BRANCH, head=sha(2), previous=sha(1), seen_s=0)
    readings = [World(tmp_path, changes={2: 0.03}).reading(pair, number) for number in (0, 1)]
    alarms = tuple(farm_world.judge(readings, farm_world.Budget()))
    return FarmFinding(
        name="master-x", branch="master", opened_s=86_400.0, alarms=alarms, culprit=CULPRIT
    )


def test_a_report_names_commit_step_change_functions_and_the_command(finding: FarmFinding) -> None:
    text = findings.markdown(findings.report(finding, BRANCH))
    assert text.startswith(f"# master {sha(2)[:10]}: point-query +3.05 % instructions\n")
    assert "- found 1970-01-02 on branch master of `/src`, revision 1" in text
    assert f"- commit `{sha(2)}`: Make 'it' slow \\| fast" in text
    assert "| point-query | instructions | +3.05 % | +2.94 % to +3.15 % | worse |" in text
    assert "| `IndexNext` | point-query | 900.0 | 1,780.4 | +880.4 instructions |" in text
    assert "    dyno race a@1 a@2 --count" in text


def test_functions_of_a_change_in_time_are_told_in_microseconds(finding: FarmFinding) -> None:
    cost = ChangedFunction(function="f", step="point-query", before=0.256, after=1.5, unit="µs")
    timed = structs.replace(CULPRIT, functions=(cost,))
    text = findings.markdown(findings.report(replace(finding, culprit=timed), BRANCH))
    assert "| `f` | point-query | 0.26 | 1.50 | +1.24 µs |" in text


def test_programs_read_the_same(finding: FarmFinding) -> None:
    made = findings.as_json(findings.report(finding, BRANCH))
    assert made.endswith(b"}\n") and made.count(b"\n") == 1
    read = decoder(findings.FindingReport).decode(made)
    assert read == findings.report(finding, BRANCH)
    assert (read.format, read.revision, read.standing, read.commit) == (1, 1, "open", sha(2))


def test_a_fixed_finding_says_since_when(finding: FarmFinding) -> None:
    resolved = ResolutionEntry(
        at_s=9, finding="master-x", by="master-y", commit=sha(7), reverted=False
    )
    report = findings.report(replace(finding, resolved=resolved), BRANCH)
    assert (report.revision, report.standing, report.back_since) == (2, "fixed", sha(7))
    assert f"- fixed: back since `{sha(7)}`" in findings.markdown(report)
    assert findings.title(report).startswith(f"fixed by {sha(7)[:10]}: master ")


def test_an_unsure_commit_is_said_to_be_unsure(finding: FarmFinding) -> None:
    unsure = structs.replace(
        CULPRIT, probability=0.5, suspects=(Head(commit=sha(1)), Head(commit=sha(2)))
    )
    text = findings.markdown(findings.report(replace(finding, culprit=unsure), BRANCH))
    assert "- 50 % sure; it may be any of:" in text
    assert f"    - `{sha(1)}`" in text


@pytest.mark.parametrize(
    ("instrument", "metric", "change", "worse"),
    [
        ("work", "instructions", 0.03, True),
        ("work", "instructions", -0.03, False),
        ("time", "qps", -0.03, True),
        ("time", "qps", 0.03, False),
        ("time", "cpu_per_op", 0.03, True),
    ],
)
def test_worse_is_more_work_more_cpu_and_less_throughput(
    finding: FarmFinding, instrument: str, metric: str, change: float, worse: bool
) -> None:
    alarm = structs.replace(
        finding.alarms[0],
        series=structs.replace(SERIES, instrument=instrument, metric=metric),
        change=farm_world.ratio(change),
    )
    assert findings.change_of(alarm).worse is worse
