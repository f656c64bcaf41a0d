"""The parts of a report, and of a step in it, by their names."""

from dataclasses import replace

from dbdyno.parts.drawing import ArmEffect, Bar, Bars, Effects, Layers, Lines, Ratios, ScaleUp
from dbdyno.parts.part import Callout, Chart, Finding, Group, Page, Text, flat, scoped
from dbdyno.parts.part import charts as charts_of
from dbdyno.parts.table import Table


def items(page: Page, name: str) -> tuple[Finding, ...]:
    """What a text or a callout of the whole says; nothing where the page has none of the name."""
    told = (one for one in flat(page.parts) if isinstance(one, Text | Callout))
    return next((one.items for one in told if one.name == name), ())


def headline(page: Page) -> tuple[Finding, ...]:
    """The sentences of the headline."""
    return items(page, "headline")


def effects(page: Page, arm: str = "pg18") -> dict[str, ArmEffect]:
    """An arm's changes by step, as the answer draws them, in their order."""
    drawn = (chart.data for chart in charts_of(page.parts))
    data = next(one for one in drawn if isinstance(one, Effects) and one.arm == arm)
    return {effect.step: effect for effect in data.effects}


def texts(page: Page, name: str) -> tuple[str, ...]:
    """The sentences of a text or a callout of the whole."""
    return tuple(one.text for one in items(page, name))


def brief(page: Page) -> tuple[str, ...]:
    """The lines of the doubts on the first screen."""
    parts = (part for part in flat(page.parts) if isinstance(part, Callout))
    return next((part.brief for part in parts if part.name == "doubts"), ())


def pairs(page: Page, name: str) -> dict[str, str]:
    """The facts of a text of the whole, by their names."""
    return {one.label: one.text for one in items(page, name)}


def workloads(page: Page) -> tuple[Group, ...]:
    """The workloads of the page."""
    return tuple(scoped(page.parts, "workload"))


def overview(page: Page) -> Group:
    """What is said of the first workload's steps together."""
    first = workloads(page)[0].parts[0]
    assert isinstance(first, Group) and not first.of
    return first


def steps(page: Page) -> tuple[Group, ...]:
    """The steps of the page."""
    return tuple(scoped(page.parts, "step"))


def with_steps(page: Page, *shown: Group) -> Page:
    """The page with these as the steps of its only workload."""
    (workload,) = workloads(page)
    one = replace(workload, parts=(overview(page), *shown))
    parts = (one if part is workload else part for part in page.parts)
    return replace(page, parts=tuple(parts))


def beside(page: Page, name: str) -> Table | None:
    """The table of the first workload's steps whose name ends so; None without it."""
    found = (one for one in flat((overview(page),)) if isinstance(one, Table))
    return next((one for one in found if one.name.endswith(f"-{name}")), None)


def summary(page: Page) -> tuple[Table, ...]:
    """The summary tables of the first workload, which are turned together."""
    found = (one for one in overview(page).parts if isinstance(one, Group))
    tables = next((one.parts for one in found if one.alike), ())
    return tuple(one for one in tables if isinstance(one, Table))


def verdicts(page: Page) -> tuple[Table, ...]:
    """The verdicts of the first workload."""
    found = (one for one in flat((overview(page),)) if isinstance(one, Table))
    return tuple(one for one in found if "-verdicts-" in one.name)


def ratio_chart(page: Page) -> Chart | None:
    """The ratios of the first workload's few steps; None where none are drawn."""
    found = (one for one in overview(page).parts if isinstance(one, Chart))
    return next((one for one in found if isinstance(one.data, Ratios)), None)


def ratios(page: Page) -> Ratios | None:
    """What the chart of ratios draws; None without it."""
    drawn = ratio_chart(page)
    return drawn.data if drawn is not None and isinstance(drawn.data, Ratios) else None


def scale_ups(page: Page) -> tuple[Chart, ...]:
    """What more clients bring, of the first workload."""
    found = flat((overview(page),))
    return tuple(one for one in found if isinstance(one, Chart) and isinstance(one.data, ScaleUp))


def warned(page: Page, text: str) -> Page:
    """The page with this as its only doubt."""
    callout = Callout(name="doubts", title="Doubts", items=(Finding(text=text),), depth="brief")
    others = (one for one in page.parts if not isinstance(one, Callout))
    return replace(page, parts=(callout, *others))


def table(page: Page, name: str) -> Table | None:
    """A table of the whole; None where the page has none of the name."""
    tables = (one for one in flat(page.parts) if isinstance(one, Table))
    return next((one for one in tables if one.name == name), None)


def _of(step: Group, name: str) -> Group | None:
    return next(
        (
            part
            for part in step.parts
            if isinstance(part, Group) and part.name == f"{step.name}-{name}"
        ),
        None,
    )


def tables(step: Group, name: str) -> tuple[Table, ...]:
    """The tables of one of a step's groups; none where it has no such group."""
    group = _of(step, name)
    return tuple(one for one in flat(group.parts if group else ()) if isinstance(one, Table))


def charts(step: Group, name: str) -> tuple[Chart, ...]:
    """The charts of one of a step's groups; none where it has no such group."""
    group = _of(step, name)
    return tuple(one for one in flat(group.parts if group else ()) if isinstance(one, Chart))


def lines(chart: Chart) -> Lines:
    """A chart's lines over time."""
    assert isinstance(chart.data, Lines)
    return chart.data


def layers(chart: Chart) -> Layers:
    """A chart's layers over time."""
    assert isinstance(chart.data, Layers)
    return chart.data


def bars(step: Group) -> tuple[Bar, ...]:
    """The bars of a step's throughput."""
    found = (one.data for one in step.parts if isinstance(one, Chart))
    return next(data.bars for data in found if isinstance(data, Bars))


def doubts(step: Group) -> list[str]:
    """What is said of a step that must not be missed."""
    found = (part for part in step.parts if isinstance(part, Callout))
    return [item.text for part in found for item in part.items]
