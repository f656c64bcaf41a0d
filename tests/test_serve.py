"""`dyno serve`: the list, reports, who may read, and that nothing is written or escapes."""

import io
import json
import os
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

from comparison_builder import comparison
from dbdyno import read
from dbdyno.analysis import compare
from dbdyno.cli.serve import serve
from dbdyno.model.error import DynoError
from dbdyno.report import json_document
from dbdyno.serve import folders, judged, numbers, server
from dbdyno.serve.access import is_loopback
from dbdyno.store.glance import Stamp
from serve_client import EXAMPLE, client, example, renamed

HOSTILE = "<script>alert(1)</script>"
OF_ONE = (
    "/report/one",
    "/live/one",
    "/numbers/one",
    "/numbers/one?table=arms",
    "/numbers/one?table=ticks&form=csv",
    "/comparison/one",
)
"""Pages of a result; the first four are markup."""


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """All files below a folder, with size and time of change."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def small(folder: Path) -> None:
    """A result as far as a list reads it."""
    (folder / "blocks" / "001").mkdir(parents=True)
    for name in ("plan.json", "host.json", "blocks/001/done.json"):
        shutil.copyfile(EXAMPLE / name, folder / name)


def test_the_list_has_plan_arms_host_date_and_state_of_each_result(tmp_path: Path) -> None:
    renamed(example(tmp_path / "one"), '"name": "example"', '"name": "first"')
    example(tmp_path / "nightly" / "two")
    text = client(tmp_path).get("/").text
    for word in (
        "first",
        "pg17",
        "postgres 18, x10b",
        "insert-benchmark",
        "Example CPU, 2\u00a0cores",
    ):
        assert word in text
    assert 'href="/report/one"' in text and 'href="/report/nightly/two"' in text
    assert "2 results" in text and "1 block" in text


def test_a_search_takes_results_that_have_every_word(tmp_path: Path) -> None:
    renamed(example(tmp_path / "one"), '"name": "example"', '"name": "first"')
    example(tmp_path / "two")
    found = client(tmp_path).get("/", params={"q": "FIRST postgres"}).text
    assert "1 of 2 results" in found and "/report/two" not in found
    assert "0 of 2 results" in client(tmp_path).get("/", params={"q": "mysql"}).text


def test_a_folder_without_results_says_how_to_make_one(tmp_path: Path) -> None:
    assert "dyno race" in client(tmp_path).get("/").text


def test_a_headline_has_the_verdicts_of_each_arm_and_stands_in_the_list_then(tmp_path: Path):
    example(tmp_path / "one")
    asking = client(tmp_path)
    assert 'data-headline="/headline/one"' in asking.get("/").text
    assert "one block decides nothing" in asking.get("/headline/one").text
    text = asking.get("/").text
    assert "one block decides nothing" in text and "data-headline" not in text


def test_a_report_is_the_rendered_one_with_the_way_back_above(tmp_path: Path) -> None:
    example(tmp_path / "one")
    answer = client(tmp_path).get("/report/one")
    assert answer.status_code == 200 and '<a href="/">Results</a>' in answer.text
    assert "example: pg18 against pg17" in answer.text and 'id="specs"' in answer.text


@pytest.mark.long
def test_a_change_of_a_result_is_seen(tmp_path: Path) -> None:
    folder = example(tmp_path / "one")
    asking = client(tmp_path)
    assert "example: pg18" in asking.get("/report/one").text
    renamed(folder, '"name": "example"', '"name": "second"')
    assert "second" in asking.get("/").text
    assert "second: pg18" in asking.get("/report/one").text


@pytest.mark.long
def test_reading_writes_nothing(tmp_path: Path) -> None:
    example(tmp_path / "one")
    before = everything(tmp_path)
    old = time.time() - 3600
    for path in before:
        os.utime(path, (old, old))  # so that what is derived could be kept
    before = everything(tmp_path)
    asking = client(tmp_path)
    for page in ("/", "/headline/one", *OF_ONE):
        assert asking.get(page).status_code == 200
    assert everything(tmp_path) == before


def test_a_damaged_plan_is_no_result_and_a_damaged_result_is_said(tmp_path: Path) -> None:
    (example(tmp_path / "one") / "plan.json").write_text("{")
    folder = example(tmp_path / "two")
    renamed(folder, '"base": "pg17"', '"base": "gone"')
    asking = client(tmp_path)
    assert "1 result<" in asking.get("/").text
    answer = asking.get("/report/two")
    assert answer.status_code == 422 and "gone" in answer.text


def test_numbers_are_those_of_an_export_and_a_page_has_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = example(tmp_path / "one")
    wanted = read(folder).ticks
    asking = client(tmp_path)
    as_csv = asking.get("/numbers/one?table=ticks&form=csv")
    assert as_csv.headers["content-disposition"] == 'attachment; filename="example-ticks.csv"'
    found = pandas.read_csv(io.StringIO(as_csv.text))
    assert list(found) == list(wanted) and len(found) == len(wanted) > 20
    assert found["rows"].sum() == wanted["rows"].sum()
    as_json = asking.get("/numbers/one?table=ticks&form=json").json()
    assert [row["rows"] for row in as_json] == wanted["rows"].tolist()
    assert asking.get("/numbers/one?table=waits&form=json").json() == []
    monkeypatch.setattr(numbers, "ROWS_MAX", 7)
    text = asking.get("/numbers/one?table=ticks").text
    assert text.count("<tr>") == 1 + 7 and "The first 7 rows" in text
    for wrong in ("table=nothing", "table=ticks&form=exe"):
        assert asking.get(f"/numbers/one?{wrong}").status_code == 404


def test_the_comparison_is_the_document_of_dyno_compare(tmp_path: Path) -> None:
    folder = example(tmp_path / "one")
    found = client(tmp_path).get("/comparison/one")
    assert found.json() == json.loads(json_document.render(compare.load(folder)))


# --- Security ----------------------------------------------------------------------------------


@pytest.mark.long
def test_texts_of_plans_are_never_markup(tmp_path: Path) -> None:
    folder = example(tmp_path / "one")
    renamed(folder, '"label": null', f'"label": "{HOSTILE}"')
    renamed(folder, '"name": "pg18"', f'"name": "{HOSTILE}"')
    asking = client(tmp_path)
    for page in ("/", "/headline/one", *OF_ONE[:4], f"/?q={HOSTILE}", f"/report/{HOSTILE}"):
        assert HOSTILE not in asking.get(page).text, page


@pytest.mark.parametrize(
    "key",
    ["../secret", "%2e%2e/secret", "..%2Fsecret", "/secret", "//secret", "one/../../secret", ""],
)
def test_no_key_leads_out_of_the_folders(tmp_path: Path, key: str) -> None:
    example(tmp_path / "served" / "one")
    example(tmp_path / "secret")
    for page in ("headline", "report", "live", "events", "numbers", "comparison", "asset"):
        assert client(tmp_path / "served").get(f"/{page}/{key}").status_code in (307, 404)


def test_links_to_other_folders_are_not_followed(tmp_path: Path) -> None:
    example(tmp_path / "secret" / "one")
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "served" / "result").symlink_to(tmp_path / "secret" / "one")
    assert folders.found([tmp_path / "served"]) == []


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_but_reading_is_answered(tmp_path: Path, method: str) -> None:
    example(tmp_path / "one")
    for page in ("/", *OF_ONE, "/events/one", "/asset/frame.css"):
        assert client(tmp_path).request(method, page).status_code == 405


@pytest.mark.long
def test_pages_ask_for_nothing_from_elsewhere(tmp_path: Path) -> None:
    example(tmp_path / "one")
    asking = client(tmp_path)
    policy = asking.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert "connect-src" not in asking.get("/report/one").headers["content-security-policy"]
    for page in ("/", "/live/one", "/numbers/one", "/asset/frame.css", "/asset/list.js"):
        assert "//" not in asking.get(page).text.replace("// ", "")


def test_on_the_loopback_another_name_is_refused(tmp_path: Path) -> None:
    asking = client(tmp_path)
    for name in ("127.0.0.1:8765", "localhost", "[::1]:8765"):
        assert asking.get("/", headers={"host": name}).status_code == 200
    for name in ("results.example", "127.0.0.1.example", ""):
        assert asking.get("/", headers={"host": name}).status_code == 403


def test_the_token_of_the_link_opens_all_pages(tmp_path: Path) -> None:
    example(tmp_path / "one")
    asking = client(tmp_path, token="secret")
    shut = ("/", *OF_ONE, "/events/one", "/asset/frame.css", "/?token=", "/?token=secre")
    for page in shut:
        assert asking.get(page).status_code == 403
    assert asking.get("/", headers={"cookie": "dyno-8765=wrong"}).status_code == 403
    entered = asking.get("/?q=x&token=secret")
    assert (entered.status_code, entered.headers["location"]) == (303, "/?q=x")
    assert "HttpOnly" in entered.headers["set-cookie"]
    assert asking.get("/report/one", headers={"host": "lab.example"}).status_code == 200


def test_a_link_with_the_token_leads_to_no_other_server(tmp_path: Path) -> None:
    answer = client(tmp_path, token="secret").get("http://127.0.0.1//evil.example/?token=secret")
    assert not answer.headers["location"].startswith("//")


def test_only_a_server_of_this_machine_may_be_open() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.1", "localhost.example", "")))
    assert server.token("127.0.0.1", open_to_all=True) is None
    assert server.token("127.0.0.1") != server.token("127.0.0.1")
    with pytest.raises(DynoError, match=r"--open: other machines reach 0\.0\.0\.0"):
        server.token("0.0.0.0", open_to_all=True)


def test_a_list_has_the_verdicts_of_each_arm_or_why_there_are_none() -> None:
    made = comparison(names={"l.i0"})
    ((arm, words),) = judged.headline(made).arms
    assert arm == made.arms[1] and sum(word.count for word in words) == 1
    for changed, instead in (
        ({"blocks": 0}, "no block is complete"),
        ({"blocks": 1}, "one block decides nothing"),
        ({"arms": made.arms[:1]}, "one arm, nothing to compare"),
    ):
        assert judged.headline(replace(made, **changed)).instead == instead


def test_an_address_that_is_taken_is_refused_with_a_remedy() -> None:
    taken = server.listen("127.0.0.1", 0)
    port = taken.getsockname()[1]
    assert server.link(taken, None) == f"http://127.0.0.1:{port}/"
    assert server.link(taken, "abc").endswith("/?token=abc")
    with pytest.raises(DynoError, match=rf"--port {port}: .*`--port 0`"):
        server.listen("127.0.0.1", port)
    taken.close()
    with pytest.raises(DynoError, match=r"^--host db\.\.x: is no name of a host"):
        server.listen("db..x", 0)


def test_a_folder_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match="gone: no such folder"):
        serve([tmp_path / "gone"], port=0, host="127.0.0.1")


# --- Many --------------------------------------------------------------------------------------


def test_results_of_several_folders_are_told_apart(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        example(tmp_path / parent / "results" / "one")
    roots = [tmp_path / "a" / "results", tmp_path / "b" / "results", tmp_path / "a" / "results"]
    keys = {one.key: one.path for one in folders.found(roots)}
    assert keys == {"results/one": roots[0] / "one", "results-2/one": roots[1] / "one"}


def test_any_name_of_a_folder_has_an_address_but_one_that_is_no_text(tmp_path: Path) -> None:
    names = ["a b", "Größe", "50%?x=1&y#z", "'quoted\"", "$(x)"]
    for name in names:
        small(tmp_path / name)
    small(Path(os.fsdecode(bytes(tmp_path) + b"/\xff")))
    asking = client(tmp_path)
    links = re.findall(r'href="(/report/[^"]+)"', asking.get("/").text)
    assert len(links) == len(names)
    for link in links:
        assert asking.get(link.replace("/report/", "/headline/")).status_code == 200


def test_a_result_folder_can_be_served_itself(tmp_path: Path) -> None:
    assert [one.key for one in folders.found([example(tmp_path / "one")])] == ["one"]


@pytest.mark.long
def test_a_thousand_results_are_listed_in_under_a_second(tmp_path: Path) -> None:
    for number in range(1_000):
        small(tmp_path / f"nightly-{number:04}")
    asking = client(tmp_path)
    taken = []
    for _ in range(3):
        begin = time.process_time()  # of this process, however busy the machine is
        text = asking.get("/").text
        taken.append(time.process_time() - begin)
    assert "1,000 results" in text and text.count("<tr ") == 1_000
    assert min(taken) < 1.0


def test_listing_reads_each_plan_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        example(tmp_path / str(number))
    read: list[str] = []
    original = folders._of

    def counted(key: str, path: Path, stamp: Stamp) -> folders.ListedResult:
        read.append(key)
        return original(key, path, stamp)

    monkeypatch.setattr(folders, "_of", counted)
    its = folders.Folders([tmp_path])
    assert len(its.found()) == len(its.found()) == len(read) == 20
    renamed(tmp_path / "7", '"name": "example"', '"name": "other"')
    assert len(its.found()) == 20 and read[20:] == ["7"]
