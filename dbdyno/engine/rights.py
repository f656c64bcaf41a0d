"""Rights that steps need of a server's user, of any engine, and what is lacking of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Need = Literal[
    "tables",  # make tables, and fill and drop them
    "load",  # the engine's bulk load
    "checkpoint",  # make a checkpoint, or what serves for it
    "settings",  # change the server's settings
    "logs",  # remove the server's logs
    "warm",  # read relations into the server's cache
]
"""The demands of a step beyond what everybody may do."""


Shapes = tuple[tuple[re.Pattern[str], Need], ...]
"""How an engine's statements look that need something."""


def needed(sql: str, shapes: Shapes) -> Need | None:
    """What a statement needs by the first shape that it has; None: what everybody may do."""
    return next((need for shape, need in shapes if shape.match(sql)), None)


@dataclass(frozen=True, kw_only=True)
class Lack:
    """A need that the server's user does not meet."""

    what: str  # the user may not do, in words after its name
    mend: str  # what whoever administers the server does about it
