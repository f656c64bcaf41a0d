"""The parts of a step in a report, by the group that they stand in."""

from __future__ import annotations

from dbdyno.report.parts import Bar, Bars, Callout, Chart, Group, Layers, Lines, Table, flat


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


def notices(step: Group) -> list[str]:
    """What is said of a step that must not be missed."""
    found = (part for part in step.parts if isinstance(part, Callout))
    return [item.text for part in found for item in part.items]
