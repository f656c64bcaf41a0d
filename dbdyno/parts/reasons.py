"""Reasons that several findings share, which are said once."""

from collections.abc import Sequence

BETWEEN = "; "


def once(reasons: Sequence[str]) -> tuple[str, list[str]]:
    """What all reasons have in common, and what each has beside it; empty ones have no reason."""
    parts = [reason.split(BETWEEN) if reason else [] for reason in reasons]
    given = [each for each in parts if each]
    common = [part for part in given[0] if all(part in each for each in given)] if given[1:] else []
    own = [BETWEEN.join(part for part in each if part not in common) for each in parts]
    return BETWEEN.join(common), own
