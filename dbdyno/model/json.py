"""The types of parsed JSON, and in words what does not fit them."""

import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

Json = dict[str, Any]
Value = TypeVar("Value")
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""A whole number that is not negative and that 64 bits hold, as counts and times are."""
Positive = Annotated[float, msgspec.Meta(gt=0)]
"""A number above 0, as a rate that is asked for."""
_MISSING = re.compile(r"Object missing required field `([^`]+)`(?: - at `\$\.?([^`]*)`)?")
_WRONG = re.compile(r"(.+?)(?: - at `\$\.?([^`]*)`)?")


def plain(value: object) -> Any:
    """A Struct, dataclass or dict as JSON has it. Raises TypeError where a part cannot be said."""
    return msgspec.to_builtins(value, enc_hook=_path_text)


def turned(value: object, form: type[Value]) -> Value:
    """A Struct or dataclass as another type has it, of whose keys it has those without default."""
    return msgspec.convert(plain(value), form, dec_hook=_path)


def encoder() -> msgspec.json.Encoder:
    """Writes Structs, dataclasses and dicts, which may hold paths, as JSON."""
    return msgspec.json.Encoder(enc_hook=_path_text)


def decoder(form: Any) -> msgspec.json.Decoder[Any]:
    """Reads a type from JSON. What it reads equals what `encoder` wrote."""
    return msgspec.json.Decoder(form, dec_hook=_path)


def _path_text(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _path(form: type[object], value: Any) -> Any:
    if form is object:
        return value
    if form is Path:
        return Path(value)
    raise TypeError(f"{form.__name__} cannot be read from JSON")


def always(default: Value) -> Value:
    """A default for what older files lack, written all the same in Structs that omit defaults."""
    return msgspec.field(default_factory=lambda: default)


def misfit_words(error: msgspec.ValidationError) -> str:
    """Which key does not fit its type, and why: ``the key `stop.seconds` is missing``."""
    text = str(error)
    if match := _MISSING.fullmatch(text):
        key, path = match.groups()
        return f"the key `{path}.{key}` is missing" if path else f"the key `{key}` is missing"
    match = _WRONG.fullmatch(text)
    assert match is not None, "it fits anything"
    words, path = match.groups()
    words = words[0].lower() + words[1:]
    return f"the key `{path}`: {words}" if path else words
