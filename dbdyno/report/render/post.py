"""The files of a post: its Markdown with a folder of pictures, or all pictures alone. Pure."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from dbdyno.model import Json
from dbdyno.model.error import DynoError
from dbdyno.parts import hints
from dbdyno.parts.part import Page, scoped
from dbdyno.report import chart
from dbdyno.report.post import answered
from dbdyno.report.render import html, markdown, picture


def files(page: Page, path: Path) -> dict[Path, bytes]:
    """`post.md` with all that a page has; its pictures lie in the folder `post` beside it.

    Raises DynoError where the name has no ending, so that file and folder would be one.
    """
    if path.with_suffix("") == path:
        raise DynoError(
            f"{path}: a Markdown file needs an ending, as in `{path.name}.md`: its pictures go to "
            f"the folder `{path.name}`"
        )
    left_out = {
        name
        for group in scoped(page.parts, "step")
        if group.depth == "detail"
        for name in markdown.not_shown(group)
    }
    specs = {name: spec for name, spec in chart.pictured(page).items() if name not in left_out}
    return _with_pictures(page, specs, path, partial(markdown.render, page))


def one_page(page: Page, path: Path) -> dict[Path, bytes]:
    """A post of one page: `post.html`, complete in itself, or `post.md` with its pictures.

    Raises DynoError where the name has another ending.
    """
    command = hints.page(page.folder)
    if path.suffix == ".html":
        return {path: html.post(page, command).encode()}
    if path.suffix != ".md":
        raise DynoError(f"{path}: a post is Markdown or HTML: name it `{path.stem}.md` or `.html`")
    several = {each.name for each in answered(page)} if len(answered(page)) > 1 else set()
    specs = {name: spec for name, spec in chart.pictured(page).items() if name not in several}
    return _with_pictures(page, specs, path, lambda places: markdown.post(page, places, command))


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
