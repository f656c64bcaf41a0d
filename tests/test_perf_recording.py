"""The real perf samples and counts a busy process; its binary tells what profiles ask of it."""

import dataclasses
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dbdyno.host import process
from dbdyno.host.perf import FoldedProfile, Perf, Recording, call_graph_of, elf, find, image_of
from dbdyno.model.error import HostError
from server_place import within

SECONDS = 0.3
"""Of CPU time, in which a process is sampled some sixty times, however busy the host is."""
HERTZ = 199
WAIT_S_MAX = 60.0
USER, SYSTEM = 11, 12
"""Positions of the CPU time in what `process.stat` gives (proc(5): fields 14 and 15)."""
SOURCE = """
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noinline)) void burns(void) { for (int i = 0; i < 100000; i++) sum += i; }
__attribute__((noinline)) void calls(void) { burns(); sum++; }
int main(int count, char **words) {
    if (count > 1) fork();
    for (;;) calls();
}
"""


@pytest.fixture(scope="module")
def perf() -> Perf:
    """The perf of this host."""
    try:
        return find()
    except HostError as error:
        pytest.skip(str(error))


def compiled(folder: Path, *flags: str) -> Path:
    """The busy program, compiled with these flags."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here: `apt-get install gcc libc6-dev`")
    folder.mkdir(exist_ok=True)
    source, program = folder / "busy.c", folder / "busy"
    source.write_text(SOURCE)
    subprocess.run(["cc", "-O1", *flags, source, "-o", program], check=True)
    return program


@pytest.fixture(scope="module")
def framed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The busy program with frame pointers."""
    return compiled(tmp_path_factory.mktemp("framed"), "-fno-omit-frame-pointer")


@pytest.fixture(scope="module")
def unframed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The busy program without."""
    return compiled(tmp_path_factory.mktemp("unframed"), "-fomit-frame-pointer")


@contextmanager
def running(*words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A process that reads from us; it and its children end with the test, also if that fails."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, text=True) as begun:
        try:
            yield begun
        finally:
            for pid in (*process.children(begun.pid), begun.pid):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def busy(framed: Path) -> Iterator[int]:
    """The pid of a process that does nothing but burn CPU."""
    with running(framed) as begun:
        yield begun.pid


def cpu_s(pid: int) -> float:
    """The CPU time that a process has had."""
    fields = process.stat(pid)
    assert fields is not None, "it runs on"
    return (int(fields[USER]) + int(fields[SYSTEM])) / os.sysconf("SC_CLK_TCK")


def burn(*pids: int) -> None:
    """Waits until each process has had SECONDS of CPU time more, and what a tick may hide."""
    wanted = {pid: cpu_s(pid) + SECONDS + 0.02 for pid in pids}
    assert within(WAIT_S_MAX, lambda: all(cpu_s(pid) >= s for pid, s in wanted.items()))


def recorded(perf: Perf, pids: list[int], folder: Path, call_graph: str = "fp") -> FoldedProfile:
    recording = Recording(perf, pids, folder, HERTZ, call_graph, 30.0)
    recording.start()
    burn(pids[-1])
    recording.stop()
    return recording.fold(lambda tid: "role:client" if tid in pids else "exited")


def test_a_busy_process_is_sampled_and_counted_and_nothing_is_left(
    perf: Perf, busy: int, framed: Path, tmp_path: Path
):
    folded = recorded(perf, [busy], tmp_path)
    assert folded.samples == sum(folded.stacks.values()) > 0
    stack, _count = max(folded.stacks.items(), key=lambda item: item[1])
    assert stack[0] == "role:client"
    # A compiler leaves the frames of leaves out, so `burns` hides the function that calls it.
    assert stack[-2:] in {("main@busy", "burns@busy"), ("calls@busy", "burns@busy")}
    of_busy = folded.binaries[0]
    assert (of_busy.path, of_busy.symbols) == (str(framed), True)
    told = elf.read(framed)
    assert told is not None
    assert of_busy.build_id == told.build_id
    assert folded.seconds >= SECONDS
    clock = next(event for event in folded.counters if event.startswith("task-clock"))
    assert 0 < folded.counters[clock] <= folded.seconds * 1e9 * 1.01
    assert ("context-switches" in folded.counters) == perf.kernel
    # As many samples as the process had CPU time, whatever share of a core that was.
    expected = folded.counters[clock] / 1e9 * HERTZ
    assert 0.5 * expected <= folded.samples + folded.lost <= 1.5 * expected
    assert folded.cpu_us > 0
    assert list(tmp_path.iterdir()) == []


def test_stacks_of_a_build_without_frame_pointers_are_followed_by_its_tables(
    perf: Perf, unframed: Path, tmp_path: Path
):
    assert call_graph_of(unframed, perf) != "fp"
    with running(unframed) as begun:
        folded = recorded(perf, [begun.pid], tmp_path, "dwarf")
    stack, _count = max(folded.stacks.items(), key=lambda item: item[1])
    assert stack[-3:] == ("main@busy", "calls@busy", "burns@busy")


def test_children_that_come_later_are_sampled_too(perf: Perf, framed: Path, tmp_path: Path):
    starter = 'read line; exec "$0" more'
    with running("sh", "-c", starter, framed) as begun:
        recording = Recording(perf, [begun.pid], tmp_path, HERTZ, "fp", 30.0)
        recording.start()
        assert begun.stdin is not None
        begun.stdin.write("go\n")
        begun.stdin.flush()
        assert within(WAIT_S_MAX, lambda: process.children(begun.pid))
        children = process.children(begun.pid)
        burn(*children, begun.pid)
        recording.stop()
    folded = recording.fold(lambda tid: "child" if tid in children else "parent")
    assert {stack[0] for stack in folded.stacks} == {"child", "parent"}


def test_a_stripped_binary_is_said_to_have_no_symbols(perf: Perf, framed: Path, tmp_path: Path):
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, framed], check=True)
    told = elf.read(stripped)
    assert told is not None
    assert told.symbols is False
    with running(stripped) as begun:
        folded = recorded(perf, [begun.pid], tmp_path)
    assert folded.binaries[0].symbols is False
    assert max(folded.stacks, key=lambda stack: folded.stacks[stack])[-1] == "?@stripped"


def test_processes_that_have_ended_are_left_out(perf: Perf, busy: int, tmp_path: Path):
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    assert recorded(perf, [ended.pid, busy], tmp_path).samples > 0
    recording = Recording(perf, [ended.pid], tmp_path, HERTZ, "fp", 30.0)
    with pytest.raises(HostError, match="none of the processes"):
        recording.start()
    assert list(tmp_path.iterdir()) == []


def test_what_perf_refuses_is_said_in_one_line(perf: Perf, busy: int, tmp_path: Path):
    unknown = dataclasses.replace(perf, event="no-such-event")
    recording = Recording(unknown, [busy], tmp_path, HERTZ, "fp", 30.0)
    with pytest.raises(HostError, match=r"`perf record` ended: .*no-such-event") as error:
        recording.start()
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_load_that_outlasts_perf_is_said_to_take_too_long(perf: Perf, busy: int, tmp_path: Path):
    recording = Recording(perf, [busy], tmp_path, HERTZ, "fp", 1.0)

    def outlasted() -> None:
        recording.start()  # which takes longer than that, where the host is busy
        begun = [running.child for running in recording._running]
        assert within(WAIT_S_MAX, lambda: all(child.is_over() for child in begun))
        recording.stop()

    with pytest.raises(HostError, match="took longer than the 1 s foreseen"):
        outlasted()
    assert list(tmp_path.iterdir()) == []


def test_the_binary_of_a_process_is_the_one_that_it_runs(framed: Path, busy: int):
    assert image_of(busy) == framed


def test_frame_pointers_are_told_from_the_instructions_of_a_binary(framed: Path, unframed: Path):
    of = {path: elf.read(path) for path in (framed, unframed)}
    assert [told and told.frame_pointers for told in of.values()] == [True, False]
