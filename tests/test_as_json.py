"""`dyno compare --json`: its keys are a promise, its figures the planted ones, its page has all."""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from application_builder import planned
from dbdyno import __version__
from dbdyno.analysis import compare
from dbdyno.findings import plans, steps
from dbdyno.findings.nodes.facts import NodeFacts
from dbdyno.findings.profiles.facts import ProfileFacts
from dbdyno.findings.sweeps.facts import Peak, SweepFacts
from dbdyno.model import Comparison, Json, Ratio
from dbdyno.model.application import ApplicationFacts, ApplicationResult
from dbdyno.model.attribution import Design, Factor
from dbdyno.model.host_facts import CountScatter
from dbdyno.model.own_query import Exclusion
from dbdyno.model.tolerance import StepTolerance
from dbdyno.model.work import (
    Amounts,
    EventChange,
    EventInterval,
    FunctionChange,
    WorkChange,
    WorkComparison,
)
from dbdyno.report import json_document
from dbdyno.report.export import derived
from dbdyno.report.export.form import RESULT, RUN, ExportColumn
from profile_builder import beside, cost
from result_builder import build, plant
from result_planted import Planted
from test_report_calibration import FILL_NOISE
from test_report_nodes import by_node
from verdict_builder import (
    CPU,
    at_look,
    calibration,
    explained,
    judgement,
    looked_at,
    overall,
    with_judgements,
)

PAGE = (Path(__file__).parent.parent / "docs" / "compare.md").read_text()
NAMED = frozenset(
    ("background", "base_values", "fills", "levels", "limited", "metrics", "sd", "tables")
)
"""Keys whose own keys are names of metrics, arms, steps, tables or processes."""
TABLES = ("tables", "steps.tables")
"""The tables of findings, whose keys are the columns of exports."""
JUDGEMENT = (
    "estimate low high blocks kind se freedom basis bound apart fills p p_sign q sd margin verdict"
    " within_margin reason look_blocks look_share so_far_estimate so_far_low so_far_high lent"
    " own_low own_high dependence visible blocks_needed minutes_needed"
    " stood_still base_stood_still p_still"
)
FORM = {
    "": "format dyno title label plan base arms ghost blocks unverified nodes aims tolerate "
    "looks design "
    "calibration "
    "overall steps applications work tables doubts incomplete",
    "applications": "workload arm answer",
    "nodes": "node blocks",
    "aims": "margin effect power level tolerate",
    "tolerate": "tolerate answer arms",
    "tolerate.arms": "arm answer steps",
    "tolerate.arms.steps": "workload step answer by reason blocks_needed minutes_needed tail",
    "looks": "first minutes_max last taken coming",
    "looks.taken": "blocks share",
    "looks.coming": "blocks share",
    "calibration": "arm comparisons blocks_each tests rejected rate rate_low rate_high "
    "false_verdicts comparisons_false false_low false_high p_uniform noise fills",
    "calibration.noise": "workload step metric blocks sd sd_low sd_high visible largest",
    "calibration.fills": "workload step metric fills blocks sd sd_low sd_high blocks_sd "
    "blocks_sd_low blocks_sd_high means_sd",
    "overall": f"arm workload steps metric {JUDGEMENT}",
    "steps": "workload ordinal step group headline base_values arms limited tables",
    "doubts": "subject grade arm blocks items",
    "doubts.items": "words amount workload ordinal step blocks",
    "design": "kind base arm factors levels",
    "design.factors": "name base arm",
    "steps.arms": "arm verdict within_margin reason by against outcome metrics findings",
    "steps.arms.metrics": f"primary value base {JUDGEMENT}",
    "steps.arms.findings": "text explained causes unchanged",
    "steps.arms.findings.causes": "metric words",
    "work": "repeats tool left_out scatter scatter_of_writes calibration",
    "work.calibration": "repeats pairs beyond deviation freedom deviation_of_writes "
    "freedom_of_writes fills",
}
"""Format 6. A key may be added here; one that goes away is another format."""


def keys(value: Any, path: str = "", *, named: bool = False) -> Iterator[tuple[str, set[str]]]:
    """The keys of every object below a value, by the path to it."""
    if isinstance(value, list):
        for one in value:
            yield from keys(one, path)
    elif isinstance(value, dict) and named:
        for one in value.values():
            yield from keys(one, path)
    elif isinstance(value, dict):
        yield path, set(value)
        for key, one in value.items():
            yield from keys(one, f"{path}.{key}".removeprefix("."), named=key in NAMED)


FIGURE = Ratio(value=0.9, low=0.8, high=1.0, blocks=3)
OWN_QUERIES = planned(["a"], left_out=(Exclusion(reason="no reads", calls=1),))
APPLICATION = ApplicationResult(
    workload="w",
    arm="pg18",
    covered=0.9,
    queries=2,
    cpu=FIGURE,
    time=None,
    failed=("a",),
    base_failed=(),
    both_failed=(),
)
PEAK = Peak(
    workload="w", sweep="a", base="pg17", arm="pg18", clients=4, fewest=4, most=4, blocks=3,
    peak=FIGURE, ratio=FIGURE, drop_factor=None, drop_ratio=FIGURE, stood_still=0, limited=False,
)  # fmt: skip


DESIGN = Design(
    kind="one at a time",
    base="pg17",
    arm="pg18",
    factors=(Factor(name="version", base="17", arm="18"),),
    values={"pg17": (0,), "pg18": (1,)},
)
PROFILE = beside(
    replace(cost("indexes", 0.9, changed=False), kind="subsystem"),
    cost("_bt_compare", 0.9),
    cost("heap_fetch", 0.0, changed=False),
)


AMOUNTS = Amounts(instructions=1e5, atomics=32.0, system_calls=1.0)
WORK = WorkComparison(
    base="pg17", arms=("pg17", "pg18"), repeats=2, tool="valgrind 3.19.0", left_out=("f",),
    scatter=1e-4, scatter_of_writes=1e-4,
    calibration=CountScatter(repeats=40, pairs=780, beyond=0, deviation=5e-5, freedom=39),
    changes=(
        WorkChange(
            workload="w", step="l.i2", arm="pg18", word="same", of_base=AMOUNTS, of_arm=AMOUNTS,
            ratio=FIGURE,
            functions=(
                FunctionChange(
                    function="f", subsystem="other", binary="postgres", base_instructions=1.0,
                    arm_instructions=9.0,
                    base_whole_instructions=1.0, arm_whole_instructions=9.0, base_calls=1.0,
                    arm_calls=1.0,
                    base_atomics=0.0, arm_atomics=0.0, changed=True,
                ),
            ),
            events=(
                EventChange(
                    event="atomics", word="more", base_events=32.0, arm_events=33.0, function="f",
                    binary="postgres", function_change=1.0, operations_needed=None,
                    change=EventInterval(low=0.9, high=1.1, chance=0.1, least=1.0),
                ),
            ),
        ),
    ),
)  # fmt: skip


def whole(made: Comparison) -> Comparison:
    """The made-up comparison with everything that one may have."""
    ratio = Ratio(value=0.93, low=0.9, high=0.96, blocks=3)
    made = with_judgements(made, "l.i2", lambda one: at_look(one, 0.93, 0.89, 0.97))
    first, *others = made.steps
    asked = StepTolerance(workload="w", step="l.i0", answer="yes")
    other = replace(first.cells[1], tolerated=asked)
    first = replace(first, cells=(first.cells[0], other))
    made = replace(made, aims=replace(made.aims, tolerate=0.05), plan=OWN_QUERIES)
    made = replace(made, steps=(first, *others), design=DESIGN, nodes={1: "n1", 2: "n2", 3: "n1"})
    return replace(
        explained(made, {"l.i2": "7.0 % slower [6.5, 7.6]"}),
        calibration=replace(calibration(made, arm="ghost"), fills=(FILL_NOISE,)),
        looked=looked_at(4),
        overall=overall(
            "pg18",
            "w",
            throughput=at_look(judgement("ips", ratio), 0.93, 0.89, 0.97),
            cpu=judgement(CPU, ratio),
        ),
        findings={
            "ApplicationFacts": ApplicationFacts(applications=(APPLICATION,)),
            "SweepFacts": SweepFacts(peaks=(PEAK,)),
            "WorkComparison": WORK,
            "NodeFacts": NodeFacts(nodes=(by_node("ips", (0.96, 1.02)),)),
            "ProfileFacts": ProfileFacts(functions=(PROFILE,)),
        },
    )


def slower(steps: dict[str, float]) -> Callable[[str, str, int], Planted]:
    """pg18 does so much of what pg17 does in these steps."""

    def planted(arm: str, step: str, block: int) -> Planted:
        return plant(step, faster=steps.get(step, 1.0) if arm == "pg18" else 1.0)

    return planted


def step_of(written: Json, name: str) -> Json:
    """A step of the form."""
    found: Json = next(one for one in written["steps"] if one["step"] == name)
    return found


# --- The promise -----------------------------------------------------------------------------


def test_the_keys_of_format_6_are_all_there_and_no_others(three: Comparison) -> None:
    found = list(keys(json.loads(json_document.render(whole(three)))))
    assert {path for path, _ in found} == {*FORM, *TABLES}
    for path, names in found:
        assert path in TABLES or names == set(FORM[path].split()), path
    assert json_document.FORMAT == 6


def test_the_tables_of_findings_have_the_columns_of_exports(three: Comparison) -> None:
    def own(key: tuple[ExportColumn, ...], *findings: Any) -> dict[str, set[str]]:
        return {
            table.name: {column.name for column in table.columns[len(RESULT) + len(key) :]}
            for finding in findings
            for table in derived.tables(finding.facts, key)
        }

    form = json.loads(json_document.render(whole(three)))
    of_steps = own(RUN, *steps.FINDINGS)
    assert {"fairness", "stalls", "targets"} <= {
        name for step in form["steps"] for name in step["tables"]
    }
    for step in form["steps"]:
        for name, rows in step["tables"].items():
            assert all(row.keys() == {"arm", "block"} | of_steps[name] for row in rows), name
    functions = [row["name"] for row in form["tables"]["functions"]]
    assert functions == ["indexes", "_bt_compare"], "of functions those that changed"
    for name, rows in form["tables"].items():
        assert all(row.keys() == own((), *plans.FINDINGS)[name] for row in rows), name


def test_the_keys_are_the_same_where_nothing_is_judged_or_known(tmp_path: Path) -> None:
    written = json_document.form(compare.load(build(tmp_path, blocks=1, arms=("pg17", "pg18"))))
    for path, names in keys(written):
        assert path in TABLES or names == set(FORM[path].split()), path
    assert written["calibration"] is None


def test_the_page_has_every_key_and_its_example_is_of_this_form() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"\w+", row)}
    nested = {"margin", "effect", "power", "level", "workload", "step", "steps", "metric", "words"}
    for names in FORM.values():
        for name in set(names.split()) - nested:
            assert name in told or f"`{name}`" in PAGE, f"docs/compare.md does not tell `{name}`"
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    for path, names in keys(json.loads(example)):
        assert path in TABLES or names == set(FORM[path].split()), path


def test_the_page_names_every_verdict() -> None:
    from dbdyno.report.fail_on import WORDS

    for word in WORDS:
        assert f"`{word}`" in PAGE, word


def test_what_json_has_no_word_for_is_null(three: Comparison) -> None:
    made = whole(three)
    judgement = made.overall[0].judgement
    wild = replace(judgement, so_far=replace(judgement.estimate, high=math.inf), sd=math.nan)
    wild = replace(wild, look=None)
    made = replace(made, overall=(replace(made.overall[0], judgement=wild),))
    (found,) = json.loads(json_document.render(made))["overall"]
    assert (found["high"], found["sd"], found["low"]) == (None, None, wild.so_far.low)


# --- Its figures -----------------------------------------------------------------------------


@pytest.mark.long
def test_a_planted_change_is_there_with_its_word_and_figures(tmp_path: Path) -> None:
    written = json_document.form(compare.load(build(tmp_path, planted=slower({"qr100": 0.9}))))
    assert written["dyno"] == __version__
    assert (written["base"], written["arms"], written["blocks"]) == ("pg17", ["pg17", "pg18"], 3)
    assert [(one["step"], one["arms"][0]["verdict"]) for one in written["steps"]] == [
        ("l.i0", "same"),
        ("l.x", "same"),
        ("l.i1", "same"),
        ("cleanup", None),
        ("qr100", "slower"),
    ]
    step = step_of(written, "qr100")
    assert step["base_values"]["qps"] == pytest.approx(5_000)
    (arm,) = step["arms"]
    assert (arm["arm"], arm["by"], arm["outcome"]) == ("pg18", ["qps"], "")
    qps = arm["metrics"]["qps"]
    assert list(arm["metrics"])[:2] == ["qps", "cpu_per_op"]
    assert arm["metrics"]["cpu_per_op"]["primary"] is True
    assert (qps["primary"], qps["verdict"], qps["blocks"]) == (True, "slower", 3)
    assert (qps["value"], qps["base"]) == (pytest.approx(4_500), pytest.approx(5_000))
    assert [qps[name] for name in ("estimate", "low", "high")] == [pytest.approx(0.9)] * 3
    assert qps["p"] == qps["q"] == pytest.approx(0.0)
    assert qps["p_sign"] == pytest.approx(0.25), "two of the eight choices of signs"
    assert arm["metrics"]["cpupq"]["primary"] is False
    (finding,) = arm["findings"]
    assert finding["text"].startswith("throughput 10.0 % slower")


def test_an_arm_alone_has_its_values(tmp_path: Path) -> None:
    written = json_document.form(compare.load(build(tmp_path, arms=("pg17",), blocks=2)))
    step = step_of(written, "qr100")
    assert step["arms"] == []
    assert step["base_values"]["qps"] == pytest.approx(5_000)


def test_what_an_arm_did_instead_is_its_outcome(tmp_path: Path) -> None:
    failed = {(block, "pg18", "l.x"): "the server ended" for block in (1, 2, 3)}
    written = json_document.form(compare.load(build(tmp_path, failed=failed)))
    (arm,) = step_of(written, "l.x")["arms"]
    assert (arm["verdict"], arm["outcome"]) == ("failed", "failed in 3 of 3 blocks")
    assert arm["metrics"]["ips"]["value"] is None
    assert arm["metrics"]["ips"]["base"] is not None
