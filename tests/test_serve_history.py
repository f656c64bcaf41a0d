"""`dyno serve`: the history of a step and two arms beside each other, as pages and as numbers."""

import json
import re
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
import uvicorn
from starlette.testclient import TestClient

from browser import chromium
from dbdyno.model import Difference
from dbdyno.serve import server
from dbdyno.serve.access import Access
from dbdyno.serve.app import application
from dbdyno.serve.history import differing
from history_builder import STEP, change, result
from serve_client import client
from test_history import VERDICT_WORDS, WOBBLE

DOTS = ".chart .mark-symbol.role-mark path"
LINK = re.compile(r'href="(/(?:history|beside|report)[^"]*)"')


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five days of 17, five of 18 that are a tenth faster, and an arm of 16 beside the first."""
    parent = tmp_path_factory.mktemp("results")
    for day in range(10):
        share, version = ((1.0, "17"), (1.1, "18"))[day // 5]
        arms = ("nightly", "pg17") if day == 0 else ("nightly",)
        result(parent, day, version=version, faster=share * WOBBLE[day % 5], arms=arms)
    return parent


@pytest.fixture(name="asking")
def _asking(folder: Path) -> TestClient:
    return client(folder)


def links(text: str, path: str) -> list[str]:
    """The links of a page that begin like this."""
    return [unescape(one) for one in LINK.findall(text) if one.startswith(path)]


def words(text: str) -> str:
    """What of a page is read: without scripts, tags and attributes."""
    without = re.sub(r"<(script|style).*?</\1>", " ", text, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", without))


def of(asking: TestClient) -> str:
    """The address of the only step's history."""
    (found,) = links(asking.get("/history").text, "/history?of=")
    return found


def test_the_steps_of_all_results_lead_to_their_histories(asking: TestClient) -> None:
    text = words(asking.get("/history").text)
    assert STEP in text and "10" in text and "nightly, pg17" in text
    assert "insert-benchmark on postgres, clients 2, interleave run; Example CPU" in text


def test_a_search_takes_steps_that_have_every_word(asking: TestClient) -> None:
    assert STEP in words(asking.get("/history", params={"q": "insert nightly"}).text)
    assert "No complete block" in words(asking.get("/history", params={"q": "mysql"}).text)


def test_a_history_says_that_nothing_was_paired_and_where_the_plateau_changed(asking: TestClient):
    answer = asking.get(of(asking))
    text = words(answer.text)
    assert "Not paired" in text and "not measured together" in text
    assert "+10.0 %" in text and "5 results" in text and "version 17.6 → 18.0" in text
    assert "/report/day-0005" in links(answer.text, "/report")
    assert "'unsafe-inline'" not in answer.headers["content-security-policy"].split("style-src")[0]


def test_by_version_the_arms_are_one_line(asking: TestClient) -> None:
    text = words(asking.get(of(asking) + "&by=version").text)
    assert "Results of PostgreSQL" in text and "+10" in text


def test_an_arm_alone_and_another_figure_are_a_link_away(asking: TestClient) -> None:
    its = links(asking.get(of(asking)).text, "/history?")
    assert any("arm=pg17" in one for one in its) and any("metric=cpu" in one for one in its)
    text = words(asking.get(next(one for one in its if "arm=pg17" in one)).text)
    assert "Results of pg17" in text and "Results of nightly" not in text


def test_a_result_that_is_new_stands_in_the_history_at_once(tmp_path: Path) -> None:
    result(tmp_path, 1)
    asking = client(tmp_path)
    address = of(asking)
    assert "day-0002" not in asking.get(address).text
    result(tmp_path, 2)
    assert "day-0002" in asking.get(address).text


@pytest.mark.parametrize("address", ["/history?of=none", "/beside?left=day-0001&left_arm=pg99"])
def test_what_no_result_has_is_not_found(asking: TestClient, address: str) -> None:
    assert asking.get(address).status_code == 404


# --- Beside each other -------------------------------------------------------------------------


def test_two_arms_are_chosen_one_after_the_other(asking: TestClient) -> None:
    first = links(asking.get("/beside").text, "/beside?")
    assert len(first) == 11
    second = links(asking.get("/beside?left=day-0000&left_arm=pg17").text, "/beside?left=")
    assert len(second) == 10
    assert "1 of 1" in words(asking.get("/beside?left=day-0000&left_arm=pg17").text)


def address(left: str, right: str) -> str:
    """Two arms beside each other, each as `result:arm`."""
    (one, of_one), (other, of_other) = left.split(":"), right.split(":")
    return f"/beside?left={one}&left_arm={of_one}&right={other}&right_arm={of_other}"


def test_arms_beside_each_other_are_warned_of_and_divided(asking: TestClient) -> None:
    text = words(asking.get(address("day-0000:pg17", "day-0005:nightly")).text)
    assert "Not paired" in text and "began 5.0 days apart" in text
    assert "No interval and no verdict" in text
    assert "1.10" in text and "18.0" in text


def test_arms_of_one_result_are_sent_to_its_report(asking: TestClient) -> None:
    answer = asking.get(address("day-0000:nightly", "day-0000:pg17")).text
    assert "Read the report" in words(answer)
    assert "/report/day-0000" in links(answer, "/report")


def test_steps_of_other_work_are_not_divided(tmp_path: Path) -> None:
    result(tmp_path, 1)
    for job in result(tmp_path, 2).rglob("job.json"):
        change(job, clients=9)
    text = words(client(tmp_path).get(address("day-0001:nightly", "day-0002:nightly")).text)
    assert (
        "Other work" in text
        and "l.i0: the job's clients" in " ".join(text.split())
        and "NA" in text
    )


def test_arms_of_two_hosts_are_refused(tmp_path: Path) -> None:
    result(tmp_path, 1)
    change(result(tmp_path, 2) / "host.json", hostname_hash="another")
    asking = client(tmp_path)
    text = words(asking.get(address("day-0001:nightly", "day-0002:nightly")).text)
    assert "different hosts" in text and "Figures" not in text
    offered = links(asking.get("/beside?left=day-0001&left_arm=nightly").text, "/beside?left=")
    assert offered == []


# --- All of it ---------------------------------------------------------------------------------


def test_no_page_of_these_has_a_word_of_verdicts(asking: TestClient) -> None:
    history = of(asking)
    for one in (
        "/history", history, f"{history}&by=version&metric=cpu", "/beside",
        "/beside?left=day-0000&left_arm=pg17", address("day-0000:pg17", "day-0005:nightly"),
        address("day-0000:pg17", "day-0000:nightly"),
    ):  # fmt: skip
        answer = asking.get(one)
        assert answer.status_code == 200
        assert not VERDICT_WORDS.search(words(answer.text)), one


def test_names_of_arms_and_results_are_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    made = result(tmp_path, 1)
    for plan in made.glob("plan.json"):
        text = json.loads(plan.read_text())
        text["workloads"][0]["parameters"]["note"] = hostile
        change(plan, **text)
    asking = client(tmp_path)
    for one in ("/history", of(asking)):
        assert hostile not in asking.get(one).text


def test_a_result_whose_name_is_no_address_is_linked_by_its_key(tmp_path: Path) -> None:
    result(tmp_path, 1).rename(tmp_path / "50 % #1?")
    asking = client(tmp_path)
    (found,) = set(links(asking.get(of(asking)).text, "/report"))
    assert found == "/report/50%20%25%20%231%3F"
    assert asking.get(found).status_code == 200
    (other,) = links(asking.get("/beside").text, "/beside?")
    assert asking.get(other).status_code == 200


def test_only_so_many_differences_are_named_in_one_line() -> None:
    its = [
        Difference(what=f"setting {n}", values={"left": "1", "right": "2"}, planned=False)
        for n in range(9)
    ]
    assert differing(its).endswith("and 3 more")


@pytest.fixture(scope="module", name="port")
def _port(folder: Path) -> Iterator[int]:
    listener = server.listen("127.0.0.1", 0)
    running = uvicorn.Server(
        uvicorn.Config(application([folder], Access()), log_level="error", lifespan="off")
    )
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    yield listener.getsockname()[1]
    running.should_exit = True
    thread.join()


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_the_charts_are_drawn_on_every_screen_and_nothing_is_refused(
    asking: TestClient, port: int, tmp_path: Path, width: int, scheme: str
) -> None:
    base = f"http://127.0.0.1:{port}"
    with chromium(tmp_path) as browser:
        tab = browser.tab()
        tab.width(width, mobile=width < 600)
        tab.media(prefers_color_scheme=scheme)
        for path, dots in (
            ("/history", 0),
            (of(asking), 11),
            (address("day-0000:pg17", "day-0005:nightly"), 1),
        ):
            tab.ask("Page.navigate", url=base + path)
            tab.wait(f"location.href === {json.dumps(base + path)}")
            tab.wait("document.readyState === 'complete'")
            tab.wait(
                "[...document.querySelectorAll('.chart')].every((one) => one.matches('.drawn'))"
            )
            assert tab.run(f"document.querySelectorAll('{DOTS}').length") == dots
            assert tab.run("document.documentElement.scrollWidth") <= width
        assert tab.said == []
