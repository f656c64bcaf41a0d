"""The files of a post: its Markdown with a folder of pictures, or all pictures alone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from dbdyno.model import Json
from dbdyno.model.error import DynoError
from dbdyno.parts.part import Page, scoped
from dbdyno.report import chart
from dbdyno.report.render import markdown, picture

CHARTS_MAX = 3
"""So many pictures a post of one page has."""


def files(page: Page, path: Path, *, full: bool = False) -> dict[Path, bytes]:
    """`post.md`, and a picture of each chart that it shows in the folder `post` beside it.

    The post is one page with up to CHARTS_MAX pictures, or with `full` all that the page has.
    Raises DynoError where the name has no ending, so that file and folder would be one.
    """
    folder = path.with_suffix("")
    if folder == path:
        raise DynoError(
            f"{path}: a Markdown file needs an ending, as in `{path.name}.md`: its pictures go to "
            f"the folder `{path.name}`"
        )
    if not full:
        first = replace(page, parts=tuple(part for part in page.parts if part.depth == "answer"))
        specs = dict(list(chart.pictured(first).items())[:CHARTS_MAX])
        command = f"dyno report RESULT --markdown {path.name} --full"
        return _with_pictures(
            page, specs, path, lambda places: markdown.answer(page, places, command)
        )
    left_out = {
        name
        for group in scoped(page.parts, "step")
        if group.depth == "detail"
        for name in markdown.not_shown(group)
    }
    specs = {name: spec for name, spec in chart.pictured(page).items() if name not in left_out}
    return _with_pictures(page, specs, path, partial(markdown.render, page))


def _with_pictures(
    page: Page, specs: Mapping[str, Json], path: Path, text: Callable[[markdown.Pictures], str]
) -> dict[Path, bytes]:
    folder = path.with_suffix("")
    pictures = {folder / f"{name}.png": _png(spec, page) for name, spec in specs.items()}
    places = {name: f"{folder.name}/{name}.png" for name in specs}
    return {**pictures, path: text(places).encode()}


def pictures(page: Page, folder: Path) -> dict[Path, bytes]:
    """Every chart as SVG and as PNG, by its name."""
    found: dict[Path, bytes] = {}
    for name, spec in chart.pictured(page).items():
        found[folder / f"{name}.svg"] = picture.svg(spec, page.arms)
        found[folder / f"{name}.png"] = _png(spec, page)
    return found


def _png(spec: Json, page: Page) -> bytes:
    return picture.packed(picture.png(spec, page.arms))
