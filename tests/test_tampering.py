"""Blocks that were copied, moved or edited are told, and no word rests on them.

The result is of real servers, and of an older version, which wrote no checksums.
"""

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from command import dyno
from dbdyno import plan
from dbdyno.analysis import compare, verification
from dbdyno.analysis.step import collect
from dbdyno.judge import tampering
from dbdyno.model import Comparison, Json, StepRun
from dbdyno.model.step_run import ImprintFacts
from dbdyno.run import blocks
from dbdyno.store import Results
from doubted import doubted
from result_builder import build
from server_place import ends

EXAMPLES = Path(__file__).parent / "example_results"
KINDS = EXAMPLES / "kinds"
SECOND_NS = 1_000_000_000
STEPS = ("26-point-query", "33-range-covered-pk")  # of the folder's name in a run
QUERY, RANGE = STEPS

Tamper = Callable[[Path], object]


@pytest.fixture(scope="module", name="turns")
def _turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A race of two versions in turns, three blocks."""
    folder = tmp_path_factory.mktemp("kinds")
    with tarfile.open(KINDS / "turns/result.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder / "turns"


@pytest.fixture(name="result")
def _result(turns: Path, tmp_path: Path) -> Path:
    """A copy to be tampered with."""
    return Path(shutil.copytree(turns, tmp_path / "turns"))


# --- What somebody may do --------------------------------------------------------------------


def block(result: Path, number: int) -> Path:
    return result / f"blocks/{number:03d}"


def edited(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def rewritten(result: Path, number: int, edit: Callable[[Json], Json]) -> None:
    """Edits each event of a block."""
    for path in block(result, number).glob("*/*/*/events.jsonl"):
        events = [edit(json.loads(line)) for line in path.read_text().splitlines()]
        path.write_text("".join(f"{json.dumps(event)}\n" for event in events))


def copied_block(result: Path) -> None:
    """The first block in place of the others, its number included."""
    for number in (2, 3):
        shutil.rmtree(block(result, number))
        shutil.copytree(block(result, 1), block(result, number))


def copied_as_its_own(result: Path) -> None:
    """The same with numbers, begins and ends of their own."""
    copied_block(result)
    for number in (2, 3):
        later_ns = number * 1_000 * SECOND_NS
        order = json.loads((block(result, number) / "order.json").read_text())
        begun_ns = order["started_unix_ns"] + later_ns
        edited(block(result, number) / "order.json", block=number, started_unix_ns=begun_ns)
        edited(block(result, number) / "done.json", ended_unix_ns=begun_ns + 100 * SECOND_NS)


def later(result: Path) -> None:
    """The same, all clocks moved on."""
    copied_as_its_own(result)
    for number in (2, 3):
        by_ns = number * 1_000 * SECOND_NS
        rewritten(result, number, lambda event, by_ns=by_ns: moved(event, by_ns))


def moved(event: Json, by_ns: int) -> Json:
    clocks = {key: event[key] + by_ns for key in ("mono_ns", "unix_ns") if key in event}
    return event | clocks


def with_new_times(result: Path) -> None:
    """The same, each time drawn anew."""
    later(result)
    draw = Random(1)
    for number in (2, 3):
        rewritten(result, number, lambda event: moved(event, draw.randrange(100_000)))


def with_new_counts(result: Path) -> None:
    """The same as `later`, with a twentieth more in all counts of the seconds."""
    later(result)
    for number in (2, 3):
        rewritten(result, number, more)


def more(event: Json) -> Json:
    if event["event"] != "tick":
        return event
    clients = [[round(count * 1.05), *rest] for count, *rest in event["per_client"]]
    return event | {"per_client": clients}


def one_step(result: Path) -> None:
    """One arm's step of another block."""
    target = block(result, 3) / "pg18/sysbench" / QUERY
    shutil.rmtree(target)
    shutil.copytree(block(result, 1) / "pg18/sysbench" / QUERY, target)


def other_arm(result: Path) -> None:
    """The base's run in place of the other arm's, in each block."""
    for number in (1, 2, 3):
        for step in STEPS:
            target = block(result, number) / "pg18/sysbench" / step
            shutil.rmtree(target)
            shutil.copytree(block(result, number) / "pg17/sysbench" / step, target)


def renumbered(result: Path) -> None:
    """A block that nobody liked is gone, and the next has its number."""
    shutil.rmtree(block(result, 2))
    block(result, 3).rename(block(result, 2))
    edited(result / "plan.json", blocks=2)


def at_once(result: Path) -> None:
    """A block that another lab measured meanwhile: its clocks are those of the first."""
    first, second = (begun(result, number) for number in (1, 2))
    rewritten(result, 2, lambda event: moved(event, first - second))


def begun(result: Path, number: int) -> int:
    path = next(block(result, number).glob(f"*/*/{QUERY}/events.jsonl"))
    return int(json.loads(path.read_text().splitlines()[0])["mono_ns"])


def second_twice(result: Path) -> None:
    """A good second in place of another, in a result whose totals nobody can compare."""
    for path in block(result, 2).glob(f"pg18/*/{QUERY}/events.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        ticks = [place for place, line in enumerate(lines) if '"measured":true' in line]
        lines[ticks[1]] = lines[ticks[0]]
        path.write_text("".join(lines))


def second_earlier(result: Path) -> None:
    """Two seconds of a step the other way round."""
    for path in block(result, 2).glob(f"pg18/*/{QUERY}/events.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        ticks = [place for place, line in enumerate(lines) if '"measured":true' in line]
        lines[ticks[0]], lines[ticks[1]] = lines[ticks[1]], lines[ticks[0]]
        path.write_text("".join(lines))


# --- It is told ------------------------------------------------------------------------------


def counted(comparison: Comparison) -> dict[str, int]:
    """By step how many blocks its word rests on."""
    return {
        step.step: min((judgement.blocks for judgement in verdict.judgements), default=0)
        for step in comparison.steps
        if (verdict := step.cells[1].verdict) is not None
    }


def test_a_result_as_it_was_measured_is_damaged_nowhere(turns: Path) -> None:
    comparison = compare.load(turns)
    assert counted(comparison) == {"point-query": 3, "range-covered-pk": 3}
    assert not [line for line in doubted(comparison) if line.startswith("damaged")]
    assert verification.verify(turns).damage == ()


COPIED = "which agree beyond chance"


@pytest.mark.parametrize(
    ("tamper", "file", "told", "blocks"),
    [
        (copied_block, "blocks/002/order.json", "is that of block 1, under another", (1, 1)),
        (copied_as_its_own, f"blocks/003/pg18/sysbench/{QUERY}/events.jsonl", COPIED, (1, 1)),
        (later, f"blocks/003/pg18/sysbench/{QUERY}/events.jsonl", COPIED, (1, 1)),
        (with_new_times, f"blocks/003/pg18/sysbench/{QUERY}/events.jsonl", COPIED, (1, 1)),
        (with_new_counts, f"blocks/003/pg18/sysbench/{QUERY}/events.jsonl", COPIED, (1, 1)),
        (one_step, f"blocks/003/pg18/sysbench/{QUERY}/events.jsonl", COPIED, (2, 3)),
        (other_arm, f"sysbench/{RANGE}/events.jsonl", COPIED, (0, 0)),
        (renumbered, "blocks/002/order.json", "is that of block 3, under another", (1, 1)),
        (at_once, f"blocks/002/pg18/sysbench/{QUERY}/events.jsonl", "at the same time as", (2, 2)),
        (second_twice, f"blocks/002/pg18/sysbench/{QUERY}/events.jsonl", "stand twice", (2, 3)),
        (second_earlier, f"blocks/002/pg18/sysbench/{QUERY}/events.jsonl", "go back", (2, 3)),
    ],
)
def test_what_was_tampered_with_is_named_and_no_word_rests_on_it(
    result: Path, tamper: Tamper, file: str, told: str, blocks: tuple[int, int]
) -> None:
    """What is left are blocks that were measured, each once; one of them gives no word."""
    tamper(result)
    comparison = compare.load(result)
    lines = [line for line in doubted(comparison) if line.startswith("damaged")]
    assert any(file in line and told in line for line in lines), lines
    assert any(file in line and told in line for line in verification.verify(result).damage)
    assert tuple(counted(comparison).values()) == blocks


def test_each_command_says_it_and_ends_with_1(result: Path) -> None:
    copied_as_its_own(result)
    for command in ("verify", "compare", "report"):
        ended = dyno(command, result)
        assert COPIED in " ".join(ended.stdout.split()), (command, ended.stdout)
        assert "blocks/002/pg17/sysbench" in ended.stdout
        assert (ended.returncode, command) == (0 if command == "report" else 1, command)
        because = "nothing to compare: damaged in 2 of 3 blocks" in ended.stdout
        assert because == (command != "verify")
    document = json.loads(dyno("compare", result, "--json").stdout)
    assert COPIED in document["doubts"][0]["items"][0]["words"]


# --- The plan --------------------------------------------------------------------------------


@pytest.fixture(name="built")
def _built(tmp_path: Path) -> Path:
    """A result of three blocks, each of which says by which aims it was begun."""
    return build(tmp_path, steps=("l.i0",))


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("margin", 0.2, "`margin` was 0.03 and is 0.2"),
        ("tolerate", 0.05, "`tolerate` was None and is 0.05"),
        ("level", 0.5, "`level` was 0.05 and is 0.5"),
        ("effect", 0.1, "`effect` was 0.03 and is 0.1"),
        ("power", 0.5, "`power` was 0.8 and is 0.5"),
    ],
)
def test_an_aim_that_was_another_at_the_first_block_is_told(
    built: Path, key: str, value: object, told: str
) -> None:
    assert not [line for line in doubted(compare.load(built)) if "plan.json" in line]
    assert verification.verify(built).damage == ()
    edited(built / "plan.json", verdict={key: value})
    line = f"plan.json: is not as block 1 began: {told}; restore it from a copy"
    assert f"damaged: {line}" in doubted(compare.load(built))
    assert line in verification.verify(built).damage


def test_looks_that_were_others_at_the_first_block_are_told(tmp_path: Path) -> None:
    folder = blocks.run(plan.parse(FAKE, None), tmp_path, wait=True).folder
    edited(folder / "looks.json", last=2)
    assert verification.verify(folder).damage == (), "the time was over since"
    edited(folder / "looks.json", first=1)
    line = "looks.json: is not as block 1 began: `first` was 2 and is 1; restore it from a copy"
    assert verification.verify(folder).damage == (line,)
    assert f"damaged: {line}" in doubted(compare.load(folder))


def test_a_plan_that_went_on_with_other_aims_is_no_damage(built: Path) -> None:
    shutil.copyfile(built / "plan.json", built / "plan.001.json")
    edited(built / "plan.json", verdict={"margin": 0.05})
    assert verification.verify(built).damage == ()
    assert not [line for line in doubted(compare.load(built)) if line.startswith("damaged")]


def test_an_older_result_does_not_say_its_aims_and_is_not_accused(result: Path) -> None:
    edited(result / "plan.json", verdict={"margin": 0.05})
    assert verification.verify(result).damage == ()


# --- What was measured is no copy ------------------------------------------------------------


def kinds() -> Iterator[Path]:
    yield from sorted(KINDS.glob("*/result.tar.xz"))


@pytest.mark.parametrize("packed", list(kinds()), ids=lambda path: path.parent.name)
def test_no_example_is_accused(packed: Path, tmp_path: Path) -> None:
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    folders = [path.parent for path in tmp_path.rglob("plan.json")]
    assert folders
    for folder in folders:
        results = Results.open(folder)
        blocks = [block for block in results.blocks() if block.state == "done"]
        steps = tampering.step_folders(blocks)
        runs = collect.step_runs(steps, None)
        assert tampering.refused(results.plan, blocks, steps, runs) == runs
        assert list(tampering.edited(results, blocks)) == []
        assert shared_marks(runs, results) == 0


def shared_marks(runs: Sequence[StepRun], results: Results) -> int:
    """How many marks two runs of real servers have both."""
    real = {arm.name for arm in results.plan.arms if arm.engine != "fake"}
    prints = [run.of(ImprintFacts).imprint for run in runs if run.arm in real]
    marks = [mark for own in prints if own is not None for mark in (*own.times, *own.ticks)]
    return len(marks) - len(set(marks))


FAKE = """
name = "same"
arms.old = { engine = "fake", fake = { default_us = 200 } }
arms.new = { engine = "fake", fake = { default_us = 200 } }
[[workloads]]
name = "sysbench"
parameters = { rows = 1000, tables = 1, seconds = 2, clients = 2 }
steps = ["point-query"]
[schedule]
blocks = 2
"""


def test_runs_of_the_fake_may_agree(tmp_path: Path) -> None:
    """By its virtual clock equal draws give equal lines: two arms that are the same."""
    folder = blocks.run(plan.parse(FAKE, None), tmp_path, wait=True).folder
    lines = {
        path.read_text().partition('{"event":"window_open"')[2]
        for path in folder.glob("blocks/001/*/*/*point-query/events.jsonl")
    }
    assert len(lines) <= 2
    assert verification.verify(folder).damage == ()
    comparison = compare.load(folder)
    assert not [line for line in doubted(comparison) if line.startswith("damaged")]


REAL = """
name = "real"
[arms.old]
engine = "postgres"
base_dir = "{base_dir}"
[arms.new]
engine = "postgres"
base_dir = "{base_dir}"
[[workloads]]
name = "sysbench"
parameters = {{ rows = 1000, tables = 1, seconds = 2, clients = 1 }}
steps = ["point-query"]
[schedule]
blocks = 2
"""


@pytest.mark.live
def test_a_race_on_real_servers_is_no_copy_and_its_copy_is(tmp_path: Path) -> None:
    folder = blocks.run(plan.parse(REAL.format(base_dir=ends()[-1]), None), tmp_path).folder
    assert Results.open(folder).blocks()[0].order().aims is not None
    assert verification.verify(folder).damage == ()
    assert not [line for line in doubted(compare.load(folder)) if line.startswith("damaged")]
    shutil.rmtree(block(folder, 2))
    shutil.copytree(block(folder, 1), block(folder, 2))
    edited_rights = block(folder, 2) / "order.json"
    edited_rights.chmod(0o644)
    edited(edited_rights, block=2)
    damage = verification.verify(folder).damage
    assert any("order.json: is not as it was" in line for line in damage)
    assert any(COPIED in line for line in damage)
