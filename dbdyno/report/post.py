"""The files of a post: its Markdown with a folder of pictures, or all pictures alone. Pure."""

from __future__ import annotations

from pathlib import Path

from dbdyno.error import DynoError
from dbdyno.model import Json
from dbdyno.report import chart, markdown, picture, png
from dbdyno.report.view import Page


def files(page: Page, path: Path) -> dict[Path, bytes]:
    """`post.md`, and a picture of each chart in the folder `post` beside it.

    Raises DynoError where the name has no ending, so that file and folder would be one.
    """
    folder = path.with_suffix("")
    if folder == path:
        raise DynoError(
            f"{path}: a Markdown file needs an ending, as in `{path.name}.md`: its pictures go to "
            f"the folder `{path.name}`"
        )
    specs = chart.specs(page)
    pictures = {
        folder / f"{name}.png": picture.png(spec, page.arms) for name, spec in specs.items()
    }
    places = {name: f"{folder.name}/{name}.png" for name in specs}
    return {**pictures, path: markdown.render(page, places).encode()}


def pictures(page: Page, folder: Path) -> dict[Path, bytes]:
    """Every chart as SVG and as PNG, by its name."""
    found: dict[Path, bytes] = {}
    for name, spec in chart.specs(page).items():
        found[folder / f"{name}.svg"] = picture.svg(spec, page.arms)
        found[folder / f"{name}.png"] = _png(spec, page)
    return found


def _png(spec: Json, page: Page) -> bytes:
    return png.packed(picture.png(spec, page.arms))
