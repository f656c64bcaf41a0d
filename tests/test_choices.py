"""What a person could choose by after seeing figures is counted and said."""

import json
import shutil
from pathlib import Path

import pytest

from dbdyno import __version__
from dbdyno.analysis import compare
from dbdyno.judge import validity
from dbdyno.model import Json
from dbdyno.model.doubt import DoubtSubject
from doubted import doubted, flat
from result_builder import UNIX_NS, build
from run_builder import concluded, plan_of, series

HOUR_NS = 3_600_000_000_000


@pytest.fixture(scope="module", name="built")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result folder of three blocks of one step."""
    return build(tmp_path_factory.mktemp("built"), steps=("l.i0",))


@pytest.fixture(name="folder")
def _folder(built: Path, tmp_path: Path) -> Path:
    """A copy of it, to change."""
    return copied(built, tmp_path / built.name)


def copied(built: Path, to: Path) -> Path:
    """Another result of the same."""
    return Path(shutil.copytree(built, to, symlinks=True))


def edited(folder: Path, name: str = "plan.json", **changes: object) -> Json:
    """The plan with these keys, written as this file of the result."""
    plan: Json = json.loads((folder / "plan.json").read_text()) | changes
    (folder / name).write_text(json.dumps(plan))
    return plan


def lines_of(folder: Path, subject: str) -> list[str]:
    return [line for line in doubted(compare.load(folder)) if line.startswith(f"{subject}:")]


def test_a_race_that_repeats_a_race_counts_those_before(built: Path, tmp_path: Path) -> None:
    folders = [copied(built, tmp_path / name) for name in ("race", "race-2", "race-3", "other")]
    for hour, folder in enumerate(folders):
        edited(folder, created_unix_ns=UNIX_NS + hour * HOUR_NS)
    edited(folders[3], workloads=[{"name": "another"}], created_unix_ns=UNIX_NS)
    assert [lines_of(folder, "asked before") for folder in folders[:2]] == [
        [],
        [
            "asked before: race compared the same arms in the same steps; of 2 such results of "
            "equal arms one or more has a false word in up to 10 %, not 5 %"
        ],
    ]
    (third,) = lines_of(folders[2], "asked before")
    assert "race, race-2 compared" in third
    assert "of 3 such results" in third
    assert "up to 14 %" in third


def test_aims_that_changed_after_blocks_were_measured_are_said(folder: Path) -> None:
    before = {"margin": 0.03, "effect": 0.03, "power": 0.8, "level": 0.05, "judge": "looks"}
    edited(folder, name="plan.001.json", verdict=before)
    edited(folder, verdict=before | {"margin": 0.05}, created_unix_ns=UNIX_NS + HOUR_NS)
    assert lines_of(folder, "aims changed") == [
        "aims changed: `margin` was 0.03 and is 0.05, after 3 blocks had been measured"
    ]
    edited(folder, verdict=before | {"margin": 0.05}, created_unix_ns=UNIX_NS - HOUR_NS)
    assert lines_of(folder, "aims changed") == [], "no block was there yet"


def test_interrupted_blocks_are_counted(built: Path, tmp_path: Path) -> None:
    void = {2: "interrupted: dyno ended before the block was complete"}
    folder = build(tmp_path, void=void, steps=("l.i0",))
    (interrupted,) = [
        doubt for doubt in flat(compare.load(folder)) if doubt.subject is DoubtSubject.INTERRUPTED
    ]
    assert interrupted.block == 2
    assert interrupted.words.startswith("ended early, with figures on the screen")
    assert lines_of(built, "interrupted") == []


def test_another_base_is_a_choice(folder: Path) -> None:
    warnings = doubted(compare.load(folder, base="pg18"))
    assert "another base: pg18 was chosen, the plan has pg17" in warnings


# --- Versions --------------------------------------------------------------------------------


def other_version(folder: Path, block: int, **changes: object) -> None:
    path = folder / f"blocks/{block:03d}/order.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_blocks_of_several_versions_are_warned_of(folder: Path) -> None:
    assert lines_of(folder, "several versions") == []
    other_version(folder, 3, dyno="9.9")
    (line,) = lines_of(folder, "several versions")
    assert line.startswith(
        f"several versions: dyno was {__version__} in blocks 1, 2 and 9.9 in block 3;"
    )


def test_blocks_of_several_generators_are_warned_of(folder: Path) -> None:
    for path in folder.glob("blocks/002/*/*/*/events.jsonl"):
        events = path.read_text().splitlines(keepends=True)
        hello = json.dumps(json.loads(events[0]) | {"commit": "abc123"}) + "\n"
        path.write_text(hello + "".join(events[1:]))
    (line,) = lines_of(folder, "several versions")
    assert "the load generator was" in line
    assert "(abc123) in block 2" in line


# --- The whole server ------------------------------------------------------------------------

SIX = [1_000.0] * 6


def whole_servers(cpu: float, whole: float) -> list[str]:
    """What is said of an arm with so much CPU per operation, beside 100 and 1,000."""
    base = series("base", SIX, cpu=100.0, metrics={"whole_server_cpu_per_op": 1_000.0})
    other = series("other", SIX, cpu=cpu, metrics={"whole_server_cpu_per_op": whole})
    steps = concluded([*base, *other], plan_of(("base", "other"))).steps
    return [str(doubt) for doubt in validity.whole_servers(steps[0].cells, 0.03)]


def test_a_whole_server_that_changed_otherwise_is_said_whatever_the_signs() -> None:
    (line,) = whole_servers(70.0, 995.0)
    assert line == (
        "CPU of the whole server changed otherwise: 30.0 % less CPU per operation; "
        "including the server's background, other roles and ended processes 0.5 % less"
    )
    assert len(whole_servers(130.0, 950.0)) == 1
    assert whole_servers(70.0, 705.0) == []
    assert whole_servers(70.0, 715.0) == [], "within the margin of the other"
