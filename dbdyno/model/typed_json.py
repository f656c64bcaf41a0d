"""Values of our own types as JSON and back, for another process or host of the same version.

What comes back equals what was written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec


def packed(value: object) -> Any:
    """A value as JSON has it, lists for tuples. Raises TypeError where a part cannot be sent."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_plain))


def unpacked(form: Any, written: object) -> Any:
    """The value of a type that `packed` wrote. Raises ValueError where it is something else."""
    return msgspec.convert(written, form, dec_hook=_typed)


def _plain(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _typed(form: type[object], written: str) -> Path:
    if form is Path:
        return Path(written)
    raise TypeError(f"{form.__name__} cannot be sent")
