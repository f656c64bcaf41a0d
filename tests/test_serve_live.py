"""The live page: what a look at a running plan's files sees, and what is pushed."""

import asyncio
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from comparison_builder import comparison
from dbdyno.model.looks import Look, LookProgress, Looks
from dbdyno.parts.table import Row
from dbdyno.serve import folders, live
from dbdyno.serve.folders import Folders, ListedResult
from dbdyno.serve.frame import Frame
from dbdyno.serve.judged import JudgedResults
from dbdyno.serve.watch import ResultWatch, WatchState
from serve_client import client, example

STEPS = Path("blocks/001/pg18/insert-benchmark")


def began(folder: Path) -> Path:
    """The example in the middle of its last step: pg18 in qr100 has no second yet."""
    example(folder)
    (folder / "blocks/001/done.json").unlink()
    done = folder / "blocks/001/pg17/insert-benchmark/01-l.i0/done.json"
    counted = {"seconds": 2.0, "operations": 60, "rows": 6000, "statements": 60}
    done.write_text(json.dumps(json.loads(done.read_text()) | {"counted": counted}))
    step = folder / STEPS / "06-qr100"
    for name in ("done.json", "after.json"):
        (step / name).unlink()
    (step / "events.jsonl").write_text("")
    return step


def ticks(step: Path) -> list[str]:
    """The lines of the step's events as the example has them."""
    whole = Path(__file__).parent / "example_results/example" / STEPS / step.name
    return [
        line
        for line in (whole / "events.jsonl").read_text().splitlines(keepends=True)
        if '"event":"tick"' in line
    ]


def add(step: Path, text: str) -> None:
    with (step / "events.jsonl").open("a") as file:
        file.write(text)


def result(root: Path) -> ListedResult:
    (found,) = folders.found([root])
    return found


def statuses(sight: WatchState) -> dict[str, list[str]]:
    return {step.name: [arm.status for arm in step.arms] for step in sight.steps}


def test_a_look_tells_steps_that_are_done_and_that_run(tmp_path: Path) -> None:
    step = began(tmp_path / "one")
    sight = ResultWatch().look(result(tmp_path))
    assert (sight.state, sight.block, sight.order) == ("running", 1, ("pg17", "pg18"))
    assert statuses(sight) == {"l.i0": ["done", "done"], "qr100": ["done", "runs"]}
    assert [arm.text for arm in sight.steps[0].arms] == ["3,000 rows/s", "done"]  # an older file
    shutil.rmtree(step)
    assert statuses(ResultWatch().look(result(tmp_path)))["qr100"] == ["done", "waits"]


def test_each_look_takes_the_seconds_since_the_last_one(tmp_path: Path) -> None:
    step = began(tmp_path / "one")
    of_query = [line for line in ticks(step) if '"role":"query"' in line]
    watch, its = ResultWatch(), result(tmp_path)
    seen = []
    for lines in ([], of_query[:1], of_query[1:4], []):
        add(step, "".join(lines))
        rates = watch.look(its).rates
        assert rates is not None and rates.unit == "queries/s"
        pg17, pg18 = rates.lines
        seen.append(len(pg18.points))
        assert len(pg17.points) == len(of_query)
    assert seen == [0, 1, 4, 4]
    tick = json.loads(of_query[0])
    operations = sum(client[0] for client in tick["per_client"])
    assert pg18.points[0] == (1.0, operations / (tick["active_ns"] / 1e9))


def test_a_line_that_is_not_ended_comes_with_its_end(tmp_path: Path) -> None:
    step = began(tmp_path / "one")
    line = next(line for line in ticks(step) if '"role":"query"' in line)
    watch, its = ResultWatch(), result(tmp_path)
    counts = []
    for piece in (line[:50], line[50:-1], "\n", "{damaged\n", line):
        add(step, piece)
        rates = watch.look(its).rates
        assert rates is not None
        counts.append(len(rates.lines[1].points))
    assert counts == [0, 0, 1, 1, 2]


def test_the_block_before_stands_for_arms_that_have_not_begun(tmp_path: Path) -> None:
    folder = example(tmp_path / "one")
    shutil.copytree(folder / "blocks/001", folder / "blocks/002")
    (folder / "blocks/002/done.json").unlink()
    shutil.rmtree(folder / "blocks/002/pg17/insert-benchmark/06-qr100")
    (folder / "blocks/002/pg18/insert-benchmark/06-qr100/done.json").unlink()
    rates = ResultWatch().look(result(tmp_path)).rates
    assert rates is not None
    assert [(line.arm, line.block, line.now) for line in rates.lines] == [
        ("pg17", 1, False),
        ("pg18", 2, True),
    ]


def test_a_failed_step_says_why_and_one_without_end_was_broken_off(tmp_path: Path) -> None:
    step = began(tmp_path / "one")
    failed = {"status": "failed", "reason": "the server <died>", "log_tail": []}
    (step / "failed.json").write_text(json.dumps(failed))
    text = client(tmp_path).get("/live/one").text
    assert "the server &lt;died&gt;" in text and "the server <died>" not in text
    (step / "failed.json").unlink()
    old = time.time() - 2400
    for path in [tmp_path / "one", *(tmp_path / "one").rglob("*")]:
        os.utime(path, (old, old))
    assert statuses(ResultWatch().look(result(tmp_path)))["qr100"] == ["done", "stopped"]
    text = client(tmp_path).get("/live/one").text
    assert "broken off" in text and "unfinished; last written 40 min ago" in text


def test_tries_that_were_set_aside_are_said(tmp_path: Path) -> None:
    began(tmp_path / "one")
    asking = client(tmp_path)
    for number, words in enumerate(("A try of this block set aside:", "2 tries of"), 1):
        void = tmp_path / f"one/blocks/001.void{number}"
        void.mkdir()
        reason = {"reason": f"a noisy <b>neighbour</b>, number {number}", "cause": "foreign"}
        (void / "void.json").write_text(json.dumps(reason))
        text = asking.get("/live/one").text
        assert words in text
        assert f": a noisy &lt;b&gt;neighbour&lt;/b&gt;, number {number}" in text


# --- Verdicts and evidence ---------------------------------------------------------------------


def cells(rows: tuple[Row, ...]) -> set[str]:
    return {row.cells[2].text for row in rows}


def test_before_the_first_look_no_step_has_a_word() -> None:
    found = comparison(blocks=3)
    coming = Look(blocks=6, share=0.5)
    looked = LookProgress(looks=Looks(first=6), taken=(), coming=coming)
    table = live.of_steps(replace(found, looked=looked))
    assert cells(table.rows) == {"no look yet"}
    assert all(row.cells[2].tone == "quiet" for row in table.rows)
    assert any("[" in row.cells[3].detail for row in table.rows)  # the ratio so far, all the same


def test_after_a_look_its_words_stand_beside_the_figures_of_all_blocks() -> None:
    found = comparison(blocks=3)
    taken = (Look(blocks=3, share=0.5),)
    table = live.of_steps(
        replace(found, looked=LookProgress(looks=Looks(first=3), taken=taken, coming=None))
    )
    words = {
        cell.verdict.word for step in found.steps for cell in step.cells if cell.verdict is not None
    }
    assert cells(table.rows) == words
    assert len(table.rows) > 2


def test_evidence_is_judged_once_for_each_complete_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = example(tmp_path / "one")
    shutil.copytree(folder / "blocks/001", folder / "blocks/002")
    (folder / "blocks/002/done.json").unlink()
    judged, its = JudgedResults(), Folders([tmp_path])
    first = judged.so_far(its.found()[0])
    (folder / "blocks/002/more").mkdir()
    assert judged.so_far(its.found()[0]) is first
    (folder / "blocks/002/done.json").write_text('{"ended_unix_ns": 1}')
    assert judged.so_far(its.found()[0]) is not first


# --- What is pushed ----------------------------------------------------------------------------


def pushed(
    root: Path, looks: int, between: list[str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """The events of so many looks; before each but the first a line is added to the step."""
    step, its = root / "one" / STEPS / "06-qr100", Folders([root])
    left = iter(range(looks))

    def find() -> ListedResult | None:
        turn = next(left, None)
        if turn:
            add(step, between[turn - 1])
        return None if turn is None else its.result("one")

    async def collected() -> list[str]:
        return [event async for event in live.events(Frame(), JudgedResults(), find)]

    monkeypatch.setattr(live, "LOOK_S", 0.0)
    return asyncio.run(collected())


def test_only_what_has_changed_is_pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = began(tmp_path / "one")
    of_query = [line for line in ticks(step) if '"role":"query"' in line]
    found = pushed(tmp_path, 4, [of_query[0], "", of_query[1]], monkeypatch)
    names = [event.partition("\n")[0] for event in found]
    assert names.count("event: rates") == 3 and names.count("event: state") == 1
    last = [event for event in found if event.startswith("event: rates")][-1]
    drawn = json.loads(last.split("data: ", 1)[1])
    assert [len(line["points"]) for line in drawn["lines"]] == [10, 2]
    assert all(event.endswith("\n\n") for event in found)


def test_a_text_of_several_lines_is_one_event() -> None:
    assert live.event("state", "<p>\n</p>") == "event: state\ndata: <p>\ndata: </p>\n\n"
