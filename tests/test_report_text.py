"""The report in a terminal and as Markdown: the same numbers, in shapes that fit."""

import io
from dataclasses import replace

import pytest
from msgspec import structs
from rich.cells import cell_len
from rich.console import Console

import report_parts
from comparison_builder import comparison
from dbdyno.model import Comparison
from dbdyno.parts.part import Page
from dbdyno.parts.table_layout import fitting, total, transposed
from dbdyno.report import page
from dbdyno.report.render import html, markdown, terminal
from run_builder import changed


@pytest.fixture(scope="module")
def shown() -> Page:
    return page.make(comparison(blocks=3))


def printed(shown: Page, *, width: int = 80, full: bool = False, color: bool = False) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        color_system="truecolor" if color else None,
    )
    terminal.print_page(shown, console, full=full)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 132])
@pytest.mark.parametrize("full", [False, True])
def test_no_line_is_wider_than_the_terminal(shown: Page, width: int, full: bool) -> None:
    widths = [cell_len(line) for line in printed(shown, width=width, full=full).splitlines()]
    assert max(widths) <= width


@pytest.mark.long
def test_eight_arms_fit_80_columns_too() -> None:
    made = page.make(comparison(blocks=2, arms=[f"pg18.{minor}-x10b" for minor in range(8)]))
    assert max(cell_len(line) for line in printed(made).splitlines()) <= 80


def test_the_default_is_headline_doubts_verdicts_and_the_three_tables(shown: Page) -> None:
    text = printed(shown)
    for words in (
        "pg18 against pg17",
        "Doubts",
        "Verdicts: pg18 against pg17",
        "Throughput",
        "Throughput relative to pg17",
        "Background insert rate",
    ):
        assert words in text
    assert "Published metrics" not in text
    assert "How to repeat" not in text


def test_full_has_every_step_the_machine_and_how_to_repeat(shown: Page) -> None:
    text = printed(shown, full=True)
    for words in ("Published metrics", "Response time", "Cost of a query, by owner", "Measured on"):
        assert words in text
    assert "setting io_method, pg18: worker" in text
    assert "dyno run insert-pg17-pg18.toml" in text


def test_numbers_of_a_column_end_at_the_same_place_whatever_marks_follow(shown: Page) -> None:
    lines = printed(shown).splitlines()
    table = lines[lines.index("Throughput") : lines.index("Throughput relative to pg17")]
    rows = [line for line in table if line]
    ends = {
        line.rstrip("†‡").rstrip().__len__()
        for line in rows
        if line.startswith(("l.", "qr", "qp")) and line.count(",") == 2
    }
    assert len(ends) == 1


def test_colours_are_those_published_and_absent_where_there_is_no_colour(shown: Page) -> None:
    assert "48;2;255;154;154" in printed(shown, color=True)  # ff9a9a
    assert "\x1b" not in printed(shown)


def test_a_lower_ratio_has_an_arrow_where_there_is_no_colour(shown: Page) -> None:
    line = next(line for line in printed(shown).splitlines() if "0.92–0.93" in line)
    assert line.split() == ["l.i2", "1.00", "0.93", "▼", "0.92–0.93"]


def test_words_in_square_brackets_are_printed_as_they_are(shown: Page) -> None:
    warned = report_parts.warned(shown, "[red]no markup[/red]")
    odd = replace(warned, title="a [bold]title[/bold]")
    text = printed(odd)
    assert "a [bold]title[/bold]" in text
    assert "[red]no markup[/red]" in text


def test_a_table_on_its_side_and_back_is_itself(shown: Page) -> None:
    table = report_parts.summary(shown)[0]
    again = transposed(transposed(table))
    cells = [[cell.text for cell in row.cells[1:]] for row in table.rows]
    assert [[cell.text for cell in row.cells[1:]] for row in again.rows] == cells
    assert [column.group for column in again.columns[1:]] == [
        column.group for column in table.columns[1:]
    ]


def test_a_table_in_pieces_has_every_column_once(shown: Page) -> None:
    table = report_parts.tables(report_parts.steps(shown)[4], "metrics-part")[1]
    cut = fitting(table, 66)
    assert len(cut) > 1
    assert all(total(one) <= 66 for one in cut)
    assert sum(len(one.columns) - 1 for one in cut) == len(table.columns) - 1


def test_markdown_tables_have_as_many_cells_in_every_row(shown: Page) -> None:
    text = markdown.render(shown)
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    tables = [block for block in blocks if block]
    assert len(tables) > 40
    for block in tables:
        assert len({line.replace("\\|", "").count("|") for line in block}) == 1
        assert set(block[1]) <= set("|:- ")


def test_markdown_has_the_same_numbers_as_the_page(shown: Page) -> None:
    text = markdown.render(shown)
    assert "0.93 ▼ (0.92–0.93)" in text
    assert "41,374†" in text
    assert "- pg18, qp1000, block 2 failed: the server ended" in text


def test_markdown_means_nothing_but_the_words(shown: Page) -> None:
    odd = report_parts.warned(shown, "a*b* <script> | `x`\nnext")
    assert "- a\\*b\\* &lt;script&gt; \\| \\`x\\` next" in markdown.render(odd)


def test_a_plan_with_fences_stays_in_its_fence(three: Comparison) -> None:
    odd = page.make(replace(three, plan=structs.replace(three.plan, text="a\n```\nb")))
    assert "\n````toml\na\n```\nb\n````" in markdown.render(odd)


# A report names what it lacks of a server elsewhere, and nothing of one of the lab's own.


DENIED = "permission denied for function pg_ls_waldir"


def elsewhere(**unread: str) -> Comparison:
    """A comparison whose first arm runs elsewhere and did not tell these parts."""
    made = comparison(blocks=1, names=["l.i0", "qr100"])
    (cell, *others), rest = made.steps[0].cells, made.steps[1:]
    runs = tuple(changed(run, unread=unread) for run in cell.runs)
    first = replace(made.steps[0], cells=(replace(cell, runs=runs), *others))
    servers = dict(made.servers) | {
        "pg17": structs.replace(made.servers["pg17"], external="db:5432")
    }
    return replace(made, steps=(first, *rest), servers=servers)


def test_what_only_the_host_knows_is_said_of_the_arm_that_runs_elsewhere():
    made = page.make(elsewhere())
    (text,) = report_parts.texts(made, "unseen")
    assert text.startswith("pg17 runs elsewhere (db:5432). Only its host knows CPU, ")
    for shown in (markdown.render(made), html.render(made)):
        assert "Only its host knows CPU, context switches, memory, log" in shown


def test_what_the_server_did_not_tell_stands_with_its_reason_once():
    found = elsewhere(**{"sizes.wal_dir_bytes": DENIED, "leaves": DENIED, "buffers": "no such"})
    _, *told = report_parts.texts(page.make(found), "unseen")
    assert told == [
        f"pg17: the server does not tell leaves, sizes.wal_dir_bytes: {DENIED}.",
        "pg17: the server does not tell buffers: no such.",
    ]


def test_nothing_is_said_where_all_servers_are_the_labs_own():
    assert report_parts.texts(page.make(comparison(blocks=1, names=["l.i0"])), "unseen") == ()
