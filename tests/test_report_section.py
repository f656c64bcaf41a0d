"""A section is one file with `SECTION` and one line in page.py: every format shows its parts."""

import io
from collections.abc import Iterable
from pathlib import Path

import pytest
from rich.console import Console

import report_parts
from comparison_builder import comparison
from dbdyno.findings import shown as listed
from dbdyno.model import Series
from dbdyno.parts.drawing import Line, Lines
from dbdyno.parts.part import (
    AnyPart,
    Callout,
    Chart,
    Finding,
    Group,
    Page,
    Scope,
    Section,
    Subject,
    Text,
    charts,
)
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.report import chart, page
from dbdyno.report.render import html, markdown, terminal

PLACE = Path("post/picture.png")


def _parts(subject: Subject) -> Iterable[AnyPart]:
    """One of each kind of part: what a new show.py has."""
    name = f"{subject.anchor}-moons"
    told = (Finding(text="Tides were high."),)
    table = Table(
        name=f"{name}-table",
        title="Moons by arm",
        columns=(Column(text="arm", left=True), Column(text="moons")),
        rows=tuple(
            Row(cells=(TableCell(text=arm), TableCell(text="4321")), arm=arm)
            for arm in subject.comparison.arms
        ),
    )
    line = Line(arm=subject.base, block=1, series=Series(x_s=(1.0, 2.0), y=(1.0, 2.0)), spans=())
    drawn = Chart(
        name=f"{name}-chart",
        title="Moons per second",
        describe="Moons per second: 1 to 2",
        of=subject.steps[0].step,
        data=Lines(logarithmic=False, scale=1.0, lines=(line,)),
    )
    yield Callout(name=f"{name}-callout", title="", items=(Finding(text="A moon is missing."),))
    yield Text(name=f"{name}-text", title="Tides", items=told, entry="tides")
    yield Group(name=name, parts=(table,), entry="moons", pair=True)
    yield Group(name=f"{name}-graphs", title="Moons over time", parts=(drawn,), look="graphs")


SECTION = Section("step", _parts)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Page:
    """A page in whose list of sections of a step stands one line more."""
    monkeypatch.setattr(listed, "STEP", (*listed.STEP, SECTION))
    return page.make(comparison(blocks=1, names=["l.i0"]))


def anchor(shown: Page) -> str:
    return f"{report_parts.steps(shown)[0].name}-moons"


def test_html_has_a_new_section_with_anchors_entries_and_arms_that_hide(shown: Page) -> None:
    text = html.render(shown)
    name = anchor(shown)
    for words in ("Moons by arm", "4321", "A moon is missing.", "Tides were high."):
        assert words in text
    assert f'<a href="#{name}">moons</a>' in text and f'id="{name}"' in text
    assert f'<a href="#{name}-text">tides</a>' in text and f'id="{name}-text"' in text
    assert f'<a href="#{name}-graphs">Moons over time</a>' in text
    row = text[text.index(f'id="{name}-table"') :]
    assert '<tr class="of-0">' in row and '<tr class="of-1">' in row
    assert f'data-chart="{name}-chart"' in text


def test_a_post_has_a_new_section_with_its_picture(shown: Page) -> None:
    name = f"{anchor(shown)}-chart"
    assert name in chart.specs(shown)
    text = markdown.render(shown, {name: str(PLACE)})
    for words in ("### Moons by arm", "| pg17 | 4321 |", "- A moon is missing.", "**Tides**"):
        assert words in text
    assert f"![Moons per second: 1 to 2]({PLACE})" in text


@pytest.mark.parametrize("full", [False, True])
def test_the_terminal_has_a_new_section_of_a_step_in_full(shown: Page, full: bool) -> None:
    console = Console(file=io.StringIO(), width=80)
    terminal.print_page(shown, console, full=full)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for words in ("Moons by arm", "4321", "A moon is missing.", "Tides", "per second: 1 to 2"):
        assert (words in text) == full


# --- Sections of the whole and of a workload -------------------------------------------------


@pytest.fixture(params=["PAGE", "WORKLOAD"])
def wider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Page:
    """A page in whose list of sections of the whole, or of a workload, stands one line more."""
    scope: Scope = "page" if request.param == "PAGE" else "workload"
    room = page if request.param == "PAGE" else listed
    sections = (*getattr(room, request.param), Section(scope, _parts))
    monkeypatch.setattr(room, request.param, sections)
    return page.make(comparison(blocks=1, names=["l.i0"]))


def test_every_format_has_a_new_section_of_the_whole_or_of_a_workload(wider: Page) -> None:
    console = Console(file=io.StringIO(), width=80)
    terminal.print_page(wider, console, full=True)
    assert isinstance(console.file, io.StringIO)
    name = next(one.name for one in charts(wider.parts) if one.name.endswith("-moons-chart"))
    post = markdown.render(wider, {name: str(PLACE)})
    site = html.render(wider)
    for text in (site, post, console.file.getvalue()):
        for words in ("Moons by arm", "4321", "A moon is missing.", "Tides were high."):
            assert words in text
    assert f'<a href="#{name.removesuffix("-chart")}">moons</a>' in site
    assert f"![Moons per second: 1 to 2]({PLACE})" in post and name in chart.specs(wider)


def test_each_list_has_sections_of_its_scope() -> None:
    lists = {"page": page.PAGE, "workload": listed.WORKLOAD, "step": listed.STEP}
    assert all(section.of == scope for scope, some in lists.items() for section in some)
