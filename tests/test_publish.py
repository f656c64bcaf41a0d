"""`dyno publish`: results as a folder of pages that any web server, or none, can show."""

from __future__ import annotations

import errno
import json
import os
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs
from typer.testing import CliRunner

import published_folder
from dbdyno.model.error import DynoError, ExportError
from dbdyno.parts.colors import Tone
from dbdyno.serve.frame import Frame
from dbdyno.serve.judged import VerdictHeadline, WordCount
from dbdyno.serve.published import badge, feed, place
from dbdyno.serve.published.publish import publish
from dbdyno.serve.record import PublishedResult
from dbdyno.store import packed
from published_folder import Links
from serve_client import example, renamed

HOSTILE = "<script>alert(1)</script>&\\u0001"
"""As JSON has it: markup, and a character that no XML may have."""
SECRET = "hunter2"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain result, one of which every text is hostile, and what is no result."""
    folder = tmp_path_factory.mktemp("lab") / "results"
    example(folder / "plain")
    hostile = example(folder / "lab & co" / 'x"><img src=q>')
    renamed(hostile, '"label": null', f'"label": "{HOSTILE}"')
    renamed(hostile, '"name": "pg18"', f'"name": "{HOSTILE}"')
    renamed(hostile, '"name": "example"', '"name": "../../up"')
    (folder / "notes.txt").write_text("no result")
    (folder / "plain" / "id_rsa").write_text("somebody's own")
    (folder / "plain" / ".hidden").write_text("somebody's own")
    return folder


@pytest.fixture(scope="module")
def published(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("web") / "site"
    assert publish([results], to).problems == []
    return to


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A folder with one result."""
    example(tmp_path / "results" / "one")
    return tmp_path / "results"


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- What is there ------------------------------------------------------------------------------


def test_every_link_leads_to_a_file_of_the_folder(published: Path) -> None:
    assert len(list(published.rglob("*.html"))) == 3
    assert published_folder.broken(published) == []


def test_the_check_of_links_finds_a_broken_an_absolute_and_an_outer_one(tmp_path: Path) -> None:
    (tmp_path / "out.html").write_text("")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/feed.xml").write_text("<feed/>")
    wrong = ["no.html", "/x", "//h/x", "https://h/x", "../out.html", "#no", "a.html?x=1"]
    page = "".join(f'<a href="{link}">x</a>' for link in [*wrong, "a.html#here", "#here"])
    (tmp_path / "site/a.html").write_text(f'{page}<p id="here">')
    assert published_folder.broken(tmp_path / "site") == [f"a.html: {link}" for link in wrong]


def test_names_of_strangers_are_no_markup_and_lead_nowhere(published: Path) -> None:
    folders = [path.name for path in (published / "results").iterdir()]
    assert len(folders) == 2 and all(
        re.fullmatch(r"[\w@=,+-][\w.@=,+-]*", name) for name in folders
    )
    for page in [*published.rglob("*.html"), published / "badge.svg", published / "feed.xml"]:
        text = page.read_text()
        assert "<script>alert" not in text and "<img src=q>" not in text, page
    assert "script" not in Links((published / "index.html").read_text()).tags


def test_the_index_has_arms_versions_steps_words_date_and_machine(published: Path) -> None:
    text = (published / "index.html").read_text()
    record = msgspec.json.decode(
        (published / "results/plain/result.json").read_bytes(), type=PublishedResult
    )
    for word in (*record.arms, *record.versions, *record.steps[:6], record.host):
        assert word and word in text
    assert "one block decides nothing" in text
    assert feed.stamp(record.changed_s)[:10] in text


def test_the_feed_is_atom_and_has_an_entry_for_each_result(published: Path) -> None:
    entries = published_folder.entries(published / "feed.xml")
    titles = [published_folder.text(entry, "title") for entry in entries]
    assert sorted(title.partition(":")[0] for title in titles) == ["../../up", "example"]
    assert any("alert(1)</script>&\ufffd" in summary for summary in map(of_summary, entries))


def of_summary(entry: Any) -> str:
    return published_folder.text(entry, "summary")


def test_raw_data_are_the_result_s_own_files_and_make_the_report_again(
    published: Path, results: Path, tmp_path: Path
) -> None:
    with tarfile.open(published / "results/plain/plain.tar.gz") as archive:
        members = archive.getmembers()
        archive.extractall(tmp_path, filter="data")
    assert {(member.uid, member.uname, member.mode) for member in members if member.isfile()} == {
        (0, "", 0o644)
    }
    there = everything(tmp_path / "plain")
    own = everything(results / "plain")
    assert own.keys() - there.keys() == {"id_rsa", ".hidden"}
    assert all(own[name] == content for name, content in there.items())
    again = tmp_path / "again"
    publish([tmp_path], again)
    assert published_folder.broken(again) == []
    page = "results/plain/comparison.json"
    assert (again / page).read_bytes() == (published / page).read_bytes()
    dates = [
        published_folder.text(entry, "updated")
        for folder in (published, again)
        for entry in published_folder.entries(folder / "feed.xml")
        if published_folder.text(entry, "title").startswith("example")
    ]
    assert dates[0] == dates[1]


# --- Again --------------------------------------------------------------------------------------


def test_publishing_again_writes_nothing_where_nothing_is_new(lab: Path, tmp_path: Path) -> None:
    to = tmp_path / "site"
    publish([lab], to)
    before = {path: path.stat().st_mtime_ns for path in to.rglob("*")}
    assert publish([lab], to).renewed == 0
    assert {path: path.stat().st_mtime_ns for path in to.rglob("*")} == before


def test_what_is_new_is_added_and_nothing_else_is_touched(lab: Path, tmp_path: Path) -> None:
    to = tmp_path / "site"
    publish([lab], to)
    (to / "CNAME").write_text("mine")
    (to / "results/one/note.txt").write_text("mine")
    before = everything(to)
    (lab / "one").rename(tmp_path / "gone")
    example(lab / "two")
    assert publish([lab], to).renewed == 1
    after = everything(to)
    assert {name for name in before if before[name] != after.get(name)} == {
        *("index.html", "feed.xml")
    }
    text = (to / "index.html").read_text()
    assert "results/one/index.html" in text and "results/two/index.html" in text
    assert published_folder.broken(to) == []


def test_a_folder_that_was_deleted_is_taken_back(lab: Path, tmp_path: Path) -> None:
    import shutil

    to = tmp_path / "site"
    example(lab / "two")
    publish([lab], to)
    for folder in (lab / "one", to / "results/one"):
        shutil.rmtree(folder)
    publish([lab], to)
    assert "results/one/" not in (to / "index.html").read_text()
    assert len(published_folder.entries(to / "feed.xml")) == 1


def test_a_changed_result_is_renewed_and_keeps_its_place_in_the_feed(lab: Path, tmp_path: Path):
    to = tmp_path / "site"
    publish([lab], to)
    (entry,) = published_folder.entries(to / "feed.xml")
    renamed(lab / "one", '"label": null', '"label": "second thoughts"')
    assert publish([lab], to).renewed == 1
    (again,) = published_folder.entries(to / "feed.xml")
    assert published_folder.text(again, "id") == published_folder.text(entry, "id")
    assert "second thoughts" in (to / "index.html").read_text()


# --- Bad input ----------------------------------------------------------------------------------


def torn(folder: Path) -> None:
    (folder / "plan.json").write_text('{"format": 1, "na')


def older(folder: Path) -> None:
    renamed(folder, '"format": 1', '"format": 0')


def foreign(folder: Path) -> None:
    (folder / "plan.json").write_text('{"plan": "of a garden"}')


def timeless(folder: Path) -> None:
    renamed(folder, '"created_unix_ns": 1', '"created_unix_ns": 1000000000000')


def linked(folder: Path) -> None:
    (folder / "blocks/001/pg17/leak").symlink_to("/etc/hostname")


@pytest.mark.parametrize("damage", [torn, older, foreign, timeless, linked])
def test_a_bad_result_is_one_line_and_hides_no_other(lab: Path, tmp_path: Path, damage: Any):
    damage(example(lab / "bad"))
    made = publish([lab], tmp_path / "site")
    (line,) = made.problems
    assert f"{lab / 'bad'}" in line and "\n" not in line
    assert os.listdir(tmp_path / "site/results") == ["one"]


@pytest.mark.parametrize("damage", [torn, older, foreign, timeless, linked])
def test_nothing_is_left_where_nothing_can_be_published(lab: Path, tmp_path: Path, damage: Any):
    damage(lab / "one")
    with pytest.raises(ExportError, match="nothing to publish: "):
        publish([lab], tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_result_that_is_damaged_later_stays_as_it_was_published(lab: Path, tmp_path: Path):
    to = tmp_path / "site"
    publish([lab], to)
    before = everything(to)
    torn(lab / "one")
    assert len(publish([lab], to).problems) == 1
    assert everything(to) == before


def test_a_damaged_record_of_a_result_that_is_gone_is_one_line(lab: Path, tmp_path: Path) -> None:
    to = tmp_path / "site"
    publish([lab], to)
    (to / "results/one/result.json").write_text("{")
    assert publish([lab], to).problems == []  # it is made anew
    (lab / "one").rename(lab / "two")
    (to / "results/one/result.json").write_text("{")
    (line,) = publish([lab], to).problems
    assert f"{to / 'results/one/result.json'}" in line


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "Not a directory"),
        ("index.html", "holds files that `dyno publish` did not write"),
        ("published.json", "is not JSON"),
    ],
)
def test_a_folder_of_other_content_is_refused_and_stays(
    lab: Path, tmp_path: Path, content: str | None, line: str
) -> None:
    to = tmp_path / "site"
    if content is None:
        to.write_text("mine")
    else:
        to.mkdir()
        (to / content).write_text("mine")
    with pytest.raises(DynoError, match=line):
        publish([lab], to)
    assert [path.name for path in tmp_path.rglob("*") if "results" not in str(path)] == [
        *("site", *([content] if content else []))
    ]


def test_a_folder_that_a_newer_dyno_wrote_is_refused(lab: Path, tmp_path: Path) -> None:
    to = tmp_path / "site"
    publish([lab], to)
    mark = json.loads((to / "published.json").read_text())
    (to / "published.json").write_text(json.dumps({**mark, "format": 2, "dyno": "9.9"}))
    with pytest.raises(ExportError, match=r"written by dyno 9\.9"):
        publish([lab], to)


def test_a_full_disk_leaves_the_folder_as_it_was(
    lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = tmp_path / "site"
    publish([lab], to)
    before = everything(to)
    example(lab / "two")

    def full(*_: object) -> Iterator[tuple[str, Any]]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(packed, "pack", full)
    with pytest.raises(DynoError, match=r"two\.tar\.gz: cannot be written: No space left"):
        publish([lab], to)
    assert everything(to) == before
    assert not (to / "results/two").exists()
    with pytest.raises(DynoError, match="No space left"):
        publish([lab], tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_two_commands_do_not_write_into_one_folder(lab: Path, tmp_path: Path) -> None:
    to = tmp_path / "site"
    publish([lab], to)
    with (
        place.alone(to),
        pytest.raises(ExportError, match="another `dyno publish` writes there"),
    ):
        publish([lab], to)


# --- Secrets ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        f"dsn = 'postgres://me:{SECRET}@db/x'",
        f"environment = {{ PGPASSWORD = '{SECRET}' }}",
        f"settings = {{ primary_conninfo = 'host=h password={SECRET}' }}",
    ],
)
def test_a_password_in_a_plan_is_neither_on_a_page_nor_in_raw_data(
    lab: Path, tmp_path: Path, line: str
) -> None:
    renamed(lab / "one", '"label": null', f'"label": "SHOWN {line}"')
    renamed(lab / "one", '"text": "', f'"text": "KEPT {line}')
    made = publish([lab], tmp_path / "site")
    assert made.problems == [f"{lab / 'one'}: without raw data: plan.json seems to hold a password"]
    pages = everything(tmp_path / "site")
    assert b"SHOWN" in pages["index.html"] and b"KEPT" in pages["results/one/index.html"]
    for name, content in pages.items():
        assert SECRET.encode() not in content, name
    assert not list(tmp_path.rglob("*.tar.gz"))


def test_raw_data_of_own_queries_stay_here(lab: Path, tmp_path: Path) -> None:
    renamed(lab / "one", '"load": {},', '"load": {}, "application": {"queries": []},')
    (line,) = publish([lab], tmp_path / "site").problems
    assert "own queries" in line
    assert not list(tmp_path.rglob("*.tar.gz"))
    assert publish([lab], tmp_path / "site").renewed == 0


# --- Badge and names ----------------------------------------------------------------------------


def judged(*arms: tuple[str, list[Words]]) -> PublishedResult:
    return PublishedResult(
        key="k", plan="p", label="", arms=("pg17", *(arm for arm, _ in arms)), versions=(),
        configurations=(), workloads=(), steps=(), host="", blocks="3 blocks", changed_s=0.0,
        headline=VerdictHeadline(
            arms=tuple(
                (arm, tuple(WordCount(word=word, count=count, tone=tone)
                            for word, count, tone in words))
                for arm, words in arms
            )
        ),
        stamp=(), code="",
    )  # fmt: skip


Words = tuple[str, int, Tone]
FASTER: Words = ("faster", 2, "faster")
SLOWER: Words = ("slower", 1, "slower")
SAME: Words = ("same", 1, "alike")


@pytest.mark.parametrize(
    ("results", "words", "color"),
    [
        ([], "dyno: no comparison yet", badge.PLAIN),
        ([judged()], "dyno: no comparison yet", badge.PLAIN),
        ([judged(("pg18", [FASTER, SAME]))], "pg18 against pg17: 2 faster, 1 same", "#1d6f42"),
        ([judged(("pg18", [FASTER, SLOWER]))], "pg18 against pg17: 2 faster, 1 slower", "#a3231f"),
        ([judged(("pg18", [SAME]))], "pg18 against pg17: 1 same", badge.PLAIN),
        ([judged(("a", [SAME]), ("b", [SAME]))], "2 arms against pg17: 2 same", badge.PLAIN),
        ([judged(), judged(("pg18", [SAME]))], "pg18 against pg17: 1 same", badge.PLAIN),
        (
            [judged(("<&\x01" + "x" * 60, [("faster, within ±3 %", 1, "alike")]))],
            f"<&\ufffd{'x' * 44}…: 1 faster within ±3 %",
            badge.PLAIN,
        ),
    ],
)
def test_a_badge_has_the_words_of_the_newest_comparison(
    results: list[PublishedResult], words: str, color: str, tmp_path: Path
) -> None:
    made = badge.of(results)
    (tmp_path / "badge.svg").write_text(badge.svg(Frame(), made))
    assert published_folder.badge(tmp_path / "badge.svg") == words
    assert made.color == color


def test_names_of_files_are_apart_and_need_no_escape() -> None:
    words = [
        ("a", "b/c"),
        ("a/b", "c"),
        ("a", "b~c"),
        ("a--b", "c"),
        ("a", "b--c"),
        ("a", "b", "c"),
    ]
    words += [("a-", "b"), ("a", "-b"), ("a---b",), ("a--b",), ("..",), ("",)]
    words += [("x" * 300,), ("x" * 301,), ("ä",), ("Ä",)]
    names = [place.page_name(*of) for of in words]
    assert len(set(names)) == len(names)
    for name in names:
        assert name.isascii() and not set(name) & set('/~%?#"<>& ') and name[0] != "."
        assert len(name) < 128


def test_the_command_says_where_the_index_is(lab: Path, tmp_path: Path) -> None:
    from dbdyno.cli import app

    to = tmp_path / "site"
    for count in ("now: 1, as they were: 0", "now: 0, as they were: 1"):
        answer = CliRunner().invoke(app, ["publish", str(lab), "--to", str(to), "--no-raw"])
        assert answer.exit_code == 0
        assert answer.output == f"{to}/index.html: 1 result; reports written {count}\n"
    assert not list(to.rglob("*.tar.gz"))
    record = msgspec.json.decode(
        (to / "results/one/result.json").read_bytes(), type=PublishedResult
    )
    assert structs.asdict(record)["raw_bytes"] == 0
