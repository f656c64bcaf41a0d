"""Damaged results: what cannot be used is named with its remedy, everything else is shown."""

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbdyno.analysis import compare
from dbdyno.analysis.step import metrics
from dbdyno.model import Cell, Comparison, ResponseFacts
from dbdyno.model.error import ResultError
from dbdyno.report import page
from dbdyno.report.render import markdown
from dbdyno.store import Results, derived_cache
from doubted import doubted, flat, void_blocks
from result_builder import build

RUN = "blocks/002/pg18"
STEP = f"{RUN}/insert-benchmark/06-qr100"
LONG_AGO_S = 1_750_000_000

Harm = Callable[[Path], object]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of two arms, two blocks and two steps, derived once."""
    folder = build(tmp_path_factory.mktemp("good"), blocks=2, steps=("l.i0", "qr100"))
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))
    (folder / "generator.jsonl").write_text("")
    assert doubted(compare.load(folder)) == ()
    return folder


@pytest.fixture(scope="module")
def whole(good: Path) -> Comparison:
    """What the undamaged result says."""
    return compare.load(good)


@pytest.fixture(scope="module")
def worn(good: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy that is damaged and mended again and again; only what changed is derived anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(derived_cache, "SETTLED_NS", -1_000_000_000)
        folder = Path(shutil.copytree(good, tmp_path_factory.mktemp("worn") / "result"))
        compare.load(folder)
        yield folder


@pytest.fixture
def result(good: Path, worn: Path) -> Iterator[Path]:
    """The copy, to be damaged in any way: it is mended afterwards."""
    yield worn
    mend(worn, good)


def mend(worn: Path, good: Path) -> None:
    """Makes a folder what the good one is, and leaves alone what is as it was."""
    for path in sorted(worn.rglob("*"), reverse=True):
        if not (good / path.relative_to(worn)).exists():
            path.rmdir() if path.is_dir() else path.unlink()
    for path in sorted(good.rglob("*")):
        to = worn / path.relative_to(good)
        if path.is_dir():
            to.mkdir(exist_ok=True)
        elif not to.exists() or to.stat().st_mtime_ns != path.stat().st_mtime_ns:
            shutil.copy2(path, to)


def cell(comparison: Comparison, step: str, arm: str) -> Cell:
    (found,) = [one for one in comparison.steps if one.step == step]
    return next(its for its in found.cells if its.arm == arm)


def shown(folder: Path) -> Comparison:
    """The comparison, with a report made of it."""
    comparison = compare.load(folder)
    markdown.render(page.make(comparison))
    return comparison


def the_rest_is_whole(comparison: Comparison) -> None:
    """All but the damaged step of block 2 is as it was."""
    assert len(comparison.steps) == 2, "the damaged step stands in its own row"
    for step, arm, blocks in (
        ("l.i0", "pg17", 2), ("l.i0", "pg18", 2), ("qr100", "pg17", 2), ("qr100", "pg18", 1),
    ):  # fmt: skip
        runs = cell(comparison, step, arm).runs
        assert len(runs) == 2
        assert [run.ending.status for run in runs].count("ok") == blocks
    assert cell(comparison, "qr100", "pg18").value == pytest.approx(5_000.0)


def remove(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scribble(path: Path) -> None:
    """A second line that is no JSON."""
    first, _, *rest = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([first, b"\x00\x00 no JSON", *rest]))


def replace_text(old: str, new: str) -> Harm:
    def harm(path: Path) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return harm


HARMS: list[tuple[str, Harm, str]] = [
    *((f"{name}.json", harm, "") for name in ("step", "job", "done") for harm in (empty, cut)),
    *((f"{name}.json", scribble, "is not JSON") for name in ("step", "job", "done")),
    *((f"{name}.json", remove, "is missing") for name in ("step", "job")),
    ("done.json", remove, "interrupted"),
    *(("events.jsonl", harm, "cut off or missing") for harm in (remove, empty, cut)),
    ("events.jsonl", scribble, "events.jsonl:2: is not a JSON object"),
    ("events.jsonl", replace_text('"response"', '"renamed"'), ".response` is missing"),
    ("events.jsonl", replace_text('"event":"done"', '"event":"over"'), "has no done"),
    ("events.jsonl", replace_text('"protocol":1', '"protocol":2'), "`protocol` is 2"),
    ("events.jsonl", replace_text('"active_ns":', '"active_us":'), "active_ns"),
    ("events.jsonl", replace_text('"response":"HISTFAAAA', '"response":"HISTFAAAB'), "histogram"),
    ("events.jsonl", replace_text('"lag":"HISTFAAAA', '"lag":"HISTFAAAB'), "histogram"),
    ("job.json", replace_text('"protocol": 1', '"protocol": 2'), "`protocol` is 2"),
    ("step.json", replace_text('"ordinal"', '"protocol": 2,\n "ordinal"'), "`protocol` is 2"),
    ("step.json", replace_text('"ordinal": 6', '"ordinal": "six"'), "`ordinal`: expected `int`"),
    ("step.json", replace_text('"count"', '"counts"'), "`headline.count` is missing"),
    ("done.json", replace_text('"unix_ms"', '"unix_s"'), "`log_events[0].unix_ms` is missing"),
    ("done.json", replace_text('"ok": true', '"ok": "yes"'), "`checks[0].ok`: expected `bool`"),
]


@pytest.mark.parametrize(("name", "harm", "words"), HARMS)
def test_a_step_that_cannot_be_judged_has_failed_with_the_name_of_its_file(
    result: Path, name: str, harm: Harm, words: str
) -> None:
    harm(result / STEP / name)
    comparison = shown(result)
    the_rest_is_whole(comparison)
    (failed,) = [
        run for run in cell(comparison, "qr100", "pg18").runs if run.ending.status == "failed"
    ]
    reason = failed.ending.reason or ""
    assert words in reason
    assert name in reason
    assert "\n" not in reason
    assert (failed.block, failed.metrics, failed.of(ResponseFacts).by_kind) == (2, {}, {})
    if name == "done.json" and harm is remove:
        return  # as a lab that was killed leaves it: no damage
    assert f"{STEP}/{name}" in reason
    assert "restore it from a copy" in reason or "use the version of dyno" in reason
    assert f"damaged: {reason}" in doubted(comparison)


@pytest.mark.parametrize("error", [KeyError, TypeError, ValueError, ZeroDivisionError])
def test_a_bug_of_ours_is_no_damaged_file_but_a_traceback(
    result: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def buggy(*_: object) -> object:
        raise error("planted")

    monkeypatch.setattr(metrics, "metrics", buggy)
    remove(result / STEP / "host.jsonl")  # so that the step is derived anew
    with pytest.raises(error, match="planted"):
        compare.load(result)


def without(key: str) -> Harm:
    """The first tick of the window without a key, wherever it stands."""

    def harm(path: Path) -> None:
        lines = path.read_text().splitlines()
        at = next(n for n, line in enumerate(lines) if '"event":"tick"' in line)
        tick = json.loads(lines[at])
        for one in (tick, *tick["operations"].values()):
            one.pop(key, None)
        lines[at] = json.dumps(tick)
        path.write_text("\n".join(lines) + "\n")

    return harm


TICK_KEYS = (
    *("active_ns", "backlog", "count", "late_us_max", "max_us", "measured", "operations"),
    *("per_client", "response", "role", "rows", "tick"),
)


@pytest.mark.parametrize("key", TICK_KEYS)
def test_what_a_tick_lacks_is_named_where_it_is_read(result: Path, key: str) -> None:
    without(key)(result / STEP / "events.jsonl")
    (run,) = [its for its in Results.open(result).blocks()[1].runs() if its.arm == "pg18"]
    folder = run.steps()[1]
    with pytest.raises(ResultError, match=rf"events\.jsonl:\d+: the key `.*{key}` is missing"):
        list(folder.events())


SNAPSHOTS = ("before.json", "after.json")


@pytest.mark.parametrize(
    ("name", "harm", "missing"),
    [
        *((name, harm, "wal_bytes_per_op") for name in SNAPSHOTS for harm in (remove, empty, cut)),
        *(("host.jsonl", harm, "server_cpu_per_op") for harm in (remove, empty, cut, scribble)),
        ("host.jsonl", replace_text('"mono_ns"', '"mono_us"'), "server_cpu_per_op"),
        ("after.json", replace_text('"tables": {', '"tables": 5, "x": {'), "dead_rows_after"),
    ],
)
def test_a_file_of_counters_that_is_damaged_is_named_and_the_rates_are_shown(
    result: Path, name: str, harm: Harm, missing: str
) -> None:
    harm(result / STEP / name)
    job = result / STEP / "job.json"
    job.write_text(json.dumps({**json.loads(job.read_text()), "engine": "postgres"}))
    comparison = shown(result)
    runs = cell(comparison, "qr100", "pg18").runs
    assert [run.ending.status for run in runs] == ["ok", "ok"]
    assert runs[1].metrics["qps"] == 5_000.0
    assert runs[1].metrics[missing] is None
    assert runs[0].metrics[missing] is not None
    assert any(name in doubt.words and doubt.block == 2 for doubt in flat(comparison))


def test_an_unknown_event_or_key_is_of_a_newer_version_and_is_said(result: Path) -> None:
    path = result / STEP / "events.jsonl"
    text = path.read_text().replace('"late_us_max"', '"novel":1,"late_us_max"')
    path.write_text(text.replace("\n", '\n{"event":"eclipse","mono_ns":1}\n', 1))
    comparison = shown(result)
    event, key = doubted(comparison)
    assert event.startswith("of a newer version: the event `eclipse`")
    assert key.startswith("of a newer version: the key `novel` of ticks")
    assert cell(comparison, "qr100", "pg18").runs[1].metrics["qps"] == 5_000.0


def test_a_failed_step_keeps_its_own_reason_whatever_became_of_its_files(result: Path) -> None:
    folder = result / STEP
    (folder / "done.json").unlink()
    (folder / "failed.json").write_text('{"status": "failed", "reason": "PANIC", "log_tail": []}')
    for name in ("events.jsonl", "host.jsonl"):
        scribble(folder / name)
    run = cell(shown(result), "qr100", "pg18").runs[1]
    assert (run.ending.status, run.ending.reason) == ("failed", "PANIC")


def test_a_block_without_its_end_is_not_judged(result: Path) -> None:
    remove(result / "blocks/002/done.json")
    comparison = shown(result)
    assert comparison.blocks == 1
    assert comparison.incomplete == "1 of 2 blocks done, block 2 begun and not finished"


@pytest.mark.parametrize(
    "harm", [remove, empty, cut, replace_text('"order": [', '"order": ["x", ')]
)
def test_without_its_order_a_block_has_the_arms_that_have_folders(result: Path, harm: Harm) -> None:
    harm(result / "blocks/002/order.json")
    comparison = shown(result)
    assert comparison.blocks == 2
    assert [run.ending.status for run in cell(comparison, "qr100", "pg18").runs][:2] == ["ok", "ok"]
    assert any(text.startswith("damaged: blocks/002") for text in doubted(comparison))
    assert not any("rebooted" in text for text in doubted(comparison))


@pytest.mark.parametrize("harm", [remove, empty, cut])
@pytest.mark.parametrize("name", [f"{RUN}/server.json", "host.json"])
def test_facts_that_are_missing_are_said(result: Path, name: str, harm: Harm) -> None:
    harm(result / name)
    comparison = shown(result)
    (line,) = doubted(comparison)
    assert line.startswith(f"damaged: {name}: ")
    assert line.endswith("; restore it from a copy")
    assert cell(comparison, "qr100", "pg18").ratio is not None


def test_a_damaged_ceiling_of_the_generator_is_said(result: Path) -> None:
    (result / "generator.jsonl").write_text('{"loads": [{"connections": "many"}]}\n')
    comparison = shown(result)
    assert comparison.generator is None
    assert any(text.startswith("damaged: generator.jsonl:1: ") for text in doubted(comparison))


def test_a_run_that_is_gone_is_said(result: Path) -> None:
    shutil.rmtree(result / RUN)
    comparison = shown(result)
    assert [run.ending.status for run in cell(comparison, "qr100", "pg18").runs] == [
        "ok",
        "skipped",
    ]
    assert any("blocks/002: has no folder of the arm `pg18`" in w for w in doubted(comparison))


def test_a_damaged_reason_of_a_void_block_does_not_end_the_report(result: Path) -> None:
    (result / "blocks/003.void1").mkdir()
    (result / "blocks/003.void1/void.json").write_text("{")
    assert "void.json: is not JSON" in void_blocks(shown(result))[0].words


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"format": 1', '"format": 2', "`format` is 2, this version of dyno reads 1"),
        ('"base"', '"basis"', "the key `base` is missing"),
        ('"arms": [', '"arms": 5, "x": [', "the key `arms`: expected `array`"),
        ("{", "[", "expected `object`, got `array`"),
    ],
)
def test_a_plan_that_is_newer_or_damaged_is_refused_by_name(
    result: Path, old: str, new: str, words: str
) -> None:
    path = result / "plan.json"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ResultError) as refused:
        compare.load(result)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


FILES = [
    "plan.json", "host.json", "blocks/002/order.json", "blocks/002/done.json",
    f"{RUN}/server.json",
    *(f"{STEP}/{name}" for name in ("step.json", "job.json", "events.jsonl", "host.jsonl")),
    *(f"{STEP}/{name}" for name in ("before.json", "after.json", "done.json")),
]  # fmt: skip


@contextmanager
def damaged(path: Path, content: bytes) -> Iterator[None]:
    """The file with other content, for a while."""
    good, times = path.read_bytes(), path.stat()
    try:
        path.write_bytes(content)
        yield
    finally:
        path.write_bytes(good)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def no_figure_is_wrong(comparison: Comparison, good: Comparison) -> None:
    """Every metric is as it was, or is missing; a run that lost its metrics says why."""
    for step in good.steps:
        for whole in step.cells:
            for run in cell(comparison, step.step, whole.arm).runs:
                (before,) = [one for one in whole.runs if one.block == run.block]
                wrong = {
                    name: value
                    for name, value in run.metrics.items()
                    if value is not None and value != before.metrics[name]
                }
                assert not wrong
                assert run.ending.status == "ok" or run.ending.reason


def no_cut_ends_the_report(worn: Path, whole: Comparison, name: str, share: float) -> None:
    """Either there is a report with the right figures or none, or the plan is refused by name."""
    content = (worn / name).read_bytes().rstrip()
    with damaged(worn / name, content[: int(share * len(content))]):
        if name == "plan.json":
            with pytest.raises(ResultError, match=r"plan\.json"):
                compare.load(worn)
        else:
            no_figure_is_wrong(shown(worn), whole)


@pytest.mark.parametrize(
    ("name", "share"),
    [("plan.json", 0.9), (f"{STEP}/events.jsonl", 0.7), (f"{STEP}/host.jsonl", 0.4),
     (f"{STEP}/after.json", 0.8)],
)  # fmt: skip
def test_a_file_that_is_cut_off_never_ends_the_report(
    worn: Path, whole: Comparison, name: str, share: float
) -> None:
    no_cut_ends_the_report(worn, whole, name, share)


@pytest.mark.long
@settings(max_examples=40)
@given(st.sampled_from(FILES), st.floats(min_value=0, max_value=1, exclude_max=True))
def test_a_file_that_is_cut_off_anywhere_never_ends_the_report(
    worn: Path, whole: Comparison, name: str, share: float
) -> None:
    no_cut_ends_the_report(worn, whole, name, share)


def places(value: object) -> list[list[str | int]]:
    """The way to each value inside a JSON value."""
    items: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [[key, *way] for key, inner in items for way in [[], *places(inner)]]


STRANGE = (None, -1, "x", [], {}, [[1]], {"x": 1}, 0)
"""What stands in a value's place."""


def no_value_ends_the_report(
    worn: Path, name: str, draw: Callable[[str, int], int], strange: object
) -> None:
    """`draw` chooses the line and the value: of so many things the place of one."""
    lines = (worn / name).read_bytes().splitlines() if name.endswith("l") else []
    at = draw("line", len(lines)) if lines else 0
    value = json.loads(lines[at] if lines else (worn / name).read_bytes())
    ways = places(value)
    way = ways[draw("value", len(ways))]
    inner = value
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = strange
    lines[at : at + 1] = [json.dumps(value).encode()]
    with damaged(worn / name, b"\n".join(lines) + b"\n"):
        shown(worn)


OF_STEP = [name for name in FILES if STEP in name]


@pytest.mark.parametrize(("name", "strange"), list(zip(OF_STEP, STRANGE, strict=False)))
def test_a_value_of_another_kind_never_ends_the_report(worn: Path, name: str, strange: object):
    chosen = random.Random(name)
    no_value_ends_the_report(worn, name, lambda _, count: chosen.randrange(count), strange)


@pytest.mark.long
@settings(max_examples=40)
@given(st.sampled_from(OF_STEP), st.data(), st.sampled_from(STRANGE))
def test_any_value_of_another_kind_never_ends_the_report(
    worn: Path, name: str, data: st.DataObject, strange: object
) -> None:
    def draw(of: str, count: int) -> int:
        return data.draw(st.integers(0, count - 1), label=of)

    no_value_ends_the_report(worn, name, draw, strange)


def test_a_tick_that_took_no_time_is_no_second_of_the_report(worn: Path) -> None:
    path = worn / next(name for name in FILES if STEP in name and name.endswith("events.jsonl"))
    lines = path.read_bytes().splitlines()
    told = [json.loads(line) for line in lines]
    at = next(at for at, event in enumerate(told) if event.get("tick") == 3)
    lines[at] = json.dumps(told[at] | {"active_ns": 0}).encode()  # of the other roles it is whole
    with damaged(path, b"\n".join(lines) + b"\n"):
        shown(worn)
