"""The pages of a farm, served and as files."""

import re
import time
from html import unescape
from pathlib import Path

import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient

import published_folder
from dbdyno.farm.overview import combined
from dbdyno.serve.published.publish import publish
from farm_builder import (
    POINT,
    QPS,
    SCAN,
    farm,
    found,
    measured,
    ratio,
    resolved,
    result,
    sha,
    skipped,
)
from published_folder import Links
from serve_client import client, example

LEVELS = {
    POINT: [0.02] * 4 + [0.05] * 4,
    SCAN: [0.0] * 3,  # a step that ended
    QPS: [0.0] * 4 + [-0.04] * 4,
}


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Eight commits, of which one did not build and one is a finding that was reverted."""
    folder = tmp_path / "lab" / "farm"
    names = {4: (result(folder, 4),)}
    events = [
        skipped(5) if number == 5 else measured(number, LEVELS, folders=names.get(number, ()))
        for number in range(8)
    ]
    farm(folder, [*events, *found(4, POINT, 0.03), resolved(7)], commits=8)
    return folder


def words(text: str) -> str:
    """What of a page is read."""
    without = re.sub(r"<(style|title).*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", without)).split())


def links(text: str) -> list[str]:
    return [link for link in Links(text).links if not link.startswith("#")]


def test_a_grid_has_a_row_for_each_commit_the_newest_first(folder: Path) -> None:
    text = words(client(folder).get("/farm").text)
    # The findings above the grid name commits, too.
    places = [text.rindex(sha(number)[:10]) for number in range(8)]
    assert places == sorted(places, reverse=True)
    assert "Against 18.0" in text
    assert "compile failed: x.c:1" in text


def test_a_cell_leads_to_the_report_of_its_result(folder: Path) -> None:
    asking = client(folder)
    (address,) = {link for link in links(asking.get("/farm").text) if "/report/" in link}
    assert "throughput" in asking.get(address).text


@pytest.mark.long
def test_a_farm_below_the_folder_that_is_served_has_the_same_reports(folder: Path) -> None:
    asking = client(folder.parent)
    (address,) = {link for link in links(asking.get("/farm").text) if "/report/" in link}
    assert address.startswith("/report/farm/")
    assert asking.get(address).status_code == 200


@pytest.mark.long
def test_every_link_of_every_page_opens(folder: Path) -> None:
    asking = client(folder)
    todo, seen = ["/farm"], {"/farm"}
    while todo:
        answer = asking.get(todo.pop())
        assert answer.status_code == 200
        if "/farm" in str(answer.url):
            new = {link for link in links(answer.text) if link.startswith("/")} - seen
            todo += new
            seen |= new
    assert sum("series=" in link for link in seen) == 3
    assert sum("finding=" in link for link in seen) == 1


def test_a_step_that_ended_keeps_its_column_without_figures(folder: Path) -> None:
    text = client(folder).get("/farm").text
    assert "scan" in words(text)
    row = next(part for part in text.split("<tr") if sha(7)[:10] in part)
    assert row.count('title="no reading"') == 1


def test_a_finding_says_commit_change_function_and_that_it_is_back(folder: Path) -> None:
    text = words(client(folder).get("/farm", params={"finding": "master-found"}).text)
    assert "Read <each> tuple twice" in text
    assert "instructions +3.05 % +3.02 % to +3.07 % the commit before" in text
    assert "IndexNext" in text and "+300" in text
    assert "dyno race a b --count" in text
    assert "back since" in text and sha(7) in text


def test_a_curve_is_drawn_without_a_script(folder: Path) -> None:
    address = "/farm?branch=master&series=sysbench/point-query/work/instructions"
    text = client(folder).get(address).text
    parsed = Links(text)
    assert {"svg", "circle"} <= parsed.tags
    assert "script" not in parsed.tags
    assert text.count("<circle") == 7
    assert text.count('class="finding"') == 1
    assert text.count('class="missing"') == 1


def test_a_farm_that_has_measured_nothing_says_so(tmp_path: Path) -> None:
    folder = farm(tmp_path / "farm", [], commits=2)
    answer = client(folder).get("/farm")
    assert answer.status_code == 200
    assert "No reading yet" in words(answer.text)


def test_a_folder_without_a_farm_says_so(tmp_path: Path) -> None:
    assert "No farm has its folder here." in words(client(tmp_path).get("/farm").text)


@pytest.mark.parametrize(
    "address", ["farm=other", "branch=other", "series=a/b/work/c", "finding=other"]
)
def test_what_is_not_there_is_not_found(folder: Path, address: str) -> None:
    assert client(folder).get(f"/farm?{address}").status_code == 404


def test_a_damaged_journal_is_told_and_nothing_else_fails(folder: Path) -> None:
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"{}\n" + journal.read_bytes())
    assert client(folder).get("/farm").status_code == 422
    assert client(folder).get("/").status_code == 200


def test_two_farms_are_listed(folder: Path) -> None:
    farm(folder.parent / "other", [measured(0, LEVELS)], commits=1)
    asking = client(folder.parent)
    assert {"/farm?farm=farm", "/farm?farm=other"} <= set(links(asking.get("/farm").text))
    assert "18.0" in asking.get("/farm?farm=other").text


@pytest.mark.long
def test_a_year_of_commits_is_a_page_within_seconds(tmp_path: Path) -> None:
    steps = {
        replace(POINT, step=("sysbench", f"step-{place}")): [
            0.001 * (number % 7) for number in range(400)
        ]
        for place in range(12)
    }
    events = [measured(number, steps) for number in range(400)]
    asking = client(farm(tmp_path / "farm", events, commits=400))
    begun = time.monotonic()
    text = asking.get("/farm").text
    assert text.count("<tr") > 400
    curve = asking.get(next(link for link in links(text) if "series=" in link)).text
    assert curve.count("<circle") == 400
    assert time.monotonic() - begun < 120


# --- Histories ---------------------------------------------------------------------------------


@pytest.mark.long
def test_the_history_of_a_farm_marks_no_change_point(tmp_path: Path) -> None:
    from history_builder import result as dated
    from test_history import WOBBLE

    plain = tmp_path / "plain"
    chained = farm(tmp_path / "chained", [])
    for folder in (plain, chained):
        folder.mkdir(exist_ok=True)
        for day in range(10):
            dated(folder, day, version="17", faster=(1.0, 1.1)[day // 5] * WOBBLE[day % 5])
    assert changes(client(plain)) == 1
    assert changes(client(chained)) == 0


def changes(asking: TestClient) -> int:
    (address,) = (link for link in links(asking.get("/history").text) if "of=" in link)
    counts = re.findall(r", (\d+) change points?\b", asking.get(address).text)
    assert counts, "the chart in words has the number of each line"
    return sum(map(int, counts))


# --- Files -------------------------------------------------------------------------------------


@pytest.fixture(name="published")
def _published(folder: Path, tmp_path: Path) -> Path:
    """The site of the folder that the farm lies in."""
    made = publish([folder.parent], tmp_path / "site")
    assert (len(made.results), made.counts, made.problems) == (1, "1 farm", [])
    return tmp_path / "site"


def test_a_published_farm_leads_from_page_to_page_without_a_script(published: Path) -> None:
    assert published_folder.broken(published) == []
    for page in published.glob("farms/farm/*.html"):
        assert "script" not in Links(page.read_text()).tags


def test_every_published_page_is_reached_from_the_index(published: Path) -> None:
    seen, todo = {published / "index.html"}, [published / "index.html"]
    while todo:
        page = todo.pop()
        reached = (
            (page.parent / link).resolve() for link in links(page.read_text()) if ".html" in link
        )
        new = set(reached) - seen
        seen |= new
        todo += new
    assert seen == set(published.rglob("*.html"))


def test_the_index_and_the_feed_have_the_findings_of_a_farm(published: Path) -> None:
    (entry,) = published_folder.entries(published / "feed.xml")
    title, label = (published_folder.text(entry, name) for name in ("title", "summary"))
    assert title.startswith("farm: ") and "point-query" in title
    assert label.endswith(", on master")
    assert title.removeprefix("farm: ") in words((published / "index.html").read_text())


def test_a_farm_that_is_published_again_keeps_its_files(folder: Path, published: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in published.rglob("*")}
    assert publish([folder.parent], published).renewed == 0
    assert {path: path.stat().st_mtime_ns for path in published.rglob("*")} == before


def test_a_farm_s_own_folder_can_be_published(folder: Path, tmp_path: Path) -> None:
    publish([folder], tmp_path / "site")
    assert published_folder.broken(tmp_path / "site") == []
    assert (tmp_path / "site/farms/farm/index.html").is_file()


def test_a_result_that_was_removed_has_no_link(folder: Path, tmp_path: Path) -> None:
    import shutil

    for path in folder.glob("2026-*"):
        shutil.rmtree(path)
    assert publish([folder], tmp_path / "site").counts == "1 farm"
    assert "results/" not in (tmp_path / "site/farms/farm/index.html").read_text()


def test_a_damaged_journal_is_one_line_and_hides_no_result(folder: Path, tmp_path: Path) -> None:
    example(folder.parent / "one")
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"{}\n" + journal.read_bytes())
    made = publish([folder.parent], tmp_path / "site")
    assert made.counts == "1 result"
    assert len(made.problems) == 1 and "journal.jsonl" in made.problems[0]


# --- Readings of a head ------------------------------------------------------------------------


def test_readings_are_weighed_by_their_variances() -> None:
    both = combined([ratio(0.01, 0.001), None, ratio(0.03, 0.002)])
    assert both is not None
    assert both.value == pytest.approx(0.014)
    assert both.standard_error == pytest.approx(0.001 / 1.25**0.5)


def test_a_reading_without_scatter_counts_alone() -> None:
    assert combined([ratio(0.01, 0.0), ratio(0.03)]) == ratio(0.01, 0.0)
    assert combined([None]) is None
