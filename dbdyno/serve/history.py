"""The history of a step over versions and dates, with its change points; nothing is judged."""

from collections.abc import Iterable, Sequence
from typing import get_args

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dbdyno.analysis.across import history, values
from dbdyno.analysis.across.history import (
    By,
    History,
    HistoryChange,
    HistoryLine,
    HistorySelection,
    Point,
    Steps,
)
from dbdyno.analysis.across.side import LEFT, MISSING, RIGHT
from dbdyno.analysis.across.values import COST, RESPONSE
from dbdyno.analysis.across.work import Work
from dbdyno.model import Difference
from dbdyno.model.comparison import OF_SOME
from dbdyno.model.plan_record import ArmRecord
from dbdyno.parts import cells, number
from dbdyno.parts.drawing import Dot, PlateauLine, Plateaus
from dbdyno.parts.part import Callout, Chart, Finding, Text
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.serve import chained, charted, farm
from dbdyno.serve.charted import Search, View, day, link, report
from dbdyno.serve.frame import ViewLink, ViewLinks
from dbdyno.serve.listing import has_words
from dbdyno.serve.serving import PageContext

PATH = "/history"
SORTS: tuple[By, ...] = get_args(By)
UNLIKE_MAX = 6
"""So many differences at a change point are named, the others counted."""
MS_PER_NS = 1e-6
NOT_PAIRED = (
    "These results were not measured together. The host and what else ran on it may differ from "
    "one to the next as much as the servers do."
)
NO_WORD = (
    "A change point marks where a new plateau begins, not why. Measure both sides in one plan to "
    "have them judged."
)


# --- Answers ------------------------------------------------------------------------------------


def page(serving: PageContext, request: Request) -> Response:
    """The steps to choose from; of one that is chosen its history, as a page."""
    asked = request.query_params
    indexes = serving.archive.indexes(serving.folders.found())
    key = asked.get("of")
    if key is None:
        query = asked.get("q", "")
        return charted.page(serving.frame, choose(history.steps(indexes), query))
    sort = next((one for one in SORTS if one == asked.get("by")), SORTS[0])
    choice = HistorySelection(
        metric=asked.get("metric") or None, by=sort, arms=tuple(asked.getlist("arm"))
    )
    found = history.history(indexes, key, choice, serving.archive)
    if found is None:
        raise HTTPException(404, "no result has this step; /history lists those that there are")
    farms = [place.key for place in farm.places(serving.folders.roots)]
    marked = chained.without_changes(found, farms)
    return charted.page(serving.frame, view(marked))


# --- Which steps there are -----------------------------------------------------------------------


def choose(found: Sequence[Steps], query: str) -> View:
    """All steps, each with how often it was measured, as far as they have the query's words."""
    its = [
        one
        for one in found
        if has_words(" ".join((one.work.step, described(one.work), *one.arms)).lower(), query)
    ]
    rows = tuple(
        Row.of(
            TableCell(text=one.work.step, link=link(PATH, of=one.work.key)),
            f"{one.results:,}",
            TableCell(text=number.few(one.arms, 4), title=", ".join(one.arms)),
            day(one.first_unix_ns)[:10],
            day(one.last_unix_ns)[:10],
            group=described(one.work),
        )
        for one in its
    )
    table = Table(
        name="steps",
        title="Steps",
        columns=Column.heads("step", "results", *Column.words("arms"), "first", "last"),
        rows=rows,
        note="Results stand under one heading where host, engine, workload, parameters and turns "
        "are alike. A step is one work where its whole job is.",
    )
    nothing = Text(
        name="nothing",
        title="Nothing here",
        form="paragraphs",
        items=(Finding(text="No complete block has such a step with a throughput."),),
    )
    search = Search(query=query, words="Step, workload, parameter, arm, host …")
    parts = (table if rows else nothing,)
    return View(title="History", at="history", search=search, parts=parts)


def described(work: Work) -> str:
    """Host, engine, workload, parameters and turns of a work, in one line."""
    its = [f"{name} {value}" for name, value in (*work.parameters.items(), *work.turns.items())]
    return f"{work.workload} on {work.engine}, {', '.join(its)}; {work.host}"


# --- One history ---------------------------------------------------------------------------------


def view(found: History) -> View:
    """The page of a history."""
    return View(
        title=f"{found.work.step}, by {found.by}",
        label=described(found.work),
        at="history",
        arms=found.arms,
        ways=tuple(_ways(found)),
        parts=(
            _warning(found),
            *([_chart(found)] if found.lines else []),
            _changes(found),
            *(_results(line, found) for line in found.lines),
        ),
    )


def _ways(found: History) -> Iterable[ViewLinks]:
    def to(**asked: str | Sequence[str] | None) -> str:
        whole = {"of": found.work.key, "by": found.by, "metric": found.metric, "arm": chosen}
        return link(PATH, **(whole | asked))

    lined = {point.side.arm for line in found.lines for point in line.points}
    chosen = sorted(lined) if lined < set(found.arms) else None
    yield ViewLinks(
        name="Order",
        ways=tuple(ViewLink(words=f"by {by}", link=to(by=by), here=by == found.by) for by in SORTS),
    )
    yield ViewLinks(
        name="Figure",
        ways=tuple(
            ViewLink(words=values.title(name), link=to(metric=name), here=name == found.metric)
            for name in found.metrics
        ),
    )
    if len(found.arms) > 1:
        every = ViewLink(words="all", link=to(arm=None), here=chosen is None)
        own = (ViewLink(words=arm, link=to(arm=arm), here=chosen == [arm]) for arm in found.arms)
        yield ViewLinks(name="Arms", ways=(every, *own))


def _warning(found: History) -> Callout:
    items = [NOT_PAIRED, NO_WORD]
    if found.by == "version":
        setups = {
            configuration(point.side.planned) for line in found.lines for point in line.points
        }
        if len(setups) > 1:
            listed = "; ".join(sorted(setups))
            items.append(f"These arms have {len(setups)} configurations: {listed}.")
    if found.without:
        items.append(
            f"{found.without} of these arms' results lack this figure: the step failed there, its "
            "files are damaged, or nothing tells the figure."
        )
    return Callout(name="not-paired", title="Not paired", items=Finding.each(items))


def figure_words(metric: str, value: float) -> str:
    """A figure with the unit that fits it."""
    return number.time_us(value) if metric in (COST, RESPONSE) else number.number(value)


def _place(line: HistoryLine, place: int, by: By) -> float:
    return place if by == "version" else line.points[place].side.begun_unix_ns * MS_PER_NS


def _chart(found: History) -> Chart:
    by, lines = found.by, found.lines
    points = [(line, place, point) for line in lines for place, point in enumerate(line.points)]
    several = by == "version"
    return Chart(
        name="history",
        title=f"{found.work.step}: {values.title(found.metric)}",
        describe=_said(found),
        data=Plateaus(
            marks=_marks(lines[0]) if several else {},
            scale=1.0,
            dots=tuple(
                Dot(
                    arm=point.side.arm,
                    x=_place(line, place, by),
                    y=point.figure.value,
                    low=point.figure.least,
                    high=point.figure.greatest,
                    shown=_shown(point, found.metric),
                )
                for line, place, point in points
            ),
            plateaus=tuple(
                PlateauLine(
                    arm=None if several else line.name,
                    x=_place(line, plateau.first, by),
                    x2=_place(line, plateau.last, by),
                    y=plateau.mean,
                )
                for line in lines
                for plateau in line.plateaus
            ),
            changes=tuple(
                (
                    _place(line, change.change_point.index - 1, by)
                    + _place(line, change.change_point.index, by)
                )
                / 2
                for line in lines
                for change in line.changes
            ),
        ),
        note="A dot is an arm in one result, its line the range of the blocks; a thick line is the "
        "mean of a plateau, a dashed one a change point. The axis does not begin at zero.",
    )


def _marks(line: HistoryLine) -> dict[float, str]:
    """The places in the order at which a new version begins."""
    versions = [point.side.version for point in line.points]
    return {
        float(place): version
        for place, version in enumerate(versions)
        if place == 0 or versions[place - 1] != version
    }


def _shown(point: Point, metric: str) -> dict[str, str]:
    its = point.figure
    return {
        "result": point.side.result,
        "arm": point.side.arm,
        "version": point.side.version,
        "begun": day(point.side.begun_unix_ns),
        "value": cells.signed(figure_words(metric, its.value), point.bound),
        "of": number.blocks(its.blocks),
    }


def _said(found: History) -> str:
    """The chart in words."""
    its = []
    for line in found.lines:
        figures = [point.figure.value for point in line.points]
        changes = len(line.changes)
        its.append(
            f"{line.name}: {len(figures)} result{'s' * (len(figures) != 1)} from "
            f"{figure_words(found.metric, min(figures))} to "
            f"{figure_words(found.metric, max(figures))}, "
            f"{changes} change point{'s' * (changes != 1)}"
        )
    return "; ".join(its)


# --- Tables --------------------------------------------------------------------------------------


def _changes(found: History) -> Table | Text:
    rows = tuple(
        _change(line, change, found.metric, found.by)
        for line in found.lines
        for change in line.changes
    )
    if not rows:
        text = "No plateau differs from the one before by more than chance explains."
        if any(not line.plateaus for line in found.lines):
            text = chained.SAID
        return Text(name="changes", title="Change points", items=(Finding(text=text),))
    return Table(
        name="changes",
        title="Change points",
        look="words",
        columns=Column.words(
            *("begins (UTC)", "line", "plateau before", "plateau after", "change", "p", "differs")
        ),
        rows=rows,
        note="p: of Student's t test that both plateaus are one, for results that may be like "
        "their neighbours. It has to be so small that on a page of "
        f"{history.STEPS} steps with {history.FIGURES} figures each, chance makes any change point "
        "one time in twenty at most. Differs: what is known to be unlike between the last result "
        "of the plateau before and the first one of the new plateau.",
    )


def _change(line: HistoryLine, one: HistoryChange, metric: str, by: By) -> Row:
    its, after = one.change_point, one.after.side
    plateaus = (its.before, one.points_before), (its.after, one.points_after)
    change = number.change(its.after / its.before) if its.before > 0 else number.MISSING
    return Row.of(
        TableCell(text=day(after.begun_unix_ns), detail=after.result, link=report(after.result)),
        line.name,
        *(
            TableCell(
                text=figure_words(metric, plateau), detail=f"{count} result{'s' * (count != 1)}"
            )
            for plateau, count in plateaus
        ),
        change,
        "< 0.000001" if its.p < 1e-6 else f"{its.p:.6f}",
        differing(one.unlike) or "nothing that is known",
        arm=line.name if by == "date" else None,
    )


def differing(unlike: Sequence[Difference]) -> str:
    """Differences in one line: version 16.9 → 17.6, …; not the settings that one version lacks."""
    its = [
        f"{one.what} {one.values.get(LEFT, MISSING)} → {one.values.get(RIGHT, MISSING)}"
        for one in unlike
        if one.what != OF_SOME
    ]
    return number.few(its, UNLIKE_MAX)


def _results(line: HistoryLine, found: History) -> Table:
    newest_first = line.points[::-1] if found.by == "date" else line.points
    rows = tuple(_result(point, found.metric) for point in newest_first)
    return Table(
        name=f"results-{line.name}",
        title=f"Results of {line.name}",
        columns=Column.heads(
            "begun (UTC)",
            *Column.words("result", "arm", "version", "configuration"),
            values.title(found.metric),
            "range of blocks",
            "blocks",
            *Column.words(""),
        ),
        rows=rows,
        arm=line.name if found.by == "date" else None,
    )


def _result(point: Point, metric: str) -> Row:
    its, side = point.figure, point.side
    reach = cells.reach(figure_words(metric, its.least), figure_words(metric, its.greatest))
    beside = link("/beside", left=side.result, left_arm=side.arm)
    return Row.of(
        day(side.begun_unix_ns),
        TableCell(text=side.result, link=report(side.result)),
        side.arm,
        side.version,
        configuration(point.side.planned),
        cells.signed(figure_words(metric, its.value), point.bound),
        reach if its.blocks > 1 else "",
        str(its.blocks),
        TableCell(text="beside …", link=beside, title="Beside another arm of this host"),
        arm=side.arm,
    )


def configuration(arm: ArmRecord) -> str:
    """An arm's preset, memory and settings as its plan has them."""
    settings = [f"{name}={value}" for name, value in sorted(arm.settings.items())]
    return ", ".join(filter(None, [arm.config, arm.memory, *settings])) or "none"
