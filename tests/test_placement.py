"""`[schedule] placement`: what a plan may say, its processors, and where sessions run."""

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
from dbdyno.engine.mysql import settings as mysql_settings
from dbdyno.engine.settings import Demand
from dbdyno.findings.setup import show as setup
from dbdyno.host import core_sets, placement
from dbdyno.host.observe.reader import HostReader
from dbdyno.model import Arm, Plan
from dbdyno.model.error import HostError, PlanError
from dbdyno.model.events import ConnectedEvent
from dbdyno.model.plan_record import ScheduleRecord
from dbdyno.model.size import Capacity
from dbdyno.plan.race import text as race_text
from dbdyno.run import blocks, sessions
from dbdyno.run.check import drivers, plan_record
from dbdyno.run.measurement import StepFailed
from dbdyno.store import Results
from dbdyno.workload import expand, used
from mysql_place import build_of
from server_place import ends
from test_server_mysql_parts import a_build

PLAN = """
name = "placed"
[arms.a]
version = "18"
[[workloads]]
name = "./reads.toml"
[schedule]
placement = "together"
"""

HOST = Capacity(cores=8, memory_bytes=32 << 30, free_disk_bytes=500 << 30)

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
def test_a_load_that_cannot_be_placed_is_refused(tmp_path: Path, role: str, line: str | None):
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


@pytest.mark.parametrize(
    ("engine", "version_num", "settings", "why"),
    [
        ("mysql", 80406, {}, None),
        ("mysql", 80406, {"performance-schema": "OFF"}, "performance_schema is off"),
        ("mysql", 50651, {}, "its version does not tell their threads"),
        ("mariadb", 110406, {"performance_schema": "OFF"}, None),
        ("mariadb", 110406, {"thread_handling": "pool-of-threads"}, "is pool-of-threads"),
        ("mariadb", 110406, {"thread_handling": "one-thread-per-connection"}, None),
    ],
)
def test_sessions_whose_threads_are_not_told_are_refused_before_a_server_starts(
    engine: str, version_num: int, settings: dict[str, str], why: str | None
) -> None:
    arm, build = Arm(name="a", engine=engine, settings=settings), a_build(engine, version_num)
    mysql_settings.settle(arm, build, HOST, Demand())
    if why is None:
        mysql_settings.settle(arm, build, HOST, Demand(places=True))
        return
    with pytest.raises(PlanError, match=f'"together" cannot place the sessions of arm a: .*{why}'):
        mysql_settings.settle(arm, build, HOST, Demand(places=True))


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


def test_a_result_with_the_trial_of_an_older_dyno_is_read() -> None:
    cost = {"us": 9.0, "cpu_us": 4.5, "scatter": 0.01}
    trial = {"step": "one", "together": cost, "free": cost}
    record = convert({"placement": "together", "placement_trial": trial}, ScheduleRecord)
    assert record == ScheduleRecord(placement="together")


def test_a_text_that_cannot_be_placed_stays_as_it_is(tmp_path: Path) -> None:
    text = PLAN.replace('placement = "together"\n', "")
    written, placed = race_text.placed(text, lambda text: made(tmp_path, text=text))
    assert (written, placed.schedule.placement) == (PLAN, "together")
    elsewhere = text.replace('version = "18"', 'dsn = "postgresql://u@h:5432/d"')
    written, placed = race_text.placed(elsewhere, lambda text: made(tmp_path, text=text))
    assert (written, placed.schedule.placement) == (elsewhere, "free")
    with pytest.raises(PlanError, match="unknown key"):
        race_text.placed(f"{text}oops = 1\n", lambda text: made(tmp_path, text=text))


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
