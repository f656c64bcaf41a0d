"""Which results can be pooled: the number of how dyno measures figures, and what changed it.

CHANGELOG.md marks the same changes as "(figures 2)". Raise FIGURES with a change after which a
block does not compare with one of before, and say in CHANGES what changed.
"""

from __future__ import annotations

from collections.abc import Mapping

CHANGES: Mapping[int, str] = {2: "operations count where they begin, not where they end"}
"""By number: what was measured otherwise before."""
FIRST = 1
"""The number of blocks that name none."""
FIGURES = max(CHANGES)
"""The number of this version; each block's order.json has it."""


def changes_since(number: int) -> tuple[str, ...]:
    """What dyno measures otherwise since blocks of this number."""
    return tuple(words for since, words in sorted(CHANGES.items()) if since > number)
