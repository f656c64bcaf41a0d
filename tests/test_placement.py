"""`[schedule] placement`: what a plan may say, its processors, and where sessions run."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import convert, structs

import read_steps
from comparison_builder import comparison
from dbdyno import plan
from dbdyno.analysis.across import work
from dbdyno.findings.placement import show as section
from dbdyno.findings.setup import show as setup
from dbdyno.host import core_sets, placement
from dbdyno.host.lock import HostLock
from dbdyno.host.observe.reader import HostReader
from dbdyno.model import Plan
from dbdyno.model.error import HostError, PlanError
from dbdyno.model.events import ConnectedEvent
from dbdyno.model.placement import PlacedCost, PlacementTrial, freely
from dbdyno.model.plan_record import ScheduleRecord
from dbdyno.plan.race import text
from dbdyno.run import blocks, placement_trial, sessions
from dbdyno.run.check import drivers, plan_record
from dbdyno.run.measurement import StepFailed
from dbdyno.stats import tolerance
from dbdyno.stats.sample import Sample
from dbdyno.store import Results
from dbdyno.workload import expand, used
from mysql_place import build_of
from server_place import ends
from verdict_builder import so_far

PLAN = """
name = "placed"
[arms.a]
version = "18"
[[workloads]]
name = "./reads.toml"
[schedule]
placement = "together"
"""

# --- Plans -------------------------------------------------------------------------------------


def made(folder: Path, *changes: tuple[str, str], text: str = PLAN) -> Plan:
    (folder / "reads.toml").write_text(read_steps.text())
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return plan.parse(text, folder / "plan.toml")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (('"together"', '"beside"'), "must be 'together', 'apart' or 'free', not 'beside'"),
        (
            ('version = "18"', 'engine = "fake"\nfake = { default_us = 100 }'),
            'arm `a` is of engine "fake"',
        ),
        (('version = "18"', 'dsn = "postgresql://u@h:5432/d"'), "arm `a` has a `dsn`; remove it"),
        (("[schedule]", "[generator]\nthreads = 2\n[schedule]"), "has a thread for each processor"),
        (
            (
                'version = "18"',
                'version = "18"\nsettings = { thread_handling = "pool-of-threads" }',
            ),
            "key `arms.a.settings.thread_handling`: sessions of a pool of threads",
        ),
        (
            ('"together"', '"apart"\n[server]\ncpus = "0"'),
            'key `server.cpus`: placement = "apart" chooses processors',
        ),
        (
            (
                '"together"',
                '"together"\n[server]\nhost = "a"\n[generator]\nhosts = ["b"]\n'
                '[hosts.a]\nssh = "a"\naddress = "10.0.0.1"\n'
                '[hosts.b]\nssh = "b"\naddress = "10.0.0.2"',
            ),
            "key `generator.hosts`: .* is for load that is made beside the servers",
        ),
    ],
)
def test_a_plan_that_cannot_be_placed_is_refused_in_a_line(
    tmp_path: Path, change: tuple[str, str], line: str
) -> None:
    with pytest.raises(PlanError, match=line):
        made(tmp_path, change)


@pytest.mark.parametrize(
    ("role", "line"),
    [
        ('run = "point", connect = "each"', "role `query` has a connection for each operation"),
        ('run = "point"', None),
    ],
)
def test_a_load_that_cannot_be_placed_is_refused(
    tmp_path: Path, role: str, line: str | None
) -> None:
    placed = made(tmp_path)
    text = read_steps.text().replace('run = "point"', role)
    (tmp_path / "reads.toml").write_text(text)
    (use,) = placed.workloads
    steps = tuple(expand(used(use, placed.path), use.parameters, "postgres"))
    if line is None:
        drivers.refuse_unfit(placed, {use.title: {"a": steps}}, {})
        return
    with pytest.raises(PlanError, match=line):
        drivers.refuse_unfit(placed, {use.title: {"a": steps}}, {})


def test_only_a_placement_that_was_chosen_is_kept_and_makes_other_work(tmp_path: Path) -> None:
    together, free = made(tmp_path), made(tmp_path, ('"together"', '"free"'))
    kept = [plan_record.schedule_json(one.schedule).get("placement") for one in (together, free)]
    assert kept == ["together", None]
    before = work.turns_of(ScheduleRecord())
    assert work.turns_of(structs.replace(ScheduleRecord(), placement="together")) == {
        **before,
        "placement": "together",
    }
    assert "placement" not in before, "works of older results keep their keys"


def test_the_introduction_of_a_report_says_where_clients_ran() -> None:
    free = comparison(blocks=1)
    together = structs.replace(free.plan, schedule=ScheduleRecord(placement="together"))
    words = "Each client and the session that served it ran on one processor."
    assert words in "\n".join(setup.paragraphs(replace(free, plan=together)))
    assert words not in "\n".join(setup.paragraphs(free))


# --- Processors --------------------------------------------------------------------------------


def machine(folder: Path, siblings: Sequence[int]) -> HostReader:
    """A host whose processors are threads of these cores."""
    for number, core in enumerate(siblings):
        topology = folder / f"sys/devices/system/cpu/cpu{number}/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text("0\n")
        (topology / "core_id").write_text(f"{core}\n")
    return HostReader(root=folder)


@pytest.mark.parametrize(
    ("nodes", "cores", "allowed", "whole", "dealt"),
    [
        (
            ["0-3,12-15", "4-11,16-23"],
            [number % 12 for number in range(24)],
            range(24),
            [(cpu, cpu + 12) for cpu in range(4, 12)],
            ("4,5,6,7,8,9,16,17,18,19,20,21", "10,11,22,23"),
        ),
        # Of which a thread is not ours.
        (["0-7"], [0, 1, 2, 3] * 2, (0, 1, 2, 4, 5, 7), [(0, 4), (1, 5)], ("0,4", "1,5")),
    ],
)
def test_all_threads_of_a_core_are_of_one_side_in_one_node(
    nodes: Sequence[str],
    cores: Sequence[int],
    allowed: Sequence[int],
    whole: Sequence[tuple[int, int]],
    dealt: tuple[str, str],
    tmp_path: Path,
) -> None:
    reader = machine(tmp_path, cores)
    for number, cpus in enumerate(nodes):
        node = tmp_path / f"sys/devices/system/node/node{number}"
        node.mkdir(parents=True)
        (node / "cpulist").write_text(f"{cpus}\n")
    found = core_sets.whole_cores(reader, set(allowed))
    assert found == tuple(map(frozenset, whole))
    assert core_sets.dealt(found) == dealt


def test_each_core_has_one_client_before_any_has_two(tmp_path: Path) -> None:
    reader = machine(tmp_path, [0, 0, 1, 1])
    assert core_sets.core_by_core(reader, {0, 1, 2, 3}) == (3, 1, 2, 0)
    assert core_sets.core_by_core(reader, {0, 2, 3}) == (3, 0, 2)


def test_the_processors_of_a_plan_are_those_that_both_sides_may_use(tmp_path: Path) -> None:
    here = sorted(os.sched_getaffinity(0))
    assert placement.processors(made(tmp_path, ('"together"', '"free"'))) == ()
    assert sorted(placement.processors(made(tmp_path))) == here
    first = f'"together"\n[server]\ncpus = "{here[0]}"'
    assert placement.processors(made(tmp_path, ('"together"', first))) == (here[0],)
    none = f'{first}\n[generator]\ncpus = "{here[0] + 1}"'
    with pytest.raises(HostError, match=r"needs a processor that `server.cpus` has, too"):
        placement.processors(made(tmp_path, ('"together"', none)))


def test_apart_gives_servers_and_the_generator_cores_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = made(tmp_path, ('"together"', '"apart"'))
    four = tuple(frozenset({number}) for number in range(4))
    monkeypatch.setattr(core_sets, "here", lambda: four)
    found = placement.of(apart)
    assert (found.server_cpus, found.generator_cpus) == ("0,1,2", "3")
    monkeypatch.setattr(core_sets, "here", lambda: four[:1])
    with pytest.raises(HostError, match='"apart" needs 2 physical cores'):
        placement.of(apart)


# --- The trial ---------------------------------------------------------------------------------


def windows(together: bool, times_us: Sequence[float]) -> list[placement_trial.TrialWindow]:
    return [placement_trial.TrialWindow(together=together, us=us, cpu_us=us / 2) for us in times_us]


STEADY_US = [50.0, 9.0, *[9.0, 9.0 * math.exp(0.01)] * 5]
LOUD_US = [90.0, 30.0, *[25.0, 25.0 * math.exp(0.1)] * 5]


def test_a_trial_chooses_by_the_scatter_of_pairs_in_microseconds() -> None:
    both = [*windows(True, STEADY_US), *windows(False, LOUD_US)]
    trial = placement_trial.trial_of("point-query", both)
    assert trial is not None
    assert trial.together.scatter == pytest.approx(0.01 * placement_trial.MAD_TO_SD)
    assert trial.free.scatter == pytest.approx(0.1 * placement_trial.MAD_TO_SD)
    assert trial.choice == "together"
    assert trial.why == (
        "chosen by a trial of point-query: scatter 1.5 % of 9.0 µs against 14.8 % of 26.3 µs"
    )
    twice = replace(trial, free=replace(trial.free, scatter=trial.together.scatter * 9 / 25))
    assert twice.choice == "free", "as steady in microseconds"


@pytest.mark.parametrize(
    ("free_scatter", "window_s", "pairs"),
    [
        (0.01, 0.0, placement_trial.PAIRS),
        (0.1, 0.0, placement_trial.PAIRS_CLEAR),
        (0.01, 1.0, placement_trial.PAIRS_CLEAR),
        (0.01, 0.7, 8),
    ],
)
def test_a_trial_ends_as_soon_as_the_choice_is_clear_or_its_time_is_over(
    free_scatter: float, window_s: float, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scatter that is ten times as large needs no further windows; equal scatter has all."""
    scatter = {True: 0.01, False: free_scatter}
    taken: list[float] = []
    monkeypatch.setattr(placement_trial.time, "monotonic", lambda: window_s * len(taken))

    def take(together: bool) -> placement_trial.TrialWindow:
        taken.append(9.0 * math.exp(scatter[together] * (len(taken) % 2)))
        return windows(together, taken[-1:])[0]

    assert len(placement_trial.windows_of("one", take)) == 4 * pairs


def test_a_window_without_an_operation_chooses_nothing() -> None:
    both = [*windows(True, STEADY_US), *windows(False, [math.inf, *LOUD_US[1:]])]
    assert placement_trial.trial_of("point-query", both) is None


def test_the_plan_of_a_race_keeps_what_a_trial_has_chosen(tmp_path: Path) -> None:
    both = [*windows(True, STEADY_US), *windows(False, LOUD_US)]
    trial = placement_trial.trial_of("point-query", both)
    assert trial is not None
    written = text.with_placement(PLAN.replace('placement = "together"\n', ""), trial)
    assert 'placement = "together"  # chosen by a trial of point-query: scatter 1.5 % of' in written
    kept = made(tmp_path, text=written).schedule
    assert kept.placement == "together"
    assert kept.placement_trial is not None
    assert kept.placement_trial.free.us == pytest.approx(trial.free.us, abs=1e-4)
    record = plan_record.schedule_json(kept)
    assert convert(record, ScheduleRecord).placement_trial == kept.placement_trial


def test_a_change_together_is_a_smaller_share_of_an_operation_placed_freely() -> None:
    assert freely(1.074, cost_us=9, wake_us=16.4) == pytest.approx(1 + 0.074 * 9 / 25.4)
    assert freely(1.0, cost_us=9, wake_us=16.4) == 1
    assert freely(1.074, cost_us=9, wake_us=0) == pytest.approx(1.074)


@pytest.mark.parametrize(("better", "loss"), [(-1, 1.05), (1, 0.95)])
def test_a_tolerance_is_of_an_operation_placed_freely(better: int, loss: float) -> None:
    sample = Sample(metric="any", better=better, logs=(), free_cost=25.4 / 9)
    ratio = math.exp(tolerance.edge(sample, 0.05))
    cost = ratio if better < 0 else 1 / ratio
    free = freely(cost, cost_us=9, wake_us=16.4)
    assert (free if better < 0 else 1 / free) == pytest.approx(loss)


@pytest.mark.parametrize(
    ("metric", "ratio", "line"),
    [
        (
            "cpu_per_op",
            1.1,
            "b: +1.00 µs [+0.50, +1.50] of an operation's CPU, +4.0 % [+2.0, +6.0] of",
        ),
        ("qps", 0.8, "b: +5.00 µs [+2.22, +8.57] of an operation's time, +10.0 % [+4.4, +17.1] of"),
    ],
)
def test_a_report_says_microseconds_first_and_then_the_share_of_a_free_operation(
    metric: str, ratio: float, line: str
) -> None:
    trial = PlacementTrial(
        step="one",
        together=PlacedCost(us=20.0, cpu_us=10.0, scatter=0.01),
        free=PlacedCost(us=50.0, cpu_us=25.0, scatter=0.05),
    )
    made_of = comparison(blocks=4)
    base, other = made_of.steps[0].cells[:2]
    assert other.verdict is not None
    base = replace(base, metrics={"cpu_per_op": 10.0, "connection_us_per_op": 20.0})
    other = replace(other, arm="b")
    reach = 0.1 if metric == "qps" else 0.05
    judged = replace(
        other.verdict.judgements[0],
        metric=metric,
        so_far=so_far(ratio, ratio - reach, ratio + reach),
        look=None,
        blocks=4,
    )
    words = section.words(other, base, judged, trial)
    assert words == f"{line} one that is placed freely"


@pytest.mark.live
@pytest.mark.soak
def test_a_trial_measures_both_placements_on_one_server(tmp_path: Path) -> None:
    here = ('version = "18"', f'base_dir = "{ends()[-1]}"')
    free = made(tmp_path, here, ('"together"', '"free"'))
    with HostLock(plan="trial", wait=True):
        trial = placement_trial.measured(free)
    assert trial is not None
    assert trial.step == "one"
    for cost in (trial.together, trial.free):
        assert 0 < cost.cpu_us < cost.us


# --- Sessions ----------------------------------------------------------------------------------


class Threaded:
    """A server whose sessions are threads of one process, as far as placing asks it."""

    threads = True


def test_a_session_whose_thread_is_not_known_fails_the_step() -> None:
    event = ConnectedEvent(
        mono_ns=1, role="query", client=0, connection=0, server_pid=7, processor=0
    )
    placed = sessions.Sessions(Threaded())  # type: ignore[arg-type]
    with pytest.raises(StepFailed, match="does not say which of its threads"):
        placed.take(event)
    placed.take(structs.replace(event, server_tid=2**22 + 1))  # gone already: no session's fault


LIVE = """
name = "placed"
[arms.a]
engine = "{engine}"
base_dir = "{base_dir}"
[[workloads]]
name = "./reads.toml"
parameters = {{ seconds = 1, warmup_s = 0.2 }}
steps = ["fill", "one"]
[schedule]
blocks = 1
placement = "together"
[schedule.void]
foreign = 1
"""
CONNECTIONS = 3


def processor_of(thread: int) -> int:
    """The processor on which a thread ran last."""
    return int(Path(f"/proc/{thread}/stat").read_text().rpartition(")")[2].split()[36])


@pytest.mark.live
@pytest.mark.parametrize(
    "engine",
    ["postgres", *(pytest.param(name, marks=pytest.mark.long) for name in ("mariadb", "mysql"))],
)
def test_each_session_runs_on_the_processor_of_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    text = read_steps.text().replace(
        'roles.query = { run = "point" }',
        f'roles.query = {{ run = "point", per = "step", connections = {CONNECTIONS} }}',
    )
    (tmp_path / "reads.toml").write_text(text)
    base_dir = ends()[-1] if engine == "postgres" else build_of(engine).base_dir
    seen: list[tuple[int, set[int]]] = []
    release = sessions.Sessions.release

    def looked(self: sessions.Sessions) -> None:
        """What is so at the window's end, before the sessions are let go."""
        seen.extend((processor_of(one), os.sched_getaffinity(one)) for one in self._before)
        release(self)

    monkeypatch.setattr(sessions.Sessions, "release", looked)
    wanted = plan.parse(LIVE.format(engine=engine, base_dir=base_dir), tmp_path / "p.toml")
    outcome = blocks.run(wanted, tmp_path / "out", wait=True)
    assert outcome.failed == 0
    ((run,),) = [block.runs() for block in Results.open(outcome.folder).blocks()]
    (step,) = [step for step in run.steps() if step.name == "one"]
    connected = [event for event in step.events() if isinstance(event, ConnectedEvent)]
    here = placement.processors(wanted)
    places = [here[number % len(here)] for number in range(CONNECTIONS)]
    assert sorted((event.connection, event.processor) for event in connected) == list(
        enumerate(places)
    )
    assert sorted(seen) == sorted((place, {place}) for place in places)
