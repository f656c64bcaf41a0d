"""Where the load generator was at its limit: marked "at least" with the reason, never dropped."""

import io
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import report_parts
from dbdyno.analysis import compare
from dbdyno.evidence import evidence, generator_limit
from dbdyno.model import Bound, Cell, Comparison, StepComparison
from dbdyno.model.ceiling import Ceiling, CeilingLoad
from dbdyno.model.events import Thread
from dbdyno.parts import cells
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import Page
from dbdyno.report import json_document, page
from dbdyno.report.chart import bars
from dbdyno.report.render import html, markdown, terminal
from dbdyno.store import Results
from doubted import doubted
from result_builder import build, plant
from result_planted import Planted

MORE = f"({generator_limit.MORE_THREADS})"

BUSY = 0.84
FASTER = 1.2


def planted_by(
    limited: Iterable[str], step: str = "qr100", lift: float = FASTER
) -> Callable[[str, str, int], Planted]:
    """pg18 faster by `lift`; the generator busy in block 2 of `step`, for the `limited` arms."""
    arms = frozenset(limited)

    def planted(arm: str, name: str, block: int) -> Planted:
        busy = BUSY if arm in arms and name == step and block == 2 else 0.2
        faster = lift if arm == "pg18" else 1.0
        return plant(name, faster=faster, generator_busy_share=busy)

    return planted


def compared(
    folder: Path, limited: Iterable[str], *, lift: float = FASTER, blocks: int = 3
) -> Comparison:
    planted = planted_by(limited, lift=lift)
    return compare.load(build(folder, steps=("l.i0", "qr100"), blocks=blocks, planted=planted))


def step(comparison: Comparison, name: str = "qr100") -> StepComparison:
    return next(one for one in comparison.steps if one.step == name)


def cell(comparison: Comparison, arm: str, name: str = "qr100") -> Cell:
    return next(one for one in step(comparison, name).cells if one.arm == arm)


def printed(shown: Page, *, full: bool = False) -> str:
    console = Console(file=io.StringIO(), width=80)
    terminal.print_page(shown, console, full=full)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


# --- Analysis --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "reasons"),
    [
        (generator_limit.BUSY_SHARE_MAX, ()),
        (0.71, (f"its busiest thread was busy 71 % of the time {MORE}",)),
        (1.0, (f"its busiest thread was busy 100 % of the time {MORE}",)),
    ],
)
def test_a_busy_thread_makes_the_rate_a_lower_bound(
    tmp_path: Path, share: float, reasons: tuple[str, ...]
) -> None:
    def planted(arm: str, name: str, block: int) -> Planted:
        return plant(name, generator_busy_share=share)

    folder = build(tmp_path, steps=("qr100",), blocks=1, arms=("pg17",), planted=planted)
    (run,) = cell(compare.load(folder), "pg17").runs
    assert run.window.limited == reasons
    assert run.metrics["qps"] == pytest.approx(5_000.0), "the number stays"
    said = [text for text in doubted(run) if text.startswith("load generator at its limit")]
    assert [text.partition(": ")[2] for text in said] == list(reasons)


@pytest.mark.parametrize(
    ("lag_us", "reasons"),
    [
        (None, ()),  # older results
        (1_000.0 * generator_limit.LAG_MS_P99_MAX, ()),
        (
            2_340.0,
            (f"the generator itself sent operations late, 1 % of them by over 2.3 ms {MORE}",),
        ),
    ],
)
def test_a_generator_that_sends_late_makes_the_rate_a_lower_bound(
    tmp_path: Path, lag_us: float | None, reasons: tuple[str, ...]
) -> None:
    results = Results.open(build(tmp_path, steps=("qr100",), blocks=1))
    found = evidence.read(results.blocks()[0].runs()[0].steps()[0])
    assert generator_limit.limits(found, {"lag_us_p99": lag_us}) == reasons


def test_on_a_host_that_is_full_more_threads_are_no_remedy(tmp_path: Path) -> None:
    results = Results.open(build(tmp_path, steps=("qr100",), blocks=1))
    found = evidence.read(results.blocks()[0].runs()[0].steps()[0])
    (reason,) = generator_limit.limits(found, {"lag_us_p99": 2_340.0, "cpups": 99.2})
    assert reason.endswith(
        "(the host's processors were 99 % busy: use fewer clients or more cores)"
    )


def test_a_role_that_is_sent_late_makes_the_step_a_lower_bound(tmp_path: Path) -> None:
    def planted(arm: str, name: str, block: int) -> Planted:
        return plant(name, lag_us={"insert": 40, "query": 1_800})

    folder = build(tmp_path, steps=("qr100",), blocks=1, arms=("pg17",), planted=planted)
    comparison = compare.load(folder)
    (run,) = cell(comparison, "pg17").runs
    assert run.window.limited == (
        f"the generator itself sent operations late, 1 % of them by over 1.8 ms {MORE}",
    )
    assert "≥ 5,000" in printed(page.make(comparison))


def test_a_handful_of_late_operations_is_no_limit(tmp_path: Path) -> None:
    def planted(arm: str, name: str, block: int) -> Planted:
        return plant(name, lag_us={"insert": 1_800, "query": 3})

    folder = build(tmp_path, steps=("qr100",), blocks=1, arms=("pg17",), planted=planted)
    (run,) = cell(compare.load(folder), "pg17").runs
    assert run.window.limited == ()


@pytest.mark.parametrize(
    ("queue_us", "reasons"),
    [
        (9, ()),
        (
            80,
            (
                "requests and replies lay in the generator for up to 40 % of service times,"
                f" 1 % of them for up to 80 µs and more {MORE}",
            ),
        ),
    ],
)
def test_a_queue_of_the_generators_own_makes_times_upper_and_rates_lower_bounds(
    tmp_path: Path, queue_us: int, reasons: tuple[str, ...]
) -> None:
    def planted(arm: str, name: str, block: int) -> Planted:
        return plant(name, queue_us={"insert": 2, "query": queue_us})

    folder = build(tmp_path, steps=("qr100",), blocks=1, arms=("pg17",), planted=planted)
    comparison = compare.load(folder)
    found = cell(comparison, "pg17")
    (run,) = found.runs
    assert run.metrics["queue_share"] == pytest.approx(queue_us / 2, rel=0.01), "of 200 µs"
    assert (run.window.limited, run.window.delayed) == (reasons, reasons)
    bounds: tuple[Bound, Bound] = ("at least", "at most") if reasons else ("exact", "exact")
    assert (found.value_bound, found.time_bound) == bounds
    said = [text for text in doubted(run) if text.startswith("response times at most")]
    assert [text.partition(": ")[2] for text in said] == list(reasons)
    words = " ".join(printed(page.make(comparison), full=True).split())
    assert ("≤" in words) == ("≥ 5,000" in words) == bool(reasons)


def test_a_host_that_is_full_holds_the_rate_back_and_not_what_lies_unread(tmp_path: Path) -> None:
    """The rate stays exact, the times are upper bounds."""
    results = Results.open(build(tmp_path, steps=("qr100",), blocks=1))
    found = evidence.read(results.blocks()[0].runs()[0].steps()[0])
    queued = {"queue_share": 62.0, "service_p99_us": 3_800.0}
    for busy_pct, limited in ((99.0, False), (60.0, True), (None, True)):
        metrics = {**queued, "cpups": busy_pct}
        assert bool(generator_limit.limits(found, metrics)) == limited
        (reason,) = generator_limit.delays(found, metrics)
        assert reason.startswith("requests and replies lay in the generator for up to 62 %")


def test_a_slow_hundredth_of_the_queue_is_told_beside_the_service_times(tmp_path: Path) -> None:
    results = Results.open(
        build(
            tmp_path,
            steps=("qr100",),
            blocks=1,
            planted=lambda arm, name, block: plant(name, queue_us={"query": 2_800}),
        )
    )
    found = evidence.read(results.blocks()[0].runs()[0].steps()[0])
    metrics = {"queue_share": 4.0, "service_p99_us": 3_800.0}
    (reason,) = generator_limit.delays(found, metrics)
    assert reason == (
        "1 % of requests and replies lay in the generator for up to 2,801 µs and more, beside a"
        f" service time p99 of 3,800 µs {MORE}"
    )
    assert not generator_limit.delays(found, {**metrics, "service_p99_us": 38_000.0})


@pytest.mark.parametrize("share", [None, generator_limit.OWN_SHARE_MAX, 0.62])
def test_a_thread_without_a_processor_leaves_replies_unread(tmp_path: Path, share: float | None):
    folder = build(tmp_path, steps=("qr100",), blocks=1, arms=("pg17",))
    (path,) = folder.glob("blocks/001/pg17/*/*/events.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    thread = {"cpu_us": 1, "busy_share": 0.18, "wait": "epoll"}
    lines[-1]["threads"] = [thread if share is None else thread | {"runnable_share": share}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run,) = cell(compare.load(folder), "pg17").runs
    said = "one of its threads waited 62 % of the time for a processor, while replies lay unread"
    assert [reason.startswith(said) for reason in run.window.delayed] == [True] * (share == 0.62)


def test_a_client_that_shares_its_sessions_processor_holds_no_rate_back(tmp_path: Path) -> None:
    """While its thread waits for the processor, the session is at work on it."""
    folder = build(tmp_path, steps=("qr100",), blocks=1, arms=("pg17",))
    (path,) = folder.glob("blocks/001/pg17/*/*/events.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[-1]["threads"] = [{"cpu_us": 1, "busy_share": 0.3, "runnable_share": 0.5}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    job = json.loads(path.with_name("job.json").read_text()) | {"processors": [0, 1]}
    path.with_name("job.json").write_text(json.dumps(job))
    (run,) = cell(compare.load(folder), "pg17").runs
    assert run.window.limited == ()
    (reason,) = run.window.delayed
    assert reason.endswith('it shares them with the sessions: placement = "together")')


def test_any_busy_thread_counts_not_their_mean(tmp_path: Path) -> None:
    folder = build(tmp_path, steps=("qr100",), blocks=1, arms=("pg17",))
    (path,) = folder.glob("blocks/001/pg17/*/*/events.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[-1]["threads"] = [{"cpu_us": 1, "busy_share": share} for share in (0.1, 0.9, 0.1)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run,) = cell(compare.load(folder), "pg17").runs
    assert run.window.limited == (f"its busiest thread was busy 90 % of the time {MORE}",)


@pytest.mark.parametrize(
    ("limited", "value", "ratio"),
    [
        ((), "exact", "exact"),
        (("pg18",), "at least", "at least"),
        (("pg17",), "exact", "at most"),
        (("pg17", "pg18"), "at least", "unknown"),
    ],
)
def test_a_ratio_is_a_bound_by_which_side_was_limited(
    tmp_path: Path, limited: tuple[str, ...], value: Bound, ratio: Bound
) -> None:
    """One block of three is enough: its number is in the mean."""
    comparison = compared(tmp_path, limited)
    found = cell(comparison, "pg18")
    assert (found.value_bound, found.ratio_bound) == (value, ratio)
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(FASTER), "the number stays"
    assert found.ratio.blocks == 3
    base = cell(comparison, "pg17")
    assert base.value_bound == ("at least" if "pg17" in limited else "exact")
    assert base.ratio_bound == "exact"
    other = cell(comparison, "pg18", "l.i0")
    assert (other.value_bound, other.ratio_bound) == ("exact", "exact")


def test_the_comparison_as_json_has_the_mark_and_the_reason(tmp_path: Path) -> None:
    written = json_document.form(compared(tmp_path, ["pg18"]))
    before, limited = written["steps"]
    (other,) = limited["arms"]
    assert other["verdict"] == "faster"
    assert [other["metrics"][name]["bound"] for name in ("qps", "cpupq")] == ["at least", "exact"]
    assert limited["limited"] == {"pg18": [f"its busiest thread was busy 84 % of the time {MORE}"]}
    assert before["limited"] == {}


# --- The page and its formats ----------------------------------------------------------------


def test_every_format_shows_the_mark_at_the_rate_and_the_reason(tmp_path: Path) -> None:
    shown = page.make(compared(tmp_path, ["pg18"]))
    reason = "its busiest thread was busy 84 % of the time (give it more"
    for text in (printed(shown, full=True), markdown.render(shown), html.render(shown)):
        words = " ".join(text.replace("\u00a0", " ").split())
        assert "≥ 6,000" in words
        assert "≥ 1.20" in words
        assert reason in words
        assert "≥: the load generator was at its limit" in words
        assert "≥ 5,000" not in words, "the base was not limited"
    assert max(map(len, printed(shown).splitlines())) <= 80


def test_without_a_limit_there_is_no_mark(tmp_path: Path) -> None:
    shown = page.make(compared(tmp_path, []))
    for text in (printed(shown, full=True), markdown.render(shown)):
        assert not {"≥", "≤"} & set(text)
        assert "at its limit" not in text


def test_a_limited_base_makes_the_ratio_at_most(tmp_path: Path) -> None:
    words = " ".join(printed(page.make(compared(tmp_path, ["pg17"]))).split())
    assert "≥ 5,000" in words
    assert "≤ 1.20" in words
    assert "≤: the load generator was at its limit with the base" in words


def test_limited_on_both_says_that_it_cannot_be_told(tmp_path: Path) -> None:
    shown = page.make(compared(tmp_path, ["pg17", "pg18"]))
    words = " ".join(printed(shown).split())
    assert "1.20 limited on both" in words
    assert "≥ 1.20" not in words and "≤ 1.20" not in words
    effect = report_parts.effects(shown)["qr100"]
    assert effect.figures == "throughput +20.0 % [+20.0, +20.0] (limited on both)"
    assert effect.reason == "generator at its limit"


@pytest.mark.parametrize(
    ("limited", "lift", "verdict"),
    [
        ([], 1.2, "faster +20.0 %"),
        (["pg18"], 1.2, "faster ≥ +20.0"),
        (["pg17"], 1.2, "open ≤ +20.0 %"),
        (["pg18"], 0.8, "open ≥ −20.0 %"),
        (["pg17"], 0.8, "slower ≤ −20"),
    ],
)
def test_a_bound_decides_only_in_its_own_direction(
    tmp_path: Path, limited: list[str], lift: float, verdict: str
) -> None:
    effect = report_parts.effects(page.make(compared(tmp_path, limited, lift=lift)))["qr100"]
    figures = effect.figures.removeprefix("throughput ")
    assert f"{effect.word} {figures}".startswith(verdict)


def test_one_block_has_the_mark_too(tmp_path: Path) -> None:
    folder = build(
        tmp_path,
        steps=("qr100",),
        blocks=1,
        planted=lambda arm, name, block: plant(
            name, generator_busy_share=BUSY if arm == "pg18" else 0.2
        ),
    )
    effect = report_parts.effects(page.make(compare.load(folder)))["qr100"]
    assert (effect.figures, effect.reason) == ("throughput ≥ +0.0 %", "one block")


@pytest.mark.parametrize(
    ("tone", "of", "left"),
    [
        ("blue", "at least", "blue"),
        ("yellow", "at least", ""),
        ("blue", "at most", ""),
        ("yellow", "at most", "yellow"),
        ("red", "at least", ""),
        ("green", "at least", "green"),
        ("gray", "at least", "gray"),
        ("blue", "unknown", ""),
        ("red", "exact", "red"),
    ],
)
def test_a_colour_stays_only_where_it_holds_for_the_true_number(tone: Tone, of: Bound, left: Tone):
    assert cells.justified(tone, of) == left


def test_the_chart_of_ratios_points_to_where_the_true_one_lies(tmp_path: Path) -> None:
    shown = page.make(compared(tmp_path, ["pg18"]))
    drawn, ratios = report_parts.ratio_chart(shown), report_parts.ratios(shown)
    assert drawn is not None and ratios is not None
    assert "a triangle points towards the true ratio" in drawn.title
    values = bars.ratios(ratios, shown.arms)["data"]["values"]
    assert [one["bound"] for one in values] == ["exact", "at least"]


# --- The ceiling -----------------------------------------------------------------------------


def test_the_ceiling_stands_among_the_facts_of_the_host_in_one_line(tmp_path: Path) -> None:
    loads = tuple(
        CeilingLoad(
            connections=connections,
            threads=(Thread(cpu_us=1, busy_share=busy),),
            per_s=per_s,
            cpu_us_per_operation=cpu_us,
        )
        for connections, per_s, cpu_us, busy in (
            (1, 38_417.2, 19.84, 0.61),
            (8, 181_640.7, 3.104, 0.97),
        )
    )
    shown = page.make(replace(compared(tmp_path, [], blocks=1), generator=Ceiling(loads=loads)))
    facts = report_parts.pairs(shown, "facts")
    assert facts["Load generator"] == (
        "ceiling 181,641 statements/s with 8 connections, 3.10 µs of CPU each; "
        "≥ 38,417 statements/s with 1 connection, 19.8 µs"
    )
    for text in (printed(shown, full=True), markdown.render(shown)):
        assert "ceiling 181,641 statements/s" in " ".join(text.split())


def test_each_protocol_has_its_ceiling(tmp_path: Path) -> None:
    loads = tuple(
        CeilingLoad(
            protocol=protocol,
            connections=8,
            threads=(Thread(cpu_us=1, busy_share=0.97),),
            per_s=per_s,
            cpu_us_per_operation=3.0,
        )
        for protocol, per_s in (("postgres", 180_000.0), ("mysql", 210_000.0))
    )
    comparison = replace(compared(tmp_path, [], blocks=1), generator=Ceiling(loads=loads))
    assert report_parts.pairs(page.make(comparison), "facts")["Load generator"] == (
        "PostgreSQL's protocol: ceiling 180,000 statements/s with 8 connections, 3.00 µs of CPU "
        "each; MySQL's protocol: ceiling 210,000 statements/s with 8 connections, 3.00 µs of CPU "
        "each"
    )


def test_a_result_without_a_ceiling_says_so(tmp_path: Path) -> None:
    shown = page.make(compared(tmp_path, [], blocks=1))
    assert report_parts.pairs(shown, "facts")["Load generator"] == "not measured on this host"
