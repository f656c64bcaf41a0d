"""The page as Markdown, for a pull request, a mail or a wiki: tables without colours or charts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from dbdyno.report.layout import plain
from dbdyno.report.view import Bar, Cell, Column, Page, Section, Table


def render(page: Page) -> str:
    """The page as Markdown with GitHub's tables."""
    return "\n".join(_page(page)).rstrip() + "\n"


def escape(text: str) -> str:
    """Words that mean nothing but themselves, on one line, also within a table."""
    text = " ".join(text.split())
    for sign in "\\`*_[]<>|#~":
        text = text.replace(sign, f"\\{sign}" if sign not in "<>" else f"&{_ENTITIES[sign]};")
    return text


_ENTITIES = {"<": "lt", ">": "gt"}


def _page(page: Page) -> Iterable[str]:
    yield f"# {escape(page.title)}"
    if page.label:
        yield f"\n**{escape(page.label)}**"
    for finding in page.headline:
        yield f"\n**{escape(finding.text)}**\n"
        yield from (f"- {escape(item)}" for item in finding.items)
    if page.warnings:
        yield "\n## Warnings\n"
        yield from (f"- {escape(warning)}" for warning in page.warnings)
    if page.differences:
        yield from _table(page.differences, 2)
    for workload in page.workloads:
        yield f"\n## {escape(workload.title)}"
        for table in workload.summary:
            yield from _table(table, 3)
        for section in workload.sections:
            yield from _section(section)
    yield from _tail(page)


def _tail(page: Page) -> Iterable[str]:
    yield "\n## Measured on\n"
    yield from (f"- {escape(name)}: {escape(text)}" for name, text in page.facts)
    yield from _table(page.servers, 3)
    yield "\n## How to repeat\n"
    yield f"With dyno {escape(page.repeat.dyno)}: `{page.repeat.command}`"
    if page.repeat.plan_text:
        fence = "```"
        while fence in page.repeat.plan_text:
            fence += "`"
        yield f"\n{fence}toml\n{page.repeat.plan_text}\n{fence}"
    yield from (f"\nWorkload {escape(workload)}" for workload in page.repeat.workloads)


def _section(section: Section) -> Iterable[str]:
    yield f"\n### {escape(section.title)}\n"
    yield escape(section.subtitle)
    if section.notices:
        yield ""
        yield from (f"- {escape(notice)}" for notice in section.notices)
    if section.bars:
        yield ""
        yield from (_bar(bar) for bar in section.bars)
    for table in (*section.metrics, *section.response, *section.costs):
        yield from _table(table, 4)


def _bar(bar: Bar) -> str:
    detail = f" {escape(bar.detail)}" if bar.detail else ""
    return f"- {escape(bar.arm)}: **{escape(bar.text)}**{detail}"


def _table(table: Table, level: int) -> Iterable[str]:
    yield f"\n{'#' * level} {escape(table.title)}\n"
    yield _line(_headings(table.columns))
    yield _line(":--" if column.left else "--:" for column in table.columns)
    for group, rows in groupby(table.rows, lambda row: row.group):
        if group:
            yield _line([f"*{escape(group)}*", *[""] * (len(table.columns) - 1)])
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
