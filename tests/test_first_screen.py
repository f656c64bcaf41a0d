"""The first screen of an application: may I upgrade, what speaks against it, what it stands on."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert, structs
from rich.console import Console

import example_figures
from application_builder import another_plan, compared, planned
from dbdyno.analysis import compare
from dbdyno.findings.application import basis as basis
from dbdyno.findings.application.own_query import TEXT_MAX
from dbdyno.findings.application.show import ApplicationAnswer
from dbdyno.model import Comparison
from dbdyno.model.answer_word import WORDS, AnswerWord
from dbdyno.model.golden import RestoreSummary
from dbdyno.model.own_query import Exclusion
from dbdyno.model.plan_record import QueryRecord
from dbdyno.parts import number
from dbdyno.report import json_document, page, race
from dbdyno.report.render import html, markdown, terminal

WORDS_MAX = 25
SLOWER = {"slow": (100.0, 340.0)}
FAILING: dict[str, tuple[AnswerWord, str]] = {"bad": ("fails", "42601 syntax error")}
DIFFERING: dict[str, tuple[AnswerWord, str]] = {
    "other": ("different", "3 rows for 4"),
    "typed": ("other type", "`e`: float8 became numeric"),
}


def answer(made: Comparison) -> ApplicationAnswer:
    """What is said of the arm."""
    (result,) = made.applications
    return ApplicationAnswer(made, result)


def screen(made: Comparison, width: int = 80) -> str:
    """The first screen in a terminal."""
    console = Console(file=io.StringIO(), width=width)
    terminal.print_answer(page.make(made), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def lists(made: Comparison) -> dict[str, list[str]]:
    """The lines of the first screen by their titles."""
    return {
        each.label: [f"{line.label}: {line.text}" for line in each.items]
        for each in answer(made).lists()
    }


# --- The sentence -----------------------------------------------------------------------------

SENTENCES: dict[str, tuple[dict[str, Any], str]] = {
    "fails": (
        {"timed": SLOWER, "answers": FAILING | DIFFERING},
        "No: 1 query fails on new alone; some answer differently, some are slower.",
    ),
    "fails alone": ({"answers": FAILING}, "No: 1 query fails on new alone."),
    "differs": (
        {"timed": {"a": (100.0, 100.0)}, "answers": DIFFERING},
        "Look first: 2 queries answer differently on new; none fails, none is slower.",
    ),
    "slower": (
        {"timed": SLOWER},
        "With a loss: on new a query is slower, one takes 3.40 times as long; "
        "none fails or answers differently.",
    ),
    "same": (
        {"timed": {"a": (100.0, 90.0)}},
        "Yes: no query fails, answers differently or is slower on new; all together take 9.9 % "
        "less time.",
    ),
    "open": (
        {"timed": {"a": (100.0, 101.0)}, "blocks": 4},
        "Nothing speaks against it so far: no query fails, answers differently or is slower on "
        "new; all together take at most 2.6 % more time.",
    ),
    "one block": (
        {"timed": {"a": (100.0, 101.0)}, "blocks": 1},
        "Nothing speaks against it so far: of 1 query timed, none fails, answers differently or "
        "is slower on new.",
    ),
    "a part alone": (
        {"timed": {"a": (100.0, 90.0)}, "record": planned(["a", "b"])},
        "Nothing speaks against it so far: no query fails, answers differently or is slower on "
        "new; all together take 9.9 % less time.",
    ),
    "answers alone": (
        {"answers": {"a": ("same", "")}, "plans": {"a": another_plan("a")}},
        "As far as asked: of 1 query none fails or answers differently on new; some are planned "
        "otherwise, nothing was timed.",
    ),
    "nothing": (
        {"answers": {"a": ("fails on both", "42501 no right"), "b": ("fails on both", "")}},
        "Nothing was compared on new: of its queries 2 fail on both.",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_the_first_sentence_says_whether_to_upgrade(case: str) -> None:
    planted, sentence = SENTENCES[case]
    made = compared(**planted)
    assert answer(made).sentence == sentence
    assert " ".join(screen(made).split()).startswith(sentence)
    assert json.loads(json_document.render(made))["applications"][0]["answer"] == sentence
    assert race.lines(made, Path("r"))[0] == sentence[: len(race.lines(made, Path("r"))[0])]


@settings(max_examples=40)
@given(
    words=st.lists(st.sampled_from(WORDS), max_size=6),
    costs=st.lists(st.sampled_from([30.0, 98.0, 100.0, 108.0, 400.0]), max_size=4),
    blocks=st.sampled_from([1, 3, 6]),
    differ=st.booleans(),
)
def test_the_sentence_has_at_most_25_words_and_one_figure(
    words: list[AnswerWord], costs: list[float], blocks: int, differ: bool
) -> None:
    made = compared(
        timed={f"timed{place}": (100.0, cost) for place, cost in enumerate(costs)},
        answers={f"asked{place}": (word, "") for place, word in enumerate(words)},
        plans={"asked0": another_plan("asked0")} if differ else {},
        record=planned([f"timed{place}" for place in range(4)] + [f"asked{p}" for p in range(6)]),
        blocks=blocks,
    )
    sentence = answer(made).sentence
    assert len(sentence.split()) <= WORDS_MAX, sentence
    assert len(re.findall(r"\d[\d.,]*", sentence)) == 1, sentence


# --- What stands below it ---------------------------------------------------------------------


def test_each_line_begins_with_sql_and_share_and_ends_with_the_name() -> None:
    made = compared(timed=SLOWER, answers=FAILING | DIFFERING)
    assert lists(made) == {
        "Fails on new alone": ["SELECT bad FROM f (25.0 %): 42601 syntax error; bad"],
        "Answers differently on new": [
            "SELECT other FROM f (25.0 %): 3 rows for 4; other",
            "SELECT typed FROM f (25.0 %): by another type, `e`: float8 became numeric; typed",
        ],
        "Slower on new": [
            "SELECT slow FROM f (25.0 %): 3.40 times as long [3.34, 3.47]; the sessions used 3.40 "
            "times the CPU per query [3.34, 3.47]; waits were not sampled; slow"
        ],
    }
    text = screen(made)
    assert text.index("Fails on") < text.index("Answers differently") < text.index("Slower on")


def test_what_is_not_slower_is_counted() -> None:
    timed = {"a": (100.0, 50.0), "b": (100.0, 100.0), "c": (100.0, 100.0), "d": (100.0, 350.0)}
    sums = {each.label: each.text for each in answer(compared(timed=timed)).sums()}
    assert sums["Other queries"] == "1 faster (25.0 %), 2 same (50.0 %)"
    assert sums["All together, weighed by their calls"].startswith("time +50.2 %")


def test_of_many_queries_the_costliest_are_named_and_the_others_counted() -> None:
    failing: dict[str, tuple[AnswerWord, str]] = {f"q{n}": ("fails", "") for n in range(14)}
    (lines,) = lists(compared(answers=failing)).values()
    assert len(lines) == 11 and lines[-1].endswith("and 4 queries more")


def test_a_reason_that_all_share_stands_once() -> None:
    timed = {"a": (100.0, 340.0), "b": (100.0, 300.0)}
    (slower,) = answer(compared(timed=timed)).lists()
    assert slower.text == "all: waits were not sampled"
    assert not any("waits were not sampled" in line.text for line in slower.items)
    assert screen(compared(timed=timed)).count("waits were not sampled") == 1


def test_a_long_text_is_cut_in_lines_and_whole_in_its_table() -> None:
    text = "SELECT a,\n  b\nFROM f WHERE " + " AND ".join(f"c{n} = {n}" for n in range(40))
    queries = tuple(
        QueryRecord(name=name, text=text, calls=1, time_s=1.0, cut=cut)
        for name, cut in (("bad", True), ("idle", False))
    )
    record = planned([], queries=queries, without_values=(replace_name(queries[0], "novalues"),))
    made = compared(answers=FAILING, record=record)
    (line,) = lists(made)["Fails on new alone"]
    beginning = line.partition(" (")[0]
    assert len(beginning) <= TEXT_MAX + 2 and beginning.startswith("SELECT a, b FROM f")
    assert line.endswith("its text may be cut; bad")
    for form in (html.render(page.make(made)), markdown.render(page.make(made))):
        for name in ("bad", "idle", "novalues"):
            assert re.search(rf"{name}.*?c39 = 39", form, re.DOTALL), name


def replace_name(query: QueryRecord, name: str) -> QueryRecord:
    """The query by another name."""
    return structs.replace(query, name=name)


def test_the_contents_have_one_entry_for_all_queries() -> None:
    timed = {f"q{n}": (100.0, 100.0) for n in range(8)}
    contents = html.contents(html.arranged(page.make(compared(timed=timed)).parts))
    words = [entry.words for entry in contents]
    assert "Each query" in words and "Texts" in words
    assert not set(timed) & set(words)


# --- One cause --------------------------------------------------------------------------------


def test_terminal_page_markdown_and_json_name_the_same_cause() -> None:
    plan = another_plan("slow")
    made = compared(timed=SLOWER, plans={"slow": plan})
    whole = page.make(made)
    forms = {
        "terminal": " ".join(screen(made, 400).split()),
        "page": html.render(whole),
        "markdown": markdown.render(whole).replace("\\", ""),
        "JSON": json_document.render(made),
    }
    for name, form in forms.items():
        assert plan.words in form, name
        assert "nothing measured explains" not in form, name


def test_a_plan_of_an_open_query_is_not_said_to_have_no_effect() -> None:
    timed = {"same": (100.0, 100.0), "slow": (100.0, 340.0)}
    plans = {name: another_plan(name) for name in ("same", "slow", "idle")}
    whole = compared(timed=timed, plans=plans)
    effects = {plan.place.query: plan.effect for plan in whole.queries.plans}
    assert effects == {"same": "none", "slow": "slower", "idle": "not timed"}
    few = compared(timed={"open": (100.0, 100.2)}, plans={"open": another_plan("open")}, blocks=2)
    assert [plan.effect for plan in few.queries.plans] == ["open"]
    text = markdown.render(page.make(few))
    assert "1 has another plan: 1 of open queries." in text


def test_the_same_plan_is_said_not_to_have_changed() -> None:
    same = replace(another_plan("slow"), word="same", detail="")
    (slower,) = answer(compared(timed=SLOWER, plans={"slow": same})).lists()
    assert "plans did not change" in f"{slower.text} {slower.items[0].text}"


# --- What it stands on ------------------------------------------------------------------------


def lines_of(made: Comparison) -> dict[str, str]:
    """The lines of what the answer stands on."""
    (result,) = made.applications
    (found,) = basis.findings(result)
    return {each.label: each.text for each in found.items}


def test_the_first_screen_says_what_it_stands_on() -> None:
    record = planned(
        ["fast", "bad", "lost", "rare"],
        time_s=10.0,
        first="2026-11-28 10:00:00+00:00",
        last="2026-11-28T12:00:00+02:00",
        left_out=(Exclusion(reason="utility statements", calls=7, time_s=5.0),),
        without_values=(QueryRecord(name="none", text="SELECT $1", calls=1, time_s=1.0),),
    )
    made = compared(
        timed={"fast": (100.0, 100.0)},
        answers=FAILING | {"lost": ("fails on both", "42P01 undefined table")},
        record=record,
        restored=RestoreSummary(
            lacks=("the extension `x` is left out",), dumped="2026-11-25T10:00:00Z"
        ),
    )
    assert lines_of(made) == {
        "captured": "50.0 %, 5 queries; left out: utility statements (50.0 %); calls from "
        "2026-11-28 10:00:00 to 10:00:00 UTC",
        "restored": "40.0 %, 4 queries; left out: 1 name what the copy lacks (undefined table) "
        "(10.0 %); the extension `x` is left out",
        "answered": "20.0 %, 2 queries; left out: 1 fail on both (10.0 %), 1 not asked (10.0 %), "
        "1 no values for their parameters (10.0 %)",
        "timed": "10.0 %, 1 query; left out: 3 not among the costliest (30.0 %), 1 no values for "
        "their parameters (10.0 %)",
        "counted": "nothing; left out: 4 not counted (40.0 %), 1 no values for their parameters "
        "(10.0 %)",
        "data": "3.0 days older than the log's last call (dumped 2026-11-25 10:00 UTC)",
    }
    tables = json.loads(json_document.render(made))["tables"]
    assert tables["applications"][0]["lacks"] == "the extension `x` is left out"
    assert [each["stage"] for each in tables["applications_stages"]] == [
        "captured", "restored", "answered", "timed", "counted",
    ]  # fmt: skip
    text = markdown.render(page.make(made))
    assert "- **restored**: 40.0 %" in text


def test_where_nothing_is_known_of_the_dump_nothing_is_said() -> None:
    assert "restored" not in lines_of(compared(timed=SLOWER))
    old = convert({"lacks": []}, RestoreSummary)
    made = compared(timed=SLOWER, restored=old, record=planned(["slow"], last="2026-11-28"))
    assert "data" not in lines_of(made)
    assert convert({"lacks": ["a"], "dumped": "2026-11-28"}, RestoreSummary).dumped == "2026-11-28"


@pytest.mark.parametrize(
    ("dumped", "age"),
    [
        ("2026-11-28T10:30:00+00:00", "as old as the log"),
        ("2026-11-29T10:00:00", "24 h newer than the log's last call"),
        ("yesterday", None),
    ],
)
def test_the_datas_age_is_told_against_the_logs(dumped: str, age: str | None) -> None:
    record = planned(["slow"], last="2026-11-28 10:00:00+00:00")
    made = compared(timed=SLOWER, restored=RestoreSummary(dumped=dumped), record=record)
    assert lines_of(made).get("data", "").partition(" (")[0] == (age or "")


# --- Answers and plans alone ------------------------------------------------------------------


def test_answers_and_plans_alone_have_a_first_screen_without_empty_tables() -> None:
    plans = {"dear": another_plan("dear", cost=9000.0), "cheap": another_plan("cheap")}
    made = compared(answers=FAILING | DIFFERING, plans=plans, blocks=1)
    assert list(lists(made)) == [
        "Fails on new alone", "Answers differently on new", "Planned otherwise on new",
    ]  # fmt: skip
    dear, cheap = lists(made)["Planned otherwise on new"]
    assert "cost 10 → 9,000; dear" in dear and cheap.endswith("; cheap")
    text = markdown.render(page.make(made))
    assert "One block decides nothing" not in text
    for column in ("time", "CPU", "work"):
        assert f"| {column} |" not in text


def test_a_result_in_which_nothing_was_compared_says_so_first() -> None:
    made = compared(answers={"a": ("fails on both", "42501 no right")}, blocks=3)
    assert screen(made).strip().startswith("Nothing was compared on new")
    assert race.ending(made) == "nothing compared"


@pytest.mark.parametrize(
    ("ratio", "of", "words"),
    [
        ((0.5, 0.4, 0.625), "rate", "2.00 times as long [1.60, 2.50]"),
        ((3.0, 2.0, 4.5), "rate", "3.00 times as fast [2.00, 4.50]"),
        ((3.4, 3.2, 3.6), "time", "3.40 times as long [3.20, 3.60]"),
        ((0.25, 0.2, 0.5), "time", "4.00 times as fast [2.00, 5.00]"),
        ((2.5, 2.0, 3.0), "amount", "2.50 times [2.00, 3.00]"),
        ((0.25, 0.2, 0.5), "amount", "−75.0 % [−80.0, −50.0]"),
        ((1.99, None, None), "rate", "+99.0 %"),
    ],
)
def test_a_factor_of_2_and_more_is_said_in_times(
    ratio: tuple[float, float | None, float | None], of: number.Of, words: str
) -> None:
    assert number.changes(*ratio, of) == words


# --- A real result -----------------------------------------------------------------------------


@pytest.mark.long
def test_a_race_of_a_real_application_names_what_was_planted() -> None:
    with example_figures.unpacked(example_figures.KINDS / "application") as folder:
        made = compare.load(folder)
    text = screen(made)
    assert max(map(len, text.splitlines())) <= 80
    assert text.strip().startswith("No: 2 queries fail on pg18 alone; some answer differently")
    for name in ("2a8e8719", "2f0fc300", "a819170f", "f-7d5a0f46"):
        assert f"select-{name}" in text, name
    # Two that are planned otherwise lose 22 to 67 %: three blocks of four queries are too few.
    assert "Other queries: 4 open (19.4 %; too few repeats)" in text.replace("\u00a0", " ")
    assert "nothing measured explains" not in html.render(page.make(made))
    assert lines_of(made)["restored"] == "100.0 %, 48 queries"
