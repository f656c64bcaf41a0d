"""What the pilot leaves in a result folder: sizing.json, what blocks took, which steps they do."""

from pathlib import Path

import pytest

import result_builder
from dbdyno import store
from dbdyno.model import Block
from dbdyno.model.error import ResultError
from dbdyno.model.verdict import Sized, Sizing
from dbdyno.store import Results, Took

SIZED = Sized(
    workload="w", step="one", sd={"qps": 0.02}, blocks=5, power=0.8, capped=False
)  # fmt: skip
SIZING = Sizing(pilot=3, fresh=5, steps=(SIZED,), minutes=7.5)


@pytest.fixture(name="results")
def _results(tmp_path: Path) -> Results:
    plan = result_builder.make_plan("example", ("pg17", "pg18"), 3)
    return Results.open_or_create(tmp_path, plan, result_builder.plan_json(plan))


def block(number: int, **steps: tuple[str, ...]) -> Block:
    return Block(number=number, order=("pg17", "pg18"), seed=1, steps=steps or None)


def test_a_sizing_comes_back_as_it_was_kept(results: Results) -> None:
    assert results.sizing() is None
    results.keep_sizing(SIZING)
    assert results.sizing() == SIZING


def test_a_sizing_of_a_newer_version_is_read_without_what_is_not_known(results: Results) -> None:
    results.keep_sizing(SIZING)
    path = results.folder / "sizing.json"
    written = store.read_json(path)
    written["steps"][0]["mood"] = written["mood"] = "good"
    store.write_json(path, written)
    assert results.sizing() == SIZING


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty; restore it from a copy"),
        ('{"pilot": 3', "is not JSON"),
        ('{"pilot": 3, "fresh": "5", "minutes": 1, "steps": []}', "`fresh` is '5'"),
        (
            '{"pilot": 3, "fresh": 5, "minutes": 1, "steps": [{"workload": "w"}]}',
            "the key `steps[0].step` is missing",
        ),
    ],
)
def test_a_damaged_sizing_is_named_with_its_file(results: Results, text: str, words: str) -> None:
    (results.folder / "sizing.json").write_text(text)
    with pytest.raises(ResultError) as error:
        results.sizing()
    assert str(error.value).startswith(f"{results.folder}/sizing.json: ")
    assert words in str(error.value)


def test_a_block_says_which_steps_it_does_and_none_where_it_does_all(results: Results) -> None:
    results.begin_block(block(1))
    results.begin_block(block(2, w=("fill", "one"), v=()))
    found = [one.steps() for one in results.blocks()]
    assert found == [None, {"w": ("fill", "one"), "v": ()}]
    results.void_block(2, "swap")
    assert results.blocks()[1].steps() == {"w": ("fill", "one"), "v": ()}


def test_an_older_order_without_steps_is_of_all_of_them(results: Results) -> None:
    path = results.begin_block(block(1)) / "order.json"
    written = store.read_json(path)
    del written["steps"]
    store.write_json(path, written)
    (found,) = results.blocks()
    assert found.damage() is None
    assert found.steps() is None


def test_an_order_with_steps_of_another_form_is_damaged(results: Results) -> None:
    path = results.begin_block(block(1)) / "order.json"
    store.write_json(path, store.read_json(path) | {"steps": {"w": "one"}})
    assert "`steps.w` is no list" in (results.blocks()[0].damage() or "")


def test_a_complete_block_says_what_it_took_and_an_older_one_says_nothing(results: Results) -> None:
    took = Took(took_s=12.5, steps_s={"w": {"one": 3.5}})
    for number in (1, 2, 3):
        results.begin_block(block(number))
    results.end_block(1, took)
    results.end_block(2)
    assert [one.took() for one in results.blocks()] == [took, None, None]
