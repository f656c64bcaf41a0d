"""What few users need is an extra: without it, a command says in one line how to get it."""

from pathlib import Path

import pytest

import dbdyno
from dbdyno.cli import main
from dbdyno.model import extra
from dbdyno.model.extra import MissingLibraryError

RESULT = Path(__file__).parent / "example_results" / "example"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that has no extra."""

    def fails(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(extra, "import_module", fails)


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["dyno", *words])
    try:
        return main()
    except SystemExit as error:
        return int(error.code or 0)


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(
    ("words", "name", "needed"),
    [
        (("export", "RESULT", "--to", "x.csv"), "duckdb", "export"),
        (("report", "RESULT", "--pictures", "x"), "vl_convert", "pictures"),
        (("report", "RESULT", "--post", "x.md"), "vl_convert", "pictures"),
        (("report", "RESULT", "--post", "x.html"), "vl_convert", "pictures"),
    ],
)
def test_a_command_names_the_extra_that_it_lacks_and_writes_nothing(
    words: tuple[str, ...],
    name: str,
    needed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = str(RESULT)
    assert ended(monkeypatch, *(folder if word == "RESULT" else word for word in words)) == 2
    project = extra.PROJECTS.get(name, name)
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"dyno: `{name}` is not installed: install dyno as `dbdyno[{needed}]`, or add it: "
        f"`pip install {project}`"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("without")
def test_data_frames_name_their_extra() -> None:
    with pytest.raises(MissingLibraryError, match=r"`pandas` .* `dbdyno\[frames\]`"):
        _ = dbdyno.read(RESULT).steps


def test_a_library_that_is_broken_is_no_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: str) -> None:
        raise ModuleNotFoundError("No module named 'inner'", name="inner")

    monkeypatch.setattr(extra, "import_module", fails)
    with pytest.raises(ModuleNotFoundError, match="inner"):
        extra.library("duckdb", extra="export")
