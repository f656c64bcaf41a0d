"""The rights that steps need, on any engine, and those that a user lacks."""

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
"""The rights of a step that not every user has."""


Shapes = tuple[tuple[re.Pattern[str], Need], ...]
"""How an engine's statements look that need something."""


def needed(sql: str, shapes: Shapes) -> Need | None:
    """The right that a statement needs, by its shape; None: every user may run it."""
    return next((need for shape, need in shapes if shape.match(sql)), None)


@dataclass(frozen=True, kw_only=True)
class UnmetNeed:
    """A need that the server's user does not meet."""

    what: str  # the user may not do, in words after its name
    mend: str  # what whoever administers the server does about it
