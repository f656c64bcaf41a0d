"""The page as Markdown to paste into a post, a pull request or a wiki, with its pictures.

Tables are GitHub's, and wide ones stand on their side; what only some readers want is folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from urllib.parse import quote

from dbdyno.report import chart
from dbdyno.report.layout import plain, transposed
from dbdyno.report.view import Bar, Cell, Column, Page, Section, Table, Workload

COLUMNS_MAX = 8
"""A table of more columns stands on its side where it has fewer rows than columns."""

Pictures = Mapping[str, str]
"""Where the picture of a chart lies, by the chart's name: a path relative to the Markdown."""


def render(page: Page, pictures: Pictures | None = None) -> str:
    """The page as Markdown with GitHub's tables; a chart is shown where it has a picture."""
    return "\n".join(_page(page, pictures or {})).rstrip() + "\n"


def escape(text: str) -> str:
    """Words that mean nothing but themselves, on one line, also within a table."""
    text = " ".join(text.split())
    for sign in "\\`*_[]<>|#~":
        text = text.replace(sign, f"\\{sign}" if sign not in "<>" else f"&{_ENTITIES[sign]};")
    return text


_ENTITIES = {"<": "lt", ">": "gt"}


# --- Parts -----------------------------------------------------------------------------------


def _page(page: Page, pictures: Pictures) -> Iterable[str]:
    yield f"# {escape(page.title)}"
    if page.label:
        yield f"\n**{escape(page.label)}**"
    for finding in page.headline:
        yield f"\n**{escape(finding.text)}**\n"
        yield from (f"- {escape(item)}" for item in finding.items)
    if page.warnings:
        yield "\n## Warnings\n"
        yield from (f"- {escape(warning)}" for warning in page.warnings)
    yield "\n## Builds, configuration and hardware"
    yield from (f"\n{escape(paragraph)}" for paragraph in page.introduction)
    if page.differences:
        yield from _table(page.differences, 3)
    for workload in page.workloads:
        yield from _workload(workload, pictures)
    yield from _folded("The machine and the arms, fact by fact", _facts(page))
    yield from _folded("What the metrics are", _metrics(page))
    yield from _folded("How to repeat", _repeat(page))


def _workload(workload: Workload, pictures: Pictures) -> Iterable[str]:
    yield f"\n## {escape(workload.title)}"
    if workload.steps:
        yield from _table(workload.steps, 3)
    for table in workload.summary:
        yield from _table(table, 3)
    if workload.ratios:
        yield from _picture(workload.ratios.name, workload.ratios.describe, pictures)
    for section in workload.sections:
        yield from _section(section, pictures)


def _section(section: Section, pictures: Pictures) -> Iterable[str]:
    yield f"\n## {escape(section.title)}\n"
    yield escape(section.subtitle)
    if section.notices:
        yield ""
        yield from (f"- {escape(notice)}" for notice in section.notices)
    if section.bars:
        yield ""
        yield from (_bar(bar) for bar in section.bars)
        bars = "; ".join(f"{bar.arm} {bar.text}" for bar in section.bars)
        yield from _picture(
            chart.throughput_name(section), f"{section.bars_title}: {bars}", pictures
        )
    for table in (*section.targets, *section.metrics[:1], *section.response):
        yield from _table(table, 3)
    for drawn in chart.seconds_charts(section):
        yield from _picture(drawn.name, drawn.describe, pictures)
    if pictures and section.charts_note:
        yield f"\n{escape(section.charts_note)}"
    for table in section.fairness[:1]:
        yield from _table(table, 3)
    rest = (*section.fairness[1:], *section.costs, *section.state, *section.metrics[1:])
    more = (line for table in rest for line in _table(table, 4))
    titles = dict.fromkeys(table.title for table in rest)
    yield from _folded(f"{section.title}: {', '.join(titles)}", more if rest else ())


def _facts(page: Page) -> Iterable[str]:
    yield from (f"- {escape(name)}: {escape(text)}" for name, text in page.facts)
    yield from _table(page.servers, 4)


def _metrics(page: Page) -> Iterable[str]:
    """What the columns of the published metrics are, each once."""
    columns = (
        column
        for workload in page.workloads
        for section in workload.sections
        for table in section.metrics[:1]
        for column in table.columns
    )
    meanings = {column.text: column.title for column in columns if column.title}
    yield from (f"- **{escape(name)}**: {escape(text)}" for name, text in meanings.items())


def _repeat(page: Page) -> Iterable[str]:
    repeat = page.repeat
    yield f"With dyno {escape(repeat.dyno)} and the plan below as `{repeat.plan_name}`:"
    yield from _fenced(repeat.command, "sh")
    if repeat.plan_text:
        yield from _fenced(repeat.plan_text, "toml")
    if repeat.pinned:
        yield "\nWhat the plan leaves open was settled when it first ran:\n"
        yield from (f"- {escape(name)}: {escape(text)}" for name, text in repeat.pinned)


def _fenced(text: str, language: str) -> Iterable[str]:
    """Words as they are, in a fence longer than any within them."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"\n{fence}{language}\n{text}\n{fence}"


def _folded(title: str, lines: Iterable[str]) -> Iterable[str]:
    """What a reader opens who wants it; nothing where there is nothing to show."""
    found = list(lines)
    if found:
        yield f"\n<details>\n<summary>{escape(title)}</summary>\n"
        yield from found
        yield "\n</details>"


def _picture(name: str, describe: str, pictures: Pictures) -> Iterable[str]:
    if name in pictures:
        yield f"\n![{escape(describe)}]({quote(pictures[name])})"


def _bar(bar: Bar) -> str:
    detail = f" {escape(bar.detail)}" if bar.detail else ""
    return f"- {escape(bar.arm)}: **{escape(bar.text)}**{detail}"


# --- Tables ----------------------------------------------------------------------------------


def _table(table: Table, level: int) -> Iterable[str]:
    wide = len(table.columns) > COLUMNS_MAX and len(table.rows) + 1 < len(table.columns)
    shown = transposed(table) if wide else table
    yield f"\n{'#' * level} {escape(table.title)}\n"
    yield _line(_headings(shown.columns))
    yield _line(":--" if column.left else "--:" for column in shown.columns)
    for group, rows in groupby(shown.rows, lambda row: row.group):
        if group:
            yield _line([f"*{escape(group)}*", *[""] * (len(shown.columns) - 1)])
        for row in rows:
            yield _line(_cell(cell) for cell in row.cells)
    if table.note:
        yield f"\n{escape(table.note)}"


def _headings(columns: Iterable[Column]) -> Iterable[str]:
    """A column's name; the first of a group bears the group's name above it."""
    for group, some in groupby(columns, lambda column: column.group):
        for place, column in enumerate(some):
            above = f"{escape(group)}<br>" if group and place == 0 else ""
            yield f"{above}{escape(column.text)}"


def _cell(cell: Cell) -> str:
    text = escape(plain(replace(cell, detail=f"({cell.detail})" if cell.detail else "")))
    return f"**{text}**" if cell.tone == "total" and text else text


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
