"""Blocks that are taken as independent, for tests of what else judging does.

What dependence does to words is tested in test_dependence.py.
"""

from collections.abc import Iterator

import pytest

from dbdyno.stats import dependence


@pytest.fixture(scope="module")
def independent_blocks() -> Iterator[None]:
    """No kind of dependence is considered in the module's tests."""
    yield from _independent()


@pytest.fixture
def independent_here() -> Iterator[None]:
    """Nor in one test alone."""
    yield from _independent()


def _independent() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dependence, "KINDS", (dependence.DependenceKind(weight=1.0),))
        yield
