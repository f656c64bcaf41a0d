"""Golden copies of real servers: rows, write-ahead logs, warm-up, plans, breaks."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import own_lab
from dbdyno import builds as build
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine import LabServer, Place, golden
from dbdyno.engine.arm_server import provide
from dbdyno.engine.golden_copy import Copy, CopyOrigin
from dbdyno.engine.postgres import cache_warming
from dbdyno.engine.preset import Capacity
from dbdyno.host import account, data_folder, leftovers, process, quiesce
from dbdyno.model import Arm, Json
from dbdyno.model.error import HostError, PlanError, ResultError, ServerError
from dbdyno.run import blocks
from dbdyno.run.check import dry_run, preflight
from dbdyno.store import Results, StepFolder, continuation
from doubted import doubted
from server_place import builds, ends, within

pytestmark = pytest.mark.live
WAIT_S = 30.0
LAB_S_MAX = 300.0
"""A lab's end; a machine that runs other tests is slow."""
ROWS = 20_000
PARTS: Json = {"seed": 1}
ORIGIN = CopyOrigin(workload="w", step="fill", block_begun_unix_ns=5)
TABLE = (
    "CREATE TABLE t (a bigint PRIMARY KEY, b int, c text)",
    f"INSERT INTO t SELECT i, i % 97, repeat('x', i % 50) FROM generate_series(1, {ROWS}) i",
    "CREATE INDEX t_b ON t (b DESC, c)",
    "CREATE INDEX t_some ON t (c) WHERE b > 90",
    "VACUUM (ANALYZE) t",
)
LOOK = "SELECT count(*), min(a), max(a), sum(b), sum(length(c)) FROM t"


def newest() -> Path:
    return ends()[-1]


def server_of(base_dir: Path, place: Place, **changes: object) -> LabServer:
    arm = Arm(name="a", engine="postgres", base_dir=base_dir, config="x10a", memory="256MB")
    return provide(replace(arm, **changes), place=place)


def filled(server: LabServer) -> list[tuple]:
    """Starts a fresh server with a table; what LOOK says of it."""
    server.prepare()
    server.start()
    server.create_database("ib")
    server.execute(*TABLE)
    return server.execute(LOOK)


def again(server: LabServer, copy: Copy, *, shared_blocks: bool = False) -> list[tuple]:
    """Starts the server from a copy; what LOOK says of it."""
    server.prepare_from(copy, shared_blocks=shared_blocks)
    server.start()
    server.use_database("ib")
    return server.execute(LOOK)


@pytest.mark.capability("golden copy")
@pytest.mark.parametrize(("base_dir", "wal"), [(ends()[0], False), (ends()[-1], True)])
def test_every_run_from_a_copy_finds_the_rows_that_were_kept(
    base_dir: Path, place: Place, wal: bool
) -> None:
    if wal:
        place = replace(place, wal_root=place.data_root.parent / "wal")
    server = server_of(base_dir, place)
    try:
        kept_rows = filled(server)
        kept = server.keep(PARTS, ORIGIN)
        assert server.postmaster_pid is None
        assert (kept.wal_dir is not None) is wal
        for _ in range(2):
            assert again(server, kept) == kept_rows
            assert server.facts().data_checksums == "on"
            assert server.facts().copy_s > 0
            server.execute("DELETE FROM t WHERE a % 2 = 0", "INSERT INTO t VALUES (-1, 0, '')")
            assert server.execute(LOOK) != kept_rows
            server.stop(crash=True)
            server.remove()
            assert golden.find(place.data_root, kept.key) == kept
        if wal:
            assert server.wal_dir.is_relative_to(place.wal_root)
    finally:
        server.stop(crash=True)
        server.remove()
    other = server_of(base_dir, place, name="b")
    try:
        assert again(other, kept, shared_blocks=True) == kept_rows, "another arm of the same build"
        other.stop()
        other = server_of(base_dir, place, name="b")
        other.go_on()
        other.start()
        other.use_database("ib")
        assert other.execute(LOOK) == kept_rows, "a later server of the arm, on what it has left"
    finally:
        other.stop(crash=True)
        other.remove()


def test_what_a_key_is_made_of_follows_the_arm_and_not_the_disk(place: Place) -> None:
    def identity(**changes: object) -> Json:
        return server_of(newest(), place, **changes).identity

    own = identity()
    assert identity(name="b") == own
    assert identity(settings={"port": "6543"})["settings"]["port"] == "6543"
    little = provide(
        Arm(name="a", engine="postgres", base_dir=newest(), config="x10a", memory="256MB"),
        place=place, capacity=Capacity(cores=2, memory_bytes=1 << 30, free_disk_bytes=1 << 30),
        connections=500,
    )  # fmt: skip
    assert little.setting("max_wal_size") != server_of(newest(), place).setting("max_wal_size")
    assert little.identity == own
    others = [
        identity(memory="512MB"),
        identity(settings={"max_wal_size": "1GB"}),
        identity(settings={"work_mem": "8MB"}),
        server_of(ends()[0], place).identity,
        server_of(newest(), replace(place, wal_root=place.data_root)).identity,
    ]
    keys = [golden.key_of(one) for one in [own, *others]]
    assert len(set(keys)) == len(keys) if len(builds()) > 1 else len(keys) - 1


# --- Warm-up -----------------------------------------------------------------------------------


@pytest.mark.capability("warm-up")
@pytest.mark.parametrize("how", ["prewarm", "scan"])
def test_a_warm_up_reads_every_block_of_tables_and_indexes(base_dir: Path, place: Place, how: str):
    server = server_of(base_dir, place, settings={"jit": "off"} if base_dir.name >= "11" else {})
    try:
        filled(server)
        again(server, server.keep(PARTS, ORIGIN))
        server.stop()
        server.start()
        found = cache_warming.warm(how, server.execute)
        assert (found.how, found.relations, found.left_out) == (how, 4, [])
        sizes = dict(server.execute(SIZES))
        assert found.bytes == 8192 * sum(sizes.values())
        server.execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache")
        cached = dict(server.execute(CACHED))
        # A scan of a B-tree comes to its leaves by one way: it skips the other inner pages.
        low = 0.9 if how == "scan" else 1.0
        for name, pages in sizes.items():
            assert low * (pages - 1) <= cached[name] <= pages, name
    finally:
        server.stop(crash=True)
        server.remove()


SIZES = """
SELECT relname, pg_relation_size(oid) / 8192 FROM pg_class
WHERE relname IN ('t', 't_pkey', 't_b', 't_some')"""
CACHED = """
SELECT c.relname, count(*) FROM pg_buffercache b JOIN pg_class c
ON b.relfilenode = pg_relation_filenode(c.oid) AND b.relforknumber = 0
AND b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
WHERE c.relname IN ('t', 't_pkey', 't_b', 't_some') GROUP BY 1"""


def test_a_build_knows_which_extensions_it_comes_with(base_dir: Path, place: Place) -> None:
    server = server_of(base_dir, place)
    assert server.can("prewarm")
    assert not server.can("binary log")


# --- Plans -------------------------------------------------------------------------------------

PLAN = """
name = "kept"
base = "old"
[arms.old]
base_dir = "{old}"
config = "x10a"
memory = "256MB"
[arms.new]
base_dir = "{new}"
config = "x10a"
memory = "256MB"
[server]
data_dir = "{data}"
wal_dir = "{data}/wal"
[schedule.void]
foreign = 1
[[workloads]]
name = "insert-benchmark"
parameters = {{ clients = 2, rows = 10_000, rows_i1 = 2_000, rows_i2 = 200, rates = [100], \
seconds = 1, wait_s = 0 }}
steps = {steps}
save = "post-{save}"
warm = "{warm}"
[schedule]
blocks = {blocks}
checkpoint = "before-step"
"""


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-golden-{os.getpid()}"
    folder.mkdir()
    yield folder
    assert not list(folder.glob("*/data")), "a data directory stayed behind"
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def text(data: Path, **changes: object) -> str:
    values: dict[str, object] = {
        "old": ends()[0],
        "new": ends()[-1],
        "data": data,
        "steps": json.dumps(["l.i0", "l.x", "cleanup", "qr100"]),
        "save": "cleanup",
        "warm": "none",
        "blocks": 2,
    }
    return PLAN.format(**values | changes)


def names(results: Results) -> dict[tuple[str, str], list[str]]:
    """The steps of each run, by block and arm."""
    return {
        (block.path.name, run.arm): [step.name for step in run.steps()]
        for block in results.blocks()
        for run in block.runs()
    }


def step_of(results: Results, block: str, arm: str, name: str) -> StepFolder:
    (found,) = [
        step
        for one in results.blocks()
        for run in one.runs()
        for step in run.steps()
        if (one.path.name, run.arm, step.name) == (block, arm, name)
    ]
    return found


def test_a_second_block_and_another_plan_begin_with_what_the_first_block_left(
    tmp_path: Path, data: Path
) -> None:
    of = plan.parse(text(data, warm="prewarm"), None)
    outcome = blocks.run(of, tmp_path / "one", wait=True)
    assert outcome.failed == 0
    results = Results.open(outcome.folder)
    whole, rest = ["l.i0", "l.x", "cleanup", "qr100"], ["qr100"]
    assert names(results) == {
        ("001", "old"): whole,
        ("001", "new"): whole,
        ("002", "old"): rest,
        ("002", "new"): rest,
    }
    for arm in ("old", "new"):
        steps = [step_of(results, block, arm, "qr100") for block in ("001", "002")]
        before = [step.before().tables for step in steps]
        for table in ("pi1", "pi2"):
            # l.x adds a statement of 100 rows to each table
            assert [its[table]["n_live_tup"] for its in before] == [10_100, 10_100]
            assert before[0][table]["total_bytes"] == before[1][table]["total_bytes"]
        for step in steps:
            done = step.done()
            assert done.warm.how == "prewarm" and done.warm.relations == 10
            assert done.checkpoint_s > 0 and done.rest.quiet_s > 0
        first = step_of(results, "001", arm, "l.i0").done()
        assert first.warm is None and first.checkpoint_s > 0
        seeds = [job.seed for step in steps if (job := step.job())]
        assert seeds[0] != seeds[1], "what follows the copy draws anew in each block"
    comparison = compare.load(results)
    assert any("ran only in block 1" in line for line in doubted(comparison))
    assert all(
        run.ending.status == "ok" for s in comparison.steps for c in s.cells for run in c.runs
    )
    assert len(golden.marked(data)) == 2

    # Another plan with the same beginning and other steps after it.
    further = replace(plan.parse(text(data, blocks=1, steps=MORE), None), name="further")
    prepared = preflight.prepare(further)
    assert len(prepared.copies) == 2
    said = "\n".join(dry_run.describe(further, prepared))
    assert "block 1: " in said and "old*" in said and "GB are there already: golden copy" in said
    outcome = blocks.run(further, tmp_path / "two", wait=True)
    assert names(Results.open(outcome.folder)) == {
        ("001", "old"): ["qr100", "qp100"],
        ("001", "new"): ["qr100", "qp100"],
    }
    (line,) = [one for one in doubted(compare.load(outcome.folder)) if one.startswith("golden")]
    assert "an earlier plan made" in line
    assert golden.remove(data, [one.name for one in golden.marked(data)])
    assert not any((data / "wal" / "golden").iterdir())


MORE = json.dumps(["l.i0", "l.x", "cleanup", "qr100", "qp100"])


def test_a_state_that_is_kept_later_is_another_plan() -> None:
    old = {"workloads": [{"name": "w"}], "schedule": {"blocks": 1}}
    for use in ({"save": "post-a"}, {"warm": "scan"}):
        new = {"workloads": [{"name": "w"} | use], "schedule": {"blocks": 1}}
        assert continuation.refused(old, new, 1) is not None
    same = {"workloads": [{"name": "w", "save": None, "warm": None}], "schedule": {"blocks": 1}}
    assert continuation.refused(old, same, 1) is None
    checked = old | {"schedule": {"blocks": 1, "checkpoint": "before-step"}}
    assert continuation.refused(old, checked, 1) is not None


def test_no_room_and_no_extension_and_a_damaged_copy_are_told_before_anything_starts(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = plan.parse(text(data, blocks=1), None)
    needed = sum(need.bytes for need in preflight.prepare(of).disk)
    assert needed > 3 * (300 << 20), "a run and two copies, each with its write-ahead log"
    free = quiesce.room(data)
    monkeypatch.setattr(quiesce, "room", lambda path: needed + (1 << 30) - 1)
    with pytest.raises(HostError, match=r"of golden copies, and 1\.0 GB to spare: ask for fewer"):
        preflight.prepare(replace(of), {"sizing": sizing(free)})
    monkeypatch.undo()
    monkeypatch.setattr(build.Build, "has_extension", lambda *_: False)
    with pytest.raises(PlanError, match='no extension `pg_prewarm`: write warm = "scan"'):
        preflight.prepare(plan.parse(text(data, warm="prewarm"), None))
    monkeypatch.undo()
    (by_arm,) = preflight.prepare(of).points.values()
    (at,) = next(iter(by_arm.values()))
    folder = data_folder.make(data / "golden" / at.key, "data", account.choose("postgres"))
    with pytest.raises(ServerError, match=rf"`dyno golden remove {at.key} --data-dir {data}`"):
        preflight.prepare(of)
    assert folder.exists()
    assert golden.remove(data, [at.key]) == [at.key]
    assert preflight.prepare(of).copies == {}


def sizing(free: int) -> Json:
    return {"cores": 2, "memory_bytes": 8 << 30, "free_disk_bytes": free}


def dyno(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = own_lab.command(*arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=LAB_S_MAX, check=False)


def test_the_commands_say_what_is_there_and_refuse_what_is_unclear(data: Path) -> None:
    key = golden.key_of(PARTS)
    data_folder.make(data / "golden" / key, "data", account.choose("postgres"))
    (line,) = dyno("golden", "list", "--data-dir", data).stdout.splitlines()
    assert line.startswith(f"{key}  golden copy ") and "cannot be read" in line
    ended = dyno("golden", "remove", key, "--wait", "--data-dir", data)
    assert (ended.returncode, ended.stderr) == (0, f"removed {key}\n")
    assert dyno("golden", "list", "--data-dir", data).stdout == ""
    for arguments in ((), ("abc", "--all")):
        ended = dyno("golden", "remove", *arguments, "--data-dir", data)
        assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    ended = dyno("golden", "remove", "abc", "--wait", "--data-dir", data)
    assert ended.returncode == 2 and "there are none" in ended.stderr


# --- Breaks ------------------------------------------------------------------------------------

BIG_BYTES = 512 << 20
COPIES_TRIED_MAX = 20
COPIER = """
import sys
from pathlib import Path
from server_place import Place
from dbdyno.engine import golden
from dbdyno.host import account, data_folder
root, copied = map(Path, sys.argv[1:])
place = Place(data_root=root / "data", run_root=root / "run", cache_root=root, log_dir=root,
              account=account.choose("postgres"))
data = data_folder.make(place.data_root / "a", "data", place.account)
golden.fill(data, copied, place, shared_blocks=False, what="copy a")
"""


def eventually(look: Callable[[], object]) -> object:
    end_s = time.monotonic() + WAIT_S
    while time.monotonic() < end_s:
        if found := look():
            return found
        time.sleep(0.002)
    raise AssertionError("it did not come in time")


def resume_to_its_end(pid: int) -> None:
    """Lets a stopped process go on once a signal waits for it: it does nothing more than end."""
    none = "ShdPnd:\t0000000000000000"
    within(WAIT_S, lambda: none not in Path(f"/proc/{pid}/status").read_text())
    os.kill(pid, signal.SIGCONT)


def stopped_midway(command: list[str], target: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A lab that copies, and the process that does it, stopped before it has all of the file."""
    for _ in range(COPIES_TRIED_MAX):
        lab = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        big = target / "data" / "big"
        eventually(big.exists)
        for copier in process.working_in(target):
            os.kill(copier, signal.SIGSTOP)
            if big.stat().st_size < BIG_BYTES:
                return lab, copier
            os.kill(copier, signal.SIGCONT)  # a fast disk had all of it before we looked
        lab.wait()
        shutil.rmtree(target)
    raise AssertionError(f"the copy was faster {COPIES_TRIED_MAX} times")


def test_a_copy_that_outlives_a_killed_lab_is_ended_and_begun_anew(place: Place) -> None:
    copied = place.data_root / "kept"
    copied.mkdir()
    with (copied / "big").open("wb") as file:
        for _ in range(BIG_BYTES >> 20):
            file.write(b"x" * (1 << 20))
    for path in (copied, copied / "big"):
        os.chown(path, place.account.uid, place.account.gid)
    target = place.data_root / "a"
    command = [sys.executable, "-c", COPIER, str(place.data_root.parent), str(copied)]
    lab, copier = stopped_midway(command, target)
    lab.kill()
    lab.wait()
    assert process.start_ticks(copier) is not None, "it outlives a kill -9"
    resumer = threading.Thread(target=resume_to_its_end, args=(copier,))
    resumer.start()
    assert leftovers.end_leftovers(place.run_root) == [f"copy a (process {copier})"]
    resumer.join()
    assert process.start_ticks(copier) is None
    data = data_folder.make(target, "data", place.account)
    golden.fill(data, copied, place, shared_blocks=False, what="copy a")
    assert golden.census(data) == golden.Census(files=1, bytes=BIG_BYTES)
    assert leftovers.end_leftovers(place.run_root) == []


def test_a_lab_that_is_killed_between_two_runs_leaves_copies_whole_and_its_block_is_done_again(
    tmp_path: Path, data: Path
) -> None:
    """Killed right after the first copy was made; the same plan with one block more goes on."""
    file = tmp_path / "kept.toml"
    file.write_text(text(data, new=ends()[0], blocks=1))
    command = own_lab.command("run", file, "--out", tmp_path / "out", "--wait")
    lab = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert within(LAB_S_MAX, lambda: golden.marked(data))
    lab.kill()
    lab.communicate()
    (folder,) = golden.marked(data)  # two arms alike share one
    killed = golden.find(data, folder.name)
    assert killed is not None
    file.write_text(text(data, new=ends()[0], blocks=2))
    done = subprocess.run(command, timeout=LAB_S_MAX, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    results = Results.open(tmp_path / "out" / "kept")
    assert [block.state for block in results.blocks()] == ["void", "done", "done"]
    whole, rest = ["l.i0", "l.x", "cleanup", "qr100"], ["qr100"]
    found = names(results)
    assert [found[block, "old"] for block in ("001", "002")] == [whole, rest]
    again = golden.find(data, folder.name)
    assert again is not None
    assert again.facts.made_unix_ns > killed.facts.made_unix_ns, "all steps were done again"
    shut = plan.parse(text(data, new=ends()[0], blocks=3, save="l.x"), None)
    with pytest.raises(ResultError, match=r"`workloads\[0\]\.save` is \"post-l\.x\" now"):
        blocks.run(shut, tmp_path / "out", wait=True)
