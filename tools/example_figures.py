"""What the example results say: `python tools/example_figures.py [--write]`.

Each example in tests/example_results/kinds is a result that one version measured, of one kind of
plan. Its figures.json has what the comparison and the export made of it, one line for each step,
arm and metric. A change of formulas so shows up in a diff, figure by figure. Without `--write` the
figures that changed are listed; with it they are also written, which is a decision: list them
beside their reasons.
"""

import argparse
import json
import math
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas

import dbdyno
from dbdyno.analysis import compare
from dbdyno.model import Json
from dbdyno.report import json_document
from dbdyno.run import bisect
from dbdyno.store.bisection import FILE, BisectionFolder

KINDS = Path(__file__).parent.parent / "tests" / "example_results" / "kinds"
PACKED, FIGURES = "result.tar.xz", "figures.json"
DIGITS = 6
"""Significant ones that are kept of a figure."""
TOLERANCE = 2e-5
"""What two processors may make of one formula differs by less."""
SAME_EVERYWHERE = ("dyno", "format", "title", "plan", "label")
"""Keys of the comparison that are no figures."""
LABELS = ("workload", "step", "arm", "factors", "name", "metric")
"""What names an object of a list, in this order; objects with none of these have a number."""
OF_METRIC = ("value", "kind", "bound", "estimate", "low", "high", "verdict", "within_margin")
"""What is kept of a metric that decides nothing."""
TABLES = (
    "steps", "response", "service", "costs", "statements", "waits", "targets", "fairness", "stalls",
    "states",
)  # fmt: skip
"""The tables of an export whose figures the comparison has not all."""
NO_FIGURES = (
    "result", "plan", "block", "void", "judged", "ordinal", "second", "node", "started", "warnings",
    "reason", "server_version", "step_group",
)  # fmt: skip
"""Columns that say which row it is, or in words what stands in the comparison, too."""

Value = str | float | bool
Figures = Mapping[str, Mapping[str, Value]]
"""By place ("sysbench point-query, pg18, qps"), then by name."""


def main() -> int:
    """Lists what changed, and writes it if asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares the figures of the example results.")
    parser.add_argument("--write", action="store_true", help="write figures.json anew")
    options = parser.parse_args()
    changed = False
    for example in examples():
        now = of_example(example)
        differences = list(departures(example.name, kept(example), now))
        changed |= bool(differences)
        print("\n".join([*differences, f"{example.name}: {len(differences)} figures changed"]))
        if options.write:
            (example / FIGURES).write_text(text(now), encoding="utf-8")
    return int(changed and not options.write)


def examples() -> list[Path]:
    """The folders of the examples."""
    return sorted(path.parent for path in KINDS.glob(f"*/{PACKED}"))


@contextmanager
def unpacked(example: Path) -> Iterator[Path]:
    """The result folder of an example, in a place of its own."""
    with tempfile.TemporaryDirectory(prefix="dyno-example-") as place:
        with tarfile.open(example / PACKED) as packed:
            packed.extraction_filter = getattr(tarfile, "data_filter", None)  # not in 3.11.0 to .3
            packed.extractall(place)
        (folder,) = Path(place).iterdir()
        yield folder


def kept(example: Path) -> Figures:
    """The figures that are written down; none for a new example."""
    path = example / FIGURES
    found: Figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def of_example(example: Path) -> Figures:
    """What this version makes of an example."""
    with unpacked(example) as folder:
        pairs = list(of_search(folder) if (folder / FILE).exists() else of_result(folder))
    places = [place for place, _ in pairs]
    assert len(set(places)) == len(places), f"{example.name}: two figures have one place"
    return {", ".join(place): found for place, found in pairs}


def text(figures: Figures) -> str:
    """figures.json: a line for each place."""
    lines = [
        f"{json.dumps(place, ensure_ascii=False)}: {json.dumps(found, ensure_ascii=False)}"
        for place, found in figures.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def departures(example: str, before: Figures, now: Figures) -> Iterator[str]:
    """Each figure that changed: `example, step, arm, metric, name: before → now`."""
    for place in {**before, **now}:
        old, new = before.get(place, {}), now.get(place, {})
        for name in {**old, **new}:
            if not alike(old.get(name), new.get(name)):
                shown = [str(values.get(name, "none")) for values in (old, new)]
                yield f"{example}, {place}, {name}: {' → '.join(shown)}"


def alike(old: Value | None, new: Value | None) -> bool:
    """Whether two figures are the same but for their last digit."""
    if isinstance(old, float | int) and isinstance(new, float | int):
        return math.isclose(old, new, rel_tol=TOLERANCE)
    return old == new


# --- A result ----------------------------------------------------------------------------------

Place = tuple[str, ...]
Pair = tuple[Place, dict[str, Value]]


def of_search(folder: Path) -> Iterator[Pair]:
    """The answer of a search of a commit, and each of its tests."""
    search = BisectionFolder(folder).read()
    assert search is not None, f"{folder}: has {FILE}"
    yield from walk(bisect.answer(search), ("search",))
    for test in search.tests:
        for place, found in of_result(folder / test.folder):
            yield (f"commit {test.index}", *place), found


def of_result(folder: Path) -> Iterator[Pair]:
    """The figures of the comparison, then those of the export."""
    form = json_document.form(compare.load(folder))
    steps = form.pop("steps")
    yield from walk({key: form[key] for key in form if key not in SAME_EVERYWHERE}, ())
    for step in steps:
        yield from of_step(step, form["base"])
    exported = dbdyno.read(folder)
    for name in TABLES:
        yield from of_table(name, exported.table(name))


def of_step(step: Json, base: str) -> Iterator[Pair]:
    """A step: what the base did, what the other arms did beside it, everything else."""
    place = (f"{step['workload']} {step['step']}",)
    arms, base_values = step.pop("arms"), step.pop("base_values")
    for name in (*TABLES, "spans"):  # those follow as means; these are no figures
        step["tables"].pop(name, None)
    yield from walk(step, place)
    for metric, value in base_values.items():
        if value:
            yield (*place, base, metric), {"value": rounded(value)}
    for arm in arms:
        metrics = arm.pop("metrics")
        yield from walk(arm, (*place, arm["arm"]))
        for metric, found in metrics.items():
            if found["value"] or found["base"]:
                of_metric = found if found["primary"] else {key: found[key] for key in OF_METRIC}
                yield from walk(of_metric, (*place, arm["arm"], metric))


def of_table(name: str, table: pandas.DataFrame) -> Iterator[Pair]:
    """The means over blocks and seconds of a table's numbers, by what its words name."""
    table = table.drop(columns=[column for column in NO_FIGURES if column in table])
    columns = [str(column) for column in table]
    numbers = [one for one in columns if pandas.api.types.is_numeric_dtype(table[one])]
    words = [one for one in columns if one not in numbers]
    run = ["workload", "step", "arm"]
    ordered = [*run, *(word for word in words if word not in run)]
    filled = table.fillna(dict.fromkeys(words, ""))
    for key, rows in filled.groupby(ordered, sort=False):
        means = {column: float(rows[column].astype(float).mean()) for column in numbers}
        found = {column: rounded(mean) for column, mean in means.items() if mean > 0 or mean < 0}
        places = [str(part) for part in key if str(part)]
        if found:
            yield (f"{places[0]} {places[1]}", places[2], name, *places[3:]), found


def walk(value: Json, place: Place) -> Iterator[Pair]:
    """Each object of a JSON value with the scalars in it, by where it stands."""
    scalars = {
        str(key): rounded(one)
        for key, one in value.items()
        if one is not None and not isinstance(one, dict | list | tuple)
    }
    if scalars:
        yield place or ("whole",), scalars
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from walk(inner, (*place, key))
        elif isinstance(inner, list | tuple):
            yield from walk(labelled(inner), (*place, key))


def labelled(values: Sequence[Any]) -> Json:
    """A list as an object: each by what names it, else by its number."""
    found: Json = {}
    for number, value in enumerate(values, 1):
        names = (
            [str(value[key]) for key in LABELS if key in value] if isinstance(value, dict) else []
        )
        label = " ".join(names) or str(number)
        found[label if label not in found else f"{label} {number}"] = value
    return found


def rounded(value: Any) -> Value:
    """A figure with the digits that are kept."""
    if isinstance(value, bool | str):
        return value
    return float(f"{value:.{DIGITS}g}")


if __name__ == "__main__":
    sys.exit(main())
