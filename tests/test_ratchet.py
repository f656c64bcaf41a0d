"""What is counted of untyped access, fragments and empty names, and that it may only fall."""

import ratchet

PLAIN = """
from dbdyno.model import Arm

def rate(step: Step, blocks: int) -> float:
    first, *_ = step.ticks
    return first.count / blocks
"""


def test_what_has_types_and_names_counts_nothing() -> None:
    assert ratchet.of_room([PLAIN]) == ratchet.of_room([])


def test_each_kind_is_counted_in_each_form() -> None:
    untyped = """
from dbdyno.model import Cell as Result

def rate(step: Json, role: dict[str, Any] | None, *, of: Mapping[str, object]) -> float:
    found = step["ticks"][0]["count"]
    step["seen"] = True
    for one in step.get("blocks", ()):
        found += _twice(one)
    return found + _again(1) + _again(2)

def _twice(its: int) -> int:
    'Twice as much.'
    return 2 * its

def _again(count: int) -> int:
    return count

class Told: ...
class WentHere: ...
class _Compared: ...
class Feed: ...
"""
    assert ratchet.repeated([untyped, PLAIN, "class Feed: ..."]) == {"Feed"}
    counted = ratchet.of_room([untyped], {"Feed"})
    assert counted == ratchet.Figures(
        accesses=3, dictionary_parameters=3, one_line_functions=1, nameless=4, renamed_classes=1,
        repeated_classes=1, no_nouns=3,
    )  # fmt: skip


def test_a_figure_that_rises_is_named_with_its_room_and_one_that_falls_is_not() -> None:
    kept = {"run": ratchet.Figures(2, 2, 2, 2, 2, 2, 2)}
    now = {"run": ratchet.Figures(1, 2, 3, 2, 2, 2, 2), "new": ratchet.Figures(0, 0, 0, 0, 1, 0, 1)}
    assert list(ratchet.above(now, kept)) == [
        "dbdyno/run: one line functions: 3, and 2 are kept",
        "dbdyno/new: renamed classes: 1, and 0 are kept",
        "dbdyno/new: no nouns: 1, and 0 are kept",
    ]
