"""What a value read from JSON has to look like, and where it does not, in words.

A form is a type, `None`, a tuple of forms of which one has to fit, a list of one form for all
items, or a dict: forms by key, a key that may be missing with `?`, and `*` for all other keys.
Keys that no form names are let through: a newer version may have more to say.
"""

from __future__ import annotations

from typing import Any

Form = Any
"""One of those above."""
NUMBER = (int, float)
NATURAL_MAX = 2**63 - 1


class _Natural(type):
    def __instancecheck__(cls, value: object) -> bool:
        return type(value) is int and 0 <= value <= NATURAL_MAX


class Natural(metaclass=_Natural):
    """A whole number that is not negative and that 64 bits hold, as counts and times are."""


def misfit(value: Any, form: Form) -> str | None:
    """Where a value is not of the form, in words; None where it is."""
    wrong = _misfit(value, form)
    if wrong is None:
        return None
    path, words = wrong
    where = path.removeprefix(".")
    return words.format(f"`{where}` " if where else "", where=where)


def _misfit(value: Any, form: Form) -> tuple[str, str] | None:
    """The place, and what is wrong there; places are put together only where something is."""
    if isinstance(form, dict):
        return _of_object(value, form)
    if isinstance(form, list):
        return _of_list(value, form[0])
    if isinstance(form, tuple):
        return _of_several(value, form)
    fits = value is None if form is None else isinstance(value, form)
    return None if fits else ("", "{}is " + _short(value))


def _is_one(value: Any, forms: tuple[Form, ...]) -> bool:
    """Whether the value is of a type among the forms: nearly all are, and need no words."""
    for form in forms:
        if value is None if form is None else isinstance(form, type) and isinstance(value, form):
            return True
    return False


def _of_several(value: Any, forms: tuple[Form, ...]) -> tuple[str, str] | None:
    if _is_one(value, forms):
        return None
    wrong: tuple[str, str] | None = None
    for form in forms:
        wrong = _misfit(value, form)
        if wrong is None:
            return None
    return wrong


def _of_object(value: Any, form: dict[str, Form]) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return "", "{}is no object"
    for key, inner in form.items():
        if key == "*":
            is_type = isinstance(inner, type)
            for name, item in value.items():
                if is_type and isinstance(item, inner):
                    continue
                if wrong := _misfit(item, inner):
                    return f".{name}{wrong[0]}", wrong[1]
            continue
        name = key[:-1] if key[-1] == "?" else key
        if name not in value:
            if name == key:
                return f".{name}", "the key `{where}` is missing"
        elif isinstance(inner, type) and isinstance(value[name], inner):
            continue
        elif wrong := _misfit(value[name], inner):
            return f".{name}{wrong[0]}", wrong[1]
    return None


def _of_list(value: Any, form: Form) -> tuple[str, str] | None:
    if not isinstance(value, list):
        return "", "{}is no list"
    for place, item in enumerate(value):
        if wrong := _misfit(item, form):
            return f"[{place}]{wrong[0]}", wrong[1]
    return None


def _short(value: Any) -> str:
    text = repr(value)
    short = text if len(text) <= 40 else f"{text[:40]}…"
    return short.replace("{", "{{").replace("}", "}}")
