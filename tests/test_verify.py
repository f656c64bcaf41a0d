"""Damage of a result's files is found, whoever did it and whichever file it is."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from command import dyno
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.model import Json
from dbdyno.run import blocks
from dbdyno.store import Results
from doubted import doubted

PLAN = """
name = "two"
arms.old = { engine = "fake", fake = { default_us = 200, jitter = 0.02 } }
arms.new = { engine = "fake", fake = { default_us = 210, jitter = 0.02 } }
[[workloads]]
name = "sysbench"
parameters = { rows = 1000, tables = 1, seconds = 4, clients = 2 }
steps = ["point-query"]
[schedule]
blocks = 2
"""
STEP = "blocks/002/new/sysbench/26-point-query"
EVENTS = f"{STEP}/events.jsonl"

Harm = Callable[[Path], object]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of the real load generator, two blocks of one step."""
    folder = tmp_path_factory.mktemp("good")
    outcome = blocks.run(plan.parse(PLAN, None), folder, wait=True)
    assert outcome.failed == 0
    return outcome.folder


@pytest.fixture
def result(good: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(good, tmp_path / "two"))


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


def doubled(path: Path) -> None:
    """Five ticks of the window twice, as an interrupted copy may leave them."""
    lines = lines_of(path)
    ticks = [line for line in lines if '"event":"tick"' in line and '"measured":true' in line]
    assert len(ticks) >= 4
    path.write_text("".join([*lines[:-1], *ticks[:5], lines[-1]]))


def shortened(path: Path) -> None:
    """Without a tick of the window."""
    lines = lines_of(path)
    place = next(n for n, line in enumerate(lines) if '"measured":true' in line)
    path.write_text("".join(lines[:place] + lines[place + 1 :]))


def changed_counts(path: Path) -> None:
    """A tick whose clients, operations and rows are half as many again."""
    lines = lines_of(path)
    place = next(n for n, line in enumerate(lines) if '"measured":true' in line)
    tick: Json = json.loads(lines[place])
    for client in tick["per_client"]:
        client[0] += client[0] // 2
    lines[place] = json.dumps(tick) + "\n"
    path.write_text("".join(lines))


def two_runs(path: Path) -> None:
    """The events of two runs in one file."""
    path.write_text(path.read_text() * 2)


def without_checksums(result: Path) -> None:
    """As an older version wrote its blocks."""
    for path in result.glob("blocks/*/done.json"):
        done = json.loads(path.read_text())
        del done["sha256"]
        path.write_text(json.dumps(done))


def test_a_result_is_as_its_blocks_ended(result: Path) -> None:
    ended = dyno("verify", result)
    assert ended.returncode == 0, ended.stdout
    files = sum(len(block.checksums() or {}) for block in Results.open(result).blocks())
    assert files == len([one for one in result.glob("blocks/**/*") if one.is_file()]) - 2
    assert f"2 complete blocks, {files} files as they were when their blocks ended" in ended.stdout
    comparison = compare.load(result)
    assert (comparison.unverified, comparison.failed) == ((), False)
    assert not [line for line in doubted(comparison) if "damaged" in line]


@pytest.mark.parametrize("name", ["events.jsonl", "host.jsonl", "step.json", "job.json"])
def test_a_changed_file_of_a_step_is_damage_and_the_arm_is_not_blamed(result: Path, name: str):
    path = result / STEP / name
    path.write_text(path.read_text().replace("1", "2", 1))
    assert f"damaged: {STEP}/{name}: is not as it was" in dyno("verify", result).stdout
    comparison = compare.load(result)
    (step,) = [one for one in comparison.steps if one.headline]
    assert step.cells[1].verdict is not None
    assert step.cells[1].verdict.reason == "nothing to compare"
    assert any(f"{STEP}/{name}: is not as it was" in line for line in doubted(comparison))
    assert dyno("compare", result).returncode == 1


def removed(path: Path) -> None:
    path.unlink()


def added(path: Path) -> None:
    path.with_name("events.2.jsonl").write_text("{}\n")


@pytest.mark.parametrize(("harm", "words"), [(removed, "is missing"), (added, "was not there")])
def test_a_file_less_or_more_is_damage(result: Path, harm: Harm, words: str) -> None:
    harm(result / EVENTS)
    ended = dyno("verify", result)
    assert (ended.returncode, words in ended.stdout) == (1, True), ended.stdout
    assert dyno("compare", result).returncode == 1


@pytest.mark.parametrize("name", ["order.json", "new/server.json"])
def test_other_files_of_a_block_are_warned_of(result: Path, name: str) -> None:
    path = result / "blocks/002" / name
    path.write_text(path.read_text() + "\n")
    warnings = doubted(compare.load(result))
    assert any(f"blocks/002/{name}: is not as it was" in line for line in warnings), warnings


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (doubled, "go back or stand twice"),
        (shortened, "lines are missing, doubled or changed"),
        (changed_counts, "lines are missing, doubled or changed"),
        (two_runs, "more than once"),
    ],
)
def test_events_that_do_not_add_up_are_damage_without_any_checksum(
    result: Path, harm: Harm, words: str
) -> None:
    without_checksums(result)
    assert dyno("verify", result).returncode == 0
    harm(result / EVENTS)
    ended = dyno("verify", result)
    assert (ended.returncode, words in ended.stdout) == (1, True), ended.stdout
    assert any(words in line for line in doubted(compare.load(result)))


def test_histograms_hold_as_many_operations_as_their_ticks(result: Path) -> None:
    """Counts that were changed everywhere alike, but not in the histogram."""
    without_checksums(result)
    path = result / EVENTS
    lines = [json.loads(line) for line in lines_of(path)]
    tick = next(one for one in lines if one["event"] == "tick" and one["measured"])
    (name,) = [name for name, part in tick["operations"].items() if part["count"]]
    tick["operations"][name]["count"] += 7
    lines[-1]["totals"][tick["role"]]["in_ticks"]["operations"] += 7
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert any("histograms of" in line for line in doubted(compare.load(result)))


def test_blocks_of_an_older_version_are_read_and_marked(result: Path) -> None:
    before = compare.load(result)
    without_checksums(result)
    comparison = compare.load(result)
    assert comparison.unverified == (1, 2)
    assert comparison.steps == before.steps
    assert "2 unverified: an older dyno wrote no checksums" in " ".join(
        dyno("report", result).stdout.split()
    )
    ended = dyno("verify", result, "--json")
    (document,) = json.loads(ended.stdout)
    assert (ended.returncode, document["unverified"]) == (0, [1, 2])


def test_reading_a_result_writes_nothing_into_it(result: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in result.rglob("*")}
    for command in ("compare", "report", "verify"):
        dyno(command, result)
    assert {path: path.stat().st_mtime_ns for path in result.rglob("*")} == before


def test_a_derived_folder_that_came_with_a_result_counts_for_nothing(result: Path) -> None:
    """The sender's own verdict, in the form of older versions, with times and sizes as they are."""
    honest = compare.load(result).steps
    entry = {"format": 1, "files": {}, "derived": {"metrics": {"qps": 1e9}}}
    forged = result / "derived/002/new/sysbench/26-point-query.json"
    forged.parent.mkdir(parents=True)
    forged.write_text(json.dumps(entry))
    assert compare.load(result).steps == honest
