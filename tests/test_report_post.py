"""A report as files: the post with its pictures, all pictures, and nothing half-done."""

import errno
import re
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from typer.testing import CliRunner

import report_parts
from comparison_builder import comparison
from dbdyno import cli
from dbdyno.analysis import compare
from dbdyno.model.error import DynoError
from dbdyno.parts.part import Page
from dbdyno.report import chart, page
from dbdyno.report.render import markdown, picture, post
from dbdyno.report.write import publish

PNG = b"\x89PNG\r\n\x1a\n"
PICTURE = re.compile(r"!\[(.*?)\]\((\S+)\)")


@pytest.fixture(scope="module")
def shown() -> Page:
    """A small page: two steps, so that its pictures are soon drawn."""
    made = comparison(blocks=1, troubles=False)
    steps = tuple(step for step in made.steps if step.step in ("l.x", "qr100"))
    return page.make(type(made)(**{**vars(made), "steps": steps}))


@pytest.fixture(scope="module")
def files(shown: Page) -> dict[Path, bytes]:
    return post.files(shown, Path("there/my post.md"))


# --- The post --------------------------------------------------------------------------------


def test_every_picture_of_a_post_is_there_and_every_chart_has_its_picture(
    shown: Page, files: dict[Path, bytes]
) -> None:
    text = files[Path("there/my post.md")].decode()
    links = [unquote(link) for _, link in PICTURE.findall(text)]
    assert len(links) == len(set(links)) == len(chart.pictured(shown))
    assert {Path("there") / link for link in links} == files.keys() - {Path("there/my post.md")}
    assert all(link.startswith("my post/") for link in links)


def test_every_picture_is_one_and_says_in_words_what_it_shows(files: dict[Path, bytes]) -> None:
    text = files[Path("there/my post.md")].decode()
    assert all(words for words, _ in PICTURE.findall(text))
    assert "![Queries per second: pg17" in text
    pictures = [content for path, content in files.items() if path.suffix == ".png"]
    assert pictures and all(content.startswith(PNG) for content in pictures)


@pytest.mark.long
def test_every_chart_is_to_be_had_as_svg_and_as_png(shown: Page) -> None:
    found = post.pictures(shown, Path("all"))
    assert {path.stem for path in found} == chart.pictured(shown).keys()
    assert sum(content.startswith(PNG) for content in found.values()) * 2 == len(found)
    assert sum(content.startswith(b"<svg") for content in found.values()) * 2 == len(found)


def test_a_packed_picture_is_smaller_and_has_the_same_pixels(shown: Page) -> None:
    made = picture.png(next(iter(chart.specs(shown).values())), shown.arms)
    small = picture.packed(made)
    assert len(small) < len(made) / 2
    assert pixels(small) == pixels(made)


def pixels(content: bytes) -> tuple[bytes, bytes]:
    """The header and the unpacked data of a PNG whose every chunk's checksum is right."""
    header, data, place = b"", b"", len(PNG)
    while place < len(content):
        length = int.from_bytes(content[place : place + 4], "big")
        kind, body = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        check = content[place + 8 + length : place + 12 + length]
        assert int.from_bytes(check, "big") == zlib.crc32(kind + body)
        header, data = (body if kind == b"IHDR" else header), data + body * (kind == b"IDAT")
        place += length + 12
    assert kind == b"IEND"
    return header, zlib.decompress(data)


def test_a_post_without_an_ending_is_refused_as_its_folder_has_that_name(shown: Page) -> None:
    with pytest.raises(DynoError, match=r"needs an ending, as in `post.md`"):
        post.files(shown, Path("there/post"))


def test_tables_of_a_post_are_narrow_and_keep_their_numbers(shown: Page) -> None:
    text = markdown.render(shown)
    widths = [line.count(" | ") + 1 for line in text.splitlines() if line.startswith("| ")]
    assert max(widths) <= markdown.COLUMNS_MAX
    metrics = next(one for one in report_parts.tables(report_parts.steps(shown)[1], "metrics-part"))
    for place, column in enumerate(metrics.columns[1:], start=1):
        numbers = " | ".join(row.cells[place].text for row in metrics.rows)
        assert f"| {column.text} | {numbers} |" in text


def test_what_is_folded_is_opened_and_closed(shown: Page) -> None:
    text = markdown.render(shown)
    assert text.count("<details>") == text.count("</details>") == text.count("<summary>")
    folded = text[text.index("<summary>How to repeat") :]
    assert 'name = "insert-pg17-pg18"' in folded and "sha256 of bin/postgres" in folded
    assert "- **cpupq**: CPU of the host per operation" in text


# --- Writing ---------------------------------------------------------------------------------


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_files_are_written_with_their_folders_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "post").mkdir()
    (tmp_path / "post/mine.txt").write_text("mine")
    (tmp_path / "post.md").write_text("old")
    publish(
        {tmp_path / "post/a.png": b"a", tmp_path / "new/b.svg": b"b", tmp_path / "post.md": b"c"}
    )
    assert everything(tmp_path) == {
        *("post", "post/mine.txt", "post/a.png", "new", "new/b.svg", "post.md")
    }
    assert (tmp_path / "post.md").read_text() == "c"


def test_a_name_that_a_file_has_is_one_clear_line_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "post").write_text("a file")
    with pytest.raises(DynoError) as caught:
        publish({tmp_path / "x/a.png": b"a", tmp_path / "post/b.png": b"b"})
    assert str(caught.value) == (
        f"{tmp_path}/post/b.png: cannot be written: `{tmp_path}/post` is a file and no folder"
    )
    assert everything(tmp_path) == {"post"}


def test_a_name_that_a_folder_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "post.md").mkdir()
    with pytest.raises(DynoError, match="a folder has this name"):
        publish({tmp_path / "a.png": b"a", tmp_path / "post.md": b"b"})
    assert everything(tmp_path) == {"post.md"}


def test_a_full_disk_leaves_nothing_half_done_and_the_old_files_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "post.md").write_text("old")
    write = Path.write_bytes

    def full(self: Path, data: Any) -> int:
        if b"too much" in data:
            write(self, data[:3])
            raise OSError(errno.ENOSPC, "No space left on device", str(self))
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DynoError, match="cannot be written: No space left on device"):
        publish({tmp_path / "post/a.png": b"a", tmp_path / "post.md": b"too much"})
    assert everything(tmp_path) == {"post.md"}
    assert (tmp_path / "post.md").read_text() == "old"


# --- The command -----------------------------------------------------------------------------


@pytest.mark.long
def test_the_command_writes_a_post_beside_its_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = comparison(blocks=1, troubles=False)
    small = type(made)(**{**vars(made), "steps": made.steps[1:2]})
    monkeypatch.setattr(compare, "load", lambda folder, base=None: small)
    asked = ["report", ".", "--markdown", f"{tmp_path}/post.md"]
    asked += ["--pictures", f"{tmp_path}/all"]
    assert CliRunner().invoke(cli.app, asked).exit_code == 0
    text = (tmp_path / "post.md").read_text()
    links = [link for _, link in PICTURE.findall(text)]
    assert links and all((tmp_path / link).read_bytes().startswith(PNG) for link in links)
    assert len(list((tmp_path / "all").iterdir())) == 2 * len(links)
    taken = CliRunner().invoke(cli.app, ["report", ".", "--pictures", f"{tmp_path}/post.md"])
    assert isinstance(taken.exception, DynoError)
    assert (tmp_path / "post.md").read_text() == text
