"""Ours beside what was published: the data, the rule, the tables, and the page that has them."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from msgspec import structs

import comparison_builder
import published
import published_data
import published_pairs
from dbdyno.model import Comparison, Ratio, metric
from dbdyno.model.error import ResultError
from result_builder import build, plant
from run_builder import changed

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "published.md"
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
EVERY = published_data.read(published.STUDIES)
SYSBENCH = tuple(study for study in EVERY if set(GROUPS) <= {one.title for one in study.groups})
STUDIES = tuple(study for study in SYSBENCH if any(map(published_data.major_of, study.arms)))
"""Those of PostgreSQL's versions, which a result without `--study` is set beside."""


def study(label: str) -> published_data.Study:
    return next(one for one in EVERY if one.label == label)


# --- The data --------------------------------------------------------------------------------


def test_every_sysbench_study_has_the_32_steps_in_their_groups() -> None:
    assert (len(SYSBENCH), len(STUDIES)) == (12, 6)
    for one in SYSBENCH:
        found = {table.title: " ".join(key.step for key in table.figures) for table in one.groups}
        found.pop("CPU of the host by operation", None)  # what a text says beside the tables
        assert found == GROUPS, one.label


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.name)
def test_every_figure_says_something(one: published_data.Study) -> None:
    assert set(one.here.values()) <= set(one.arms)
    for table in one.groups:
        assert table.values or table.by or table.compared or not table.relative, table.title
        for base, arm in table.compared:
            assert {base, arm} <= set(one.arms), table.title
            for key in table.figures:
                said = table.said(key, base, arm)
                assert said is not None and said.text, (table.title, key)
        for key, figures in table.figures.items():
            if not table.values:
                assert all(
                    isinstance(figure, float) or published_data.said(figure) for figure in figures
                )
            if table.by is not None and key.step != table.by:
                assert table.said_by_step(key, table.arms[0]) is not None


def test_every_metric_is_one_of_ours() -> None:
    told = {"read_rate", "write_rate", "size_t", "size_i"}  # of the workload cbc
    named = {key.metric for one in EVERY for table in one.groups for key in table.figures}
    assert named - {None} <= {one.name for one in metric.METRICS} | told


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
        ("small, IO-bound, 2025-06", "17.5", "18beta1 x10b", "l.i2", 0.96),
        ("small, IO-bound, 2025-06", "14.0", "18beta1 x10b", "l.i2", 0.82),
        ("small, cached, 2025-06", "17.5", "18beta1 x10d", "l.i2", 0.92),
        ("large, IO-bound, 2025-06", "17.4", "18beta1 x10cw4", "l.i2", 1.40),
        ("medium, cached, a27", "15.3", "16beta3", "l.i1", 0.95),
        ("medium, IO-bound, a27", "15.3", "16beta3", "l.i1", 0.98),
        ("medium, IO-bound, a28", "15.3", "16beta2", "l.i1", 1.19),  # as its table of fairness says
        ("small, 2024-09", "my8039 bl0_sync0_dw1", "my8039 bl1_sync0_dw1", "insert", 0.57),
        ("small, 2024-09", "my8039 bl0_sync0_dw1", "my8039 bl1_sync0_dw1", "update-nonindex", 0.54),
        ("medium, 2024-09", "my8039 bl0_sync1_dw1", "my8039 bl1_sync1_dw1", "update-index", 0.58),
        ("small, 2024-09", "pg17rc1 sync0_comp0_fpi1", "my8039 bl1_sync0_dw1", "insert", 0.46),
        ("medium, 2024-09", "pg17rc1 sync1_compLZ4_fpi1", "my8039 bl0_sync1_dw1", "insert", 1.33),
        ("medium, 2024-09", "pg17rc1 sync1_compLZ4_fpi1", "my8039 bl1_sync1_dw1", "insert", 0.45),
        ("m5.metal, 2023-01", "compressed", "frequent checkpoints", "tpcb-like", 0.46),
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
    for table, before in zip(later.groups, earlier.groups, strict=True):
        for key in table.figures:
            for arm in later.reused:
                assert table.figure(key, arm) == before.figure(key, arm), key
    delete = published_data.Key(None, "delete", None)
    assert later.groups[-1].figures[delete][2:] != earlier.groups[-1].figures[delete][2:]


def test_the_newest_version_of_a_major_version_is_compared() -> None:
    small = study("small, 1 client, 2025-11")
    assert (small.newest(12), small.newest(17), small.newest(18)) == ("12.22", "17.7", "18.1")
    assert study("small, 1 client, 2025-09").newest(18) == "18rc1"
    assert small.newest(11) is None
    assert study("small, IO-bound, 2025-06").newest(18) is None  # each has a configuration
    assert study("large, cached, 2024-09").newest(8) is None  # of MySQL
    assert small.ratio("point-query.pre", "12.22", "18.1") is None


@pytest.mark.parametrize(
    ("figure", "directions", "text"),
    [
        (0.95, ("down",), "0.95 ▼"),
        (1.0, ("flat",), "1.00"),
        ((1.0, 1.11), ("flat", "up"), "1.00–1.11 ▲ or flat"),
        ((0.73, 0.88), ("down",), "0.73–0.88 ▼"),
        ("not down", ("flat", "up"), "not down"),
        ("up", ("up",), "up"),
    ],
)
def test_a_figure_may_be_a_number_two_ends_or_a_word(
    figure: published_data.Figure, directions: tuple[str, ...], text: str
) -> None:
    said = published_data.said(figure)
    assert (said.directions, said.text) == (directions, text)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.05, 1.2, "agrees"), (0.98, 1.02, "agrees"), (0.9, 0.99, "open"), (0.8, 0.9, "disagrees")],
)
def test_one_direction_of_several_suffices(low: float, high: float, verdict: str) -> None:
    found = published_pairs.finding(Ratio(value=1.0, low=low, high=high, blocks=4))
    assert published_pairs.verdict(found, published_data.said("not down")) == verdict


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
def test_a_published_ratio_has_a_direction_from_three_percent_on(ratio: float, direction: str):
    assert published_data.direction(ratio) == direction


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
def test_our_interval_decides_by_itself(low: float | None, high: float | None, finding: str):
    ratio = Ratio(value=1.0, low=low, high=high, blocks=3)
    assert published_pairs.finding(ratio) == finding


def test_a_limited_generator_decides_in_one_direction_only() -> None:
    rise = Ratio(value=1.1, low=1.05, high=1.2, blocks=3)
    fall = Ratio(value=0.9, low=0.85, high=0.95, blocks=3)
    still = Ratio(value=1.0, low=0.99, high=1.01, blocks=3)
    assert published_pairs.finding(rise, "at least") == "up beyond 3 %"
    assert published_pairs.finding(fall, "at most") == "down beyond 3 %"
    undecided = [(rise, "at most"), (fall, "at least"), (still, "at least"), (still, "at most")]
    assert {published_pairs.finding(ratio, bound) for ratio, bound in undecided} == {"open"}
    assert published_pairs.finding(rise, "unknown") == "open"
    assert published_pairs.finding(None) == "open"


def test_the_rule_treats_rise_and_fall_alike() -> None:
    mirror = {"up": "down", "down": "up", "flat": "flat"}
    for finding, verdicts in published_pairs.VERDICTS.items():
        other = finding.replace("up", "#").replace("down", "up").replace("#", "down")
        for direction, verdict in verdicts.items():
            assert published_pairs.VERDICTS[other][mirror[direction]] == verdict, (
                finding,
                direction,
            )


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        (["agrees", "agrees"], "agrees"),
        (["disagrees"], "disagrees"),
        (["open", "open"], "open"),
        (["agrees", "open", "agrees"], "agrees with 2 of 3"),
        (["agrees", "disagrees", "disagrees"], "agrees with 1, disagrees with 2 of 3"),
    ],
)
def test_several_studies_are_counted(verdicts: list[published_pairs.Verdict], words: str) -> None:
    assert published_pairs.together(verdicts) == words


def test_the_page_has_the_rule_as_it_is_applied() -> None:
    text = PAGE.read_text()
    for finding, verdicts in published_pairs.VERDICTS.items():
        cells = " | ".join(verdicts[direction] for direction in ("down", "flat", "up"))
        assert re.search(rf"^\| {re.escape(finding)} \|.*\| {re.escape(cells)} \|$", text, re.M)


# --- The tables ------------------------------------------------------------------------------


def document(of: published_pairs.Pair) -> str:
    return published.document([of], of.comparison)


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


@pytest.mark.long
def test_a_table_has_every_study_ours_with_its_interval_cpu_and_a_verdict() -> None:
    of = published_pairs.by_version(made_up(), None, STUDIES)
    assert [one.label for one, _, _ in of.studies] == [one.label for one in STUDIES]
    every = [row for its in published_pairs.rows(of).values() for row in its]
    cells = {row.key.step: row for row in every if row.key.metric is None}
    scan = cells["scan"]
    assert scan.finding == "down beyond 3 %"
    assert tuple(one.value for one in scan.published if one) == (1.04, 1.36, 1.12, 1.16, 1.13, 0.91)
    assert scan.verdict == "agrees with 1, disagrees with 5 of 6"
    assert cells["hot-points"].finding == "up"
    assert cells["hot-points"].verdict == "open"  # all six say flat
    assert cells["insert"].verdict == "no figure"
    text = document(of)
    (line,) = re.findall(r"^\| scan \|.*$", text, re.M)
    assert re.search(r"\| 1.04 ▲ \| 1.36 ▲ \| .* \| 0.91 ▼ \| 0.9\d \(0.\d\d–0.9\d\) \|", line)
    assert "| small, 1 client, 2025-09: 18rc1 ÷ 17.6 |" in text
    assert "| insert |" in text and "| not run |" in text


@pytest.mark.long
def test_the_counts_are_those_of_the_rows() -> None:
    text = document(published_pairs.by_version(made_up(), None, STUDIES))
    counted = re.findall(r"^\| \[(.*?)\]\(.*\|(.*?)\|(.*?)\|(.*?)\|(.*?)\|$", text, re.M)
    assert len(counted) == len(STUDIES)
    for label, *counts in counted:
        agrees = int(label == "large48, 40 clients, 2025-09")
        cpu = int(re.match(r"large.*2025-09", label) is not None)  # scan's, which no run here tells
        expected = [agrees, 1 - agrees, 1 + cpu, 30]
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
    text = document(
        published_pairs.by_version(dataclasses.replace(made, steps=steps), None, STUDIES)
    )
    met = text.split("### What the steps met")[1].split("###")[0]
    assert "| range-covered-pk | pages all visible, % | 100.0 | 61.5 |" in met
    assert "| delete | deletes found a row, % | 90.0 | 51.5 |" in met
    assert met.count("\n| ") == 4
    assert "What the steps met" not in document(
        published_pairs.by_version(made_up(), None, STUDIES)
    )


def test_one_block_decides_nothing() -> None:
    made = comparison_builder.comparison(blocks=1)
    steps = (dataclasses.replace(made.steps[0], step="hot-points"),)
    of = published_pairs.by_version(dataclasses.replace(made, steps=steps), "pg18", STUDIES)
    (row,) = [
        one for one in published_pairs.rows(of)["point queries"] if one.key.step == "hot-points"
    ]
    assert (row.finding, row.verdict) == ("open", "open")


# --- The command -----------------------------------------------------------------------------

TINY = """
title = "made up"
url = "https://example.org/"
author = "nobody"
date = "2026-01"
label = "tiny"
machine = "none"
clients = 1
figures = "relative"
base = "17.6"
arms = ["18.0"]

["point queries"]
qr100 = [1.05]
"""


def result(folder: Path) -> Path:
    return build(
        folder,
        steps=("qr100",),
        planted=lambda arm, step, block: plant(step, faster=1.05 if arm == "pg18" else 1.0),
    )


def test_the_command_writes_between_the_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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
    servers = {**made.servers, "pg18": structs.replace(made.servers["pg18"], version="11.22")}
    with pytest.raises(ResultError, match=r"no study .* 11\.22"):
        published_pairs.by_version(dataclasses.replace(made, servers=servers), None, STUDIES)


def test_the_page_names_every_study_and_where_it_is() -> None:
    text = PAGE.read_text()
    for one in STUDIES:
        assert f"[{one.label}]({one.url})" in text


def test_a_result_of_another_placement_stands_beside_no_published_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = build(tmp_path, steps=("qr100",), blocks=1)
    record = json.loads((folder / "plan.json").read_text())
    record["schedule"] |= {"placement": "together"}
    (folder / "plan.json").write_text(json.dumps(record))
    assert published.main([str(folder)]) == 2
    assert 'measured with placement = "together"' in capsys.readouterr().err
