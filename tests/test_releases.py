"""What earlier releases measured opens ever after, and says the same: results, plans, exports.

A folder of tests/example_results for each release; its README says how one is made.
"""

from __future__ import annotations

import json
import math
import tarfile
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.report import json_document
from dbdyno.report.export import write

RELEASES = sorted(
    path.parent for path in Path(__file__).parent.glob("example_results/*/result.tar.xz")
)

CORRECTED = {"maxop"}
"""Metrics that were corrected since: maxop was from due, where published is from sent."""
REPLACED = {"format", "sizing"}
"""Keys of the whole that another format of the JSON has otherwise, or no longer."""
WORDS = {
    "cannot tell": "open", "one block": "open", "limited": "open", "not compared": "open",
    "target missed": "failed", "mixed": "slower", "slower, within the margin": "slower",
    "faster, within the margin": "faster",
}  # fmt: skip
"""Verdicts of releases that had twelve words, as they are called since."""
OLD_WORDS = {"leans"}
"""What stood beside an undecided verdict then; the bound and the price have its place."""
OF_FAMILY = {"q", "visible"}
"""What else changes of a metric that explores, as later versions explore more of them together."""
JUDGED_ANEW = OF_FAMILY | {"low", "high", "p", "blocks_needed", "minutes_needed"}
"""What changes of a metric that decides: versions before looks lent no variances. Not its word."""


@pytest.fixture(scope="module", params=RELEASES, ids=lambda path: path.name)
def release(request: pytest.FixtureRequest) -> Path:
    """The folder of one release."""
    folder: Path = request.param
    return folder


@pytest.fixture(scope="module")
def result(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its result folder, unpacked."""
    to = tmp_path_factory.mktemp(release.name)
    with tarfile.open(release / "result.tar.xz") as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # not in 3.11.0 to 3.11.3
        packed.extractall(to)
    (folder,) = to.iterdir()
    return folder


def departures(old: Any, new: Any, at: str = "") -> list[str]:
    """Where `new` does not say what `old` says; keys may be added, and warnings."""
    if isinstance(old, dict) and isinstance(new, dict):
        lost = [f"{at}.{key}: gone" for key in old.keys() - new.keys() - OLD_WORDS]
        moved = OF_FAMILY if old.get("primary") is False else JUDGED_ANEW if "q" in old else set()
        kept = sorted(old.keys() & new.keys() - {"dyno"} - CORRECTED - moved)
        return lost + [one for key in kept for one in departures(old[key], new[key], f"{at}.{key}")]
    if at == ".warnings":
        return [f"{at}: {one}" for one in old if one not in new]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [one for place, pair in pairs for one in departures(*pair, f"{at}[{place}]")]
    if isinstance(old, float) and isinstance(new, float):
        return [] if math.isclose(old, new, rel_tol=1e-9) else [f"{at}: {old} is {new}"]
    known = WORDS.get(old, old) if isinstance(old, str) else old
    return [] if known == new else [f"{at}: {old} is {new}"]


def test_there_is_a_release_to_look_at() -> None:
    assert RELEASES


def test_a_result_of_every_release_says_what_it_said(release: Path, result: Path) -> None:
    said = json.loads((release / "compare.json").read_text())
    now = json.loads(json_document.render(compare.load(result)))
    lasting_keys = said.keys() - REPLACED
    assert departures({key: said[key] for key in lasting_keys}, now) == []


def test_a_departure_is_found() -> None:
    old = {"a": [1.0, {"b": "x"}], "warnings": ["w"]}
    assert departures(old, {"a": [1.0, {"b": "x", "c": 1}], "warnings": ["v", "w"]}) == []
    assert departures(old, {"a": [1.1, {}], "warnings": []}) == [
        ".a[0]: 1.0 is 1.1",
        ".a[1].b: gone",
        ".warnings: w",
    ]


def test_a_plan_of_every_release_is_read(release: Path) -> None:
    made = plan.load(release / "plan.toml")
    assert [arm.name for arm in made.arms] == ["pg17", "pg18"]
    assert made.schedule.blocks == 3


@pytest.mark.long
def test_an_export_of_every_release_has_the_rows_that_it_had(
    release: Path, result: Path, tmp_path: Path
) -> None:
    write.export([result], write.wish(f"{tmp_path}/", None, "parquet"))
    before = sorted((release / "export").glob("*.parquet"))
    assert before
    for path in before:
        old, new = (duckdb.read_parquet(str(one)).df() for one in (path, tmp_path / path.name))
        old, new = (lasting(one, old) for one in (old, new))
        pandas.testing.assert_frame_equal(new, old, rtol=1e-9, obj=path.stem)


def lasting(table: pandas.DataFrame, first: pandas.DataFrame) -> pandas.DataFrame:
    """Of a table what the first one had, and what no later version may change."""
    kept = [name for name in first if name not in {"result", *OLD_WORDS}]  # a folder has a path
    table = table[kept].replace(WORDS)
    table = table[[name for name in table if name not in CORRECTED]]
    if "metric" in table:
        table = table[table["metric"].isin(first["metric"]) & ~table["metric"].isin(CORRECTED)]
    if set(table) >= OF_FAMILY:
        table = table.drop(columns=sorted(OF_FAMILY))
        decides = table["kind"] == "primary"
        anew = sorted(JUDGED_ANEW & set(table))
        table = table.assign(**{name: table[name].where(~decides) for name in anew})
    if "metric" in table:  # their order follows the table of metrics, which may change
        keys = [name for name in table if not pandas.api.types.is_numeric_dtype(table[name])]
        table = table.sort_values(keys, kind="stable")
    return table.reset_index(drop=True)
