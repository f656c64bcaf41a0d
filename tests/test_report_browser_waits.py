"""The layers of what sessions do in a real browser: drawn, told at the pointer, looked into."""

from collections.abc import Iterator

import pytest

import report_parts
from browser import Tab, chromium
from comparison_builder import comparison
from comparison_waits import sampled
from dbdyno.report import page
from dbdyno.report.render import html

CHART = "document.querySelector('.stacks .chart')"


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """The page with its layers drawn; the console has to stay empty."""
    place = tmp_path_factory.mktemp("waits")
    made = page.make(sampled(comparison(blocks=2)))
    made = report_parts.with_steps(made, report_parts.steps(made)[4])
    file = place / "report.html"
    file.write_text(html.render(made), encoding="utf-8")
    with chromium(place) as browser:
        opened = browser.tab()
        opened.width(1280)
        opened.open(file)
        opened.run(f"{CHART}.scrollIntoView({{block: 'center'}})")
        opened.wait(f"{CHART}.classList.contains('drawn')")
        yield opened
        assert opened.said == []


def test_layers_have_one_legend_and_each_arm_its_name(tab: Tab) -> None:
    words = tab.run(f"[...{CHART}.querySelectorAll('svg text')].map((one) => one.textContent)")
    for kind in ("CPU", "IO", "LWLock", "Lock", "other"):
        assert words.count(kind) == 1
    assert {"pg17", "pg18", "block 1", "block 2"} <= set(words)


def test_the_pointer_tells_all_layers_of_its_arm(tab: Tab) -> None:
    def place() -> tuple[float, float]:
        """Inside the first panel of the second arm."""
        box = (
            f"(() => {{ const r = {CHART}.getBoundingClientRect(); return [r.left, r.bottom]; }})()"
        )
        left, bottom = tab.run(box)
        return left + 200, bottom - 60

    tab.hover(place, "!document.getElementById('tip').hidden")
    told = tab.run("document.getElementById('tip').innerText")
    assert told.startswith("pg18, block 1, second ")
    kinds = [line.split()[0] for line in told.splitlines()[1:]]
    assert kinds == ["Novel", "Lock", "LWLock", "IO", "CPU"]  # as they lie, the highest first


def test_a_closer_look_at_the_layers_is_one_at_all_charts_of_the_step(tab: Tab) -> None:
    tab.run("document.querySelector('.stacks .zoom button[data-zoom=in]').click()")
    said = "[...document.querySelectorAll('.zoom output')].map((one) => one.textContent)"
    assert set(tab.run(said)) == {"seconds 450 to 1350"}
    tab.wait(f"![...{CHART}.querySelectorAll('svg text')].some((t) => t.textContent === '1,500')")
    tab.run("document.querySelector('.stacks .zoom button[data-zoom=all]').click()")
    assert set(tab.run(said)) == {"all seconds"}


def test_layers_have_no_logarithmic_scale(tab: Tab) -> None:
    assert tab.run("document.querySelectorAll('.stacks button.scale').length") == 0
    assert tab.run("document.querySelectorAll('.graphs button.scale').length") > 0


def test_an_arm_that_is_hidden_has_no_layers(tab: Tab) -> None:
    tab.run("document.querySelector('.arms button[data-arm=pg17]').click()")
    tab.run(f"{CHART}.scrollIntoView({{block: 'center'}})")
    tab.wait(f"{CHART}.classList.contains('drawn')")
    words = tab.run(f"[...{CHART}.querySelectorAll('svg text')].map((one) => one.textContent)")
    assert "pg18" in words
    assert "pg17" not in words
    tab.run("document.querySelector('.arms button[data-arm=pg17]').click()")
