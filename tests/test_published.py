"""Ours beside what was published: the data, the rule, the tables, and the page that has them."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import get_args

import pytest

import comparison_builder
import published
from dbdyno.model import Comparison, Ratio
from result_builder import build, plant
from run_builder import changed

PAGE = Path(__file__).parent.parent / "docs" / "published.md"
GROUPS = {  # the published suite of 32, in the order of its tables
    "point queries": "hot-points point-query points-covered-pk points-covered-si"
    " points-notcovered-pk points-notcovered-si random-points_range=1000"
    " random-points_range=100 random-points_range=10",
    "range queries without aggregation": "range-covered-pk range-covered-si range-notcovered-pk"
    " range-notcovered-si scan",
    "range queries with aggregation": "read-only-count read-only-distinct read-only-order"
    " read-only_range=10000 read-only_range=100 read-only_range=10 read-only-simple read-only-sum",
    "writes": "delete insert read-write_range=100 read-write_range=10 update-index update-inlist"
    " update-nonindex update-one update-zipf write-only",
}
STUDIES = published.read(published.STUDIES)


def study(label: str) -> published.Study:
    return next(one for one in STUDIES if one.label == label)


# --- The data --------------------------------------------------------------------------------


def test_every_study_has_the_32_steps_in_their_groups() -> None:
    assert len(STUDIES) == len(list(published.STUDIES.glob("*.toml"))) == 6
    for one in STUDIES:
        found = {title: " ".join(steps) for title, steps in one.groups.items()}
        assert found == GROUPS, one.label


def test_every_figure_is_a_number_for_its_version() -> None:
    for one in STUDIES:
        assert len({published.major_of(version) for version in one.versions}) > 1
        for steps in one.groups.values():
            for step, figures in steps.items():
                assert len(figures) == len(one.versions), (one.label, step)
                assert all(figure > 0 for figure in figures), (one.label, step)


def test_studies_with_fewest_clients_come_first_and_the_newest_among_them() -> None:
    order = [(one.clients, -int(one.date.replace("-", ""))) for one in STUDIES]
    assert order == sorted(order)
    assert order[0] == (1, -202511)


@pytest.mark.parametrize(
    ("label", "base", "version", "step", "ratio"),
    [  # read off the post's tables once more
        ("small, 1 client, 2025-09", "17.6", "18rc1", "hot-points", 0.98),
        ("small, 1 client, 2025-09", "17.6", "18beta3", "scan", 1.35),
        ("small, 1 client, 2025-09", "17.6", "18rc1", "range-covered-pk", 0.96),
        ("large32, 24 clients, 2025-09", "17.6", "18rc1", "scan", 1.12),
        ("large32, 24 clients, 2025-09", "17.6", "18rc1", "write-only", 1.00),
        ("large48, 40 clients, 2025-09", "17.6", "18beta3", "delete", 1.46),
        ("large48, 40 clients, 2025-09", "17.6", "18rc1", "read-only-sum", 1.03),
        ("large48, 40 clients, 2026-04", "12.22", "18.2", "hot-points", 2.50),
        ("large48, 40 clients, 2026-04", "12.22", "17.8", "update-zipf", 1.39),
        ("large48, 40 clients, 2026-04", "12.22", "18.2", "range-covered-si", 0.58),
        ("small, 1 client, 2025-11", "12.22", "18.0", "hot-points", 2.05),
        ("small, 1 client, 2025-11", "12.22", "18.0", "scan", 1.20),
        ("small, 1 client, 2025-11", "12.22", "18.0", "update-one", 1.06),
    ],
)
def test_ratios_are_those_of_the_sources(
    label: str, base: str, version: str, step: str, ratio: float
) -> None:
    assert study(label).ratio(step, base, version) == ratio


def test_what_a_study_says_it_reused_is_what_the_earlier_one_has() -> None:
    """So the base of 2026-04 was measured half a year before its other versions."""
    earlier, later = study("large48, 40 clients, 2025-11"), study("large48, 40 clients, 2026-04")
    assert later.reused == ("12.22", "13.23")
    for title, steps in later.groups.items():
        for step, figures in steps.items():
            before = earlier.groups[title][step]
            same = [
                v for v, one, two in zip(later.versions, figures, before, strict=True) if one == two
            ]
            assert set(later.reused) <= set(same), step
    assert later.groups["writes"]["delete"][2:] != earlier.groups["writes"]["delete"][2:]


def test_the_newest_version_of_a_major_version_is_compared() -> None:
    small = study("small, 1 client, 2025-11")
    assert (small.newest(12), small.newest(17), small.newest(18)) == ("12.22", "17.7", "18.1")
    assert study("small, 1 client, 2025-09").newest(18) == "18rc1"
    assert small.newest(11) is None
    assert small.ratio("point-query.pre", "12.22", "18.1") is None


# --- The rule --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ratio", "direction"),
    [
        (0.5, "down"),
        (0.97, "down"),
        (0.974, "down"),  # 0.97 in a published table
        (0.98, "flat"),
        (1.02, "flat"),
        (1.0251, "up"),  # 1.03
        (1.03, "up"),
        (2.5, "up"),
    ],
)
def test_a_published_ratio_has_a_direction_from_three_percent_on(
    ratio: float, direction: str
) -> None:
    assert published.direction(ratio) == direction


@pytest.mark.parametrize(
    ("low", "high", "finding"),
    [
        (1.03, 1.2, "up beyond 3 %"),
        (1.001, 1.2, "up"),
        (1.001, 1.03, "within ±3 %"),
        (0.97, 1.03, "within ±3 %"),
        (0.97, 0.99, "within ±3 %"),
        (0.9, 0.999, "down"),
        (0.8, 0.97, "down beyond 3 %"),
        (0.9, 1.1, "open"),
        (0.97, 1.031, "open"),
        (1.0, 1.1, "open"),
        (None, None, "open"),
    ],
)
def test_our_interval_decides_by_itself(
    low: float | None, high: float | None, finding: str
) -> None:
    ratio = Ratio(value=1.0, low=low, high=high, blocks=3)
    assert published.finding(ratio) == finding


def test_a_limited_generator_decides_in_one_direction_only() -> None:
    rise = Ratio(value=1.1, low=1.05, high=1.2, blocks=3)
    fall = Ratio(value=0.9, low=0.85, high=0.95, blocks=3)
    still = Ratio(value=1.0, low=0.99, high=1.01, blocks=3)
    assert published.finding(rise, "at least") == "up beyond 3 %"
    assert published.finding(fall, "at most") == "down beyond 3 %"
    undecided = [(rise, "at most"), (fall, "at least"), (still, "at least"), (still, "at most")]
    assert {published.finding(ratio, bound) for ratio, bound in undecided} == {"open"}
    assert published.finding(rise, "unknown") == "open"
    assert published.finding(None) == "open"


def test_every_finding_has_a_verdict_for_every_direction() -> None:
    assert set(published.VERDICTS) == set(get_args(published.Finding))
    for verdicts in published.VERDICTS.values():
        assert set(verdicts) == set(get_args(published.Direction))


def test_the_rule_treats_rise_and_fall_alike() -> None:
    mirror = {"up": "down", "down": "up", "flat": "flat"}
    for finding, verdicts in published.VERDICTS.items():
        other = finding.replace("up", "#").replace("down", "up").replace("#", "down")
        for direction, verdict in verdicts.items():
            assert published.VERDICTS[other][mirror[direction]] == verdict, (finding, direction)


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["agrees", "agrees"], "agrees"),
        (["disagrees"], "disagrees"),
        (["cannot tell", "cannot tell"], "cannot tell"),
        (["agrees", "cannot tell", "agrees"], "agrees with 2 of 3"),
        (["agrees", "disagrees", "disagrees"], "agrees with 1, disagrees with 2 of 3"),
    ],
)
def test_several_studies_are_counted(verdicts: list[published.Verdict], words: str) -> None:
    assert published.together(verdicts) == words


def test_the_page_has_the_rule_as_it_is_applied() -> None:
    text = PAGE.read_text()
    for finding, verdicts in published.VERDICTS.items():
        cells = " | ".join(verdicts[direction] for direction in ("down", "flat", "up"))
        assert re.search(rf"^\| {re.escape(finding)} \|.*\| {re.escape(cells)} \|$", text, re.M)


# --- The tables ------------------------------------------------------------------------------


def made_up() -> Comparison:
    """Three blocks of pg17 and pg18 in which l.i0 is named hot-points and l.i2 scan."""
    names = {"l.i0": "hot-points", "l.i2": "scan"}
    made = comparison_builder.comparison()
    steps = [
        dataclasses.replace(step, step=names[step.step])
        for step in made.steps
        if step.step in names
    ]
    return dataclasses.replace(made, steps=tuple(steps))


def test_a_table_has_every_study_ours_with_its_interval_cpu_and_a_verdict() -> None:
    of = published.pair(made_up(), None, STUDIES)
    assert [one.label for one, _, _ in of.studies] == [one.label for one in STUDIES]
    cells = {row.step: row for its in published.rows(of).values() for row in its}
    scan = cells["scan"]
    assert scan.finding == "down beyond 3 %"
    assert scan.published == (1.04, 1.36, 1.12, 1.16, 1.13, 0.91)
    assert scan.verdict == "agrees with 1, disagrees with 5 of 6"
    assert cells["hot-points"].finding == "up"
    assert cells["hot-points"].verdict == "cannot tell"  # all six say flat
    assert cells["insert"].verdict == "no figure"
    text = published.document(of)
    (line,) = re.findall(r"^\| scan \|.*$", text, re.M)
    assert re.search(r"\| 1.04 ▲ \| 1.36 ▲ \| .* \| 0.91 ▼ \| 0.9\d \(0.\d\d–0.9\d\) \|", line)
    assert "| small, 1 client, 2025-09: 18rc1 ÷ 17.6 |" in text
    assert "| insert |" in text and "| not run |" in text


def test_the_counts_are_those_of_the_rows() -> None:
    text = published.document(published.pair(made_up(), None, STUDIES))
    counted = re.findall(r"^\| \[(.*?)\]\(.*\|(.*?)\|(.*?)\|(.*?)\|(.*?)\|$", text, re.M)
    assert len(counted) == len(STUDIES)
    for label, *counts in counted:
        agrees = int(label == "large48, 40 clients, 2025-09")
        expected = [agrees, 1 - agrees, 1, 30]
        assert [int(count) for count in counts] == expected, label


def test_what_the_steps_met_stands_beside_them() -> None:
    made = comparison_builder.comparison()
    shares = {"pg17": 100.0, "pg18": 61.5}
    cells = tuple(
        dataclasses.replace(
            cell,
            metrics={**cell.metrics, "found_share": shares[cell.arm] - 10},
            runs=tuple(
                changed(run, state_before={"all_visible_share": share})
                for run, share in zip(
                    cell.runs, (shares[cell.arm], shares[cell.arm], None), strict=True
                )
            ),
        )
        for cell in made.steps[0].cells
    )
    names = ("range-covered-pk", "range-notcovered-pk", "delete", "point-query")
    steps = tuple(dataclasses.replace(made.steps[0], step=name, cells=cells) for name in names)
    text = published.document(published.pair(dataclasses.replace(made, steps=steps), None, STUDIES))
    met = text.split("### What the steps met")[1].split("###")[0]
    assert "| range-covered-pk | pages all visible, % | 100.0 | 61.5 |" in met
    assert "| delete | deletes found a row, % | 90.0 | 51.5 |" in met
    assert met.count("\n| ") == 4
    assert "What the steps met" not in published.document(published.pair(made_up(), None, STUDIES))


def test_one_block_decides_nothing() -> None:
    made = comparison_builder.comparison(blocks=1)
    steps = (dataclasses.replace(made.steps[0], step="hot-points"),)
    of = published.pair(dataclasses.replace(made, steps=steps), "pg18", STUDIES)
    (row,) = [one for one in published.rows(of)["point queries"] if one.step == "hot-points"]
    assert (row.finding, row.verdict) == ("open", "cannot tell")


# --- The command -----------------------------------------------------------------------------

TINY = """
title = "made up"
url = "https://example.org/"
author = "nobody"
date = "2026-01"
label = "tiny"
machine = "none"
build = "none"
clients = 1
tables = 1
rows = 1
figures = "relative"
base = "17.6"
versions = ["18.0"]

["point queries"]
qr100 = [1.05]
"""


def result(folder: Path) -> Path:
    return build(
        folder,
        steps=("qr100",),
        planted=lambda arm, step, block: plant(step, faster=1.05 if arm == "pg18" else 1.0),
    )


def test_the_command_writes_between_the_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    monkeypatch.setattr(published, "STUDIES", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{published.BEGIN}\nold\n{published.END}\nafter\n")
    words = [str(result(tmp_path)), "--base", "pg17", "--arm", "pg18", "--write", str(page)]
    assert published.main(words) == 0
    first = page.read_text()
    assert first.startswith("before\n") and first.endswith("after\n") and "old" not in first
    assert (
        "| qr100 | 1.05 ▲ | 1.05 (1.05–1.05) | up beyond 3 % | 1.00 (1.00–1.00) | agrees |" in first
    )
    assert published.main(words) == 0
    assert page.read_text() == first


def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    monkeypatch.setattr(published, "STUDIES", tmp_path)
    folder = result(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("without marks\n")
    wrong = [
        ([str(tmp_path / "none")], "none"),
        ([str(folder), "--arm", "pg19"], "no arm `pg19`"),
        ([str(folder), "--base", "pg18", "--arm", "pg18"], "no arm `pg18` beside the base"),
        ([str(folder), "--base", "pg12"], "no arm `pg12`"),
        ([str(folder), "--write", str(page)], "has no marks"),
    ]
    for words, part in wrong:
        assert published.main(words) == 2
        error = capsys.readouterr().err
        assert part in error and error.count("\n") == 1, error
    assert page.read_text() == "without marks\n"


def test_versions_that_nobody_published_are_refused(tmp_path: Path) -> None:
    made = made_up()
    servers = {**made.servers, "pg18": {**made.servers["pg18"], "version": "11.22"}}
    with pytest.raises(published.ResultError, match=r"no study .* 11\.22"):
        published.pair(dataclasses.replace(made, servers=servers), None, STUDIES)


def test_the_page_names_every_study_and_where_it_is() -> None:
    text = PAGE.read_text()
    for one in STUDIES:
        assert f"[{one.label}]({one.url})" in text


def test_the_page_has_its_marks_once() -> None:
    text = PAGE.read_text()
    assert text.count(published.BEGIN) == text.count(published.END) == 1
    changed = published.placed(text, "| the new part |")
    assert changed.count("| the new part |") == 1
    assert changed.split(published.BEGIN)[0] == text.split(published.BEGIN)[0]
    assert changed.split(published.END)[1] == text.split(published.END)[1]
