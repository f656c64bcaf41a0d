"""A newcomer's finding: one folder and two lines; tables, manual, JSON and the cache follow."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import msgpack

from dbdyno import findings
from dbdyno.analysis.step import assemble
from dbdyno.evidence.evidence import Evidence
from dbdyno.findings import plans, steps
from dbdyno.findings.finding import StepFinding
from dbdyno.model.facts import Facts, columns, says
from dbdyno.report.export import derived
from dbdyno.report.export.form import RESULT, RUN, ExportColumn
from dbdyno.store import Results, StepFolder
from result_builder import build

FOLDER = Path(findings.__file__).parent
KNOWN = {
    *((name, "application.own_query") for name in ("answer", "answers", "queries", "query_plans")),
    *((name, "verdicts.show") for name in ("answer", "application", "headline", "queries")),
    *((name, "application.show") for name in ("answers", "queries")),
    *((name, "measured_on.show") for name in ("differences", "repeat", "setup")),
    *((name, "fairness.show") for name in ("groups", "summary")),
    ("headline", "calibration.show"), ("queries", "work.show"), ("query_plans", "verdicts.show"),
    ("suspects", "profiles.form"),
}  # fmt: skip
"""Who takes words or layout of which other finding."""


@dataclass(frozen=True, kw_only=True)
class Longest:
    """A nested row."""

    client: Annotated[int, says("the client's number")]
    wait_s: Annotated[float | None, says("how long it waited", "s")] = None


@dataclass(frozen=True, kw_only=True)
class Spell:
    """A further row."""

    second: Annotated[int, says("when it began", "s")]
    waited: Annotated[tuple[int, ...], columns({"short": "up to 1 s", "long": "above that"})]
    exact: bool = True  # no column


@dataclass(frozen=True, kw_only=True)
class Silence:
    """A row."""

    role: Annotated[str, says("the role's name")]
    longest: Longest | None
    spells: tuple[Spell, ...]


@dataclass(frozen=True, kw_only=True)
class SilenceFacts(Facts):
    """A newcomer's facts."""

    silences: Annotated[tuple[Silence, ...], says("a spell in which a role said nothing")] = ()


def of_step(evidence: Evidence) -> SilenceFacts:
    """Two spells of each role."""
    spells = (Spell(second=1, waited=(3, 4)), Spell(second=5, waited=(3, 4)))
    longest = Longest(client=3, wait_s=0.5)
    return SilenceFacts(
        silences=tuple(
            Silence(role=role.name, longest=longest, spells=spells) for role in evidence.job.roles
        )
    )


def a_step(folder: Path) -> StepFolder:
    """A step of a built result."""
    results = Results.open(build(folder, blocks=1, arms=("pg17",)))
    return next(step for run in results.blocks()[0].runs() for step in run.steps())


def test_every_folder_stands_in_the_lists() -> None:
    deriving = {path.parent.name for path in FOLDER.glob("*/step.py")}
    listed = {finding.of_step.__module__.split(".")[-2] for finding in steps.FINDINGS}
    assert listed == deriving
    deriving = {path.parent.name for path in FOLDER.glob("*/plan.py")}
    assert {finding.of_plan.__module__.split(".")[-2] for finding in plans.FINDINGS} == deriving
    for name, reader in (
        ("show", "findings/shown.py"),
        ("metrics", "analysis/step/metrics.py"),
        ("series", "analysis/step/assemble.py"),
    ):
        text = (FOLDER.parent / reader).read_text()
        for path in FOLDER.glob(f"*/{name}.py"):
            assert f"dbdyno.findings.{path.parent.name} import {name}" in text, path


def test_findings_know_of_each_other_facts_alone_but_for_a_few() -> None:
    of_findings = re.compile(
        r"^from dbdyno\.findings\.(\w+)(?:\.(\w+))? import (\w+)", re.MULTILINE
    )
    known = set()
    for path in FOLDER.glob("*/*.py"):
        for name, file, first in of_findings.findall(path.read_text()):
            protocol = name in ("finding", "plan_finding")
            if not protocol and name != path.parent.name and (file or first) != "facts":
                known.add((path.parent.name, f"{name}.{file or first}"))
    assert known <= KNOWN, "a finding that others need tells it as facts, or from parts/"


def test_the_columns_of_a_newcomer_follow_from_its_fields() -> None:
    (table,) = derived.tables(SilenceFacts, RUN)
    assert (table.name, table.row) == ("silences", "a spell in which a role said nothing")
    assert table.columns[len(RESULT) + len(RUN) :] == (
        ExportColumn(name="role", type="text", unit="", what="the role's name"),
        ExportColumn(name="longest_client", type="integer", unit="", what="the client's number"),
        ExportColumn(name="longest_wait_s", type="number", unit="s", what="how long it waited"),
        ExportColumn(name="second", type="integer", unit="s", what="when it began"),
        ExportColumn(name="short", type="integer", unit="", what="up to 1 s"),
        ExportColumn(name="long", type="integer", unit="", what="above that"),
    )


def test_a_row_without_its_nested_one_has_nulls() -> None:
    silence = Silence(role="query", longest=None, spells=(Spell(second=2, waited=(1, 0)),))
    assert list(derived.rows(SilenceFacts(silences=(silence,)))) == [
        (
            "silences",
            {"role": "query", "longest_client": None, "longest_wait_s": None, "second": 2}
            | {"short": 1, "long": 0},
        )
    ]


@dataclass(frozen=True, kw_only=True)
class Blow:
    """A further row that is of another table."""

    second: Annotated[int, says("when it fell", "s")]


@dataclass(frozen=True, kw_only=True)
class Quarrel:
    """A row with further rows of a table of their own, and a nested row of each side."""

    arm: Annotated[str, says("the arm's name")]
    word: Annotated[str, says("how it ended")]
    of_base: Annotated[Longest, says("the base's")]
    blows: Annotated[tuple[Blow, ...], says("a blow of a quarrel")]


@dataclass(frozen=True, kw_only=True)
class QuarrelFacts(Facts):
    """Facts whose table has another name."""

    rows: Annotated[tuple[Quarrel, ...], says("a quarrel", table="quarrels")] = ()


def test_further_rows_with_a_meaning_are_a_table_of_their_own() -> None:
    first, second = derived.tables(QuarrelFacts, ())
    assert [column.name for column in first.columns[len(RESULT) :]] == [
        "arm", "word", "base_client", "base_wait_s",
    ]  # fmt: skip
    assert first.columns[-1].what == "how long it waited, the base's"
    assert (first.name, second.name, second.row) == (
        "quarrels", "quarrels_blows", "a blow of a quarrel",
    )  # fmt: skip
    blows = (Blow(second=1), Blow(second=5))
    quarrel = Quarrel(arm="new", word="won", of_base=Longest(client=3), blows=blows)
    assert list(derived.rows(QuarrelFacts(rows=(quarrel,)))) == [
        ("quarrels", {"arm": "new", "word": "won", "base_client": 3, "base_wait_s": None}),
        ("quarrels_blows", {"arm": "new", "second": 1}),
        ("quarrels_blows", {"arm": "new", "second": 5}),
    ]


def test_a_newcomer_is_derived_kept_and_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    finding = StepFinding(facts=SilenceFacts, of_step=of_step)
    monkeypatch.setattr(steps, "FINDINGS", (*steps.FINDINGS, finding))
    monkeypatch.setitem(steps.DECODERS, "SilenceFacts", msgpack.Decoder(SilenceFacts))
    folder = a_step(tmp_path)
    run = assemble.step_run(folder)
    roles = [silence.role for silence in run.of(SilenceFacts).silences]
    assert roles
    rows = [row for table, row in derived.of_run(run) if table == "silences"]
    assert rows == [
        {"role": role, "longest_client": 3, "longest_wait_s": 0.5, "second": second}
        | {"short": 3, "long": 4}
        for role in roles
        for second in (1, 5)
    ]
    kept = {name: msgpack.encode(facts) for name, facts in run.findings.items()}
    assert steps.decoded(kept) == run.findings


def test_what_tells_nothing_has_no_values(tmp_path: Path) -> None:
    folder = a_step(tmp_path)
    assert replace(assemble.step_run(folder), findings={}).of(SilenceFacts) == SilenceFacts()
