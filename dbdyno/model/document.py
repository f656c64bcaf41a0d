"""Reads a TOML document into a pydantic form; what is wrong becomes one line.

The line names the file, the key and the remedy: ``FILE: key `arms.pg18.verison`: unknown key; did
you mean `version`?``. Plans and workload files are both read this way.
"""

from __future__ import annotations

import difflib
import tomllib
import types
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

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


class Form(BaseModel):
    """A table of a document as it was written: every key is known, no type is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


def read(form: type[FormType], text: str, source: str, error: type[DynoError]) -> FormType:
    """The document `text` as a `form`; raises `error` with one line that begins with `source`."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        raise error(f"{source}: not valid TOML: {_lower_first(str(reason))}") from None
    try:
        return form.model_validate(data)
    except ValidationError as reason:
        raise error(f"{source}: {_sentence(form, data, reason)}") from None


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """`did you mean `version`?` where a known word is near, else the words there are."""
    words = sorted(set(known))
    near = difflib.get_close_matches(wrong, words, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    if not words:
        return "there are none"
    return "there are " + ", ".join(f"`{word}`" for word in words)


def _sentence(form: type[Form], data: object, reason: ValidationError) -> str:
    """The most telling of pydantic's errors: the deepest one, as a union reports each branch."""
    found = [(_path(data, error["loc"]), error) for error in reason.errors()]
    path, error = max(found, key=lambda pair: (len(pair[0]), pair[1]["type"] != "extra_forbidden"))
    alike = [other for where, other in found if where == path]
    if any(other["type"] == "extra_forbidden" for other in alike):
        key = _key(path)
        return f"key `{key}`: unknown key; {suggestion(str(path[-1]), _known(form, path[:-1]))}"
    if error["type"] == "missing":
        return f"key `{_key((*path, str(error['loc'][-1])))}`: missing"
    return f"key `{_key(path)}`: {_complaint(alike)}"


def _complaint(errors: Sequence[Any]) -> str:
    wanted = list(dict.fromkeys(WANTED[e["type"]] for e in errors if e["type"] in WANTED))
    literal = [e["ctx"]["expected"] for e in errors if e["type"] == "literal_error"]
    if wanted or literal:
        return f"must be {' or '.join(literal + wanted)}, not {_shown(errors[0]['input'])}"
    if errors[0]["type"] == "value_error":
        return str(errors[0]["ctx"]["error"])
    return f"{_lower_first(errors[0]['msg'])}, not {_shown(errors[0]['input'])}"


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


def _known(kind: Any, path: Sequence[int | str]) -> set[str]:
    """The keys that the form has at `path`."""
    if get_origin(kind) is Annotated:
        return _known(get_args(kind)[0], path)
    if get_origin(kind) in (Union, types.UnionType):
        return set().union(*(_known(branch, path) for branch in get_args(kind)))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {field.alias or name: field for name, field in kind.model_fields.items()}
        if not path:
            return set(fields)
        inner = fields.get(str(path[0]))
        return _known(inner.annotation, path[1:]) if inner else set()
    if get_origin(kind) in (dict, list, tuple) and path:
        return _known(get_args(kind)[1 if get_origin(kind) is dict else 0], path[1:])
    return set()


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str) else str(value).replace("True", "true")
    return text if len(text) <= 40 else text[:39] + "…"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
