"""Reads a TOML document into a pydantic form; what is wrong becomes one line.

The line names the file, the key and the remedy: ``FILE: key `arms.pg18.verison`: unknown key; did
you mean `version`?``. Plans and workload files are both read this way.
"""

import difflib
import re
import tomllib
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from dbdyno.model.error import DynoError

FormType = TypeVar("FormType", bound="Form")

WANTED = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a table",
    "model_type": "a table",
    "string_type": 'text in quotes ("…")',
    "tuple_type": "a list",
}
"""The meanings of pydantic's errors, in a reader's words."""
DOCUMENTS_MAX = 32
"""So many documents are kept: each arm and each check of a run reads a workload's again."""


class Form(BaseModel):
    """A table of a document as it was written: every key is known, no type is converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, populate_by_name=False, defer_build=True
    )


def text_of(path: Path, error: type[DynoError], what: str = "") -> str:
    """The text of a file. Raises `error`; `what` says as what it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        why = reason.strerror if isinstance(reason, OSError) else "no UTF-8 text: save it as UTF-8"
        raise error(f"{path}: cannot be read{what}: {why}") from None


def read(form: type[FormType], text: str, source: str, error: type[DynoError]) -> FormType:
    """The document `text` as a `form`; raises `error` with one line that begins with `source`."""
    try:
        document: FormType = _parsed(form, text)
    except tomllib.TOMLDecodeError as reason:
        raise error(f"{source}: not valid TOML: {_lower_first(str(reason))}") from None
    except ValidationError as reason:
        raise error(f"{source}: {_sentence(form, tomllib.loads(text), reason)}") from None
    return document


@lru_cache(maxsize=DOCUMENTS_MAX)
def _parsed(form: type[FormType], text: str) -> FormType:
    document = tomllib.loads(text)
    return form.model_validate(document)


WORDS_MAX = 20
"""So many known words are named; a line of 58 is not read."""


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """`did you mean `version`?` where a known word is near, else the words there are."""
    words = sorted(set(known))
    near = difflib.get_close_matches(wrong, words, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    if not words:
        return "there are none"
    more = len(words) - WORDS_MAX
    named = ", ".join(f"`{word}`" for word in (words if more <= 1 else words[:WORDS_MAX]))
    return f"there are {named}{f' and {more} more' if more > 1 else ''}"


def _sentence(form: type[Form], data: object, reason: ValidationError) -> str:
    """The most telling of pydantic's errors: the deepest one, as a union reports each branch."""
    errors = [(_path(data, error["loc"]), error) for error in reason.errors()]
    path, error = max(errors, key=lambda pair: (len(pair[0]), pair[1]["type"] != "extra_forbidden"))
    alike = [other for where, other in errors if where == path]
    if any(other["type"] == "extra_forbidden" for other in alike):
        known = (name for nearest in _forms(form, path[:-1]) for name in _fields(nearest))
        return f"key `{_key(path)}`: unknown key; {suggestion(str(path[-1]), known)}"
    if error["type"] == "missing":
        return f"key `{_key((*path, str(error['loc'][-1])))}`: missing"
    fields = [_fields(inner).get(str(path[-1])) for inner in _forms(form, path[:-1]) if path]
    return f"key `{_key(path)}`: {_complaint(alike, next(filter(None, fields), None))}"


def _complaint(errors: Sequence[Any], field: FieldInfo | None) -> str:
    """What a value must be: by its field's description, its words, its type or its range."""
    kinds, shown = [error["type"] for error in errors], _shown(errors[0]["input"])
    places = [] if field is None else [field, *_branches(field)]
    description = next(filter(None, (place.description for place in places)), None)
    wanted = list(dict.fromkeys(WANTED[error_type] for error_type in kinds if error_type in WANTED))
    if "value_error" in kinds:
        return str(errors[0]["ctx"]["error"])
    if "too_short" in kinds and not errors[0]["input"]:
        return f"is empty; name {description or 'at least one'}"
    if description is not None and not wanted:
        must, _, example = description.partition("; ")
        if "string_pattern_mismatch" in kinds:
            return f"{shown} is not {description}"
        return f"must be {must}, not {shown}" + (f"; {example}" if example else "")
    words = [error["ctx"]["expected"] for error in errors if error["type"] == "literal_error"]
    # None of a value in a table without names of its own: then pydantic says the limit.
    limits = [limit for place in places for limit in place.metadata]
    ends = any(hasattr(limit, "ge") for limit in limits)
    outside = bool({"greater_than_equal", "less_than_equal"} & {*kinds})
    ranges = [_range(limits)] if ends and outside else []
    if not words + wanted + ranges:
        return f"{_lower_first(errors[0]['msg'])}, not {shown}"
    must = " or ".join(words + wanted + ranges)
    known = re.findall("'([^']+)'", "".join(words))
    near = difflib.get_close_matches(str(errors[0]["input"]), known, n=1)
    return f"must be {must}, not {shown}" + (f"; did you mean `{near[0]}`?" if near else "")


def _branches(field: FieldInfo) -> Iterator[FieldInfo]:
    """The fields within a field's union, such as that of the number in `int | Literal["all"]`."""
    for branch in get_args(field.annotation):
        yield from (
            part for part in getattr(branch, "__metadata__", ()) if isinstance(part, FieldInfo)
        )


def _range(limits: Sequence[Any]) -> str:
    low = next(limit.ge for limit in limits if hasattr(limit, "ge"))
    high = next((limit.le for limit in limits if hasattr(limit, "le")), None)
    return f"{low:,} or more" if high is None else f"from {low:,} to {high:,}"


def _path(data: object, location: Sequence[int | str]) -> tuple[int | str, ...]:
    """Those parts of pydantic's location that are keys of the document (not names of types)."""
    path: list[int | str] = []
    here = data
    for part in location:
        if _has(here, part):
            here = here[part]  # type: ignore[index]
            path.append(part)
    return tuple(path)


def _has(here: object, part: int | str) -> bool:
    if isinstance(here, list):
        return isinstance(part, int) and part < len(here)
    return isinstance(here, dict) and part in here


def _key(path: Sequence[int | str]) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += f".{part}" if text else part
    return text


def _fields(form: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """The fields of a form by their keys."""
    return {field.alias or name: field for name, field in form.model_fields.items()}


def _forms(form: Any, path: Sequence[int | str]) -> Iterator[type[BaseModel]]:
    """The forms that a document of this kind can have at `path`."""
    if get_origin(form) is Annotated:
        yield from _forms(get_args(form)[0], path)
    elif get_origin(form) in (Union, types.UnionType):
        for branch in get_args(form):
            yield from _forms(branch, path)
    elif isinstance(form, type) and issubclass(form, BaseModel):
        inner = _fields(form).get(str(path[0])) if path else None
        if not path:
            yield form
        elif inner:
            yield from _forms(inner.annotation, path[1:])
    elif get_origin(form) in (dict, list, tuple) and path:
        yield from _forms(get_args(form)[1 if get_origin(form) is dict else 0], path[1:])


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else str(value).replace("True", "true")
    return text if len(text) <= 40 else text[:39] + "…"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
