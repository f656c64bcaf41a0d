"""Frozen dataclasses as plain JSON values and back, by their fields' types.

Every field is taken, whatever it is called: a field that is added to a type is carried without a
word here, and a type that cannot be carried is refused when it is first met.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from dbdyno.analysis.step.compact_series import PackedSeries
from dbdyno.analysis.step.compact_stacks import PackedStacks
from dbdyno.model import Series
from dbdyno.model.profile import Stack

SCALARS = (str, int, float, bool, types.NoneType)

Made = TypeVar("Made")
Maker = Callable[[Any], Any]


def to_plain(value: Any) -> Any:
    """A value as dicts, lists and scalars; series and call stacks in their packed forms."""
    if type(value) in SCALARS:
        return value
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, PackedSeries | PackedStacks):
        return value.plain
    if isinstance(value, Mapping):
        return {key: to_plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(inner) for inner in value]
    raise TypeError(f"{type(value)} is no plain value")


def from_plain(kind: type[Made], value: Any) -> Made:
    """The value that `to_plain` was given, of the type `kind`.

    Raises KeyError, TypeError, ValueError or AttributeError for a value of another form.
    """
    hint: Any = kind
    made: Made = _maker(hint)(value)
    return made


@cache
def _maker(hint: Any) -> Maker:
    """Makes a value of a type from its plain form."""
    if hint == Mapping[str, Series]:
        return PackedSeries
    if hint == Mapping[Stack, int]:
        return PackedStacks
    if is_dataclass(hint):
        return _dataclass_maker(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _optional_maker(hint, arguments)
    if origin is tuple:
        return _tuple_maker(hint, arguments)
    if origin is Mapping and arguments[0] is str:
        inner = _maker(arguments[1])
        if inner is _same:
            return dict
        return lambda value: {key: inner(one) for key, one in value.items()}
    if hint in SCALARS or origin is Literal:
        return _same
    raise TypeError(f"a field of the type {hint} cannot be carried as JSON")


def _same(value: Any) -> Any:
    return value


def _dataclass_maker(kind: Any) -> Maker:
    hints = get_type_hints(kind)
    makers = {field.name: _maker(hints[field.name]) for field in fields(kind)}
    others = [(name, maker) for name, maker in makers.items() if maker is not _same]

    def make(value: Any) -> Any:
        if len(value) != len(makers):
            raise ValueError(f"{kind.__name__} has {len(makers)} fields, not {len(value)}")
        if not others:
            return kind(**value)
        return kind(**value | {name: maker(value[name]) for name, maker in others})

    return make


def _optional_maker(hint: Any, arguments: tuple[Any, ...]) -> Maker:
    """Of `X | None`, and of several scalars."""
    makers = {_maker(argument) for argument in arguments if argument is not types.NoneType}
    if makers == {_same}:
        return _same
    if len(makers) != 1 or types.NoneType not in arguments:
        raise TypeError(f"a field of the type {hint} cannot be carried as JSON")
    (inner,) = makers
    return lambda value: None if value is None else inner(value)


def _tuple_maker(hint: Any, arguments: tuple[Any, ...]) -> Maker:
    if len(arguments) != 2 or arguments[1] is not Ellipsis:
        raise TypeError(f"a field of the type {hint} cannot be carried as JSON")
    inner = _maker(arguments[0])
    return tuple if inner is _same else lambda value: tuple(map(inner, value))
