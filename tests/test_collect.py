"""What was derived is kept and found again: the same to the digit, and never of other files."""

import multiprocessing
import os
import shutil
import struct
import subprocess
import sys
import threading
import types
from collections.abc import Mapping
from dataclasses import is_dataclass, replace
from enum import EnumMeta
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble, collect
from dbdyno.analysis.step.collect import StoredStep
from dbdyno.analysis.step.compact_series import PackedSeries
from dbdyno.evidence import parallel
from dbdyno.findings.steps import FINDINGS
from dbdyno.host import place
from dbdyno.model import Series, StepRun
from dbdyno.model.error import HostError, ResultError
from dbdyno.model.facts import Facts
from dbdyno.model.json import Json, Natural, Positive
from dbdyno.model.profile import Stack
from dbdyno.store import Results, Shelf, StepFolder, derived_cache
from dbdyno.store.derived_cache import CODE
from doubted import doubted
from result_builder import build

SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of two arms, two blocks and two steps."""
    return build(tmp_path_factory.mktemp("built"), blocks=2, steps=("l.i0", "qr100"))


@pytest.fixture
def result(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy whose files count as settled, read with a cache of its own."""
    monkeypatch.setattr(derived_cache, "SETTLED_NS", -SECOND_NS)
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    return Path(shutil.copytree(built, tmp_path / built.name))


def folders(result: Path) -> list[StepFolder]:
    return [
        step
        for block in Results.open(result).blocks()
        for run in block.runs()
        for step in run.steps()
    ]


def entries(result: Path) -> list[Path]:
    return sorted(shelf(result).folder.rglob("*.msgpack"))


def shelf(result: Path) -> Shelf:
    found = Results.open(result).shelf()
    assert found is not None
    return found


def gathered(result: Path) -> list[StepRun]:
    return collect.step_runs(folders(result), shelf(result))


def content(entry: Path) -> Json:
    """What an entry has."""
    read: Json = msgspec.msgpack.decode(entry.read_bytes())
    return read


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be derived from here on."""

    def never(folder: StepFolder) -> StepRun:
        raise AssertionError(f"{folder.path} was derived again")

    monkeypatch.setattr(assemble, "step_run", never)


# --- Kept ------------------------------------------------------------------------------------


def test_what_was_kept_is_what_was_derived(result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    derived = [assemble.step_run(folder) for folder in folders(result)]
    assert gathered(result) == derived
    assert len(entries(result)) == len(derived) == 8
    forbid(monkeypatch)
    assert gathered(result) == derived
    assert doubted(compare.load(result)) == ()


def test_an_entry_lies_where_its_step_does(result: Path) -> None:
    gathered(result)
    path = shelf(result).folder / "002/pg18/insert-benchmark/06-qr100.msgpack"
    entry = content(path)
    assert entry["derived"]["run"]["metrics"]["qps"] == 5_000.0
    assert set(entry["files"]) == {
        "step.json", "job.json", "events.jsonl", "host.jsonl", "before.json", "after.json",
        "done.json",
    }  # fmt: skip


def test_a_file_that_was_changed_is_read_again(result: Path) -> None:
    before = gathered(result)
    folder = folders(result)[1]
    path = folder.path / "events.jsonl"
    path.write_text(path.read_text().replace('"query"', '"yreuq"'))  # the same size
    after = gathered(result)
    assert after[1] != before[1]
    assert after[1] == assemble.step_run(folder)
    assert [run for run in after if run is not after[1]] == [
        r for r in before if r is not before[1]
    ]


def test_a_file_more_or_less_makes_an_entry_void(result: Path) -> None:
    gathered(result)
    path = folders(result)[1].path
    (path / "after.json").unlink()
    assert gathered(result)[1].metrics["dbgb1"] is None
    (path / "failed.json").write_text('{"status": "failed", "reason": "late"}')
    assert gathered(result)[1].ending.reason == "late"


def test_files_that_were_written_just_now_are_not_trusted_to_stay(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived_cache, "SETTLED_NS", 60 * SECOND_NS)
    gathered(result)
    assert entries(result) == []


def test_times_that_a_sender_can_set_count_for_nothing(result: Path) -> None:
    """Another content of the same size, with the times of the file before."""
    before = gathered(result)
    path = folders(result)[1].path / "events.jsonl"
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text(path.read_text().replace('"query"', '"yreuq"'))
    os.utime(path, ns=times)
    assert gathered(result)[1] != before[1]


def test_a_copy_is_another_result_and_what_is_gone_leaves_the_cache(result: Path, tmp_path: Path):
    gathered(result)
    kept = shelf(result).folder
    copy = Path(shutil.copytree(result, tmp_path / "copy"))
    assert entries(copy) == []
    shutil.rmtree(result)
    gathered(copy)
    assert (kept.exists(), len(entries(copy))) == (False, 8)


def test_the_cache_of_others_is_not_believed(result: Path) -> None:
    derived = gathered(result)
    shelves = shelf(result).folder.parent
    assert shelves.stat().st_mode & 0o077 == 0
    entry = entries(result)[0]
    entry.write_bytes(entry.read_bytes().replace(struct.pack(">d", 5000), struct.pack(">d", 9000)))
    shelves.chmod(0o777)
    assert gathered(result) == derived


@pytest.mark.parametrize(
    "damaged", [b"", b"{", b"[]", b"\xc0", b"\x80", b"\xff\x00", b"\x81\xa7derived\x80"]
)
def test_an_entry_that_is_damaged_counts_for_nothing(result: Path, damaged: bytes) -> None:
    derived = gathered(result)
    entries(result)[0].write_bytes(damaged)
    assert gathered(result) == derived
    assert entries(result)[0].read_bytes() != damaged


@pytest.mark.parametrize(
    ("key", "value"),
    [("code", "0" * 64), ("format", 1), ("files", {}), ("derived", {}), ("derived", None)],
)
def test_an_entry_of_another_version_counts_for_nothing(result: Path, key: str, value: object):
    derived = gathered(result)
    path = entries(result)[0]
    path.write_bytes(msgspec.msgpack.encode({**content(path), key: value}))
    assert gathered(result) == derived


def test_an_entry_of_another_run_counts_for_nothing(result: Path) -> None:
    derived = gathered(result)
    path = entries(result)[0]
    entry = content(path)
    entry["derived"]["run"]["block"] = 7
    path.write_bytes(msgspec.msgpack.encode(entry))
    assert gathered(result) == derived


def test_where_nothing_can_be_written_all_goes_without(result: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert [run.ending.status for run in gathered(result)] == ["ok"] * 8


def test_deleting_what_was_kept_loses_nothing(result: Path) -> None:
    first = compare.load(result)
    for path in entries(result):
        path.unlink()
    assert compare.load(result) == first


def test_what_derives_is_all_in_the_code_that_an_entry_is_valid_for() -> None:
    code = "import sys; from dbdyno.analysis.step import collect; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".", 1)[1] for name in said.stdout.split() if name.startswith("dbdyno.")}
    package = Path(str(resources.files("dbdyno")))
    covered = {path.relative_to(package) for part in CODE for path in package.glob(part)}
    outside = {name for name in loaded if not name.startswith("host")}
    outside -= {".".join(path.with_suffix("").parts) for path in covered}
    folders = {name for name in outside if (package / name.replace(".", "/")).is_dir()}
    assert outside == folders, "whose files hold a sentence and no code; host has the cache's place"


# --- On all cores ----------------------------------------------------------------------------


@pytest.mark.long
def test_many_processes_derive_what_one_does(result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = collect.step_runs(folders(result), None)
    monkeypatch.setattr(collect, "BYTES_MIN", 0)
    monkeypatch.setattr(multiprocessing, "cpu_count", lambda: 3)
    assert collect.step_runs(folders(result), None) == alone
    assert entries(result) == []
    assert gathered(result) == alone
    assert len(entries(result)) == 8


def square(number: int) -> int:
    return number * number


def own_process(_: int) -> int:
    return os.getpid()


def ends_at_three(number: int) -> int:
    if number == 3:
        os._exit(9)
    return number


def refuse(number: int) -> int:
    raise ResultError(f"no {number}")


@pytest.fixture
def lone_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no other thread ran, whatever other tests left running."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.mark.usefixtures("lone_thread")
@pytest.mark.parametrize("processes", [1, 2, 5])
def test_answers_come_in_the_order_of_the_questions(processes: int) -> None:
    assert parallel.spread(square, list(range(40)), processes) == [n * n for n in range(40)]
    assert parallel.spread(square, [], processes) == []


def test_nothing_is_forked_beside_another_thread() -> None:
    over = threading.Event()
    beside = threading.Thread(target=over.wait)
    beside.start()
    try:
        assert set(parallel.spread(own_process, list(range(10)), 3)) == {os.getpid()}
    finally:
        over.set()
        beside.join()


@pytest.mark.usefixtures("lone_thread")
def test_the_work_is_done_by_other_processes() -> None:
    assert os.getpid() not in parallel.spread(own_process, list(range(10)), 3)


@pytest.mark.usefixtures("lone_thread")
def test_a_process_that_was_ended_is_an_error_in_one_line() -> None:
    with pytest.raises(HostError, match="was ended from outside"):
        parallel.spread(ends_at_three, list(range(10)), 2)


@pytest.mark.usefixtures("lone_thread")
def test_an_error_is_raised_here() -> None:
    with pytest.raises(ResultError, match="no 0"):
        parallel.spread(refuse, [0, 1, 2], 2)


def test_no_process_outlives_the_one_that_asked() -> None:
    code = (
        "import time\n"
        "from dbdyno.evidence import parallel\n"
        "def told(number):\n"
        "    print(number, flush=True)\n"
        "    time.sleep(40)\n"
        "parallel.spread(told, [1, 2], 2)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as asked:
        assert asked.stdout is not None
        assert all(asked.stdout.readline() for _ in range(2)), "both are at work"
        asked.kill()
        asked.communicate(timeout=120)  # which waits for all that have the other end


# --- Plain values ----------------------------------------------------------------------------

numbers = st.floats(allow_nan=False, allow_infinity=False)
series = st.lists(st.tuples(numbers, numbers), max_size=5).map(
    lambda points: Series(x_s=tuple(x for x, _ in points), y=tuple(y for _, y in points))
)
stacks = st.dictionaries(
    st.lists(st.text("ab?@ [.:", min_size=1, max_size=5), min_size=1, max_size=3).map(tuple),
    st.integers(1, 9),
    max_size=3,
)
scalars: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(st.characters(exclude_categories=["Cs"]), max_size=5), int: st.integers(-9, 2**60),
    float: numbers, bool: st.booleans(), types.NoneType: st.none(),
}  # fmt: skip


def made(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type, from its annotations: a new field is tried without a word here."""
    if hint == Positive:
        return st.floats(min_value=0, exclude_min=True, allow_infinity=False)
    if hint == Natural:
        return st.integers(0, 2**63 - 1)
    if get_origin(hint) is Annotated:
        return made(get_args(hint)[0])
    if hint == Mapping[str, Any]:
        return st.just({})  # facts of findings, which are drawn by their types
    if hint == Mapping[str, Series]:
        return st.dictionaries(scalars[str], series, max_size=3)
    if hint == Mapping[Stack, int]:
        return stacks
    if is_dataclass(hint) or (isinstance(hint, type) and issubclass(hint, msgspec.Struct)):
        types_of = get_type_hints(hint, include_extras=True)
        return st.builds(hint, **{name: made(of) for name, of in types_of.items()})
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of([made(one) for one in arguments])
    if origin is tuple:
        return st.lists(made(arguments[0]), max_size=2).map(tuple)
    if origin is Mapping:
        return st.dictionaries(scalars[str], made(arguments[1]), max_size=2)
    if isinstance(hint, EnumMeta):
        return st.sampled_from(hint)
    return st.sampled_from(arguments) if origin is Literal else scalars[hint]


@pytest.mark.long
@given(made(StepRun), st.tuples(*(made(finding.facts) for finding in FINDINGS)))
def test_every_field_of_a_run_comes_back_as_it_was(run: StepRun, facts: tuple[Facts, ...]) -> None:
    run = replace(run, findings={type(each).__name__: each for each in facts})
    entry = msgspec.msgpack.encode(StoredStep.of(run))
    assert msgspec.msgpack.decode(entry, type=StoredStep).step_run() == run


def test_packed_series_are_a_mapping_and_small() -> None:
    x_s = tuple(float(second) for second in range(1_800))
    plain = {name: Series(x_s=x_s, y=tuple(v * 100.0 for v in x_s)) for name in ("a", "b", "c")}
    packed = PackedSeries.of(plain)
    assert packed == plain
    assert (set(packed), len(packed), "a" in packed, "z" in packed) == ({*"abc"}, 3, True, False)
    assert len(packed.content.arrays) == 2, "what is the same is there once"
    assert sum(map(len, packed.content.arrays)) < 1_800 * 8
    with pytest.raises(KeyError):
        packed["z"]
