"""What tables and sections are put together by: things by arms, columns, groups by a key."""

from comparison_builder import comparison
from dbdyno.findings.statements.facts import StatementFacts, StatementUse
from dbdyno.model.grouping import grouped
from dbdyno.parts.grid import Grid, GridFigure
from dbdyno.parts.part import Finding, Group, Section, Subject, Text
from dbdyno.parts.table import Column, Table
from run_builder import concluded, plan_of, run


def use(name: str, per_s: float, found: float | None, role: str = "query") -> StatementUse:
    return StatementUse(
        role=role, name=name, kind="statement", per_s=per_s, rows_per_s=0.0, found=found
    )


GRID: Grid[StatementUse] = Grid(
    heading="statement",
    things=lambda each: each.of(StatementFacts).statements,
    key=lambda each: (each.role, each.name),
    figures=(
        GridFigure(heading="per second", of=lambda each: each.per_s),
        GridFigure(
            heading="found",
            of=lambda each: each.found,
            words=lambda share: f"{share:.0%}",
            tone=lambda share: "notice" if share < 0.5 else "",
        ),
    ),
)


def table(**arms: tuple[tuple[StatementUse, ...], ...]) -> Table:
    """Of each arm the statements of one block after the other."""
    runs = [
        run(arm, block, 1.0, statements=some)
        for arm, blocks in arms.items()
        for block, some in enumerate(blocks, start=1)
    ]
    (step,) = concluded(runs, plan_of(tuple(arms))).steps
    return GRID.table(step, name="n", title="t")


def test_a_figure_is_the_mean_of_the_blocks_that_have_it_and_blank_where_none_has() -> None:
    made = table(
        a=((use("get", 10, 0.2), use("put", 5, None)), (use("get", 30, None),)),
        b=((use("get", 8, 0.75),),),
    )
    columns = [(column.group, column.text) for column in made.columns]
    figures = [(heading, arm) for heading in ("per second", "found") for arm in ("a", "b")]
    assert columns == [("", "statement"), *figures]
    assert [[cell.text for cell in row.cells] for row in made.rows] == [
        ["get", "20.0", "8.00", "20%", "75%"],
        ["put", "5.00", "", "", ""],
    ]
    assert [cell.tone for cell in made.rows[0].cells[3:]] == ["notice", ""]


def test_groups_are_named_where_there_are_several() -> None:
    own, other = use("get", 1, None), use("get", 2, None, role="other")
    assert [row.group for row in table(a=((own,),)).rows] == [""]
    assert [row.group for row in table(a=((own, other),)).rows] == ["query", "other"]


def test_columns_of_words_stand_left_and_those_under_a_heading_share_it() -> None:
    assert Column.words("a", "b") == (Column(text="a", left=True), Column(text="b", left=True))
    assert Column.under("per second", "a", title="mean") == (
        Column(text="a", group="per second", title="mean"),
    )


def test_a_grouped_section_is_named_after_its_subject_and_is_none_without_parts() -> None:
    made = comparison(blocks=1)
    subject = Subject(comparison=made, steps=made.steps, anchor="here")
    text = Text(name="t", items=Finding.each(["one", "two"]))
    section = Section.grouped("page", lambda _: [text], Group(name="-there", entry="e"))
    (group,) = section.make(subject)
    assert group == Group(name="here-there", entry="e", parts=(text,))
    assert [item.text for item in text.items] == ["one", "two"]
    assert not list(Section.grouped("page", lambda _: (), Group(name="")).make(subject))


def test_things_of_one_key_stand_together_in_their_order() -> None:
    assert grouped([("b", 2), ("a", 1), ("b", 1)]) == {"b": [2, 1], "a": [1]}
    assert list(grouped([("b", 2), ("a", 1)])) == ["b", "a"]
