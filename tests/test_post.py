"""A post of one page: what it has, how large it is, and that it needs nothing else."""

import re
from pathlib import Path

import pytest

import example_pages
from browser import chromium
from dbdyno.model.error import DynoError
from dbdyno.parts.part import Group, Page, charts, flat
from dbdyno.report import post
from dbdyno.report.render import post as rendered

BYTES_MAX = 300_000
PICTURE = re.compile(r"!\[.*?\]\((\S+)\)")


def made(kind: str) -> Page:
    return post.make(example_pages.comparison(kind))


@pytest.mark.parametrize("kind", example_pages.KINDS)
def test_a_post_has_what_readers_ask_for_and_fits_one_page(kind: str, tmp_path: Path) -> None:
    comparison, page = example_pages.comparison(kind), made(kind)
    files = rendered.one_page(page, tmp_path / "p.md")
    files |= rendered.one_page(page, tmp_path / "p.html")
    text, html = (files.pop(tmp_path / f"p.{ending}").decode() for ending in ("md", "html"))
    assert len(html.encode()) < BYTES_MAX
    assert len(text.encode()) + sum(map(len, files.values())) < BYTES_MAX
    assert {tmp_path / link for link in PICTURE.findall(text)} == files.keys()
    assert len(files) == 3 or comparison.plan.counts_only or kind == "begun"
    assert not re.search(r"<script|<link[^>]+http|(?:src|href)=\"http|url\(http", html)
    for server in comparison.servers.values():
        assert server.version is not None and server.version in text and server.version in html
    for words in (comparison.host.cpu.model, comparison.plan.name, "dyno run ", "--out results"):
        assert words is not None and words in text.replace("\\", "") and words in html
    titles = [part.title for part in page.parts if isinstance(part, Group)]
    assert titles[-2:] == ["Versions and hardware", "How to repeat"]
    wanted = ["Rates", f"Relative to {comparison.base}", "Charts"]
    assert titles[-5:-2] == wanted or comparison.plan.counts_only
    assert text.rstrip().endswith(f"`dyno report {example_pages.folder(kind)} --html report.html`")


@pytest.mark.parametrize("kind", example_pages.KINDS)
def test_the_tables_of_a_post_are_those_of_the_report_with_arms_side_by_side(kind: str) -> None:
    comparison = example_pages.comparison(kind)
    whole = {part.name: part for part in flat(example_pages.report(kind).parts)}
    rates = [part for part in flat(made(kind).parts) if part.name.endswith(post.RATES)]
    assert {part.name for part in rates} == {name for name in whole if name.endswith(post.RATES)}
    for part in flat(made(kind).parts):
        if part.name.endswith((post.RATES, post.RATIOS)):
            rows = getattr(part, "rows", ())
            assert rows == getattr(whole[part.name], "rows", ())
            words = {column.text for column in getattr(part, "columns", ())}
            words |= {cell.text for row in rows for cell in row.cells}
            assert words >= set(comparison.arms)


def test_a_chart_over_time_has_so_few_blocks_that_each_can_be_read() -> None:
    page = made("turns")
    whole = {chart.name: chart for chart in charts(example_pages.report("turns").parts)}
    for chart in charts(page.parts):
        blocks = {line.block for line in getattr(chart.data, "lines", ())}
        every = {line.block for line in getattr(whole[chart.name].data, "lines", ())}
        assert len(blocks) <= post.BLOCKS_MAX
        assert (f"the first {post.BLOCKS_MAX} of {len(every)}" in chart.title) == (blocks < every)


def test_a_post_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=r"name it `p.md` or `.html`"):
        rendered.one_page(made("begun"), tmp_path / "p.txt")


# --- In a browser ----------------------------------------------------------------------------

SEEN = "[...document.querySelectorAll('.drawn svg')].filter(one => one.getClientRects().length)"


@pytest.mark.long
@pytest.mark.parametrize(("width", "mobile"), [(1280, False), (390, True)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_post_can_be_read_in_a_window_and_on_a_telephone_in_both_schemes(
    width: int, mobile: bool, scheme: str, tmp_path: Path
) -> None:
    page = made("run")
    (text,) = rendered.one_page(page, tmp_path / "p.html").values()
    (tmp_path / "p.html").write_bytes(text)
    with chromium(tmp_path) as browser:
        tab = browser.tab()
        tab.width(width, mobile=mobile)
        tab.media(prefers_color_scheme=scheme)
        tab.open(tmp_path / "p.html")
        assert tab.run("document.documentElement.scrollWidth") <= width
        drawn = len(
            [chart for chart in charts(page.parts) if chart.name.split("-")[0] != "changes"]
        )
        assert tab.run(f"{SEEN}.length") == drawn > 0, "one of the two of each chart"
        assert tab.run(f"{SEEN}.every(one => one.getBoundingClientRect().right <= {width})")
        inks = f"{SEEN}.flatMap(one => [...one.querySelectorAll('text')]).map(lightness)"
        light = "const lightness = one => Math.max(...getComputedStyle(one).fill.match(/\\d+/g))"
        values = tab.run(f"{{ {light}; {inks} }}")
        assert values and all((value > 128) == (scheme == "dark") for value in values)
        assert not tab.said
