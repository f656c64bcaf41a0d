"""Flame graphs of the HTML report in a real browser: opened, zoomed, searched, saved, dark."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import Browser, Tab, chromium, saved
from dbdyno.host import flame as program
from dbdyno.report import page
from dbdyno.report.render import html
from profile_builder import ARM, BASE, comparison, many_stacks, of_stacks

FOLD = "document.querySelector('details.flame')"
INSIDE = f"{FOLD}.querySelector('iframe').contentDocument"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not (Path(sysconfig.get_path("scripts")) / program.NAME).exists(),
        reason=f"{program.NAME} is not installed: run `make setup`",
    ),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with the graphs of two arms, the first with stacks of known cost among many."""
    rest = many_stacks(400)
    known = of_stacks(BASE | rest, ARM | rest)
    made = page.make(comparison(known, of_stacks(name="pg19")))
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html.render(made, draw=program.draw), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tab(running: Browser, file: Path) -> Iterator[Tab]:
    """The page with its first flame graph open; the console must stay empty."""
    made = running.tab()
    made.width(1280)
    made.open(file)
    assert made.said == []
    assert made.run("document.querySelectorAll('iframe').length") == 0
    made.run(f"{FOLD}.open = true, {FOLD}.scrollIntoView()")
    made.wait(f"{FOLD}.querySelector('iframe')?.contentDocument?.getElementById('frames')")
    # As wide as the window: the last that the graph's own script does at its beginning.
    made.wait(f"{INSIDE}.getElementById('frames').getAttribute('width') !== '1180'")
    yield made
    assert made.said == []
    made.ask("Page.close")


def frame(name: str) -> str:
    """The frame of a function in the open graph."""
    titles = f"[...{INSIDE}.querySelectorAll('#frames > g')]"
    return f"{titles}.find((one) => one.textContent.startsWith('{name}'))"


def width(tab: Tab, name: str) -> float:
    """The share of the graph's width that a function has, in percent."""
    found = tab.run(f"parseFloat({frame(name)}.querySelector('rect').getAttribute('width'))")
    return float(found)


def click(tab: Tab, name: str) -> None:
    """Clicks a function's frame as a hand does."""
    box = tab.run(
        f"(() => {{ const a = {FOLD}.querySelector('iframe').getBoundingClientRect();"
        f"const b = {frame(name)}.querySelector('rect').getBoundingClientRect();"
        "return [a.x + b.x + b.width / 2, a.y + b.y + b.height / 2]; })()"
    )
    x, y = box
    tab.mouse("mousePressed", x, y, button="left", clickCount=1)
    tab.mouse("mouseReleased", x, y, button="left", clickCount=1)


def test_a_graph_opens_in_its_whole_height_and_as_wide_as_the_report(tab: Tab) -> None:
    high, needed, wide, room = tab.run(
        f"[{FOLD}.querySelector('iframe').offsetHeight, {INSIDE}.documentElement.scrollHeight,"
        f"{INSIDE}.querySelector('#frames').getBoundingClientRect().width, {FOLD}.offsetWidth]"
    )
    assert 200 < needed <= high + 4
    assert wide == pytest.approx(room - 20, abs=2)


def test_a_click_zooms_and_another_shows_the_whole_again(tab: Tab) -> None:
    before = width(tab, "_bt_compare@postgres")
    assert 0 < before < 10
    tab.run(f"{frame('_bt_compare@postgres')}.scrollIntoView({{block: 'center'}})")
    click(tab, "_bt_compare@postgres")
    tab.wait(f"{INSIDE}.querySelector('#unzoom:not(.hide)')")
    assert width(tab, "_bt_compare@postgres") == 100
    tab.run(
        f"{INSIDE}.getElementById('unzoom').dispatchEvent(new Event('click', {{bubbles: true}}))"
    )
    assert width(tab, "_bt_compare@postgres") == before


def test_a_search_marks_functions_and_says_their_share(tab: Tab) -> None:
    tab.run(f"{FOLD}.querySelector('iframe').contentWindow.search('^internal_flush')")
    found = tab.run(f"{INSIDE}.getElementById('matched').textContent")
    assert found == f"Matched: {width(tab, 'internal_flush'):.1f}%"


def test_what_costs_more_is_red_and_what_costs_less_blue(tab: Tab) -> None:
    def color(name: str) -> list[int]:
        found: list[int] = tab.run(
            f"{frame(name)}.querySelector('rect').getAttribute('fill').match(/\\d+/g).map(Number)"
        )
        return found

    red, green, blue = color("_bt_compare@postgres")
    assert red == 255 and green == blue < 250
    red, green, blue = color("sock_sendmsg@[kernel]")
    assert blue == 255 and red == green < 250


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_ground_follow_the_color_scheme(tab: Tab, scheme: str) -> None:
    tab.media(prefers_color_scheme=scheme)
    style = f"{FOLD}.querySelector('iframe').contentWindow.getComputedStyle"
    ground, words, name = tab.run(
        f"[{style}({INSIDE}.querySelector('svg > rect')).fill,"
        f"{style}({INSIDE}.getElementById('title')).fill,"
        f"{style}({INSIDE}.querySelector('#frames text')).fill]"
    )
    light = scheme == "light"
    assert (words, name) == ("rgb(0, 0, 0)" if light else "rgb(228, 230, 234)", "rgb(0, 0, 0)")
    assert (ground == "rgb(20, 22, 26)") != light


def test_the_graph_is_saved_as_it_was_drawn(tab: Tab, running: Browser, tmp_path: Path) -> None:
    running.save_in(tmp_path / "saved")
    name = tab.run(f"{FOLD}.id")
    tab.run(f"{FOLD}.querySelector('button').click()")
    text = saved(tmp_path / "saved" / f"{name}.svg").decode()
    assert text.startswith("<?xml") and "_bt_compare@postgres" in text


def test_the_graph_of_a_hidden_arm_is_hidden(tab: Tab) -> None:
    tab.run("document.querySelector('.arms button[data-arm=pg18]').click()")
    assert tab.run(
        "[...document.querySelectorAll('details.flame')].map((a) => !!a.offsetHeight)"
    ) == [False, True]
