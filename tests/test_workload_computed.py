"""Values that expressions make of others, and joined texts: proofs, refusals, the same numbers."""

import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.model.error import WorkloadError
from dbdyno.workload.computed import evaluate
from workload_reader import SMALL, complaint, job_of, steps

OTHERS = """b = { uniform = [-3, 4] }
c = { uniform = [1, 5] }
d = { text = { length = [1, 2] } }
s = { sequence = { first = 1 }, per = "statement" }
BIG
"""
BIG = "big = { uniform = [-9_223_372_036_854_775_808, 9_223_372_036_854_775_807] }"


def text_with(maker: str) -> str:
    """The small workload with `a` made so."""
    others = OTHERS.replace("BIG", BIG)
    text = SMALL.replace('a = { uniform = [1, "{n}"] }', f"a = {{ {maker} }}\n{others}")
    assert text != SMALL
    return text


@pytest.mark.parametrize(
    ("maker", "line"),
    [
        ("compute = ':b / :b'", "compute`: `:b / :b` can divide by zero; use greatest(…, 1)"),
        ("compute = ':c % :b'", "`: `:c % :b` can divide by zero"),
        ("compute = ':big + 1'", "`: `:big + 1` can leave the 64 bits of a number; bound"),
        ("compute = ':big << 1'", None),
        ("compute = ':c << 62'", "can leave the 64 bits"),
        ("compute = 'sqrt(:c)'", "`: `sqrt` is for scripts alone; compute with whole numbers"),
        ("compute = '1.5 * :c'", "`: `double` is for scripts alone; use whole numbers"),
        ("compute = 'random(1, :c)'", "`: `random` is for scripts alone"),
        ("compute = 'CASE WHEN :b > 0 THEN 1 END'", "`: `null` is for scripts alone"),
        ("compute = 'CASE WHEN :b THEN 1 ELSE 2 END'", "takes true or false"),
        ("compute = ':b + (:c > 1)'", "`add` in `:b + (:c > 1)` takes numbers"),
        ("compute = ':b > 1'", "`: is true or false; write `CASE WHEN … THEN 1 ELSE 0 END`"),
        ("compute = 'hash_fnv1a(:b)'", "`: give the hash its seed, as in `hash_fnv1a(:n, 0)`"),
        ("compute = ':nobody'", "no value `nobody`"),
        ("compute = ':row'", "no value `:row`"),
        ("compute = ':d'", "nothing can be computed from `d`, which is a text"),
        ("compute = ':a'", "is computed from itself"),
        ("compute = ':b', per = 'transaction'", "is drawn once per transaction, but `b` more"),
        ("join = ['x', { of = ['y'], compute = ':d' }]", "nothing can be computed from `d`"),
        ("join = ['x', { compute = ':b / 0' }]", "join[1].compute`: `:b / 0` can divide by"),
        ("join = [':nobody']", "no value `nobody`"),
    ],
)  # fmt: skip
def test_what_might_not_be_computed_gets_one_line(maker: str, line: str | None, tmp_path: Path):
    if line is None:
        steps(text_with(maker), tmp_path)
    else:
        assert line in complaint(text_with(maker), tmp_path)


def test_a_wrong_expression_is_shown_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError) as raised:
        steps(text_with("compute = ':b + + '"), tmp_path)
    line, *shown = str(raised.value).splitlines()
    assert line.endswith("w.toml: key `values.a.compute`:1:8: syntax error: end of line in place "
                         "of a value")  # fmt: skip
    assert shown == [":b + + ", "       ^"]


FORMS = (":b + :c", ":b - :c", ":b * :c", ":b / :c", ":b % :c", "mod(:b, :c)", "-:b", "abs(:b)")
MORE = (
    *(":c & 3", ":c | 8", ":c # 5", "~:b", ":c << 3", ":c >> 1", "greatest(:b, :c, 2)"),
    *("least(:b, :c)", "CASE WHEN :b < 0 AND NOT :c = 2 OR :b >= 3 THEN :c ELSE :b - 9 END"),
    *("abs(hash_fnv1a(:b, 0)) % 7", "(hash_murmur2(:c, 3) # :b) % 11", "(:b * 100 + :c) / -7"),
)


@pytest.mark.parametrize("text", [*FORMS, *MORE])
def test_the_range_of_an_expression_holds_all_that_it_can_be(text: str, tmp_path: Path) -> None:
    (step,) = steps(text_with(f"compute = '{text}'"), tmp_path)
    values = job_of(step)["values"]
    numbers = {value["name"]: number for number, value in enumerate(values)}
    computed = values[numbers["a"]]["compute"]
    low, high = computed["range"]
    inverse = {number: name for name, number in numbers.items()}
    seen = set()
    for b, c in product(range(-3, 5), range(1, 6)):
        drawn = {"b": b, "c": c}
        seen.add(evaluate(computed["expression"], lambda at, of=drawn: of[inverse[at]]))  # type: ignore[misc]
    assert low <= min(seen) and max(seen) <= high
    if text in FORMS:
        assert (min(seen), max(seen)) == (low, high), "as narrow as can be"


def test_hashes_are_those_of_pgbench() -> None:
    """Its documentation, "Built-in Functions", shows both of the number 10 and the seed 5432."""
    tree = [["integer", 10], ["integer", 5432]]
    assert evaluate(["hash_fnv1a", *tree], int) == -7793829335365542153
    assert evaluate(["hash_murmur2", *tree], int) == -5817877081768721676


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_quotients_are_cut_towards_zero_as_in_c(first: int, second: int) -> None:
    if second == 0:
        return
    pair = [["integer", first], ["integer", second]]
    quotient, rest = evaluate(["divide", *pair], int), evaluate(["remainder", *pair], int)
    assert quotient * second + rest == first
    assert abs(rest) < abs(second)
    assert rest == 0 or (rest < 0) == (first < 0)


def test_a_joined_text_is_explained_as_a_run_could_send_it(tmp_path: Path) -> None:
    maker = (
        "join = [\"it's \", { of = ['x', 'y'], compute = ':c' }, ':d', { compute = ':c * 100' }]"
    )
    text = text_with(maker).replace("any = ", "mysql = ")
    (step,) = steps(text, tmp_path, engine="mysql")
    (explained,) = (sql for sql in step.explain.values() if "it" in sql)
    assert re.search(r"'it''s ya300'", explained), explained
