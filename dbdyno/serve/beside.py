"""Any two arms of any results of one host beside each other: figures, and no word of judgement."""

from collections.abc import Iterable, Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dbdyno.analysis.across import beside
from dbdyno.analysis.across.beside import ArmPair
from dbdyno.analysis.across.side import LEFT, MISSING, RIGHT, Side
from dbdyno.analysis.across.values import COST, RESPONSE, Values, title
from dbdyno.analysis.across.work import Index, host_words
from dbdyno.model import Ratio
from dbdyno.parts import cells, number
from dbdyno.parts.drawing import RatioPoint, Ratios
from dbdyno.parts.part import AnyPart, Callout, Chart, Finding, Text
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.serve import charted
from dbdyno.serve.charted import Search, View, day, link, report
from dbdyno.serve.frame import ViewLink, ViewLinks
from dbdyno.serve.history import configuration, figure_words
from dbdyno.serve.listing import has_words
from dbdyno.serve.serving import PageContext

PATH = "/beside"
NS_PER_MINUTE = 60e9
SEARCHED = "Arm, result, version …"
OTHER_WORK = "§"
"""Marks a step that is other work on one side."""

Chosen = tuple[Index, str]
"""A result and an arm's name."""


# --- Answers -------------------------------------------------------------------------------------


def page(serving: PageContext, request: Request) -> Response:
    """Two arms; where one or both are still to be chosen, those that there are."""
    asked = request.query_params
    indexes = serving.archive.indexes(serving.folders.found())
    left = _chosen(indexes, asked.get("left"), asked.get("left_arm"))
    right = _chosen(indexes, asked.get("right"), asked.get("right_arm"))
    query = asked.get("q", "")
    if left is None:
        view = choose(indexes, serving, query)
    elif right is None:
        view = choose_other(indexes, serving, left, query)
    elif beside.other_host(left[0], right[0]):
        view = other_host(left, right)
    else:
        view = shown(beside.beside(left, right, serving.archive))
    return charted.page(serving.frame, view)


def _chosen(indexes: Sequence[Index], name: str | None, arm: str | None) -> Chosen | None:
    """A side that an address names; None where it names none. 404 where there is no such arm."""
    if not name:
        return None
    index = next((one for one in indexes if one.name == name), None)
    if index is None or arm not in {trace.arm for trace in index.traces}:
        raise HTTPException(404, f"no result {name} has a complete block of an arm {arm}")
    return index, str(arm)


# --- To choose -----------------------------------------------------------------------------------


def choose(indexes: Sequence[Index], serving: PageContext, query: str) -> View:
    """Every arm of every result, as the left side."""
    rows = []
    for index in sorted(indexes, key=lambda one: -one.begun_unix_ns):
        for arm in _arms(index):
            side = serving.archive.side(index, arm)
            if _has(side, query):
                there = link(PATH, left=index.name, left_arm=arm)
                rows.append(_row(side, there, host_words(index.host)))
    table = Table(
        name="arms",
        title="Choose the first of two arms",
        columns=(*_COLUMNS, *Column.words("host")),
        rows=tuple(rows),
    )
    search = Search(query=query, words=SEARCHED)
    return View(title="Beside each other", at="beside", search=search, parts=(table,))


def choose_other(indexes: Sequence[Index], serving: PageContext, left: Chosen, query: str) -> View:
    """Every other arm of the left one's host, with how much of its work is the same."""
    own = {trace.work.key for trace in left[0].traces if trace.arm == left[1]}
    rows = []
    for index in sorted(indexes, key=lambda one: -one.begun_unix_ns):
        if beside.other_host(left[0], index):
            continue
        for arm in _arms(index):
            side = serving.archive.side(index, arm)
            if (index.name, arm) == (left[0].name, left[1]) or not _has(side, query):
                continue
            shared = sum(trace.work.key in own for trace in index.traces if trace.arm == arm)
            there = link(PATH, left=left[0].name, left_arm=left[1], right=index.name, right_arm=arm)
            rows.append(_row(side, there, f"{shared} of {len(own)}"))
    table = Table(
        name="arms",
        title=f"Beside {left[1]} of {left[0].name}",
        columns=(*_COLUMNS, Column(text="steps alike")),
        rows=tuple(rows),
        note="Arms of this host. Steps alike: jobs, parameters and turns are; the others have "
        "no ratio.",
    )
    back = ViewLinks(name="First arm", ways=(ViewLink(words="choose another", link=PATH),))
    kept = {"left": left[0].name, "left_arm": left[1]}
    search = Search(query=query, words=SEARCHED, kept=kept)
    return View(title="Beside each other", at="beside", ways=(back,), search=search, parts=(table,))


_COLUMNS = Column.words("arm", "result", "version", "configuration", "begun (UTC)")


def _row(side: Side, there: str, last: str) -> Row:
    return Row.of(
        TableCell(text=side.arm, link=there),
        TableCell(text=side.result, link=report(side.result)),
        f"{side.planned.engine} {side.version}",
        configuration(side.planned),
        day(side.begun_unix_ns),
        last,
    )


def _arms(index: Index) -> list[str]:
    """The arms that have a step, in the plan's order."""
    return list(dict.fromkeys(trace.arm for trace in index.traces))


def _has(side: Side, query: str) -> bool:
    return has_words(f"{side.arm} {side.result} {side.plan} {side.version}".lower(), query)


# --- Two arms ------------------------------------------------------------------------------------


def other_host(left: Chosen, right: Chosen) -> View:
    """The reason why results of different hosts do not stand beside each other."""
    hosts = " and ".join(host_words(one[0].host) for one in (left, right))
    text = (
        f"The results are of different hosts: {hosts}. Between two hosts no ratio tells of servers."
    )
    refused = Callout(name="hosts", title="Not shown", items=(Finding(text=text),))
    another = link(PATH, left=left[0].name, left_arm=left[1])
    ways = (ViewLinks(name="Second arm", ways=(ViewLink(words="choose another", link=another),)),)
    return View(title="Beside each other", at="beside", ways=ways, parts=(refused,))


def shown(found: ArmPair) -> View:
    """Two arms of one host: a warning, figures, and in what they differ."""
    names = _names(found)
    parts: list[AnyPart] = [_warning(found), _figures(found, names)]
    ratios = _ratios(found, names)
    if ratios is not None:
        parts.insert(1, ratios)
    parts += [*_other_work(found), *_alone(found, names), _unlike(found, names)]
    return View(
        title=" beside ".join(names[::-1]),
        at="beside",
        ways=tuple(_ways(found)),
        parts=tuple(parts),
        arms=names,
    )


def _names(found: ArmPair) -> tuple[str, str]:
    """The names of the sides: their arms, with the result if the arms have one name."""
    left, right = found.left, found.right
    if left.arm != right.arm:
        return left.arm, right.arm
    return f"{left.arm} of {left.result}", f"{right.arm} of {right.result}"


def _ways(found: ArmPair) -> Iterable[ViewLinks]:
    left, right = found.left, found.right
    yield ViewLinks(
        name="Arms",
        ways=(
            ViewLink(words="turn round", link=link(PATH, left=right.result, left_arm=right.arm,
                right=left.result, right_arm=left.arm)),
            ViewLink(words="another second arm",
                link=link(PATH, left=left.result, left_arm=left.arm)),
            ViewLink(words="another first arm",
                link=link(PATH, left=right.result, left_arm=right.arm)),
        ),
    )  # fmt: skip
    yield ViewLinks(
        name="Reports",
        ways=tuple(
            ViewLink(words=result, link=report(result))
            for result in dict.fromkeys((left.result, right.result))
        ),
    )


def _warning(found: ArmPair) -> Callout:
    left, right = found.left, found.right
    if found.together:
        items = [
            "Both arms are of one result, whose report compares them in pairs. This page divides "
            "the means of their blocks and leaves out what the pairs tell: read the report."
        ]
        return Callout(name="not-paired", title="Read the report", items=Finding.each(items))
    apart = number.minutes(abs(right.begun_unix_ns - left.begun_unix_ns) / NS_PER_MINUTE)
    items = [
        f"These arms were not measured together: they began {apart} apart, "
        f"{day(left.begun_unix_ns)} and {day(right.begun_unix_ns)} (UTC). Whatever the host did "
        "meanwhile is in every ratio.",
        "No interval and no verdict stand here, as no block has both. Measure both in one plan to "
        "have them judged.",
    ]
    host = [one.what for one in found.unlike if one.what.startswith("host: ")]
    if host:
        items.append(f"The host was another then: {', '.join(host).replace('host: ', '')}.")
    if any(step.other_sql for step in found.steps):
        items.append("The engines differ, and so does the SQL of the steps.")
    return Callout(name="not-paired", title="Not paired", items=Finding.each(items))


def _ratios(found: ArmPair, names: tuple[str, str]) -> Chart | None:
    """Throughput of the steps that have a ratio."""
    its = [(step.work.step, step.ratio(step.work.headline)) for step in found.steps]
    known = [(name, ratio) for name, ratio in its if ratio is not None and ratio > 0]
    if not known:
        return None
    return Chart(
        name="ratios",
        title=f"Throughput of {names[1]} by that of {names[0]}, not paired",
        describe="; ".join(f"{name} {number.ratio(ratio)}" for name, ratio in known),
        data=Ratios(
            steps=tuple(name for name, _ in known),
            points=tuple(
                RatioPoint(
                    arm=names[1],
                    step=name,
                    ratio=Ratio(value=ratio, low=None, high=None, blocks=0),
                    bound="exact",
                )
                for name, ratio in known
            ),
        ),
    )


def _figures(found: ArmPair, names: tuple[str, str]) -> Table:
    groups = ("throughput", title(COST), title(RESPONSE))
    under = (*names, number.TIMES)
    return Table(
        name="figures",
        title="Figures",
        columns=Column.heads("step", *(head for of in groups for head in Column.under(of, *under))),
        rows=tuple(
            Row.of(
                TableCell(text=step.work.step, mark=OTHER_WORK if step.other_work else ""),
                *(
                    cell
                    for metric in step.metrics
                    for cell in (
                        _figure(step.left, metric),
                        _figure(step.right, metric),
                        number.ratio(step.ratio(metric)),
                    )
                ),
                group=step.work.workload,
            )
            for step in found.steps
        ),
        note=cells.sentences(
            "Geometric means of the blocks, with the range of the blocks.",
            f"{number.TIMES}: the second arm's figure divided by the first one's.",
            f"{OTHER_WORK}: other work, so nothing is divided; below stands why."
            if any(step.other_work for step in found.steps)
            else "",
        ),
    )


def _figure(its: Values | None, metric: str) -> TableCell:
    figure = its.figures.get(metric) if its is not None else None
    if its is None or figure is None:
        return TableCell(text=number.MISSING, title="the step failed, or nothing tells this figure")
    bound = its.bound if metric not in (COST, RESPONSE) else "exact"
    ends = [figure_words(metric, end) for end in (figure.least, figure.greatest)]
    return TableCell(
        text=cells.signed(figure_words(metric, figure.value), bound),
        detail=cells.reach(*ends) if figure.blocks > 1 else "",
        title=number.blocks(figure.blocks),
    )


def _other_work(found: ArmPair) -> Iterable[Callout]:
    items = [
        f"{step.work.step}: {'; '.join(step.other_work)}" for step in found.steps if step.other_work
    ]
    if items:
        yield Callout(name="other-work", title="Other work", items=Finding.each(items))


def _alone(found: ArmPair, names: tuple[str, str]) -> Iterable[Text]:
    items = [
        f"only {name}: {', '.join(found.alone[side])}"
        for side, name in zip((LEFT, RIGHT), names, strict=True)
        if found.alone[side]
    ]
    if items:
        yield Text(name="alone", title="Steps of one side", items=Finding.each(items))


def _unlike(found: ArmPair, names: tuple[str, str]) -> Table:
    return Table(
        name="unlike",
        title="What differs",
        look="words",
        columns=Column.words("", *names),
        rows=tuple(
            Row.of(
                one.what,
                *(one.values.get(side, MISSING) for side in (LEFT, RIGHT)),
                group="named by the plans" if one.planned else "not named by the plans",
            )
            for one in found.unlike
        ),
        note="Servers, host and how it was measured, as far as both results tell it. Any of these "
        "may explain a difference, as may what nobody recorded.",
    )
