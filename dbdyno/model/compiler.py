"""What a compiler's flags say of what it makes."""

from __future__ import annotations

import re

LEVEL = re.compile(r"(?:^|\s)-O(\w*)")


def for_size(flags: str | None) -> bool:
    """Whether a compiler with these flags makes code small, not fast.

    Of several -O the last one counts (gcc's manual, "Options That Control Optimization").
    """
    levels = LEVEL.findall(flags or "")
    return bool(levels) and levels[-1] in ("s", "z")
