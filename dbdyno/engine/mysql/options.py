"""Knows the options that a version of MySQL or MariaDB accepts, and how they are written.

Facts about releases stand in options.toml beside the presets, for presets and for the lab's own
options alike. Other options are left to the server itself, which is asked before a start
(settings.py).
"""

from collections.abc import Mapping

from dbdyno.builds import Build
from dbdyno.engine.mysql import flavour
from dbdyno.engine.mysql.flavour import since
from dbdyno.engine.preset import files
from dbdyno.model import engine, version
from dbdyno.model.error import PlanError

OFF = frozenset({"off", "0", "false", "no"})
ON = frozenset({"on", "1", "true", "yes"})
SWITCHES = {"on": "1", "off": "0"}
NEEDS_QUOTES = frozenset("#;'\"\\")
LOOSE = "loose_"


def canonical(name: str) -> str:
    """An option's name as this module writes it: `loose-Foo-Bar` becomes `foo_bar`."""
    return name.lower().replace("-", "_").removeprefix(LOOSE)


def is_loose(name: str) -> bool:
    """Whether a name is written so that a build which lacks the option passes over it."""
    return name.lower().replace("-", "_").startswith(LOOSE)


def fit(values: Mapping[str, str], build: Build) -> tuple[dict[str, str], list[str]]:
    """The options that the version knows, and a sentence for each of the others.

    An option that builds of one version may lack is written so that the server itself passes over
    it; what became of it is seen when the server is asked for its values.
    """
    loose = files.options(build.engine).get("builds", {}).get("names", ())
    kept, left_out = {}, []
    for name, value in values.items():
        reason = why_not(name, build)
        if reason is not None:
            left_out.append(f"{name} = {value} is left out: {reason}")
        else:
            kept[LOOSE + name if name in loose else name] = value
    return kept, left_out


def why_not(name: str, build: Build) -> str | None:
    """Why a version has no such option; None where it has one, or where nothing is known of it."""
    known = files.options(build.engine)
    of = version.of_number(build.engine, build.version_num)
    first, until = known.get("since", {}).get(name), known.get("until", {}).get(name)
    if name in known.get("never", {}).get("names", ()):
        return f"{engine.of(build.engine).product} has none"
    if first is not None and of < version.bound(first):
        return f"{engine.of(build.engine).product} has it from {first} on"
    if until is not None and of >= version.bound(until):
        return f"{engine.of(build.engine).product} has had none since {until}"
    return None


def text(values: Mapping[str, str], build: Build) -> str:
    """The options as a build's mysqld reads them from a file.

    Raises PlanError for a value of two lines.
    """
    if not since(flavour.of(build.engine).switch_words_from, build.version_num):
        values = {name: SWITCHES.get(value.lower(), value) for name, value in values.items()}
    return "[mysqld]\n" + "".join(line(name, value) for name, value in values.items())


def line(name: str, value: str) -> str:
    """An option's line; `skip_log_bin = on` is written as what it is, an option without a value."""
    if "\n" in value:
        raise PlanError(f"settings.{name}: a value has one line: remove the others")
    if is_flag(name):
        return "" if value.lower() in OFF else f"{name}\n"
    return f"{name} = {quoted(value)}\n"


def is_flag(name: str) -> bool:
    """Whether the option has no value: its name alone turns something off."""
    return canonical(name).startswith("skip_") and canonical(name) not in VALUED


VALUED = frozenset(
    {
        *("skip_name_resolve", "skip_external_locking", "skip_networking", "skip_show_database"),
        *("skip_replica_start", "skip_slave_start", "skip_parallel_replication"),
        *("skip_replication",),
    }
)
"""Variables whose own name begins with `skip_`: they take a value."""


def quoted(value: str) -> str:
    """A value, in quotes where the file's reader would take a part of it for something else."""
    if value and not (NEEDS_QUOTES & set(value)) and value == value.strip():
        return value
    mark = "'" if '"' in value else '"'
    return mark + value.replace("\\", "\\\\") + mark
