"""Results that somebody else made to harm: each is refused in a line, within limits."""

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from command import dyno
from dbdyno.model import Json
from dbdyno.model.error import ResultError
from dbdyno.store import regular_file
from dbdyno.store.file import read_struct, read_structs
from dbdyno.store.results import Results

EXAMPLE = Path(__file__).parent / "example_results" / "example"
DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
Plant = Callable[[Path], object]
PLANTS: dict[str, tuple[Plant, str]] = {
    "a FIFO": (os.mkfifo, "is no regular file"),
    "a link to a file of ours": (lambda path: path.symlink_to("/etc/hostname"), "is a link"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "is a link"),
    "a folder": (lambda path: path.mkdir(), "is no regular file"),
    "deep JSON": (lambda path: path.write_bytes(DEEP), "is not JSON"),
}


@pytest.fixture
def result(tmp_path: Path) -> Path:
    """A copy of the example, to be harmed."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "results" / "bad"))


@pytest.mark.parametrize("what", PLANTS)
def test_what_is_no_file_of_a_lab_is_refused_by_its_name(result: Path, what: str) -> None:
    plant, words = PLANTS[what]
    path = result / "plan.json"
    path.unlink()
    plant(path)
    said = dyno("compare", result)
    assert said.returncode != 0
    assert "plan.json" in said.stderr and words in " ".join(said.stderr.split())
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize("what", PLANTS)
def test_looks_and_orders_that_are_no_files_are_told(result: Path, what: str) -> None:
    plant, words = PLANTS[what]
    (result / "looks.json").unlink(missing_ok=True)
    plant(result / "looks.json")
    with pytest.raises(ResultError, match=rf"looks\.json: .*{words}"):
        Results.open(result).looks()
    path = result / "blocks" / "001" / "order.json"
    path.unlink()
    plant(path)
    damage = next(block.damage() for block in Results.open(result).blocks())
    assert damage is not None and words in damage


@pytest.mark.parametrize("plant", [one for one, _ in list(PLANTS.values())[:3]])
def test_events_are_read_from_files_alone(result: Path, plant: Plant) -> None:
    step = next(
        step
        for block in Results.open(result).blocks()
        for run in block.runs()
        for step in run.steps()
    )
    path = step.path / "events.jsonl"
    path.unlink(missing_ok=True)
    plant(path)
    with pytest.raises(ResultError, match=r"events\.jsonl: .*(link|regular file)"):
        list(step.events())
    assert dyno("compare", result).returncode in (0, 1), "the step alone is damaged"


def test_files_and_lines_beyond_all_measure_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regular_file, "FILE_BYTES_MAX", 1 << 20)
    monkeypatch.setattr(regular_file, "LINE_BYTES_MAX", 1 << 20)
    bomb = tmp_path / "a.json.gz"
    bomb.write_bytes(gzip.compress(bytes(64 << 20)))
    with pytest.raises(ResultError, match=r"a\.json\.gz: cannot be read: has more than 1 MB"):
        read_struct(bomb, dict)
    with (tmp_path / "sparse.json").open("wb") as file:
        file.truncate(6 << 30)
    with pytest.raises(ResultError, match=r"sparse\.json: cannot be read: has more than 1 MB"):
        read_struct(tmp_path / "sparse.json", dict)
    with pytest.raises(ResultError, match=r"sparse\.json: .* a line of more than 1 MB"):
        list(read_structs(tmp_path / "sparse.json", Json))


@pytest.mark.long
def test_one_bad_folder_hides_no_other(result: Path) -> None:
    shutil.copytree(EXAMPLE, result.parent / "good")
    for name in ("plan.json", "looks.json", "blocks/001/order.json"):
        kept = (result / name).read_bytes() if (result / name).exists() else None
        for plant, _ in PLANTS.values():
            (result / name).unlink(missing_ok=True)
            plant(result / name)
            said = dyno("ls", result.parent)
            assert said.returncode == 0 and "good" in said.stdout
            assert [one.folder.name for one in Results.within(result.parent)][-1] == "good"
            if (result / name).is_dir() and not (result / name).is_symlink():
                (result / name).rmdir()
        (result / name).unlink(missing_ok=True)
        if kept is not None:
            (result / name).write_bytes(kept)
