"""The pages of `dyno serve` in a real Chromium, also while a plan runs in truth."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import own_lab
from browser import Browser, Tab, chromium
from serve_client import example, renamed
from serve_process import serving
from test_serve_live import add, began, ticks

WIDTHS = (360, 390, 620, 760, 1080, 1440)
PAGES = ("", "report/one", "live/one", "numbers/one")
PLAN = """
name = "lively"
[arms.serve-a]
engine = "postgres"
version = "18"
config = "x10a"
memory = "256MB"
[arms.serve-b]
engine = "postgres"
version = "18"
config = "x10a"
memory = "256MB"
[schedule]
blocks = 1
interleave = "turn"
[schedule.void]
foreign = 1
[[workloads]]
name = "sysbench"
parameters = { tables = 1, rows = 5_000, seconds = 10, warmup_s = 0 }
steps = ["fill", "point-query"]
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def tab(running: Browser) -> Iterator[Tab]:
    """A page whose console must stay empty."""
    running.events.clear()
    made = running.tab()
    made.ask("Network.enable")
    made.width(1280)
    yield made
    assert made.said == []
    made.ask("Page.close")


def visit(tab: Tab, address: str) -> None:
    tab.ask("Page.navigate", url=address)
    tab.wait(f"location.href.startsWith({address.partition('?')[0]!r})")
    tab.wait("document.readyState === 'complete'")


def press(tab: Tab, key: str, text: str = "") -> None:
    more = {"text": text} if text else {}
    tab.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **more)
    tab.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)


def asked(tab: Tab) -> set[str]:
    """The servers that the browser was made to ask."""
    sent = (one for one in tab.browser.events if one["method"] == "Network.requestWillBeSent")
    urls = (one["params"]["request"]["url"] for one in sent)
    return {"/".join(url.split("/")[:3]) for url in urls if not url.startswith("data:")}


@pytest.mark.long
def test_every_page_fits_every_width_in_light_and_dark_and_asks_nobody_else(
    tab: Tab, tmp_path: Path
) -> None:
    began(tmp_path / "one")
    with serving(tmp_path, options=("--open",)) as link:
        for page in PAGES:
            tab.width(1280)
            visit(tab, link + page)
            for width in WIDTHS:
                tab.width(width, mobile=width < 700)
                wider = tab.run("document.documentElement.scrollWidth - window.innerWidth")
                assert wider <= 0, (page, width)
            paper = []
            for scheme in ("light", "dark"):
                tab.media(prefers_color_scheme=scheme)
                paper.append(tab.run("getComputedStyle(document.body).backgroundColor"))
            assert len(set(paper)) == 2, page
            assert tab.run("document.querySelectorAll('nav.bar a').length") >= 1
        assert asked(tab) == {link.rstrip("/")}


@pytest.mark.long
def test_the_list_is_searched_by_keyboard_and_fills_in_its_headlines(tab: Tab, tmp_path: Path):
    for name in ("one", "two"):
        renamed(example(tmp_path / name), '"name": "example"', f'"name": "{name}"')
    shown = "[...document.querySelectorAll('#results tr')].filter((row) => !row.hidden).length"
    with serving(tmp_path, options=("--open",)) as link:
        visit(tab, link)
        tab.wait("document.body.textContent.split('one block decides').length === 3")
        press(tab, "/", "/")
        tab.ask("Input.insertText", text="TWO postgres")
        tab.wait(f"{shown} === 1")
        assert tab.run("document.getElementById('count').textContent") == "1 of 2 results"
        assert tab.run("location.search") == "?q=TWO%20postgres"
        press(tab, "Escape")
        tab.wait(f"{shown} === 2")
        tab.run("document.querySelector('#results a[href=\"/report/one\"]').focus()")
        press(tab, "Enter", "\r")
        tab.wait("location.pathname === '/report/one' && document.querySelector('h1')")
        assert "one: pg18 against pg17" in tab.run("document.querySelector('h1').textContent")


@pytest.mark.long
def test_the_live_page_draws_each_second_as_it_comes(tab: Tab, tmp_path: Path) -> None:
    step = began(tmp_path / "one")
    of_query = [line for line in ticks(step) if '"role":"query"' in line]
    drawn = "document.querySelector('#rates polyline.a1')?.points.numberOfItems ?? 0"
    with serving(tmp_path, options=("--open",)) as link:
        visit(tab, f"{link}live/one")
        tab.wait("document.querySelector('#rates polyline.a0')?.points.numberOfItems === 10")
        assert tab.run(drawn) == 0
        for number, line in enumerate(of_query[:3], 1):
            add(step, line)
            tab.wait(f"{drawn} === {number}")
        assert "pg18" in tab.run("document.getElementById('rates').ariaLabel")
        assert tab.run("document.querySelector('.is-runs').textContent") == "runs"
        (step / "failed.json").write_text('{"status": "failed", "reason": "it <i>died</i>"}')
        tab.wait("document.querySelector('.is-failed .detail')?.textContent === 'it <i>died</i>'")
        tab.wait("!document.querySelector('.is-runs')")


@pytest.mark.long
def test_a_link_with_a_token_opens_the_pages_and_nothing_else_does(tab: Tab, tmp_path: Path):
    example(tmp_path / "one")
    with serving(tmp_path) as link:
        port = link.split("/")[2].rpartition(":")[2]
        here = f"http://127.0.0.1:{port}/"
        visit(tab, here)
        assert "it has a token" in tab.run("document.body.textContent")
        assert len(tab.said) == 1  # that it was refused
        tab.browser.events.clear()
        visit(tab, f"{here}?{link.partition('?')[2]}")
        tab.wait("document.querySelector('#results')")
        assert tab.run("location.search") == "" and tab.run("document.cookie") == ""


@pytest.mark.live
@pytest.mark.soak
def test_a_plan_is_watched_while_it_runs_in_truth(tab: Tab, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "results").mkdir()
    with serving(tmp_path / "results", options=("--open",)) as link:
        visit(tab, link)
        assert "no result in these folders" in tab.run("document.body.textContent")
        run = subprocess.Popen(
            own_lab.command("run", tmp_path / "plan.toml", "--out", tmp_path / "results", "--wait"),
            stdout=subprocess.DEVNULL,
        )
        try:
            while not tab.run("Boolean(document.querySelector('a[href=\"/live/lively\"]'))"):
                assert run.poll() is None
                time.sleep(0.5)
                visit(tab, link)
            visit(tab, f"{link}live/lively")
            tab.wait("document.querySelectorAll('.is-runs').length === 2", 300)
            for arm in ("a0", "a1"):
                line = f"document.querySelector('#rates polyline.{arm}')"
                tab.wait(f"{line}?.points.numberOfItems > 3", 300)
            tab.wait("document.querySelectorAll('.is-runs').length === 0", 300)
            tab.wait("document.getElementById('pulse').textContent.startsWith('complete')", 300)
            tab.wait("document.querySelector('#evidence-table')", 300)
            assert "no look yet" in tab.run("document.getElementById('evidence').textContent")
            assert run.wait(120) == 0
        finally:
            run.kill()
            run.wait()
