"""A suite of many steps in every format: it fits 80 columns, a post, a page of 5 MB, a browser."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

import report_parts
from browser import Browser, chromium
from dbdyno import cli
from dbdyno.analysis import compare
from dbdyno.findings.over_time import show as over_time
from dbdyno.model import Comparison
from dbdyno.model.error import DynoError
from dbdyno.parts.drawing import ScaleUp
from dbdyno.parts.part import Page
from dbdyno.report import chart, page
from dbdyno.report.chart import bars
from dbdyno.report.render import html, markdown, picture, post, terminal
from suite_builder import CLIENTS, comparison

SMALL = ("load", "point-query.pre", "point-query", "hot-points", "delete")


@pytest.fixture(scope="module")
def shown() -> Page:
    return page.make(comparison(blocks=2, seconds=60, swept=True))


@pytest.fixture(scope="module")
def small() -> Page:
    """A few of the steps and the sweep, so that charts are soon drawn."""
    return page.make(few())


def few() -> Comparison:
    swept = tuple(f"point-query@clients={clients}" for clients in CLIENTS)
    return comparison(blocks=1, seconds=20, swept=True, names=(*SMALL, *swept))


def printed(shown: Page, *, full: bool = False, color: bool = False) -> str:
    console = Console(
        file=io.StringIO(),
        width=80,
        force_terminal=color,
        color_system="truecolor" if color else None,
    )
    terminal.print_page(shown, console, full=full)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


# --- Terminal --------------------------------------------------------------------------------


@pytest.mark.parametrize("full", [False, True])
def test_no_line_is_wider_than_80_columns(shown: Page, full: bool) -> None:
    assert max(cell_len(line) for line in printed(shown, full=full).splitlines()) <= 80


def test_eight_arms_are_cut_into_tables_that_each_name_the_steps() -> None:
    arms = [f"pg18.{minor}-x10b" for minor in range(8)]
    made = page.make(comparison(blocks=2, seconds=20, arms=arms, names=("hot-points", "scan")))
    lines = printed(made).splitlines()
    assert max(cell_len(line) for line in lines) <= 80
    assert sum(line.endswith("  hot-points") for line in lines) == 3
    assert all(any(f"col-{place}" in line for line in lines) for place in range(1, 8))


def test_the_tables_look_as_published(shown: Page) -> None:
    text = printed(shown)
    lines = [line.split() for line in text.splitlines()]
    lines = lines[lines.index(["pg18", "pg17", "point", "queries"]) - 1 :]
    assert lines[0] == ["queries/s"]
    assert lines[2] == ["2.06", "▲", "1.79–2.36", "4,669", "hot-points"]


def test_what_an_operation_costs_is_in_the_whole_report_only(shown: Page) -> None:
    assert "what an operation costs" not in printed(shown)
    whole = printed(shown, full=True)
    assert whole.count(": what an operation costs") == 4
    assert whole.index("Point queries: throughput") < whole.index("\nhot-points\n")


def test_colours_are_the_published_ones(shown: Page) -> None:
    text = printed(page.make(comparison(blocks=2, seconds=20), "published"), color=True)
    assert all(f"48;2;{color}" in text for color in ("129;255;166", "255;154;154", "215;215;215"))


# --- Markdown --------------------------------------------------------------------------------


def test_a_post_folds_the_steps_and_shows_the_groups(shown: Page) -> None:
    text = markdown.render(shown)
    assert "col-1" not in text, "one challenger is named"
    assert "\n### point queries\n" in text
    assert "| 2.06 ▲ (1.79–2.36) | 4,669 | hot-points |" in text
    assert "▲: faster; ▼: slower." in text
    assert text.count("<details>") == text.count("</details>")
    summaries = re.findall("<summary>(.*)</summary>", text)
    assert sum(words.startswith("hot-points · pg17 4,669 · pg18 ") for words in summaries) == 1


def test_every_table_of_a_post_has_as_many_cells_in_every_row(shown: Page) -> None:
    tables = re.findall(r"(?:^\|.*\n)+", markdown.render(shown), re.M)
    assert len(tables) > 100
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1


@pytest.mark.long
def test_a_post_has_the_pictures_that_it_links_and_no_others(small: Page) -> None:
    files = post.files(small, Path("there/post.md"))
    text = files[Path("there/post.md")].decode()
    links = {Path("there") / unquote(link) for link in re.findall(r"!\[.*?\]\((\S+)\)", text)}
    assert links == files.keys() - {Path("there/post.md")}
    names = {path.stem for path in links}
    assert {"sysbench-point-queries-ratios", "sysbench-scale-up-01"} <= names
    steps = [name for name in names if "hot-points" in name]
    assert len(steps) == over_time.OPEN_MAX


# --- Charts ----------------------------------------------------------------------------------


def test_each_group_has_its_chart_with_its_steps_in_the_order_of_the_table(shown: Page) -> None:
    specs = chart.specs(shown, 60)
    found = [name for name in specs if name.endswith("-ratios")]
    assert len(found) == 5  # the load and four groups
    axis = specs["sysbench-writes-ratios"]["layer"][1]["encoding"]["y"]
    assert axis["sort"][:3] == ["delete", "insert", "read-write_range=100"]


def test_more_clients_are_drawn_beside_the_ideal_line(shown: Page) -> None:
    (one,) = report_parts.scale_ups(shown)
    assert isinstance(one.data, ScaleUp)
    spec = bars.scaling(one.data, shown.arms)
    values = spec["data"]["values"]
    ideal = [(value["clients"], value["ratio"]) for value in values if value["what"] == "ideal"]
    assert ideal == [(1, 1), (8, 8)]
    own = [value for value in values if value.get("arm") == "pg18"]
    assert [value["clients"] for value in own] == list(CLIENTS) and own[0]["ratio"] == 1
    text = picture.svg(chart.specs(shown, 60)[one.name], shown.arms).decode()
    assert all(word in text for word in ("clients", "pg18", "proportional"))


# --- HTML ------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_whole_suite_of_three_arms_and_three_blocks_is_under_5_mb() -> None:
    made = page.make(comparison(blocks=3, arms=("pg12", "pg17", "pg18"), swept=True))
    text = html.render(made)
    assert len(text.encode()) < html.BYTES_MAX
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_what_charts_have_alike_stands_once_and_none_loses_anything(small: Page) -> None:
    specs = chart.specs(small, 60)
    found = html.shared(specs)
    again = {
        name: {**found["shapes"][own["shape"]], **{key: own[key] for key in ("data", "usermeta")}}
        for name, own in found["charts"].items()
    }
    assert again == specs
    assert len(found["shapes"]) < len(specs) / 2


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


def test_a_reader_sees_colours_hovers_and_hides_a_column(running: Browser, tmp_path: Path) -> None:
    painted = page.make(few(), "published")
    (tmp_path / "report.html").write_text(html.render(painted), encoding="utf-8")
    tab = running.tab()
    tab.width(1280)
    tab.open(tmp_path / "report.html")
    cell = "document.querySelector('#sysbench-point-queries-relative td.t-faster')"
    assert tab.run(f"getComputedStyle({cell}).backgroundColor") == "rgb(129, 255, 166)"
    assert tab.run("document.querySelector('th[data-title]').title.length > 40")
    for name in ("sysbench-scale-up-01", "sysbench-point-queries-ratios"):
        tab.run(f"document.querySelector('[data-chart=\"{name}\"]').scrollIntoView()")
        tab.wait(f"document.querySelector('.chart.drawn[data-chart=\"{name}\"] svg')")
    tab.run("document.querySelector('.arms button[data-arm=pg18]').click()")
    assert tab.run(f"getComputedStyle({cell}).display") == "none"
    assert tab.run("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.said == []


# --- The command -----------------------------------------------------------------------------


def test_the_command_takes_other_thresholds_and_refuses_nonsense(monkeypatch: pytest.MonkeyPatch):
    made = comparison(blocks=1, seconds=20, names=("hot-points", "insert"))
    monkeypatch.setattr(compare, "load", lambda folder, **_: made)
    for command in (["compare", ".", "--full"], ["report", "."]):
        done = CliRunner().invoke(cli.app, [*command, "--colors", "0.5,3"])
        assert done.exit_code == 0
        assert "Red ▼: up to 0.50; green ▲: from 3.00" in " ".join(done.output.split())
        refused = CliRunner().invoke(cli.app, [*command, "--colors", "blue"])
        assert isinstance(refused.exception, DynoError)
        assert str(refused.exception).startswith("--colors: `blue`: give `published` or two ratios")
