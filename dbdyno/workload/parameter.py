"""The parameters of a workload: the file's defaults, and what is put in their place.

A set of steps has parameters of its own, a preset goes before them, and a plan's go before all.
"""

from collections.abc import Mapping

from dbdyno.model.document import suggestion
from dbdyno.model.engine import Traits
from dbdyno.model.error import WorkloadError
from dbdyno.workload.expression import (
    FUNCTIONS,
    WORDS,
    ExpressionError,
    Value,
    is_text,
    names_of,
    resolve,
)
from dbdyno.workload.file import Workload
from dbdyno.workload.scope import TURN

HOST = ("host_cores", "host_memory_gb")
"""The machine's size, which expressions know where the caller gives it; 1 GB = 2^30 bytes."""
CLIENTS = "clients"
"""The parameter that says how many clients work at once; what is shared out among them divides by
it."""
ENGINE = "engine"
"""The name by which expressions know the engine: "postgres", "mysql" or "mariadb"."""
RESERVED = (*("t", "number", TURN, ENGINE), *HOST, *FUNCTIONS, *WORDS)


def host(cores: float, memory_bytes: float) -> dict[str, Value]:
    """The parameters that say how large the machine is; a plan's own go before them."""
    return dict(zip(HOST, (cores, memory_bytes / (1 << 30)), strict=True))


def of(workload: Workload, given: Mapping[str, Value], engine: Traits) -> dict[str, Value]:
    """Every parameter's value for the workload's set and preset, with a plan's values.

    `engine` is among them, as defaults and SQL can depend on it. Raises WorkloadError.
    """
    layers: dict[str, Mapping[str, Value]] = {}
    if workload.set is not None and workload.set in workload.file.sets:
        layers[f"sets.{workload.set}.parameters"] = workload.file.sets[workload.set].parameters
    if workload.preset is not None:
        layers[f"presets.{workload.preset}"] = workload.file.presets[workload.preset]
    layers["parameters"] = given
    done = values(workload.file.parameters, layers, workload.source, {ENGINE: engine.sql[0]})
    for sentence, written in workload.file.checks.items():
        _check(sentence, written, done, workload.source)
    return done


def _check(sentence: str, written: Value, names: Mapping[str, Value], source: str) -> None:
    """Refuses parameters for which what the file says of them does not hold."""
    try:
        holds = resolve(written, names)
    except ExpressionError as reason:
        raise _error(source, "checks", str(reason)) from None
    if not holds:
        used = sorted(names_of(str(written)))
        values = " and ".join(f"`{name}` is {names[name]!r}" for name in used)
        raise _error(source, "checks", f"{sentence}, but {values}")


def values(
    defaults: Mapping[str, Value],
    layers: Mapping[str, Mapping[str, Value]],
    source: str,
    known: Mapping[str, Value],
) -> dict[str, Value]:
    """Every parameter's value; a later layer (by the key it stands under) goes before an earlier.

    Defaults may be computed from other parameters, and from what is `known` beside them.
    """
    for name in defaults:
        if name in RESERVED or not name.isidentifier():
            sentence = "cannot be used as a parameter's name; use another word"
            raise _error(source, f"parameters.{name}", sentence)
    written = dict(defaults)
    for key, layer in layers.items():
        for name, value in layer.items():
            place = f"{key}.{name}"
            if name in HOST and key == "parameters":
                _check_kind(source, place, 1, value)
            elif name not in defaults:
                remedy = suggestion(name, defaults)
                raise _error(source, place, f"no such parameter; {remedy}")
            else:
                _check_kind(source, place, defaults[name], value)
        written |= layer
    done: dict[str, Value] = dict(known)
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
        raise _error(
            source, f"parameters.{name}", "is computed from itself: " + " → ".join((*above, name))
        )
    value = written[name]
    items = value if isinstance(value, list) else [value]
    for needed in {n for item in items if isinstance(item, str) for n in names_of(item)}:
        if needed in written:
            _compute(needed, written, done, (*above, name), source)
    try:
        done[name] = resolve(value, done)
    except ExpressionError as reason:
        raise _error(source, f"parameters.{name}", str(reason)) from None
    computed = done[name]
    if name == CLIENTS and isinstance(computed, (int, float)) and computed < 1:
        sentence = f"must be at least 1, but is {computed}: write how many work at once"
        raise _error(source, f"parameters.{name}", sentence)


def _check_kind(source: str, key: str, default: Value, value: Value) -> None:
    """A list stays a list, a number a number; a text that is no expression stays a text."""
    if isinstance(default, list) != isinstance(value, list):
        wanted = "a list, such as [100, 500]" if isinstance(default, list) else "one value, no list"
        raise _error(source, key, f"must be {wanted}")
    textual = isinstance(default, str) and is_text(default)
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool) or not isinstance(item, (int, float, str)):
            raise _error(source, key, f"must be a number, not {item}")
        computed = isinstance(item, str) and "{" in item
        if not computed and not isinstance(default, list) and isinstance(item, str) != textual:
            raise _error(source, key, f"must be {'text' if textual else 'a number'}, not {item!r}")


def _error(source: str, key: str, sentence: str) -> WorkloadError:
    return WorkloadError(f"{source}: key `{key}`: {sentence}")
