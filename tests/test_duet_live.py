"""Two arms at once on a real server: disjoint cores in each half, the swap, the solo turns."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

import read_steps
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.host import capacity, core_sets, process
from dbdyno.model import Plan, StepRun
from dbdyno.report import json_document, page
from dbdyno.report.render import markdown
from dbdyno.run import blocks, duet
from dbdyno.run.duet import Partner
from dbdyno.store import Results
from server_place import builds

pytestmark = pytest.mark.live

PLAN = """
name = "duo"
[arms.a]
base_dir = "{base_dir}"
[server]
data_dir = "{data}"
[[workloads]]
name = "./reads.toml"
parameters = {{ seconds = {seconds}, warmup_s = 0.7 }}
steps = ["fill", "three"]
[schedule]
blocks = {blocks}
aa_arm = true
interleave = "duet"
duet = "forced"
[schedule.void]
foreign = 1
"""
HALF_S = 2.0


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-duet-{os.getpid()}"
    yield folder
    assert not list(folder.glob("*/data")), "a data directory stayed behind"


def made(folder: Path, data: Path, **values: object) -> Plan:
    (folder / "reads.toml").write_text(read_steps.text())
    known = {"base_dir": builds()[-1], "data": data, "seconds": 4, "blocks": 1}
    return plan.parse(PLAN.format(**known | values), folder / "duo.toml")


class Places:
    """Where the threads of each arm are allowed to be, looked up in /proc in its halves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: dict[tuple[str, int], list[tuple[set[str], set[str]]]] = {}
        self.threads: dict[str, int] = {}
        half = Partner.half

        def watched(partner: Partner) -> None:
            spy = threading.Thread(target=self._look, args=(partner, len(partner.cores)))
            spy.start()
            half(partner)
            spy.join()

        monkeypatch.setattr(Partner, "half", watched)

    def _look(self, partner: Partner, half: int) -> None:
        """In the middle of the half: of the server with all that it has born, of the generator."""
        time.sleep(HALF_S / 2)
        server, generator = partner.server.made.postmaster_pid, partner._generator_pid
        assert server is not None
        self.threads[partner.arm] = len(list(core_sets.threads(server)))
        found = allowed(server), allowed(generator)
        self.seen.setdefault((partner.arm, half), []).append(found)


def allowed(pid: int) -> set[str]:
    """The lists of processors of all threads of a process and of those that come from it."""
    lists = set()
    for thread in core_sets.threads(pid):
        status = Path(f"/proc/{thread}/status").read_text()
        lists |= {line.split()[1] for line in status.splitlines() if "Cpus_allowed_list" in line}
    return lists


def runs_of(results: Results, name: str) -> dict[str, StepRun]:
    return {
        run.arm: assemble.step_run(step)
        for run in results.blocks()[0].runs()
        for step in run.steps()
        if step.name == name
    }


@pytest.mark.skipif(len(core_sets.here()) < core_sets.CORES_LEAST, reason="one core only")
def test_arms_are_on_disjoint_cores_and_swap_them_at_half_time(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = Places(monkeypatch)
    outcome = blocks.run(made(tmp_path, data), tmp_path / "out", wait=True)
    assert outcome.failed == 0
    first, second = core_sets.halves(core_sets.here())
    sets = {frozenset(cpus): cpus for cpus in (first.server, second.server)}
    assert len(sets) == 2
    where = {key: its[0] for key, its in places.seen.items()}
    assert where.keys() == {(arm, half) for arm in ("a", "ghost") for half in (1, 2)}
    for half in (1, 2):
        (a,), (aa_arm,) = where["a", half][0], where["ghost", half][0]
        assert capacity.cpus_of(a).isdisjoint(capacity.cpus_of(aa_arm))
        assert {frozenset(capacity.cpus_of(one)) for one in (a, aa_arm)} == sets.keys()
    for part in (0, 1):
        assert where["a", 1][part] == where["ghost", 2][part]
        assert where["a", 2][part] == where["ghost", 1][part]
    assert min(places.threads.values()) > 4, "a server has more than its first process"
    results = Results.open(outcome.folder)
    done = [step.done() for run in results.blocks()[0].runs() for step in run.steps()
            if step.name == "three"]  # fmt: skip
    written = [one.turns.duet.halves for one in done if one is not None]
    assert written[0] == written[1][::-1]
    assert runs_of(results, "three.solo") == {}, "the first block has none"


@pytest.mark.skipif(len(core_sets.here()) < core_sets.CORES_LEAST, reason="one core only")
def test_both_run_at_once_and_each_alone_in_the_third_block(tmp_path: Path, data: Path) -> None:
    outcome = blocks.run(made(tmp_path, data, blocks=3), tmp_path / "out", wait=True)
    assert outcome.failed == 0
    results = Results.open(outcome.folder)
    its = runs_of(results, "three")
    a, aa_arm = its["a"], its["ghost"]
    assert a.window.seconds == aa_arm.window.seconds == 4.0
    for one, other in zip(a.halves, aa_arm.halves, strict=True):
        at_once = min(one.ended_ns, other.ended_ns) - max(one.begun_ns, other.begun_ns)
        assert at_once > 0.9 * HALF_S * 1e9
    for run in its.values():
        whole = sum(half.metrics["qps"] or 0 for half in run.halves) / 2
        assert whole == pytest.approx(run.metrics["qps"]), "halves are the window"
        assert [len(half.rates) for half in run.halves] == [2, 2]
        costs = [half.metrics["cpu_per_op"] or 0 for half in run.halves]
        assert min(costs) <= (run.metrics["cpu_per_op"] or 0) <= max(costs)
    comparison = compare.load(outcome.folder)
    (step,) = [one for one in comparison.steps if one.step == "three"]
    assert step.duet is not None
    assert step.duet.judged == "nothing", "it is forced"
    checks = {check.name: check for check in step.duet.checks}
    share = float(checks["at once"].text.split()[3])
    assert share > 90.0, checks["at once"].text
    assert "1 block with solo turns; at least 2" in checks["as alone (qps)"].text
    verdict = step.cells[1].verdict
    assert verdict is not None
    assert (verdict.word, verdict.withheld) == ("cannot tell", True)
    assert {one.step for one in comparison.steps} == {"fill", "three"}, "solo turns are no step"
    text = "".join(markdown.render(page.make(comparison)))
    assert "Both arms at once" in text
    assert "No word" in text
    (form,) = [one for one in json_document.form(comparison)["steps"] if one["step"] == "three"]
    assert form["duet"]["judged"] == "nothing"


@pytest.mark.skipif(len(core_sets.here()) < core_sets.CORES_LEAST, reason="one core only")
def test_rates_that_go_against_each_other_are_refused(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one arm's sessions can do the others cannot, in turn, as if they had one resource."""
    one_at_a_time(monkeypatch)
    outcome = blocks.run(made(tmp_path, data, seconds=24), tmp_path / "out", wait=True)
    (step,) = [one for one in compare.load(outcome.folder).steps if one.step == "three"]
    assert step.duet is not None
    checks = {check.name: check for check in step.duet.checks}
    assert checks["competition"].state == "fails", checks["competition"].text
    assert "below 0, the arms compete" in checks["competition"].text


def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a duet runs, the children of one server or of the other one are stopped for a while."""
    at_once = duet.at_once

    def in_turn(partners: Sequence[Partner]) -> None:
        ending = threading.Event()
        servers = [partner.server.made.postmaster_pid for partner in partners]
        members = [process.children(pid) for pid in servers if pid is not None]
        spoiler = threading.Thread(target=_stop_in_turn, args=(members, ending))
        spoiler.start()
        try:
            at_once(partners)
        finally:
            ending.set()
            spoiler.join()

    monkeypatch.setattr(duet, "at_once", in_turn)


def _stop_in_turn(members: Sequence[Sequence[int]], ending: threading.Event) -> None:
    """A coin says who stands still for the next second.

    Strict turns are a series that knows its next second, of which a correlation believes little;
    shorter stops leave each second half of both, which a busy machine's own noise hides.
    """
    coin = random.Random(17)
    while not ending.is_set():
        its = coin.choice(members)
        for number, seconds in ((signal.SIGSTOP, 0.9), (signal.SIGCONT, 0.1)):
            for pid in its:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            ending.wait(seconds)


def test_whoever_is_born_while_others_are_moved_is_moved_too() -> None:
    """A process that forks all the time: in the end all are where they should be."""
    here = sorted(os.sched_getaffinity(0))
    pid = os.fork()
    if pid == 0:
        for _ in range(100):
            if os.fork() == 0:
                time.sleep(6)
                os._exit(0)
            time.sleep(0.002)
        time.sleep(6)
        os._exit(0)
    try:
        time.sleep(0.1)
        core_sets.move(pid, frozenset(here[:1]))
        time.sleep(0.5)
        assert {frozenset(os.sched_getaffinity(one)) for one in core_sets.threads(pid)} == {
            frozenset(here[:1])
        }
    finally:
        os.waitpid(pid, 0)
