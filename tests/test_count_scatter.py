"""How far counts repeat on a host: `dyno calibrate --count`, what is kept, what rests on it."""

import math
import shutil
from pathlib import Path

import pytest
from msgspec import structs

import example_figures
from dbdyno import plan, store
from dbdyno.analysis import compare
from dbdyno.cli import measuring
from dbdyno.findings.work import plan as analysis
from dbdyno.findings.work import repeatability
from dbdyno.findings.work import terminal as report
from dbdyno.host import count_scatter, place
from dbdyno.host.observe import facts
from dbdyno.model.count import Count
from dbdyno.model.error import HostError, PlanError, ResultError
from dbdyno.model.host_facts import CountScatter, Cpu, FillScatter, HostFacts
from dbdyno.model.work import WorkComparison
from dbdyno.plan import calibration
from dbdyno.report import page
from dbdyno.report.render import markdown
from dbdyno.run import count_fill
from dbdyno.stats import work
from dbdyno.store import Results

HOST = HostFacts(kernel="6.1", cpu=Cpu(model="x", cpus=2), memory_bytes=1 << 33)
FOUND = CountScatter(
    repeats=40, pairs=1560, beyond=0, deviation=0.0002, freedom=39, deviation_of_writes=0.0005,
    freedom_of_writes=39,
)  # fmt: skip
TEXT = """
base = "a"
arms.a = { version = "17" }
arms.b = { version = "18" }
[workload]
name = "sysbench"
steps = ["point-query"]
"""


def count(instructions: float, *, writes: bool = False) -> Count:
    """The counts of one repeat."""
    return Count(
        tool="valgrind 3.19.0", role="query", warmup=200, operations=500, left_out=(),
        instructions=instructions, atomics=0.0, system_calls=0.0, mark=1.0, writes=writes,
        functions=(),
    )  # fmt: skip


def test_each_family_is_kept_on_the_machine_that_it_was_found_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another kernel knows nothing; a damaged file is one line with the remedy."""
    monkeypatch.setattr(place, "data_root", lambda: tmp_path / "lab")
    assert count_scatter.known("postgres", HOST) is None
    other = structs.replace(FOUND, repeats=20)
    path = count_scatter.keep("postgres", FOUND, HOST)
    count_scatter.keep("mysql", other, HOST)
    assert count_scatter.known("postgres", structs.replace(HOST, boot_id="y")) == FOUND
    assert count_scatter.known("mysql", HOST) == other
    assert count_scatter.known("postgres", structs.replace(HOST, kernel="6.2")) is None
    Path(path).write_text('{"host": 1}')
    with pytest.raises(HostError, match="remove it, and run `dyno calibrate` with `--count` again"):
        count_scatter.known("postgres", HOST)


def test_what_is_known_of_other_fills_stays_beside_a_new_calibration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A calibration tells of the versions and steps that it has counted, and of no others."""
    monkeypatch.setattr(place, "data_root", lambda: tmp_path / "lab")
    seen = FillScatter(deviation=0.001, freedom=3)
    count_scatter.keep("postgres", CountScatter(fills={"17.11 w/a": seen}), HOST)
    count_scatter.keep("postgres", structs.replace(FOUND, fills={"18.6 w/a": seen}), HOST)
    kept = count_scatter.known("postgres", HOST)
    assert kept is not None
    assert set(kept.fills) == {"17.11 w/a", "18.6 w/a"}
    assert kept.repeats == FOUND.repeats


def test_a_host_learns_how_far_fills_differ_and_each_fill_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: two fills of pg18 that are 0.2 % apart, and others later; those of pg17 are one."""
    monkeypatch.setattr(place, "data_root", lambda: tmp_path / "lab")
    with example_figures.unpacked(example_figures.KINDS / "count") as unpacked:
        folder = Path(shutil.copytree(unpacked, tmp_path / "count"))
    counted = Results.open(store.count_folder(folder) / analysis.PART)
    host = counted.host()
    assert host is not None

    def learned(made_ns: int, apart: float) -> FillScatter:
        plant_fills(counted, made_ns, apart)
        count_fill.learn(counted, "postgres")
        kept = count_scatter.known("postgres", host)
        assert kept is not None
        assert set(kept.fills) == {"18.6 sysbench/point-query", "18.6 sysbench/update-index"}
        return kept.fills["18.6 sysbench/point-query"]

    first = learned(10, 0.002)
    assert first.deviation == pytest.approx(0.002 / math.sqrt(2), rel=1e-3)
    assert first.freedom == 1
    assert learned(10, 0.002) == first
    later = learned(20, 0.0)
    assert later.freedom == 2
    assert later.deviation == pytest.approx(0.001, rel=1e-3)


def plant_fills(counted: Results, made_ns: int, apart: float) -> None:
    """Equal counts of pg18 but for its second fill, made later; one fill of pg17."""
    for place_of, block in enumerate(counted.blocks()):
        for run in block.runs():
            number = place_of if run.arm == "pg18" else 0
            use = run.golden()["sysbench"]
            use = structs.replace(use, fill=1 + number, made_unix_ns=made_ns + number)
            store.write_json(run.path / "sysbench" / "golden.json", use)
            for step in run.steps():
                if (known := step.count()) is not None:
                    instructions = 40_000 * math.exp(apart * number)
                    changed = structs.replace(known, instructions=instructions)
                    store.write_json(step.path / "count.json", changed)


def test_a_ratio_scatters_by_what_two_counts_do() -> None:
    """By hand: √2 times the deviation of one; steps that write are apart."""
    logs = (0.0, 0.0002, 0.0004)
    rows = [
        repeatability.repeated(("w", name), [count(math.exp(log * size), writes=writes)
                                            for log in logs])
        for name, size, writes in (("a", 1.0, False), ("b", 1.0, False), ("c", 4.0, True))
    ]  # fmt: skip
    scatter = repeatability.pooled(rows)
    assert scatter.deviation == pytest.approx(math.sqrt(2) * 0.0002)
    assert scatter.deviation_of_writes == pytest.approx(math.sqrt(2) * 0.0008)
    assert (scatter.freedom, scatter.freedom_of_writes) == (4, 2)
    assert (scatter.repeats, scatter.pairs, scatter.beyond) == (3, 9, 1)
    assert "range 0.1600 %; of 3 pairs 1 beyond 0.1 %" in rows[2].words


def test_a_scatter_of_a_host_is_never_below_the_floor() -> None:
    """Equal counts are not certain beyond what is known; no such steps: nothing is known."""
    exact = structs.replace(FOUND, deviation=0.0, freedom_of_writes=0)
    scatter = analysis.known_scatter(exact, writes=False)
    assert scatter is not None
    assert (scatter.deviation, scatter.freedom) == (0.0001, 40.0)
    assert analysis.known_scatter(exact, writes=True) is None


def compared(folder: Path, host: CountScatter | None) -> WorkComparison:
    """The counts of a result whose host has this calibration."""
    counted = Results.open(store.count_folder(folder) / analysis.PART)
    facts = counted.host()
    assert facts is not None
    store.write_json(counted.folder / "host.json", structs.replace(facts, counts=host))
    return compare.load(folder).of(WorkComparison)


@pytest.mark.long
def test_intervals_rest_on_the_hosts_calibration(tmp_path: Path) -> None:
    """Repeats of the plan only test that it holds; without one that is said."""
    with example_figures.unpacked(example_figures.KINDS / "count") as unpacked:
        folder = Path(shutil.copytree(unpacked, tmp_path / "count"))
    plant_fills(Results.open(store.count_folder(folder) / analysis.PART), 10, 0.0)
    alone, by_host = compared(folder, None), compared(folder, FOUND)
    said = (" ".join(" ".join(report.lines(counts)).split()) for counts in (alone, by_host))
    assert [report.NOT_CALIBRATED in words for words in said] == [True, False]
    assert (by_host.scatter, by_host.scatter_of_writes) == (0.0002, 0.0005)
    made = " ".join(markdown.render(page.make(compare.load(folder))).split())
    assert "by 40 counts of one build on this host" in made
    tight = structs.replace(FOUND, deviation=0.0, deviation_of_writes=0.0)
    for change in compared(folder, tight).changes:
        assert change.ratio is not None
        assert change.reason in ("", work.APART_REASON)


def test_the_base_is_counted_forty_times_and_nothing_else() -> None:
    """A plan that counts nothing is refused with the remedy."""
    with pytest.raises(PlanError, match="key `count`: missing, and --count counts its steps"):
        calibration.counts(plan.parse(TEXT, None))
    often = calibration.counts(plan.parse(TEXT + "[count]\n", None))
    assert often.count is not None
    assert (often.count.repeats, often.count.only) == (40, True)
    assert [arm.name for arm in often.arms] == ["a"]
    assert often.name.endswith(".calibration.count")


def test_a_single_count_has_no_scatter(tmp_path: Path) -> None:
    """One line says of what and how often."""
    with example_figures.unpacked(example_figures.KINDS / "count") as unpacked:
        folder = Path(shutil.copytree(unpacked, tmp_path / "count"))
    for path in folder.glob("count/work/blocks/00[2-9]*"):
        shutil.rmtree(path)
    with pytest.raises(ResultError, match="counted 1 times of pg17"):
        list(repeatability.steps(Results.open(folder)))


def test_what_counts_of_one_build_differ_by_is_told_of_so_many_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps that scatter more decide; a host that was not calibrated says nothing."""
    monkeypatch.setattr(place, "data_root", lambda: tmp_path)
    monkeypatch.setattr(facts, "collect", lambda path, *, measure: HOST)
    for repeats, share in ((2, 0.00072), (8, 0.00036)):
        asked = plan.parse(f"{TEXT}[count]\nrepeats = {repeats}\n", None)
        (tmp_path / count_scatter.FILE).unlink(missing_ok=True)
        assert measuring.counts_differ_by(asked) == 0.0
        count_scatter.keep("postgres", FOUND, HOST)
        assert measuring.counts_differ_by(asked) == pytest.approx(share, rel=0.01)
