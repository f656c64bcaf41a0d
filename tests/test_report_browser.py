"""The HTML report in a real browser: what a reader sees, clicks, saves and prints."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import report_parts
from browser import Browser, Tab, chromium, saved
from comparison_builder import comparison
from dbdyno.model import Series, Span
from dbdyno.parts.drawing import Line, Lines
from dbdyno.parts.part import Chart, Group, Page, flat
from dbdyno.parts.table import Table
from dbdyno.report import chart, page
from dbdyno.report.render import html

A4_ACROSS_PX = 1_032  # 297 mm without margins of 12 mm
CONTRAST_MIN = 4.5  # WCAG 2.1, level AA, for text of ordinary size


def clients(name: str, arms: tuple[str, ...]) -> Chart:
    """A chart with four lines of each arm in a panel."""
    lines = tuple(
        Line(
            arm=arm,
            block=1,
            series=Series(
                x_s=tuple(float(second) for second in range(1, 61)),
                y=tuple(1_000.0 * (client + 1) + second for second in range(60)),
            ),
            spans=(Span(kind="checkpoint", label="time", start_s=20, end_s=40),),
            label=f"client {client}",
        )
        for arm in arms
        for client in range(4)
    )
    return Chart(
        name=f"{name}-clients-rate",
        title="Rows inserted per second by each client",
        describe="1,000 to 4,059",
        data=Lines(logarithmic=False, scale=1.0, lines=lines),
    )


@pytest.fixture(scope="module")
def shown() -> Page:
    """Three arms, two blocks, the steps l.i2 and qr1000, which has missed targets."""
    made = page.make(comparison(blocks=2, arms=("pg17", "pg18", "pg19")))
    steps = report_parts.steps(made)
    loading = steps[3]
    (each,) = (part for part in loading.parts if part.name.endswith("-clients"))
    assert isinstance(each, Group)
    many = replace(each, parts=(clients(loading.name, made.arms),))
    parts = tuple(many if part is each else part for part in loading.parts)
    loading = replace(loading, parts=parts)
    sections = (loading, steps[8])
    assert report_parts.tables(loading, "fairness") and report_parts.tables(loading, "state")
    assert report_parts.tables(sections[1], "targets")
    return report_parts.with_steps(made, *sections)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def file(shown: Page, place: Path) -> Path:
    path = place / "report.html"
    path.write_text(html.render(shown), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def running(place: Path) -> Iterator[Browser]:
    with chromium(place) as browser:
        yield browser


@pytest.fixture(scope="module")
def opened(running: Browser, file: Path) -> Tab:
    """The page, opened once: those who take `tab` leave it as they had it."""
    made = running.tab()
    made.width(1280)
    made.open(file)
    return made


@pytest.fixture
def tab(opened: Tab) -> Iterator[Tab]:
    """The page, scrolled to its top; whatever a test does with it, the console must stay empty."""
    opened.ask("Page.bringToFront")
    opened.media()
    opened.run("scrollTo(0, 0)")
    yield opened
    assert opened.said == []


@pytest.fixture
def fresh(running: Browser, file: Path) -> Iterator[Tab]:
    """The page, freshly opened, for who wants it undrawn, of another width or in other colours."""
    made = running.tab()
    made.width(1280)
    made.open(file)
    yield made
    assert made.said == []
    made.ask("Page.close")


DRAW_ALL = """(async () => {
  for (const frame of document.querySelectorAll(".chart")) {
    frame.scrollIntoView();
    for (let turn = 0; turn < 600 && !frame.classList.contains("drawn"); turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return document.querySelectorAll(".chart.drawn svg").length;
})()"""


def draw(tab: Tab, name: str) -> None:
    """Scrolls to a chart and waits until it is drawn."""
    chosen = f"document.querySelector('.chart[data-chart=\"{name}\"]')"
    tab.run(f"{chosen}.scrollIntoView({{block: 'center'}})")
    tab.wait(f"{chosen}.classList.contains('drawn')")


def words(tab: Tab, name: str) -> list[str]:
    """The words in a drawn chart, in order of the alphabet: Vega may draw them in any."""
    found: list[str] = tab.run(in_order(name))
    return found


def in_order(name: str) -> str:
    texts = f"[...document.querySelectorAll('[data-chart=\"{name}\"] svg text')]"
    return f"{texts}.map((one) => one.textContent).sort()"


def joined(name: str) -> str:
    return f"{in_order(name)}.join(' ')"


def tables(shown: Page) -> list[Table]:
    """Every table of a page."""
    return [one for one in flat(shown.parts) if isinstance(one, Table)]


def test_every_chart_is_drawn_when_it_comes_near_and_nothing_before(fresh: Tab, shown: Page):
    charts = len(chart.specs(shown))
    assert fresh.run("document.querySelectorAll('.chart.drawn').length") < charts
    before = fresh.run("document.documentElement.scrollHeight")
    assert fresh.run(DRAW_ALL) == charts
    assert abs(fresh.run("document.documentElement.scrollHeight") - before) < 0.02 * before


def test_the_figures_of_all_tables_are_those_of_the_page(tab: Tab, shown: Page) -> None:
    script = """[...document.querySelectorAll("main table")].map((table) => [
      table.closest("section").id,
      [...table.tHead.rows[table.tHead.rows.length - 1].cells].map((one) => one.textContent),
      [...table.querySelectorAll("tbody tr:not(.group)")].map((row) =>
        [...row.cells].map((one) => [...one.childNodes].map((node) => node.textContent).join(""))),
    ])"""
    found = {name: (heads, rows) for name, heads, rows in tab.run(script)}
    expected = tables(shown)
    assert len(found) == len(expected) > 15
    for one in expected:
        heads, rows = found[one.name]
        assert heads == [column.text for column in one.columns]
        wanted = [[cell.text + cell.mark + cell.detail for cell in row.cells] for row in one.rows]
        assert rows == wanted
    failed = tab.run("[...document.querySelectorAll('td.t-failed')].map((one) => one.textContent)")
    assert failed == [
        cell.text + cell.mark + cell.detail
        for one in expected
        for row in one.rows
        for cell in row.cells
        if cell.tone == "failed" and cell is not row.cells[one.heading]
    ]
    assert any("†" in text for text in failed)  # qr1000, which missed its target


def test_every_table_says_what_its_rows_and_columns_are_and_headings_are_in_order(tab: Tab) -> None:
    assert tab.run("document.querySelectorAll('thead th:not([scope])').length") == 0
    assert (
        tab.run("document.querySelectorAll('tbody tr > :first-child:not(th[scope])').length") == 0
    )
    tags = "[...document.querySelectorAll('h1, h2, h3, h4')].map((one) => one.tagName)"
    levels = [int(one[1]) for one in tab.run(tags)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    nameless = (
        "[...document.querySelectorAll('button')].filter((a) => !a.ariaLabel && !a.textContent)"
    )
    assert tab.run(f"{nameless}.length") == 0
    assert tab.run("document.querySelectorAll('.canvas:not([role=img][aria-label])').length") == 0


def displayed(tab: Tab, scope: str) -> list[str]:
    """The words of the cells that can be seen within an element."""
    script = f"[...document.querySelectorAll('{scope} :is(th, td)')]"
    seen: list[str] = tab.run(
        f"{script}.filter((one) => one.offsetParent && one.getClientRects().length)"
        ".map((one) => one.textContent.trim())"
    )
    return seen


@pytest.mark.long
def test_a_key_hides_an_arm_in_all_charts_and_tables_and_shows_it_again(tab: Tab, shown: Page):
    name = report_parts.steps(shown)[0].name
    draw(tab, f"{name}-insert-rate")
    before = displayed(tab, "main")
    assert before.count("pg18") > 20 and "pg18" in words(tab, f"{name}-insert-rate")
    tab.run("document.querySelector('.arms [data-arm=pg18]').focus()")

    def press() -> None:
        tab.ask("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r")
        tab.ask("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter")

    press()
    tab.wait("document.querySelector('.arms [data-arm=pg18]').ariaPressed === 'false'")
    draw(tab, f"{name}-insert-rate")
    assert "pg18" not in words(tab, f"{name}-insert-rate")
    assert {"pg17", "pg19"} <= set(words(tab, f"{name}-insert-rate"))
    hidden = displayed(tab, "main")
    assert "pg18" not in hidden and hidden.count("pg19") == before.count("pg19")
    wide = "[...document.querySelectorAll('tr.groups')].filter((row) => row.offsetParent)"
    spans = tab.run(
        f"{wide}.map((row) => [[...row.cells].filter((one) => !one.hidden)"
        ".reduce((sum, one) => sum + one.colSpan, 0),"
        "[...row.nextElementSibling.cells].filter((one) => one.getClientRects().length).length])"
    )
    assert spans and all(first == second for first, second in spans)
    tab.run("document.querySelector('.arms [data-arm=pg19]').click()")
    assert tab.run("document.querySelector('.arms [data-arm=pg17]').disabled") is True
    tab.run("document.querySelector('.arms [data-arm=pg19]').click()")
    press()
    assert displayed(tab, "main") == before


def panel(tab: Tab, name: str) -> tuple[float, float, float, float]:
    """Where a chart's first panel lies in the window: left, top, width, height."""
    script = f"""(() => {{
      const frame = document.querySelector('.chart[data-chart="{name}"]');
      const box = frame.querySelector(".cell .background").getBoundingClientRect();
      return [box.left, box.top, box.width, box.height];
    }})()"""
    left, top, width, height = tab.run(script)
    return left, top, width, height


def zoomed(tab: Tab, section: Group, kind: str = "graphs") -> str:
    """What the page says of the time that it shows."""
    said: str = tab.run(f"document.querySelector('#{section.name}-{kind} output').textContent")
    return said


@pytest.mark.long
def test_a_drag_looks_closer_in_all_charts_of_the_step_and_an_aa_arm_click_shows_all(
    tab: Tab, shown: Page
) -> None:
    section = report_parts.steps(shown)[0]
    name, other = f"{section.name}-insert-rate", f"{section.name}-delete-rate"
    draw(tab, name)
    draw(tab, other)
    draw(tab, name)
    before = words(tab, other)
    left, top, width, height = panel(tab, name)
    middle = top + height / 2
    tab.mouse("mousePressed", left + width / 4, middle, button="left", buttons=1, clickCount=1)
    for step in range(1, 6):
        x = left + width * (1 / 4 + step / 20)
        tab.mouse("mouseMoved", x, middle, button="left", buttons=1)
    tab.wait(f"!document.querySelector('[data-chart=\"{name}\"] .part-of-time').hidden")
    tab.mouse("mouseReleased", left + width / 2, middle, button="left", clickCount=1)
    tab.wait(
        f"document.querySelector('#{section.name}-graphs output').textContent !== 'all seconds'"
    )
    longest = max(
        line.series.x_s[-1]
        for line in report_parts.lines(report_parts.charts(section, "graphs")[0]).lines
    )
    first, last = (float(word) for word in zoomed(tab, section).split() if word.isdigit())
    assert first == pytest.approx(longest / 4, rel=0.05)
    assert last == pytest.approx(longest / 2, rel=0.05)
    tab.wait(f"{joined(other)} !== {json.dumps(' '.join(before))}")
    assert zoomed(tab, report_parts.steps(shown)[1]) == "all seconds"
    for clicks in (1, 2):
        at = {"x": left + 20, "y": middle, "button": "left", "clickCount": clicks}
        tab.mouse("mousePressed", **at)
        tab.mouse("mouseReleased", **at)
    tab.wait(
        f"document.querySelector('#{section.name}-graphs output').textContent === 'all seconds'"
    )
    tab.wait(f"{joined(other)} === {json.dumps(' '.join(before))}")


@pytest.mark.long
def test_buttons_and_the_wheel_with_a_key_look_closer_but_the_wheel_alone_scrolls(
    tab: Tab, shown: Page
) -> None:
    section = report_parts.steps(shown)[1]
    name = f"{section.name}-query-rate"
    draw(tab, name)
    left, top, width, height = panel(tab, name)
    at = {"x": left + width / 2, "y": top + height / 2, "deltaX": 0}
    y = tab.run("scrollY")
    tab.mouse("mouseWheel", **at, deltaY=120)
    tab.wait(f"scrollY > {y}")
    assert zoomed(tab, section) == "all seconds"
    draw(tab, name)
    left, top, width, height = panel(tab, name)
    at = {"x": left + width / 2, "y": top + height / 2, "deltaX": 0}
    tab.mouse("mouseWheel", **at, deltaY=-120, modifiers=2)
    tab.wait(
        f"document.querySelector('#{section.name}-graphs output').textContent !== 'all seconds'"
    )
    for button in ("in", "right", "left", "out", "all"):
        earlier = zoomed(tab, section)
        tab.run(f"document.querySelector('#{section.name}-graphs [data-zoom={button}]').click()")
        assert zoomed(tab, section) != earlier
    assert zoomed(tab, section) == "all seconds"
    touch = f"getComputedStyle(document.querySelector('[data-chart=\"{name}\"].chart')).touchAction"
    assert tab.run(touch) == "pan-y pinch-zoom"


def hover(tab: Tab, name: str, x: float, y: float) -> list[str]:
    """Moves the mouse to a place in a chart's first panel (shares of it); the words shown."""

    def place() -> tuple[float, float]:
        left, top, width, height = panel(tab, name)
        return left + width * x, top + height * y

    tip = "document.getElementById('tip')"
    tab.run(f"{tip}.hidden = true")
    tab.hover(place, f"!{tip}.hidden")
    return list(tab.run(f"[...{tip}.children].map((one) => one.textContent)"))


def test_the_pointer_shows_each_arms_value_at_its_second(tab: Tab, shown: Page) -> None:
    section = report_parts.steps(shown)[1]
    name = f"{section.name}-query-rate"
    draw(tab, name)
    draw(tab, name)
    heading, *rows = hover(tab, name, 0.5, 0.5)
    block, second = heading.split(", second ")
    assert block == "block 1" and float(second.replace(",", "")) == pytest.approx(900, abs=15)
    assert [row.split()[0] for row in rows[:3]] == list(shown.arms)
    values: list[dict[str, Any]] = chart.specs(shown, 2_000)[name]["data"]["values"]
    for row in rows[:3]:
        arm, value = row.split()[:2]
        line = next(
            one
            for one in values
            if (one["arm"], one["block"], one["what"]) == (arm, "block 1", "line")
        )
        place = min(range(len(line["x"])), key=lambda at: abs(line["x"][at] - 900))
        near = line["y"][max(0, place - 4) : place + 5]
        assert float(value.replace(",", "")) in near
    other = f".chart.drawn[data-chart='{section.name}-query-max-us'] .at"
    tab.wait(f'!document.querySelector("{other}").hidden')


def test_the_pointer_names_the_nearest_client_and_what_ran(tab: Tab, shown: Page) -> None:
    name = f"{report_parts.steps(shown)[0].name}-clients-rate"
    draw(tab, name)
    heading, *rows = hover(tab, name, 0.5, 1 - 3_050 / 4_500)
    assert heading == "second 30"
    assert rows[0] == "pg17, client 2 3,029"
    assert rows[-1] == "pg17: checkpoint"


def test_a_chart_can_have_the_other_scale(tab: Tab, shown: Page) -> None:
    name = f"{report_parts.steps(shown)[1].name}-query-max-us"
    draw(tab, name)
    before = words(tab, name)
    button = f"document.querySelector('button.scale[data-chart=\"{name}\"]')"
    caption = f"{button}.closest('figcaption').querySelector('.what').textContent"
    assert tab.run(caption).endswith(", log scale")
    tab.run(f"{button}.click()")
    draw(tab, name)
    tab.wait(f"document.querySelector('[data-chart=\"{name}\"] svg')")
    assert words(tab, name) != before and "0" in words(tab, name)
    assert not tab.run(caption).endswith(", log scale")
    tab.run(f"{button}.click()")
    draw(tab, name)
    tab.wait(f"document.querySelector('[data-chart=\"{name}\"] svg')")
    assert words(tab, name) == before


@pytest.mark.parametrize("kind", ["ratios", "throughput", "insert-max-us"])
@pytest.mark.long
def test_a_chart_is_saved_as_svg_and_png_that_stand_by_themselves(
    tab: Tab, shown: Page, place: Path, kind: str
) -> None:
    section = report_parts.steps(shown)[0]
    name = "insert-benchmark-ratios" if kind == "ratios" else f"{section.name}-{kind}"
    tab.media(prefers_color_scheme="dark")  # the picture is light all the same
    for format in ("svg", "png"):
        tab.run(f"document.querySelector('[data-chart=\"{name}\"][data-save={format}]').click()")
    text = saved(place / "saved" / f"{name}.svg").decode()
    assert text.startswith("<svg") and shown.title in text and "var(" not in text
    assert all(arm in text for arm in shown.arms[1:]) and 'fill="#ffffff"' in text
    assert len(text) > 3_000
    image = saved(place / "saved" / f"{name}.png")
    assert image.startswith(b"\x89PNG") and len(image) > 10_000
    width = int.from_bytes(image[16:20], "big")
    assert width > 1_200  # twice the pixels of the page


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.long
def test_nothing_is_wider_than_the_window(fresh: Tab, width: int) -> None:
    fresh.width(width, mobile=width < 500)
    fresh.wait(f"innerWidth === {width}")
    fresh.run(DRAW_ALL)
    assert fresh.run("document.documentElement.scrollWidth") == width


LOWEST_CONTRAST = """(() => {
  const channels = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  function ground(node) {
    for (let one = node; one; one = one.parentElement) {
      const color = channels(getComputedStyle(one).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  }
  let lowest = [21, ""];
  for (const one of document.querySelectorAll("body *:not(script):not(style)")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !one.getClientRects().length) continue;
    const style = getComputedStyle(one);
    const is_svg = one instanceof SVGElement;
    const back = ground(one);
    const alpha = Number(style.opacity);
    if (alpha === 0) continue;
    const fore = channels(is_svg ? style.fill : style.color)
      .map((value, place) => value * alpha + back[place] * (1 - alpha));
    const [dark, bright] = [light(fore), light(back)].sort((a, b) => a - b);
    const contrast = (bright + 0.05) / (dark + 0.05);
    if (contrast < lowest[0]) lowest = [contrast, one.outerHTML.slice(0, 200)];
  }
  return lowest;
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.long
def test_all_words_stand_out_from_their_ground(fresh: Tab, scheme: str) -> None:
    fresh.media(prefers_color_scheme=scheme)
    fresh.run(DRAW_ALL)
    contrast, where = fresh.run(LOWEST_CONTRAST)
    assert contrast >= CONTRAST_MIN, where


@pytest.mark.long
def test_paper_has_every_chart_though_none_was_looked_at(fresh: Tab, shown: Page, file: Path):
    fresh.width(390, mobile=True)
    fresh.media(prefers_color_scheme="dark")
    fresh.open(file)
    assert fresh.run("document.querySelectorAll('.chart.drawn').length") == 0
    pdf = fresh.paper()
    assert pdf.startswith(b"%PDF") and len(pdf) > 50_000
    assert fresh.run("document.querySelectorAll('.chart.drawn').length") == len(chart.specs(shown))


@pytest.mark.long
def test_paper_cuts_no_table_of_eight_arms(running: Browser, place: Path) -> None:
    made = page.make(comparison(blocks=2, arms=[f"pg{number}" for number in range(11, 19)]))
    one = report_parts.with_steps(made, report_parts.steps(made)[8])
    path = place / "eight.html"
    path.write_text(html.render(one), encoding="utf-8")
    tab = running.tab()
    tab.width(1280)
    tab.open(path)
    widest = "Math.max(...[...document.querySelectorAll('main table')]"
    widest += ".map((one) => one.getBoundingClientRect().right))"
    assert tab.run(widest) > 1_280  # on the screen such a table is scrolled by itself
    tab.run("window.dispatchEvent(new Event('beforeprint'))")
    tab.media("print")
    tab.width(A4_ACROSS_PX)
    assert tab.run(widest) <= A4_ACROSS_PX
    tab.ask("Page.close")
