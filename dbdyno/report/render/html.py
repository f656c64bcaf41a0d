"""The page as one HTML file that needs no network: tables in the document, charts drawn by Vega."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.model import Json
from dbdyno.model.flame import Draw
from dbdyno.parts import number, table_layout
from dbdyno.parts.drawing import Layers, Lines
from dbdyno.parts.part import AnyPart, Chart, Flame, Group, Page, Text, charts, flat
from dbdyno.parts.table import Column, Row, Table
from dbdyno.report import chart, vega
from dbdyno.report.chart import layers, lines, style
from dbdyno.report.render import flames, picture

if TYPE_CHECKING:
    import jinja2

BYTES_MAX = 5_000_000
POINTS_MIN = 60  # of one arm in one chart
NUMBER_BYTES = 5.6  # of a number in a chart's data, its comma included; measured
CHART_BYTES = 5_000  # of a chart without its lines; measured
TITLE_LENGTH_MIN = 50  # characters of what is shown on hover, from which on it is there once
HEADINGS_MAX = 90  # characters of a table's headings, with which it fits most windows
SCRIPTS = (
    "draw.js",
    "hover.js",
    "zoom.js",
    "arms.js",
    "save.js",
    "flame.js",
)  # one module, in this order
_CODE = re.compile("`([^`\n]+)`")
_PLACE = "<charts>"
"""Where the charts' data goes once it is known how much there is room for.

No text of a plan or a server is the same: in elements and scripts `<` is always escaped.
"""


def render(page: Page, above: str = "", draw: Draw | None = None, *, library_at: str = "") -> str:
    """The page as HTML, complete in itself; `above`: markup that stands before it.

    `draw` draws its flame graphs; without it, the page says where they are to be had. `library_at`:
    the address of a file with `vega.library()`, for a page that lies beside others.
    """
    template = environment().get_template("page.html.j2")
    shell = template.render(
        page=page,
        above=above,
        titles=Titles(),
        flames=flames.flames((one for one in flat(page.parts) if isinstance(one, Flame)), draw),
        charts=_PLACE,
        colors=style.colors(len(page.arms)),
        kinds=style.kind_colors(),
        font=style.FONT,
        looks=_looks(page),
        library="" if library_at else vega.library(),
        library_at=library_at,
        scripts=_scripts(),
    )
    before, after = shell.split(_PLACE)
    room = BYTES_MAX - len(shell.encode())
    return f"{before}{_fitting_specs(page, room)}{after}"


def embedded(page: Page) -> dict[str, str]:
    """The JSON that `drawing` reads from a page's elements `looks` and `specs`."""
    return {"looks": embed(_looks(page)), "specs": embed(shared(chart.specs(page)))}


def drawing() -> dict[str, str]:
    """The modules that draw a page's charts: `vega.js`, then `charts.js`."""
    return {"vega.js": vega.library(), "charts.js": "\n".join(_scripts())}


@cache
def _scripts() -> tuple[str, ...]:
    return tuple((_templates() / name).read_text(encoding="utf-8") for name in SCRIPTS)


def _looks(page: Page) -> Json:
    """The style of charts, for the page's scripts."""
    return {
        "arms": page.arms,
        "page": style.page(len(page.arms)),
        "picture": style.picture(len(page.arms)),
        "axis_px": style.AXIS_WIDTH,
        "gap_px": style.PANEL_GAP,
        "picture_px": chart.PICTURE_WIDTH,
        "picture_scale": picture.PNG_SCALE,
    }


def _fitting_specs(page: Page, room: int) -> str:
    """The charts' specifications as JSON, thinned until they take at most `room` bytes.

    Never to fewer than POINTS_MIN: a page of very many arms is larger rather than empty.
    """
    points = _likely_points(page, room)
    while True:
        text = embed(shared(chart.specs(page, points)))
        size = len(text.encode())
        if size <= room or points <= POINTS_MIN:
            return text
        points = max(POINTS_MIN, min(points - 1, int(points * room / size * 0.95)))


def shared(specs: Mapping[str, Json]) -> Json:
    """Specifications with what many of them have alike once: nearly all but their data."""
    shapes: dict[str, int] = {}
    charts = {}
    for name, spec in specs.items():
        shape = json.dumps({key: part for key, part in spec.items() if key not in _OWN})
        own = {key: part for key, part in spec.items() if key in _OWN}
        charts[name] = {"shape": shapes.setdefault(shape, len(shapes)), **own}
    return {"shapes": [json.loads(shape) for shape in shapes], "charts": charts}


_OWN = frozenset({"data", "usermeta"})


class Titles:
    """The texts that tables show on hover; the page has each long text once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def texts(self) -> list[str]:
        """The long texts by their place, as far as the page has been rendered."""
        return list(self._places)

    def attribute(self, text: str) -> str:
        """The attribute of an element that shows this text on hover; none for no text."""
        if not text:
            return ""
        if len(text) < TITLE_LENGTH_MIN:
            return f' title="{escape(text)}"'
        return f' data-title="{self._places.setdefault(text, len(self._places))}"'


POST_WIDTHS = (760, 300)
"""Pixels of a post's charts in a window and on a telephone, without what stands around them."""


@dataclass(frozen=True)
class ChartPicture:
    """A chart as SVG, for windows and for telephones."""

    wide: str
    narrow: str


class NoTitles(Titles):
    """The texts on hover of a page without scripts: none."""

    def attribute(self, text: str) -> str:
        """No attribute."""
        return ""


def post(page: Page, command: str) -> str:
    """The page of a post as HTML without scripts; `command` is what makes the rest."""
    wide, narrow = (picture.drawn(page, width) for width in POST_WIDTHS)
    pictures = {name: ChartPicture(wide=wide[name], narrow=narrow[name]) for name in wide}
    return (
        environment()
        .get_template("post.html.j2")
        .render(
            page=page,
            command=command,
            titles=NoTitles(),
            pictures=pictures,
            colors=style.colors(len(page.arms)),
            kinds=style.kind_colors(),
            font=style.FONT,
        )
    )


def _likely_points(page: Page, room: int) -> int:
    """As many points as will probably fit, so that specifications are made once."""
    drawn = [one.data for one in charts(page.parts)]
    over_time = [one for one in drawn if isinstance(one, Lines)]
    stacks = [one for one in drawn if isinstance(one, Layers)]
    points, shrink = lines.POINTS_MAX, 0.95
    while points > POINTS_MIN:
        numbers = sum(lines.numbers(one, points) for one in over_time)
        numbers += sum(layers.numbers(stack, points) for stack in stacks)
        if numbers * NUMBER_BYTES + (len(over_time) + len(stacks)) * CHART_BYTES <= room:
            break
        points = int(points * shrink)
    return max(POINTS_MIN, points)


def _templates() -> Path:
    return Path(__file__).parent / "templates"


@cache
def environment(*folders: Path) -> jinja2.Environment:
    """The templates of reports, and those of further folders, with all that they call.

    One object for the same folders: compiling the templates takes longer than filling in most
    of them.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([_templates(), *folders]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals["pictures"] = {}  # a post alone has its charts drawn
    environment.filters["embed"] = embed
    environment.filters["with_arm_class"] = with_arm_class
    environment.filters["column_groups"] = column_groups
    environment.filters["row_groups"] = row_groups
    environment.filters["has_groups"] = has_groups
    environment.filters["contents"] = contents
    environment.filters["arranged"] = arranged
    environment.filters["kind"] = kind
    environment.filters["prose"] = prose
    environment.filters["standing"] = standing
    return environment


def embed(value: object) -> str:
    """A value as JSON that may stand inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def prose(text: str) -> str:
    """A sentence as HTML, whose numbers keep their units; between backticks is code."""
    return _CODE.sub(r"<code>\1</code>", escape(number.unbroken(text)))


def standing(table: Table) -> Table:
    """A table of steps, which stand in rows where their names are too long for columns."""
    return table_layout.standing(table, HEADINGS_MAX)


def with_arm_class(columns: Iterable[Column], page: Page) -> list[tuple[Column, str]]:
    """Each column with the class by which the reader hides its arm; "" for that of no arm."""
    names = (
        column.arm or (column.text if column.text in page.arms else column.group)
        for column in columns
    )
    classes = [f"of-{page.arms.index(name)}" if name in page.arms else "" for name in names]
    return list(zip(columns, classes, strict=True))


def has_groups(table: Table) -> bool:
    """Whether the columns have headings in common."""
    return any(column.group for column in table.columns)


def column_groups(columns: Iterable[Column]) -> list[tuple[str, int]]:
    """Headings that neighbouring columns share, with how many share each."""
    return [
        (group, len(list(some))) for group, some in groupby(columns, lambda column: column.group)
    ]


def row_groups(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """Rows that stand together, under the name of their group."""
    return [(group, list(some)) for group, some in groupby(rows, lambda row: row.group)]


@dataclass(frozen=True)
class ContentsEntry:
    """A line of the contents."""

    anchor: str
    words: str
    step: bool = False
    within: tuple[tuple[str, str], ...] | None = None  # what a step has; None: it is not listed


def contents(parts: Iterable[AnyPart]) -> Iterable[ContentsEntry]:
    """Yields the contents: workloads with what sums them up, each step with what it has."""
    for part in parts:
        if isinstance(part, Group) and part.of == "workload":
            yield ContentsEntry(part.name, part.title)
            yield from contents(part.parts)
        elif isinstance(part, Group) and part.of == "step":
            within = tuple(entries(part.parts)) if part.depth != "detail" else None
            yield ContentsEntry(part.name, part.title, step=True, within=within)
        else:
            yield from (ContentsEntry(anchor, words) for anchor, words in entries((part,)))


def entries(parts: Iterable[AnyPart]) -> list[tuple[str, str]]:
    """Returns what the contents list of some parts, as (anchor, word)."""
    found: list[tuple[str, str]] = []
    for part in parts:
        if isinstance(part, Group) and not part.entry and part.entry is not None:
            found += entries(part.parts)
        elif isinstance(part, Group | Text | Table):
            word = part.contents if isinstance(part, Group) else part.entry
            found += [(part.name, word)] if word else []
    return found


def kind(part: AnyPart) -> str:
    """Returns which of the five kinds of part it is, and of a chart how it is drawn."""
    made = type(part.data) if isinstance(part, Chart) else type(part)
    return made.__name__.lower()


def arranged(parts: Iterable[AnyPart]) -> tuple[AnyPart, ...]:
    """Returns the parts, each that joins a group at the end of that."""
    whole = Group(name="", parts=tuple(parts))
    joining = [part for part in flat_groups(whole.parts) if _joins(part)]
    return tuple(_placed(whole, joining))


def flat_groups(parts: Iterable[AnyPart]) -> Iterable[AnyPart]:
    """Yields all parts, groups and what they hold."""
    for part in parts:
        yield part
        if isinstance(part, Group):
            yield from flat_groups(part.parts)


def _joins(part: AnyPart) -> str:
    return part.joins if isinstance(part, Group | Table) else ""


def _placed(group: Group, joining: Sequence[AnyPart]) -> Iterable[AnyPart]:
    for part in group.parts:
        if _joins(part):
            continue
        if isinstance(part, Group):
            yield replace(part, parts=tuple(_placed(part, joining)))
        else:
            yield part
    yield from (one for one in joining if _joins(one) == group.name)
