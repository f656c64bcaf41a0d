"""What is spent by processes that are neither the lab's, nor an arm's, nor the kernel's."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from dbdyno.host.observe.foreign_load import (
    HOOK_MARK,
    PF_KTHREAD,
    ForeignObserver,
    ProcessSnapshot,
    grown,
    is_of_hook,
    look,
    spent,
    stats,
)
from dbdyno.host.observe.procfs import ProcessStat, process_stat
from dbdyno.host.observe.usage import TICK_US
from dbdyno.model.host_reading import ForeignLoad

LAB = 100
BURN = "import time\nend = time.monotonic() + 600\nwhile time.monotonic() < end: pass"


def stat(parent: int, ticks: int, children: int = 0, flags: int = 0) -> ProcessStat:
    return ProcessStat("some", "S", parent, ticks, 0, children, 1, 7, flags)


def between(before: dict[int, ProcessStat], now: dict[int, ProcessStat]) -> ForeignLoad:
    return spent(look(before, LAB), look(now, LAB), set())


def test_only_what_is_neither_ours_nor_the_kernels_is_foreign() -> None:
    before = {
        1: stat(0, 10),
        2: stat(0, 5, flags=PF_KTHREAD),
        30: stat(2, 50, flags=PF_KTHREAD),  # kswapd
        LAB: stat(1, 10),
        101: stat(LAB, 0),  # the generator
        102: stat(LAB, 100),  # a server that waits for its turn
        103: stat(102, 100),  # a process of it
        200: stat(1, 10),
    }
    grown = {pid: one._replace(user_ticks=one.user_ticks + pid) for pid, one in before.items()}
    foreign = between(before, grown)
    assert foreign.cpu_us == (1 + 200) * TICK_US
    assert foreign.kernel_us == (2 + 30) * TICK_US
    assert [process.pid for process in foreign.processes] == [200, 1]


def test_who_came_and_went_is_in_the_account_of_the_one_that_waited() -> None:
    shell = stat(1, 1)
    worker = stat(200, 40)
    before = {LAB: stat(1, 0), 200: shell, 201: worker}
    now = {LAB: stat(1, 0), 200: shell._replace(children_ticks=40 + 5 + 300)}
    assert between(before, now).cpu_us == 305 * TICK_US, "5 of the worker, 300 of one unseen"


def test_an_account_that_is_lost_takes_nothing_from_what_the_living_spent() -> None:
    before = {LAB: stat(1, 0), 200: stat(1, 0), 201: stat(200, 4000)}
    now = {LAB: stat(1, 0), 200: stat(1, 30)}
    assert between(before, now).cpu_us == 30 * TICK_US, "nobody waited for 201"


def test_a_process_that_uses_a_number_again_begins_at_nothing() -> None:
    before = {200: stat(1, 500)}
    now = {1: stat(0, 0, children=500), 200: stat(1, 3)._replace(start_ticks=8)}
    assert between(before, now).cpu_us == 3 * TICK_US


def test_what_a_hook_left_behind_is_not_foreign() -> None:
    before = look({1: stat(0, 0)}, LAB)
    now = look({1: stat(0, 0), 300: stat(1, 90)}, LAB)
    assert spent(before, now, {(300, 7)}).cpu_us == 0
    assert spent(before, now, set()).cpu_us == 90 * TICK_US


def test_the_kernels_flags_are_read() -> None:
    with open("/proc/self/stat") as file:
        assert not process_stat(file.read()).flags & PF_KTHREAD


@contextmanager
def burning(**environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that burns a core, as far as it gets one."""
    with subprocess.Popen([sys.executable, "-c", BURN], env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def own_ticks(before: ProcessSnapshot, lab_pid: int) -> dict[int, int]:
    """What each process that has worked since then has spent, by its id."""
    return {birth[0]: its for birth, its in grown(before, look(dict(stats()), lab_pid)).items()}


def test_a_busy_loop_on_this_host_is_seen_unless_it_is_a_hooks() -> None:
    with subprocess.Popen(["sleep", "60"]) as lab:  # the tests' own processes are not its
        try:
            with burning() as foreign, burning(**{HOOK_MARK: "/results"}) as of_hook:
                watch = ForeignObserver(lab.pid)
                assert watch.read().cpu_us == 0
                before = look(dict(stats()), lab.pid)
                while not {foreign.pid, of_hook.pid} <= own_ticks(before, lab.pid).keys():
                    time.sleep(0.02)
                ticks = own_ticks(before, lab.pid)
                found = watch.read()
                assert (is_of_hook(foreign.pid), is_of_hook(of_hook.pid)) == (False, True)
            assert found.cpu_us >= ticks[foreign.pid] * TICK_US
            assert of_hook.pid not in [process.pid for process in found.processes]
        finally:
            lab.kill()


def test_a_look_that_sees_nobody_is_empty() -> None:
    assert look({}, LAB) == ProcessSnapshot({}, 0)


def test_a_process_with_a_name_that_is_no_text_is_named_as_far_as_it_is() -> None:
    odd = stat(1, 90)._replace(name="gr\udcfcn")  # as /proc is read
    foreign = spent(look({}, LAB), look({300: odd}, LAB), set())
    assert [process.name for process in foreign.processes] == ["gr\ufffdn"]
    assert msgspec.json.decode(msgspec.json.encode(foreign), type=ForeignLoad) == foreign
