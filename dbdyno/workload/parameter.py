"""The parameters of a workload: the file's defaults, with a plan's values in their place."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.error import WorkloadError
from dbdyno.workload.document import suggestion
from dbdyno.workload.expression import ExpressionError, Value, names_of, resolve

RESERVED = ("t", "number", "max", "min", "round", "ceil", "floor")


def values(
    defaults: Mapping[str, Value], given: Mapping[str, Value], source: str
) -> dict[str, Value]:
    """Every parameter's value. Defaults may be computed from other parameters."""
    for name in defaults:
        if name in RESERVED or not name.isidentifier():
            raise _error(source, name, "cannot be used as a parameter's name; take another word")
    for name, value in given.items():
        if name not in defaults:
            raise _error(source, name, f"no such parameter; {suggestion(name, defaults)}")
        _check_kind(source, name, defaults[name], value)
    written = {**defaults, **given}
    done: dict[str, Value] = {}
    for name in written:
        _compute(name, written, done, (), source)
    return done


def _compute(
    name: str,
    written: Mapping[str, Value],
    done: dict[str, Value],
    above: tuple[str, ...],
    source: str,
) -> None:
    """Computes one parameter into `done`, those that it needs first."""
    if name in done:
        return
    if name in above:
        raise _error(source, name, "is computed from itself: " + " → ".join((*above, name)))
    value = written[name]
    items = value if isinstance(value, list) else [value]
    for needed in {n for item in items if isinstance(item, str) for n in names_of(item)}:
        if needed in written:
            _compute(needed, written, done, (*above, name), source)
    try:
        done[name] = resolve(value, done)
    except ExpressionError as reason:
        raise _error(source, name, str(reason)) from None


def _check_kind(source: str, name: str, default: Value, value: Value) -> None:
    """A list stays a list, a number a number; a text that is no expression stays a text."""
    if isinstance(default, list) != isinstance(value, list):
        wanted = "a list, such as [100, 500]" if isinstance(default, list) else "one value, no list"
        raise _error(source, name, f"must be {wanted}")
    textual = isinstance(default, str) and "{" not in default
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool) or not isinstance(item, (int, float, str)):
            raise _error(source, name, f"must be a number, not {item}")
        computed = isinstance(item, str) and "{" in item
        if not computed and not isinstance(default, list) and isinstance(item, str) != textual:
            raise _error(source, name, f"must be {'text' if textual else 'a number'}, not {item!r}")


def _error(source: str, name: str, sentence: str) -> WorkloadError:
    return WorkloadError(f"{source}: key `parameters.{name}`: {sentence}")
