"""Plans without data: the words by plans.json, what is shown, and bad input; without a server."""

import json
from pathlib import Path

import pytest

from dbdyno.analysis import plans_only
from dbdyno.cli import main
from dbdyno.cli.plans import PlansOptions
from dbdyno.engine import planner_lab
from dbdyno.host import data_folder
from dbdyno.model.error import DynoError, PlanError, ResultError, ServerError
from dbdyno.model.json import plain
from dbdyno.model.plan_tree import PlanNode, PlanTree, PlanTrees
from dbdyno.model.planner_statistics import (
    FORMAT,
    HiddenStatistics,
    ServerStatistics,
    UnknownPart,
)
from dbdyno.model.plans_only import FILE, FlippedQuery, PlannedQuery, PlanningArm, PlansRecord
from dbdyno.model.size import Capacity
from dbdyno.report import plans_only as report
from dbdyno.report import plans_parts
from dbdyno.run import source_plans
from test_own_queries import entry, folder_of


def node(name: str = "Seq Scan", relation: str = "f", cost: float = 10.0) -> PlanNode:
    """A plan of one node."""
    return PlanNode(node=name, relation=relation, cost=cost, expected_rows=1.0)


SEQ, INDEX = node(), node("Index Scan")


def tree(root: PlanNode | None, *, again: bool = False, why: str = "") -> PlanTree:
    """The plan of the one query."""
    moment = "again" if again else "first"
    return PlanTree(query="q", root=root, unavailable=why, moment=moment)


def record(
    base: list[PlanTree],
    other: list[PlanTree],
    source: list[PlanTree],
    hidden: HiddenStatistics = HiddenStatistics(),  # noqa: B008 (frozen)
    reading: tuple[str, ...] = (),
    beyond: tuple[UnknownPart, ...] = (),
    jit_above: float | None = None,
) -> PlansRecord:
    """The record of one query on two arms."""
    arms = tuple(
        PlanningArm(
            name=name, version=name, jit_above=jit_above,
            trees=PlanTrees(workload="app", engine="postgres", trees=tuple(trees)),
        )
        for name, trees in (("pg13", base), ("pg18", other))
    )  # fmt: skip
    return PlansRecord(
        format=FORMAT,
        command="dyno plans 13 18",
        race="dyno race 13 18",
        workload="app",
        time_s=4.0,
        queries=(PlannedQuery(name="q", text="SELECT x FROM f", time_s=1.0, words=("f", "x")),),
        arms=arms,
        source=tuple(source),
        hidden=hidden,
        reading=reading,
        beyond=beyond,
    )


def row(made: PlansRecord) -> FlippedQuery:
    """What is said of its one query."""
    (only,) = plans_only.flipped(made)
    return only


@pytest.mark.parametrize(
    ("base", "other", "source", "word", "proven"),
    [
        ([tree(SEQ)], [tree(INDEX)], [tree(SEQ)], "another plan", True),
        ([tree(SEQ)], [tree(SEQ)], [tree(SEQ)], "same", True),
        ([tree(SEQ), tree(INDEX, again=True)], [tree(INDEX)], [tree(SEQ)], "near", True),
        ([tree(SEQ)], [tree(None, why="42601 syntax error")], [tree(SEQ)], "fails", False),
        ([tree(SEQ)], [tree(INDEX)], [tree(INDEX)], "not told", False),
        ([tree(SEQ)], [tree(INDEX)], [tree(None, why="42501 …")], "another plan", False),
        ([tree(None, why="42P01 undefined table")], [tree(None)], [tree(SEQ)], "not told", False),
        ([tree(SEQ)], [tree(None, why="57014 query canceled")], [tree(SEQ)], "not told", False),
    ],
)
def test_words_follow_from_the_plans_of_both_arms_and_of_the_server(
    base: list[PlanTree],
    other: list[PlanTree],
    source: list[PlanTree],
    word: str,
    proven: bool,
) -> None:
    said = row(record(base, other, source))
    assert (said.word, said.proven, said.share) == (word, proven, 0.25)
    assert bool(said.reason) == (word == "not told")


def test_nothing_is_told_of_what_the_lab_cannot_know() -> None:
    flips = [tree(SEQ)], [tree(INDEX)], [tree(SEQ)]
    foreign = [tree(node("Foreign Scan"))]
    catalog = [tree(node("Seq Scan", "pg_class c"))]
    hidden = HiddenStatistics(
        parts=(UnknownPart(relation="public.f", subject="table"),), grant="GRANT"
    )
    index = UnknownPart(relation="public.f", subject="index", columns=("x",))
    elsewhere = UnknownPart(relation="public.f", subject="foreign")
    unplanned = [tree(None, why="42P01 undefined table")]
    for made, reason in (
        (record(*flips, beyond=(index,)), "an extension's index may serve it"),
        (record(unplanned, unplanned, [], beyond=(elsewhere,)), "it reads a foreign table"),
        (record(unplanned, unplanned, foreign), "it reads a foreign table"),
        (record(*flips, hidden=hidden), "statistics of tables are hidden: GRANT"),
        (record(*flips, reading=("x",)), "`x` reads tables while it is planned"),
        (record(foreign, flips[1], foreign), "it reads a foreign table"),
        (record(catalog, flips[1], catalog), "it reads the server's catalogs"),
    ):
        assert (row(made).word, row(made).reason) == ("not told", reason)


@pytest.mark.parametrize(
    ("subject", "columns", "words", "concerns"),
    [
        ("table", (), {"f"}, True),
        ("range", ("x",), {"f", "x"}, True),
        ("range", ("x",), {"f", "y"}, False),
        ("range", ("x",), {"view"}, True),
        ("extended", ("x", "y"), {"f", "x"}, False),
        ("extended", ("x", "y"), {"f", "x", "y"}, True),
        ("expression", ("x",), {"f", "x"}, True),
    ],
)
def test_hidden_statistics_concern_queries_that_name_their_columns(
    subject: str, columns: tuple[str, ...], words: set[str], concerns: bool
) -> None:
    part = UnknownPart(relation='public."f"', subject=subject, columns=columns)  # type: ignore[arg-type]
    assert part.concerns({"f"}, words) == concerns
    assert not part.concerns({"g"}, words)


def test_a_plan_that_is_compiled_on_one_arm_alone_is_told() -> None:
    costly = node(cost=200_000.0)
    made = record([tree(SEQ)], [tree(costly)], [tree(SEQ)], jit_above=100_000.0)
    assert row(made).jit == "begins"
    assert "JIT begins" in plans_parts.said(row(made))


def test_the_first_screen_has_at_most_twelve_lines_and_names_the_race() -> None:
    made = record([tree(SEQ)], [tree(INDEX)], [tree(SEQ)])
    rows = plans_only.flipped(made) * 40
    lines = list(report.lines(made, rows, "plans/report.html"))
    assert len(lines) <= 12
    assert lines[0].startswith("40 of 40 queries get another plan on pg18")
    assert any("f: Seq Scan → Index Scan" in line for line in lines)
    assert "and 36 more." in lines
    assert "  dyno race 13 18" in lines
    assert all(len(line) <= 100 for line in lines)


def test_the_page_has_a_table_and_both_trees() -> None:
    made = record([tree(SEQ)], [tree(INDEX)], [tree(SEQ)])
    page = report.page(made, plans_only.flipped(made))
    names = [part.name for part in page.parts]
    assert names == ["answer-0", "plans-0", "plans-trees-0"]


def test_programs_read_words_and_counts() -> None:
    made = record([tree(SEQ)], [tree(INDEX)], [tree(SEQ)])
    document = json.loads(report.document(made, plans_only.flipped(made)))
    (arm,), (query,) = document["arms"][1:], document["queries"]
    assert arm["words"]["another plan"] == 1
    assert (query["query"], query["word"], query["where"]) == (
        "q", "another plan", "f: Seq Scan → Index Scan",
    )  # fmt: skip


def test_fail_on_counts_its_words_and_refuses_others() -> None:
    rows = plans_only.flipped(record([tree(SEQ)], [tree(INDEX)], [tree(SEQ)]))
    assert report.found(rows, report.words("changed,fails")) == "1 another plan"
    assert report.found(rows, report.words("fails,not-told")) == ""
    with pytest.raises(DynoError, match="did you mean `changed`"):
        report.words("change")


def test_a_race_takes_the_queries_that_get_another_plan(tmp_path: Path) -> None:
    from dbdyno.cli import flipped

    made = record([tree(SEQ)], [tree(INDEX)], [tree(SEQ)])
    (tmp_path / FILE).write_text(json.dumps(plain(made)))
    assert plans_only.load(tmp_path) == made
    app = folder_of(tmp_path, entry("q"), {"q": "SELECT x FROM f"})
    assert flipped.steps(tmp_path, str(app)) == ["q"]
    assert flipped.steps(None, None) == []
    with pytest.raises(DynoError, match="name their folder"):
        flipped.steps(tmp_path, "sysbench")
    same = record([tree(SEQ)], [tree(SEQ)], [tree(SEQ)])
    (tmp_path / FILE).write_text(json.dumps(plain(same)))
    with pytest.raises(DynoError, match="no query that can run gets another plan"):
        flipped.steps(tmp_path, str(app))
    with pytest.raises(ResultError, match="is not there"):
        plans_only.load(tmp_path / "elsewhere")


# --- statistics.json ------------------------------------------------------------------------------


def written(folder: Path, text: str) -> Path:
    """A folder with such a statistics file."""
    (folder / "statistics.json").write_text(text)
    return folder


def test_statistics_say_on_their_first_line_that_they_hold_values(tmp_path: Path) -> None:
    kept = ServerStatistics(note="holds values", format=FORMAT, version_num=130000)
    text = source_plans.text_of(kept)
    assert "holds values" in text.splitlines()[0]
    assert source_plans.read(written(tmp_path, text)) == kept


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is missing; restore it from a copy"),
        ('{"note":"x",\n"format":1,"vers', "is not JSON"),
        ('{"note":"x","format":2,"version_num":1}', "this version of dyno reads 1; use the v"),
        ('{"format":1}', "the key `note` is missing"),
        ("[]", "expected `object`, got `array`"),
    ],
)
def test_a_bad_statistics_file_is_refused_in_a_line(tmp_path: Path, text: str | None, said: str):
    if text is not None:
        written(tmp_path, text)
    with pytest.raises(ResultError, match=said) as refused:
        source_plans.read(tmp_path)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(", or capture again with --statistics")


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mysql", "mariadb"])
def test_other_engines_are_refused_in_a_line_that_says_why(name: str) -> None:
    with pytest.raises(PlanError, match="reads an index itself for each range") as said:
        planner_lab.of(name)
    assert "optimizer_record_context" in str(said.value)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["capture", "a.log", "--statistics", "--out", "x"], "--statistics: are a server's"),
        (
            ["capture", "mysql://a@b/c", "a.log", "--statistics", "--out", "x"],
            "--statistics: plans without data are PostgreSQL's",
        ),
        (["plans", "13", "18", "--workload", "x", "--restore", "y"], "workload.toml"),
        (
            ["plans", "13", "18", "--workload", "x", "--restore", "y", "--fail-on", "slower"],
            "--fail-on: `slower`: no such word",
        ),
        (
            ["plans", "13", "postgres://a@b/c", "--workload", "x", "--restore", "y"],
            "are made by servers of the lab",
        ),
        (["plans", "--workload", "x", "--restore", "y"], "no arm"),
    ],
)
def test_bad_words_end_in_one_line(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text("")
    monkeypatch.setattr("sys.argv", ["dyno", *words])
    assert main() == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.log"]


def test_one_version_stands_beside_itself_where_an_index_changes() -> None:
    options = PlansOptions(
        arms=["17"], settings=[], indexes=["CREATE INDEX ON f (x)"], without=[],
        workload=Path("app"), restore=Path("s.dump"), out=Path("plans"),
    )  # fmt: skip
    assert options.written_arms == ["17", "17"]
    assert options.race == ""
    assert "--index 'CREATE INDEX ON f (x)'" in options.command


def test_a_folder_of_long_files_is_refused_and_swept(tmp_path: Path) -> None:
    folder = tmp_path / "plan-pg18"
    folder.mkdir()
    (folder / data_folder.MARK).write_text("")
    data_folder.refuse_long(folder, "a")
    data_folder.mark_long(folder)
    with pytest.raises(ServerError, match="long files without rows"):
        data_folder.refuse_long(folder, "a")
    data_folder.sweep_long(tmp_path)
    assert not folder.exists()


def test_a_race_of_a_query_that_is_not_among_the_costliest_runs_it(tmp_path: Path) -> None:
    from dbdyno.plan import race as races
    from dbdyno.plan.race import RaceArm

    names = [f"q{number}" for number in range(60)]
    entries = "".join(entry(name, time_s=100.0 - place) for place, name in enumerate(names))
    app = folder_of(tmp_path, entries, dict.fromkeys(names, "SELECT x FROM f"))
    arms = tuple(
        RaceArm(name=f"pg{release}", engine="postgres", origin={"version": release})
        for release in ("13", "18")
    )
    race = races.Race(command=None, arms=arms, minutes=5.0, workload=str(app), steps=("q55",))
    text = races.text_of(
        race,
        tmp_path / "race.toml",
        Capacity(cores=2, memory_bytes=4 << 30, free_disk_bytes=50 << 30),
    )
    assert '"q55"' in text
