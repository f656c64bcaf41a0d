"""What a result folder says of its looks, and how far its blocks are complete."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import result_builder
from dbdyno.model import Block, Plan
from dbdyno.model.block_files import BlockDuration
from dbdyno.model.error import ResultError
from dbdyno.model.looks import Looks
from dbdyno.store import Results

UNTIL_DECIDED = Looks(first=None, minutes_max=90.0)


def planned(blocks: int = 4, *, until_decided: bool = False) -> Plan:
    made = result_builder.make_plan("example", ("pg17", "pg18"), blocks)
    if not until_decided:
        return made
    schedule = replace(made.schedule, blocks=30, until_decided=True, minutes_max=90.0)
    return replace(made, schedule=schedule)


@pytest.fixture
def results(tmp_path: Path) -> Results:
    made = planned()
    return Results.open_or_create(tmp_path, made, result_builder.plan_json(made))


def do(results: Results, number: int, minutes: float = 1.0, *, ends: bool = True) -> None:
    results.begin_block(Block(number=number, order=("pg17", "pg18"), seed=number))
    if ends:
        results.end_block(number, BlockDuration(took_s=60 * minutes, steps_s={}))


@pytest.mark.parametrize(
    ("of", "looks"),
    [(planned(), Looks(first=4)), (planned(until_decided=True), UNTIL_DECIDED)],
    ids=["a number", "until decided"],
)
def test_looks_are_settled_before_the_first_block_and_stay(
    results: Results, of: Plan, looks: Looks
) -> None:
    assert results.looks() is None
    assert results.settle_looks(of) == results.looks() == looks
    do(results, 1)
    other = planned(9) if looks.first is None else planned(until_decided=True)
    for later in (planned(2), other):
        assert results.settle_looks(later) == results.looks() == looks


@pytest.mark.parametrize("until_decided", [False, True])
def test_a_folder_of_before_has_its_first_look_where_its_complete_blocks_end(
    results: Results, until_decided: bool
) -> None:
    of = planned(9, until_decided=until_decided)
    do(results, 1, ends=False)
    results.void_block(1, "broken off")
    planned_looks = UNTIL_DECIDED if until_decided else Looks(first=9)
    assert results.settle_looks(of) == planned_looks, "no block is complete"
    (results.folder / "looks.json").unlink()
    do(results, 1)
    do(results, 2)
    do(results, 3, ends=False)
    assert results.settle_looks(of) == Looks(first=2)


def test_the_end_of_the_time_is_said_once(results: Results) -> None:
    results.settle_looks(planned(until_decided=True))
    do(results, 1)
    assert results.end_looks(7) == results.looks() == replace(UNTIL_DECIDED, last=7)
    with pytest.raises(AssertionError):
        results.end_looks(9)
    with pytest.raises(AssertionError):
        results.keep_looks(replace(UNTIL_DECIDED, minutes_max=500.0))


def test_looks_of_a_newer_version_are_read_without_what_is_not_known(results: Results) -> None:
    found = results.settle_looks(planned())
    path = results.folder / "looks.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mood": "good"}))
    assert results.looks() == found


@pytest.mark.parametrize(
    ("text", "words"),
    [('{"first": 3', "is not JSON"), ('{"first": "3"}', "`first`: expected"), ("{}", "`first`")],
)
def test_damaged_looks_are_named_with_their_file(results: Results, text: str, words: str) -> None:
    (results.folder / "looks.json").write_text(text)
    with pytest.raises(ResultError) as error:
        results.looks()
    assert str(error.value).startswith(f"{results.folder}/looks.json: ")
    assert words in str(error.value)


def test_blocks_are_complete_up_to_the_first_that_is_missing(results: Results) -> None:
    assert (results.complete(), results.minutes()) == (0, ())
    for number in (1, 2, 4):
        do(results, number, minutes=number)
    do(results, 5, ends=False)
    assert results.complete() == 2
    assert results.minutes() == (1.0, 2.0, 4.0)
    do(results, 3, minutes=3)
    assert results.complete() == 4


def test_a_block_of_an_older_version_does_not_say_how_long_it_took(results: Results) -> None:
    do(results, 1)
    path = results.folder / "blocks/001/done.json"
    path.write_text('{"ended_unix_ns": 1}')
    with pytest.raises(ResultError, match=r"done\.json"):
        results.minutes()
