"""Values of our own types as JSON and back, for another process or host of the same version.

What comes back equals what was written.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dbdyno.model.json import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def packed(value: object, form: Any = None) -> Json:
    """A value as JSON; `form`: its type, where that says more than its class, as a tuple's does."""
    its: Any = type(value) if form is None else form
    found: Json = _adapter(its).dump_python(value, mode="json")
    return found


def unpacked(form: Any, written: Any) -> Any:
    """The value of a type that `packed` wrote. Raises ValueError where it is something else."""
    return _adapter(form).validate_python(written)


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    """Made once for each type: making one takes milliseconds."""
    # Commands that send nothing do without the third of a second that pydantic takes.
    from pydantic import TypeAdapter

    return TypeAdapter(form)
