"""Each capability has a test on a real server in `make test`: the tests say themselves which."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SHIPPED = TESTS.parent / "dbdyno" / "workload" / "shipped"
CAPABILITIES = (
    "race", "count", "gate", "bisect", "attribute", "capture", "restore", "own queries", "plans",
    "watch", "serve", "export", "hosts",
)  # fmt: skip
"""What `make test` promises of every change (STYLE.md)."""
AS_MARKED = {"insert-benchmark": "insert benchmark"}
"""Workloads that marks call otherwise."""
LIVE, MARK = "pytest.mark.live", "pytest.mark.capability"
KEPT_OUT = ("pytest.mark.long", "pytest.mark.soak")
"""Marks of what `make test` leaves to others."""


def marks(node: ast.AST) -> Iterator[ast.expr]:
    """The marks of a decorator or of `pytestmark`."""
    listed = node.elts if isinstance(node, ast.List) else [node]
    yield from (one for one in listed if isinstance(one, ast.expr))


def named(mark: ast.expr) -> str:
    """A mark without its arguments."""
    return ast.unparse(mark.func if isinstance(mark, ast.Call) else mark)


def capabilities_of(text: str) -> Iterator[tuple[str, str]]:
    """Each test that is one of a capability, with that capability. Checks that it runs."""
    module = ast.parse(text)
    assigned = [one for one in module.body if isinstance(one, ast.Assign)]
    everywhere = [
        mark
        for one in assigned
        if ast.unparse(one.targets[0]) == "pytestmark"
        for mark in marks(one.value)
    ]
    for test in module.body:
        if not isinstance(test, ast.FunctionDef):
            continue
        own = [*everywhere, *(mark for one in test.decorator_list for mark in marks(one))]
        names = {named(mark) for mark in own}
        for mark in own:
            if named(mark) == MARK:
                assert isinstance(mark, ast.Call), f"{test.name}: a capability without its name"
                assert LIVE in names, f"{test.name}: has a capability and needs no server"
                assert not names & {*KEPT_OUT}, f"{test.name}: has a capability and does not run"
                yield test.name, ast.literal_eval(mark.args[0])


def test_each_capability_and_each_shipped_workload_has_a_test_in_make_test() -> None:
    found = {
        capability
        for path in TESTS.glob("test_*.py")
        if MARK in (text := path.read_text())
        for _, capability in capabilities_of(text)
    }
    workloads = {AS_MARKED.get(path.stem, path.stem) for path in SHIPPED.glob("*.toml")}
    assert len(workloads) > 5
    assert {*CAPABILITIES, *workloads} - found == set()


@pytest.mark.parametrize(
    ("marked", "said"),
    [
        ('@pytest.mark.capability("race")', "needs no server"),
        ('@pytest.mark.live\n@pytest.mark.capability("race")\n@pytest.mark.long', "does not run"),
        ("@pytest.mark.live\n@pytest.mark.capability", "without its name"),
    ],
)
def test_a_capability_that_would_not_run_is_told(marked: str, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        list(capabilities_of(f"{marked}\ndef test_x(): pass\n"))
