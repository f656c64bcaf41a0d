"""Wherever a run breaks off, or its disk fails: what is done is whole, and the command finishes."""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, ClassVar, TypeVar

import pytest

from command import dyno
from dbdyno import plan
from dbdyno.analysis import compare, verification
from dbdyno.cli.exit_status import BAD_INPUT
from dbdyno.engine.fake import FakeServer
from dbdyno.host import terminal
from dbdyno.host.child import Child, Words
from dbdyno.host.observe.sampler import Sampler
from dbdyno.model import Hook, Plan
from dbdyno.model.error import DiskError, DynoError
from dbdyno.run import blocks, hooks, looks
from dbdyno.run.check import plan_record
from dbdyno.run.driver import loadgen
from dbdyno.run.in_window import Readings, TimedHooks
from dbdyno.store import BlockFolder, Results
from disk_sweep import ERRORS, KILL, Disk, Operation, Seam, State, View, states
from doubted import doubted

PLAN = """
name = "swept"
arms.old = { engine = "fake", fake = { default_us = 100 } }
arms.new = { engine = "fake", fake = { default_us = 90 } }
[[workloads]]
name = "insert-benchmark"
steps = ["l.i0"]
parameters = { rows = 1000, seconds = 1 }
[schedule]
blocks = 2
"""
pytestmark = [
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning"),
]
NAMES = ["001", "002"]
Value = TypeVar("Value")
SEED = 43
IN_STEP = 8
"""So many calls after the first event a kill comes."""
RESUMED = (1, pytest.param(8, marks=pytest.mark.long), pytest.param(None, marks=pytest.mark.soak))
"""How many states are gone on from: in `make test`, `make test-all` and `make soak` (all)."""
SOME = (*range(6), pytest.param(None, marks=pytest.mark.long))
"""Shares of all states, each a `PARTS`th, that `make test` looks at; None: all of them."""
PARTS = 150


class Replayed:
    """A load generator as host.child has it; its lines are kept by job: asked again, it repeats."""

    lines: ClassVar[dict[str, list[str]]] = {}

    def __init__(self, words: Words, **more: Any) -> None:
        self._words, self._more = words, more
        self._child: Child | None = None
        self.output: Iterator[str] | None = None

    def say(self, line: str) -> None:
        """Takes the job first, then commands."""
        if self.output is None and line in self.lines:
            self.output = iter(self.lines[line])
        elif self.output is None:
            self._child = Child(self._words, **self._more)
            self.output = self._heard(self._child.output, self.lines.setdefault(line, []))
        if self._child is not None:
            self._child.say(line)

    def _heard(self, output: IO[str], lines: list[str]) -> Iterator[str]:
        for line in output:
            lines.append(line)
            yield line

    def end(self, limit_s: float, rest: Callable[[str], None]) -> None:
        """Hears the rest."""
        assert self.output is not None
        for line in self.output:
            rest(line)
        if self._child is not None:
            self._child.end(limit_s, rest=rest)


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A plan that was killed in its first block, and finished by the same command."""

    plan: Plan  # with a label, which that command adds
    fresh: list[Operation]  # a run of its own that nothing disturbed
    killed: list[Operation]  # of these, those up to the kill
    resumed: list[Operation]  # those after it
    files: View  # of its folder
    figures: list[tuple[str, str, float | None]]

    @property
    def calls(self) -> list[Operation]:
        """All that made the folder."""
        return self.killed + self.resumed


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """The plan, recorded; later runs have its checks, and its generator's lines."""
    out, asked = tmp_path_factory.mktemp("whole"), plan.parse(f'label = "again"\n{PLAN}', None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loadgen, "Child", Replayed)
        for module, name in ((blocks, "ready"), (blocks, "host_facts"), (plan_record, "plan_json")):
            patch.setattr(module, name, cache_of(getattr(module, name)))
        patch.setattr(Results, "shelf", lambda results: None)
        with Seam(out) as first:
            go(plan.parse(PLAN, None), out)
        shutil.rmtree(out / "swept")
        kept = [made.path.endswith("events.jsonl") for made in first.operations]
        killed = first.operations[: kept.index(True) + IN_STEP]
        built(killed).build(out)
        with Seam(out) as second:
            go(asked, out)
        yield Whole(
            plan=asked,
            fresh=first.operations,
            killed=killed,
            resumed=second.operations,
            files=files(out),
            figures=figures(out),
        )


def built(operations: list[Operation]) -> State:
    """The folder that these calls make."""
    disk = Disk()
    for made in operations:
        disk.do(made)
    return State(len(operations) - 1, "killed", disk.view())


def cache_of(call: Callable[..., Any]) -> Callable[..., Any]:
    """What a call returns for a plan the first time, also later."""
    returned: dict[str, Any] = {}

    def cached(asked: Plan, *more: Any) -> Any:
        if asked.text not in returned:
            returned[asked.text] = call(asked, *more)
        return returned[asked.text]

    return cached


def go(asked: Plan, out: Path) -> None:
    """What `dyno run` does."""
    looks.run(asked, out, compare.load, quiet=True)


def files(folder: Path) -> View:
    """Its files that are not hidden, with their content, by their paths."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def figures(out: Path) -> list[tuple[str, str, float | None]]:
    """What a comparison says: by step and arm the headline's value."""
    steps = compare.load(out / "swept").steps
    return [(step.step, cell.arm, cell.value) for step in steps for cell in step.cells]


def judge(out: Path, whole: Whole | None = None) -> set[str]:
    """Opens a folder, whatever is in it: its blocks that are done are whole, and as recorded.

    Returns their names.
    """
    folder = out / "swept"
    done = done_in(folder)
    assert len(done) == len(list(folder.glob("blocks/00?/done.json")))
    try:
        compare.load(folder)
        damage = verification.verify(folder).damage
    except DynoError as error:
        assert "\n" not in str(error)
        assert not done, error
        return set()
    assert damage == ()
    for block in done if whole is not None else ():
        assert files(block.path) == files_of(whole.files, block.path.name)
    return {block.path.name for block in done}


def files_of(whole: View, block: str) -> View:
    """The files of a block among all."""
    start = f"swept/blocks/{block}/"
    return {
        path.removeprefix(start): text for path, text in whole.items() if path.startswith(start)
    }


def finish(out: Path, whole: Whole) -> None:
    """Gives the same command again: it finishes, with what an undisturbed run has."""
    folder = out / "swept"
    before = {block.path: files(block.path) for block in done_in(folder)}
    go(whole.plan, out)
    assert [block.path.name for block in done_in(folder)] == NAMES
    assert {path: files(path) for path in before} == before, "what was done is not touched"
    assert verification.verify(folder).damage == ()
    assert figures(out) == whole.figures
    now = files(out)
    for path, text in whole.files.items():
        if "void" not in path and path.endswith(("events.jsonl", "job.json", "step.json")):
            assert now[path] == text, path


def done_in(folder: Path) -> list[BlockFolder]:
    """The blocks that are done, if this is a result's folder."""
    try:
        return [block for block in Results.open(folder).blocks() if block.state == "done"]
    except DynoError as error:
        assert "\n" not in str(error)
        return []


def tried(state: State, out: Path, whole: Whole, work: Callable[[Path, Whole], Value]) -> Value:
    """Does something in the folder of a state; a failure says in which."""
    state.build(out)
    try:
        return work(out, whole)
    except BaseException as error:
        made = whole.calls[state.number]
        error.add_note(f"call {state.number}, {state.how}: {made.call} {made.path} {made.to}")
        raise
    finally:
        shutil.rmtree(out)


@pytest.fixture(scope="module", name="broken")
def _broken(whole: Whole) -> list[State]:
    """The folder as each break at each call leaves it."""
    every = list(states(whole.calls, SEED))
    assert len(every) > 6 * len(whole.calls) > 2000
    return every


@pytest.fixture(scope="module", name="opened")
def _opened(whole: Whole, broken: list[State]) -> list[tuple[State, frozenset[str]]]:
    """What a break leaves, no two alike, and the blocks that it may not take."""
    promises = [promised(whole.calls, number) for number in range(len(whole.calls))]

    def shown(state: State) -> object:
        visible = {path: text for path, text in state.view.items() if "/." not in path}
        return promises[state.number], ordered(visible)

    return [(state, promises[state.number]) for state in unlike(broken, shown)]


@pytest.mark.parametrize("part", SOME)
def test_whatever_a_break_leaves_opens_and_what_is_done_is_whole(
    part: int | None, whole: Whole, opened: list[tuple[State, frozenset[str]]], tmp_path: Path
) -> None:
    for state, promise in opened if part is None else opened[part::PARTS]:
        done = tried(state, tmp_path / "out", whole, judge)
        assert promise <= done, (state.number, state.how)


def ordered(view: View) -> object:
    """What a folder is known by."""
    return tuple(sorted(view.items(), key=itemgetter(0)))


def promised(calls: list[Operation], last: int) -> frozenset[str]:
    """The blocks that a break after this call may not take: they were done before a later one."""
    done: frozenset[str] = frozenset()
    kept = done
    for made in calls[: last + 1]:
        if match := re.fullmatch(r"swept/blocks/(\d+)/done\.json", made.to):
            done |= {match[1]}
        elif made.call == "make_folder" and re.fullmatch(r"swept/blocks/\d+", made.path):
            kept = done
    return done if last == len(calls) - 1 else kept


def unlike(every: list[State], known_by: Callable[[State], object]) -> Iterator[State]:
    """The states of which none is as another."""
    known: set[int] = set()
    for state in every:
        if (key := hash(known_by(state))) not in known:
            known.add(key)
            yield state


def resume(out: Path, whole: Whole) -> None:
    """Gives the same command again, in another boot if the power failed."""
    judge(out, whole)
    finish(out, whole)


@pytest.mark.parametrize("count", RESUMED)
def test_the_same_command_finishes_whatever_a_break_has_left(
    count: int | None, whole: Whole, broken: list[State], tmp_path: Path
) -> None:
    every = list(unlike(broken, lambda state: ordered(state.view)))
    for state in every if count is None else random.Random(SEED).sample(every, count):
        kept = {path: text for path, text in state.view.items() if path != "swept/lab.json"}
        # Of another boot the lock is refused, with the words to remove it.
        on_disk = replace(state, view=kept) if state.by_power else state
        tried(on_disk, tmp_path / "out", whole, resume)


@pytest.mark.parametrize("count", RESUMED[:2])
def test_the_same_command_finishes_after_a_kill_at_any_moment(
    count: int, whole: Whole, tmp_path: Path
) -> None:
    numbers = range(len(whole.fresh))
    for number in random.Random(SEED).sample(numbers, count):
        out = tmp_path / f"killed at {number}"
        out.mkdir()
        if (child := os.fork()) == 0:
            with Seam(out, number, KILL):
                go(whole.plan, out)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        judge(out)
        finish(out, whole)


@pytest.mark.parametrize("count", RESUMED)
def test_a_disk_that_takes_no_more_is_one_line_and_the_same_command_goes_on(
    count: int | None, whole: Whole, tmp_path: Path
) -> None:
    every = [
        (before, made, number, error)
        for before, operations in (([], whole.fresh), (whole.killed, whole.resumed))
        for number, made in enumerate(operations)
        for error in ERRORS
    ]
    cases = every if count is None else drawn(every)
    if count == 1:  # each error once, at a call of its own
        cases = [next(case for case in cases[5 * n + 5 :] if case[3] == error)
                 for n, error in enumerate(ERRORS)]  # fmt: skip
    resumed = every if count is None else random.Random(SEED).sample(cases, count)
    judged: set[int] = set()
    for case in cases:
        before, made, number, error = case
        out = tmp_path / "out"
        built(before).build(out)
        try:
            with Seam(out, number, error):
                fails(whole.plan, out, error)
            if (key := likeness(out)) not in judged:
                judged.add(key)
                judge(out)
            if case in resumed:
                finish(out, whole)
        except BaseException as failure:
            failure.add_note(f"call {number}, {os.strerror(error)}: {made.call} {made.path}")
            raise
        shutil.rmtree(out)


Case = tuple[list[Operation], Operation, int, int]


def drawn(every: list[Case]) -> list[Case]:
    """Of calls that are alike some, with each error."""
    sites: dict[tuple[tuple[str, str], int], list[Case]] = {}
    for case in every:
        sites.setdefault((case[1].site, case[3]), []).append(case)
    chance = random.Random(SEED)
    return [chance.choice(cases) for cases in sites.values()]


def likeness(out: Path) -> int:
    """The same for folders of which only the figures differ, such as times and checksums."""
    texts = {path: re.sub(rb"[0-9a-f.]+", b"", text) for path, text in files(out).items()}
    return hash(tuple(sorted(texts.items())))


def fails(asked: Plan, out: Path, error: int) -> None:
    """Runs a plan on a disk that fails; it may end well where the last call fails."""
    try:
        go(asked, out)
    except DiskError as refused:
        assert os.strerror(error) in str(refused) and "\n" not in str(refused)
        assert str(out) in str(refused)
        assert "then run the same command to continue" in str(refused)


class Refusing:
    """A disk that takes no line."""

    def write_raw(self, line: bytes) -> None:
        raise DiskError("the disk is full")

    def close(self) -> None:
        """Nothing is there."""


def test_what_a_thread_cannot_keep_ends_the_run_and_is_no_arm_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise DiskError("the disk is full")

    sampler = Sampler(Refusing(), device=None, server=None, interval_s=0.001)
    sampler.start()
    time.sleep(0.05)
    with pytest.raises(DiskError):
        sampler.stop()
    readings = Readings(lambda: [1], refuse, 1.0)
    readings.open()
    time.sleep(0.05)
    with pytest.raises(DiskError):
        readings.close()
    monkeypatch.setattr(hooks, "keep", refuse)
    hook = Hook(when="during-step", command=("true",), at_s=0.0)
    of_run = hooks.Hooks(hooks=(hook,), folder=tmp_path, facts={})
    timed = TimedHooks(of_run, FakeServer(plan.parse(PLAN, None).arms[0]), tmp_path, "step")
    timed.open()
    time.sleep(0.05)
    with pytest.raises(DiskError):
        timed.close()


# --- Disks that are damaged, full or read-only in truth -----------------------------------------


@pytest.mark.parametrize("part", [0, pytest.param(None, marks=pytest.mark.long)])
def test_a_disk_that_loses_what_it_has_synced_is_named_by_file(
    part: int | None, whole: Whole, tmp_path: Path
) -> None:
    built(whole.calls).build(tmp_path)
    folder = tmp_path / "swept"
    every = list(files(folder).items())
    for name, text in every if part is None else every[part::12]:
        for damaged in (text[: len(text) // 2], b"\0" * len(text)):
            (path := folder / name).write_bytes(damaged)
            in_done = any(path.is_relative_to(block.path) for block in done_in(folder))
            assert not in_done or any(name in words for words in said(folder)), damaged
            path.write_bytes(text)
    judge(tmp_path, whole)


def said(folder: Path) -> Iterator[str]:
    """What `dyno verify`, then a comparison, says of damage in a folder."""
    try:
        yield from verification.verify(folder).damage
        yield from doubted(compare.load(folder))
    except DynoError as error:
        assert "\n" not in str(error)
        yield str(error)


def test_a_full_disk_before_the_first_block_and_a_read_only_one_are_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mount(*options: str) -> bool:
        words = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(tmp_path)]
        return subprocess.run(words, check=False, capture_output=True).returncode == 0

    monkeypatch.setattr(terminal, "guard", lambda: None)
    (plan_file := tmp_path.with_suffix(".toml")).write_text(PLAN)
    if os.geteuid() != 0 or not mount("size=8k"):
        pytest.skip("needs to mount a file system")
    try:
        for options, words in (
            (("size=8k",), "No space left on device: free space there"),
            (("ro",), "Read-only file system: find in `dmesg` why it is read-only, and make it"),
        ):
            assert mount("remount", *options)
            done = dyno("run", plan_file, "--out", tmp_path, "--quiet")
            (line,) = done.stderr.splitlines()
            assert done.returncode == BAD_INPUT
            assert line.startswith(f"dyno: `{tmp_path}/swept")
            assert words in line and line.endswith("then run the same command to continue")
        assert mount("remount", "rw", "size=8m")
        assert dyno("run", plan_file, "--out", tmp_path, "--quiet").returncode == 0
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
