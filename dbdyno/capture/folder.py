"""A captured application as a folder that `--workload` reads: whole, or not there at all.

app/workload.toml            [source], and a table [queries.NAME] for each
app/queries/NAME.sql         the text; $1 … are values
app/values/NAME.jsonl        {"weight": 3, "values": [5, null, "O'Brien"]}; its owner's alone
app/arrivals.csv             calls by second
app/coverage.md              what is left out, and why
app/statistics.json          with --statistics: what the server's planner knows; its owner's alone
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from dbdyno.capture.call import Way
from dbdyno.capture.mix import TransactionMix
from dbdyno.model.error import DynoError
from dbdyno.model.own_query import Exclusion

WORKLOAD, QUERIES, VALUES = "workload.toml", "queries", "values"
ARRIVALS, COVERAGE = "arrivals.csv", "coverage.md"
OURS, OTHERS_NOTHING = 0o700, 0o077


@dataclass(frozen=True, kw_only=True)
class CapturedServer:
    """What capture knows of the application's server."""

    description: str
    engine: str
    version: str = ""
    encoding: str = ""
    locale: str = ""
    seconds: float | None = None  # that were captured; None: no rates
    time_s: float = 0.0  # of all calls, with those that are left out
    calls: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    first: str = ""  # when the first call began, in ISO 8601; empty: not known
    last: str = ""
    left_out: Sequence[Exclusion] = ()


@dataclass(frozen=True)
class CallSample:
    """The values of some calls, as JSON in the order of $1 …, and how many calls it stands for."""

    values: tuple[str, ...]
    weight: int = 1


@dataclass(frozen=True, kw_only=True)
class CapturedQuery:
    """A query as the folder has it."""

    name: str
    text: str
    samples: tuple[CallSample, ...] = ()
    calls: int
    time_s: float = 0.0
    rows: int | None = None
    protocol: Way = "simple"
    types: tuple[str, ...] = ()
    writes: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    role: str = ""
    clock: Mapping[int, str] = field(default_factory=dict)
    cut: bool = False  # the source may have cut its text


@dataclass(frozen=True, kw_only=True)
class Capture:
    """All that a folder holds."""

    source: CapturedServer
    queries: Sequence[CapturedQuery]
    arrivals: Mapping[int, int] = field(default_factory=dict)  # second since 1970: calls
    coverage: str = ""
    mix: TransactionMix | None = None  # None: the sources tell no transactions


def refuse(folder: Path) -> None:
    """Raises DynoError where there is something else in the folder's place."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise DynoError(f"`{folder}`: is no folder: name another with --out")
    if folder.exists() and not (folder / WORKLOAD).exists() and any(folder.iterdir()):
        raise DynoError(f"`{folder}`: holds other files: name a new folder with --out")
    if folder.exists() and any(folder.iterdir()):
        raise DynoError(f"`{folder}`: holds a captured application: remove it, or name another")
    if not folder.absolute().parent.is_dir():
        raise DynoError(f"`{folder}`: there is no folder `{folder.absolute().parent}`: make it")


def write(folder: Path, captured: Capture, beside: Callable[[Path], None] | None = None) -> None:
    """Writes the folder beside its place and renames it there. Raises DynoError, OSError.

    `beside` adds further files first.
    """
    refuse(folder)
    place = folder.absolute()
    before = os.umask(OTHERS_NOTHING)
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        try:
            fill(made, captured)
            if beside is not None:
                beside(made)
            with suppress(FileNotFoundError):
                place.rmdir()  # empty, or `refuse` had said so
            made.rename(place)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    finally:
        os.umask(before)


def fill(made: Path, captured: Capture) -> None:
    """Writes the files of the folder; each is on the disk when this returns."""
    (made / QUERIES).mkdir(mode=OURS)
    (made / VALUES).mkdir(mode=OURS)
    for query in captured.queries:
        put(made / QUERIES / f"{query.name}.sql", query.text + "\n")
        if query.samples:
            put(made / VALUES / f"{query.name}.jsonl", "".join(map(line_of, query.samples)))
    lines = [f"{second},{calls}\n" for second, calls in sorted(captured.arrivals.items())]
    put(made / ARRIVALS, "second,calls\n" + "".join(lines))
    put(made / COVERAGE, captured.coverage)
    put(made / WORKLOAD, workload_text(captured))


def put(path: Path, text: str) -> None:
    """Writes a file for its owner alone, down to the disk."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def line_of(sample: CallSample) -> str:
    """A line of a values file."""
    return f'{{"weight": {sample.weight}, "values": [{", ".join(sample.values)}]}}\n'


# --- Values that the lab has drawn ------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DrawOutcome:
    """What came of drawing values for a query."""

    name: str
    words: str  # how the values fit, or why there are none
    samples: tuple[CallSample, ...] = ()  # none: they do not fit


DRAWN_TITLE = "\nValues drawn from the data of a race:\n\n| query | a call |\n|---|---|\n"


def add_drawn(folder: Path, drawn: Sequence[DrawOutcome]) -> None:
    """Adds values to queries of a folder that have none, or why there are none.

    The workload file is replaced when all values lie there; it keeps what a person wrote. Raises
    DynoError where the folder cannot be written.
    """
    before = os.umask(OTHERS_NOTHING)
    try:
        (folder / VALUES).mkdir(mode=OURS, exist_ok=True)
        text = (folder / WORKLOAD).read_text(encoding="utf-8")
        for query in drawn:
            lines = [f"drawn = {quoted(query.words)}"]
            if query.samples:
                put(folder / VALUES / f"{query.name}.jsonl", "".join(map(line_of, query.samples)))
                lines.append(f'values = "{VALUES}/{query.name}.jsonl"')
            head = f"[queries.{query.name}]\n"
            text = text.replace(head, head + "".join(f"{line}\n" for line in lines), 1)
        page = folder / COVERAGE
        said = page.read_text(encoding="utf-8") if page.exists() else ""
        rows = "".join(f"| `{query.name}` | {query.words} |\n" for query in drawn)
        for name, content in ((COVERAGE, said + DRAWN_TITLE + rows), (WORKLOAD, text)):
            made = folder / f".{name}"
            put(made, content)
            made.rename(folder / name)
    except OSError as error:
        raise DynoError(f"`{folder}`: values cannot be kept there: {error.strerror}") from None
    finally:
        os.umask(before)


# --- workload.toml ----------------------------------------------------------------------------


def workload_text(captured: Capture) -> str:
    """The workload file."""
    source = captured.source
    lines = [f"description = {quoted(source.description)}", "", "[source]"]
    lines.append(f"engine = {quoted(source.engine)}")
    for key, value in (
        ("version", source.version),
        ("encoding", source.encoding),
        ("locale", source.locale),
        ("first", source.first),
        ("last", source.last),
    ):
        if value:
            lines.append(f"{key} = {quoted(value)}")
    if source.seconds is not None:
        lines.append(f"seconds = {seconds(source.seconds)}")
    lines.append(f"time_s = {seconds(source.time_s)}")
    lines.append(f"calls = {source.calls}")
    if source.settings:
        lines.append(f"settings = {inline(source.settings)}")
    for left in source.left_out:
        lines += ["", "[[source.left_out]]", f"reason = {quoted(left.reason)}"]
        lines += [f"calls = {left.calls:g}", f"time_s = {seconds(left.time_s)}"]
    for query in captured.queries:
        lines += ["", *query_lines(query)]
    if captured.mix is not None:
        lines += ["", *mix_lines(captured.mix)]
    return "\n".join(lines) + "\n"


def query_lines(query: CapturedQuery) -> list[str]:
    """The table of one query."""
    lines = [f"[queries.{query.name}]", f'text = "{QUERIES}/{query.name}.sql"']
    if query.samples:
        lines.append(f'values = "{VALUES}/{query.name}.jsonl"')
    lines += [f"calls = {query.calls}", f"time_s = {seconds(query.time_s)}"]
    if query.rows is not None:
        lines.append(f"rows = {query.rows}")
    lines.append(f'protocol = "{query.protocol}"')
    if any(query.types):
        lines.append(f"types = [{', '.join(map(quoted, query.types))}]")
    lines.append(f"writes = {'true' if query.writes else 'false'}")
    if query.settings:
        lines.append(f"settings = {inline(query.settings)}")
    if query.role:
        lines.append(f"role = {quoted(query.role)}")
    if query.clock:
        pairs = ", ".join(f'"{number}" = {quoted(text)}' for number, text in query.clock.items())
        lines.append(f"clock = {{ {pairs} }}")
    if query.cut:
        lines.append("cut = true")
    return lines


def mix_lines(mix: TransactionMix) -> list[str]:
    """The tables of the transactions and of their mix."""
    lines = [
        f"# {100 * mix.covered:.1f} % of the transactions; `dyno race … --steps mix` runs them.",
        "[mix]",
        f"per_s = {seconds(mix.per_s)}",
        f"sessions = {mix.sessions}",
        "",
        "[mix.choose]",
    ]
    lines += [f"{key_of(name)} = {weight}" for name, weight in mix.weights.items()]
    for name, statements in mix.transactions.items():
        lines += ["", f"[transactions.{name}]", f"do = [{', '.join(map(quoted, statements))}]"]
    return lines


def seconds(value: float) -> str:
    """Seconds as TOML has a float, to the microsecond."""
    return f"{value:.6f}".rstrip("0") + ("0" if f"{value:.6f}".endswith("000000") else "")


def inline(settings: Mapping[str, str]) -> str:
    """A table in one line."""
    pairs = ", ".join(f"{key_of(key)} = {quoted(value)}" for key, value in sorted(settings.items()))
    return f"{{ {pairs} }}"


def key_of(key: str) -> str:
    """A key of TOML, in quotes where it needs them: `auto_explain.x` is a name of two parts."""
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else quoted(key)


def quoted(text: str) -> str:
    """A text of TOML: JSON's escapes are TOML's too, but for DEL."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
