"""Chooses the files of the site of `make docs`: hooks that mkdocs calls (mkdocs.yml).

The site has the repository's own tree: the pages that the project has, what they show, and each
file of text that they link to (a plan, a workload, a source) as a page of its own. A packed result
that they link to is a folder of that name, as `dyno publish` makes it.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
PAGES = ("*.md", "docs/**/*.md", "contract/*.md")
LINK = re.compile(r"(?<=\]\()(?P<path>[^)#:]+)(?=[)#])")  # none with a scheme
SHOWN = {".css", ".js", ".jsonl", ".png", ".svg"}  # as they are; other files as text on a page
PACKED = ".tar.gz"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The theme's files, and the project's in place of what mkdocs found in docs/."""
    from mkdocs.structure.files import File, Files

    made = Files([file for file in files if file.src_dir != config.docs_dir])
    for path in pages():
        made.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    for path in sorted({linked for page in pages() for linked in links(page)}):
        if path.endswith(PACKED):
            for name, content in published(ROOT / path):
                place = f"{path.removesuffix(PACKED)}/{name}"
                made.append(File.generated(config, place, content=content))
        elif Path(path).suffix in SHOWN:
            made.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
        else:
            made.append(File.generated(config, f"{path}.md", content=as_page(path)))
    for own in sorted((ROOT / "docs" / "site").iterdir()):
        name = own.relative_to(ROOT).as_posix()
        made.append(File.generated(config, name, abs_src_path=str(own)))
    return made


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page's text, whose links to files of text and packed results lead to their pages."""
    return LINK.sub(lambda link: shown_at(link["path"]), markdown)


def shown_at(path: str) -> str:
    """Where the site has what a link leads to."""
    if path.endswith(PACKED):
        return f"{path.removesuffix(PACKED)}/index.html"
    return f"{path}.md" if is_text(path) else path


def published(result: Path) -> Iterator[tuple[str, bytes]]:
    """The files that `dyno publish` makes of a packed result, by their places."""
    from dbdyno.serve.published.publish import publish

    with TemporaryDirectory() as folder, tarfile.open(result) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # not in 3.11.0 to .3
        packed.extractall(f"{folder}/results")
        publish([Path(folder, "results")], Path(folder, "site"))
        for path in sorted(Path(folder, "site").rglob("*")):
            if path.is_file():
                yield path.relative_to(f"{folder}/site").as_posix(), path.read_bytes()


def pages() -> list[str]:
    """The project's pages, from its root."""
    found = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def links(page: str) -> set[str]:
    """The files other than pages that a page links to or shows, from the project's root."""
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = ((ROOT / page).parent / link["path"] for link in LINK.finditer(text))
    files = (path.resolve() for path in paths if path.suffix != ".md" and path.is_file())
    return {path.relative_to(ROOT.resolve()).as_posix() for path in files}


def is_text(path: str) -> bool:
    """Whether a linked file gets a page that shows it."""
    return Path(path).suffix not in SHOWN | {".md"}


def as_page(path: str) -> str:
    """A file as a page: its path, and its text as code."""
    language = Path(path).suffix.removeprefix(".") or "text"
    text = (ROOT / path).read_text(encoding="utf-8")
    return f"# {path}\n\n`````{language}\n{text}`````\n"
