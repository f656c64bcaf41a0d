"""Every chart of a page as a Vega-Lite specification by its name. Pure.

A specification holds its data and no colours: an arm's colour is its place in the page's list of
arms (`look`). In `usermeta` stands what the page and pictures need beside Vega-Lite itself: `kind`
(throughput, ratios, scaling, seconds), `columns` (panels side by side) and the `title` that a
picture has inside and the page beside it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from dbdyno.model import Json
from dbdyno.report.chart import bars, layers, style
from dbdyno.report.chart import lines as seconds
from dbdyno.report.parts import Page, RatioChart, ScaleChart, SecondsChart, Section, Workload

PICTURE_WIDTH = 760  # pixels of a picture's drawing, without what stands around it
SUBTITLE_CHARACTERS_MAX = 120  # of a line below a picture's title
STACK_NOTE = (
    "Sampled, a mean for each second; what waits for its client is not active. CPU: active and not "
    "waiting, on a core or ready for one."
)


def specs(page: Page, points_max: int = seconds.POINTS_MAX) -> dict[str, Json]:
    """The specification of every chart by its name; `points_max` for each arm in each."""
    made: dict[str, Json] = {}
    for workload in page.workloads:
        made |= _workload(page, workload, points_max)
    return made


def seconds_charts(section: Section) -> Iterable[SecondsChart]:
    """A step's charts over time, in the order in which they are shown."""
    return (*section.charts, *section.clients)


def throughput_name(section: Section) -> str:
    """The name of the chart of a step's throughput."""
    return f"{section.name}-throughput"


def standalone(spec: Json, config: Json) -> Json:
    """A specification as a picture that is read by itself: its title inside, a width of its own."""
    made = spec | {"title": spec["usermeta"]["title"], "config": config}
    if "spec" not in spec:
        return made | {"width": PICTURE_WIDTH}
    columns = spec["usermeta"]["columns"]
    width = (PICTURE_WIDTH - style.AXIS_WIDTH - style.PANEL_GAP * (columns - 1)) / columns
    return made | {"spec": spec["spec"] | {"width": round(width)}}


def _workload(page: Page, workload: Workload, points_max: int) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for ratios in ratio_charts(workload):
        drawn = bars.ratios(ratios, page.arms)
        made[ratios.name] = _titled(drawn, ratios.title, page.title)
    for one in scale_charts(workload):
        made[one.name] = _titled(bars.scaling(one, page.arms), one.title, page.title)
    for section in workload.sections:
        made |= _section(page, section, points_max)
    return made


def _section(page: Page, section: Section, points_max: int) -> dict[str, Json]:
    made: dict[str, Json] = {}
    if section.bars:
        drawn = bars.throughput(section, page.base, page.arms)
        title = f"{section.title}: {section.bars_title}"
        note = throughput_note(section)
        made[throughput_name(section)] = _titled(drawn, title, page.title, note)
    for one in seconds_charts(section):
        drawn = seconds.spec(one, page.arms, points_max)
        title = f"{section.title}: {one.title}"
        made[one.name] = _titled(drawn, title, page.title, section.charts_note)
    for layered in section.stacks:
        drawn = layers.spec(layered, page.arms, points_max)
        title = f"{section.title}: {layered.title}"
        made[layered.name] = _titled(drawn, title, page.title, STACK_NOTE)
    return made


def ratio_charts(workload: Workload) -> Iterable[RatioChart]:
    """The charts of ratios to the base: of the steps by themselves, and of each group."""
    groups = workload.grouped.groups if workload.grouped is not None else ()
    found = (workload.ratios, *(group.ratios for group in groups))
    return (chart for chart in found if chart is not None)


def scale_charts(workload: Workload) -> Iterable[ScaleChart]:
    """What more clients bring, a chart for each step of a sweep."""
    return (one.chart for one in workload.scaling if one.chart is not None)


def throughput_note(section: Section) -> str:
    """What the chart of a step's throughput shows beside its bars."""
    notes = ["From zero."]
    if any(len(bar.blocks) > 1 for bar in section.bars):
        notes = ["From zero: the mean of the blocks, and an upright line for each."]
    if any(bar.ratio is not None and bar.ratio.low is not None for bar in section.bars):
        notes.append("Thick line: the 95 % interval of the ratio to the base; thin line: the base.")
    return " ".join(notes)


def _titled(spec: Json, title: str, *subtitles: str) -> Json:
    lines = [line for text in subtitles for line in textwrap.wrap(text, SUBTITLE_CHARACTERS_MAX)]
    whole = {"text": textwrap.wrap(title, SUBTITLE_CHARACTERS_MAX * 3 // 4), "subtitle": lines}
    return spec | {"usermeta": spec["usermeta"] | {"title": whole}}
