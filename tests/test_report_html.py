"""The HTML report: one file, no network, under 5 MB, and nothing from outside is markup."""

import html as entities
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import report_parts
from comparison_builder import comparison
from dbdyno.parts.part import Page
from dbdyno.report import page
from dbdyno.report.render import html


@pytest.fixture(scope="module")
def shown() -> Page:
    return page.make(comparison(blocks=3))


@pytest.fixture(scope="module")
def short() -> Page:
    """A page of one step."""
    return page.make(comparison(blocks=3, names=["l.i0"]))


@pytest.fixture(scope="module")
def text(shown: Page) -> str:
    return html.render(shown)


class Reader(HTMLParser):
    """Collects ids, references, tags that are open, and the cells of each table."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.references: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids[value] += 1
            if name in ("href", "src", "aria-labelledby") and value:
                self.references.append((name, value))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_the_page_is_under_5_mb(text: str) -> None:
    assert len(text.encode()) < html.BYTES_MAX


def test_every_chart_of_the_page_has_one_place_and_one_specification(text: str) -> None:
    places = re.findall(r'<div class="chart \w+" data-chart="([^"]+)"', text)
    found = re.search(r'<script type="application/json" id="specs">(.*?)</script>', text, re.S)
    assert found is not None
    assert sorted(json.loads(found.group(1))["charts"]) == sorted(places)
    assert len(places) == len(set(places)) > 79  # ratios; for each step throughput and seconds


def test_tags_are_closed_ids_are_unique_and_references_lead_somewhere(text: str) -> None:
    reader = Reader()
    reader.feed(text)
    assert reader.wrong == [] and reader.open == []
    assert [name for name, count in reader.ids.items() if count > 1] == []
    for name, value in reader.references:
        if name == "aria-labelledby":
            assert value in reader.ids
        elif value.startswith("#"):
            assert value[1:] in reader.ids
        else:
            assert value == "data:,"  # nothing is fetched


def test_no_network_is_allowed_by_the_page_itself(text: str) -> None:
    assert "default-src 'none'" in text


def test_words_from_outside_are_never_markup(short: Page) -> None:
    evil = "</script><script>alert(1)</script><b>&"
    step = replace(report_parts.steps(short)[0], title=evil)
    odd = report_parts.with_steps(report_parts.warned(short, evil), step)
    made = html.render(replace(odd, title=evil))
    assert "<script>alert(1)" not in made
    assert entities.escape(evil) in made


def test_what_stands_between_backticks_is_code(short: Page) -> None:
    made = html.render(report_parts.warned(short, "key `a<b` is `wrong"))
    assert "key <code>a&lt;b</code> is `wrong" in made


@pytest.mark.parametrize("words", ["{charts}", "<charts>"])
def test_words_from_outside_are_never_the_place_of_the_charts(short: Page, words: str) -> None:
    made = html.render(replace(report_parts.warned(short, words), label=words))
    assert made.count(entities.escape(words)) >= 2
    assert '"shape"' in made


def test_json_in_a_script_cannot_end_it() -> None:
    assert "<" not in html.embed({"a": "</script>"})
    assert json.loads(html.embed({"a": "</script>\u2028"})) == {"a": "</script>\u2028"}


@pytest.mark.long
def test_more_arms_and_blocks_get_fewer_points_each_and_the_page_stays_small(shown: Page) -> None:
    def points(text: str) -> int:
        found = re.search(r'id="specs">(.*?)</script>', text, re.S)
        assert found is not None
        charts = json.loads(found.group(1))["charts"]
        values = charts["insert-benchmark-06-qr100-query-rate"]["data"]["values"]
        return sum(len(one["x"]) for one in values if (one["what"], one["arm"]) == ("line", "pg17"))

    arms = ["pg17", "pg18", "pg18-a", "pg18-b", "pg18-c"]
    made = html.render(page.make(comparison(blocks=4, arms=arms)))
    assert len(made.encode()) < html.BYTES_MAX
    assert html.POINTS_MIN < points(made) < points(html.render(shown)) <= 2_000


def test_a_page_without_steps_is_a_page_too(short: Page) -> None:
    assert "<main" in html.render(replace(short, parts=()))
