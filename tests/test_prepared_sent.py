"""What the check of a plan found goes through JSON and comes back the same."""

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import read_steps
from dbdyno import plan
from dbdyno.builds import compile
from dbdyno.builds.compile import BuildRequest
from dbdyno.builds.flags import Flags
from dbdyno.builds.source import Source
from dbdyno.engine import Place
from dbdyno.engine.golden_copy import Copy, CopyFacts
from dbdyno.model.json import decoder, encoder
from dbdyno.run.check import preflight
from dbdyno.run.ready_plan import ReadyPlan

READS = '[[workloads]]\nname = "./reads.toml"\n'
SWEPT = """
[[workloads]]
name = "pgbench"
steps = ["fill", "simple-update"]
parameters = { clients = [1, 2, 4], seconds = 7, scale = [1, 2] }
"""
SUITE = '[[workloads]]\nname = "insert-benchmark"\nset = "2023"\n'
FAKES = """
name = "fakes"
arms.a = { engine = "fake", fake = { default_us = 100 } }
arms.b = { engine = "fake", fake = { default_us = 100 } }
"""
SERVERS = """
name = "servers"
[server]
data_dir = "FOLDER"
wal_dir = "FOLDER"
[arms.a]
base_dir = "BUILD"
config = "x10a"
[arms.b]
base_dir = "BUILD"
settings = { work_mem = "8MB" }
[[workloads]]
name = "sysbench"
save = "post-fill"
parameters = { rows = 1000, seconds = 1.5 }
"""
WISH = BuildRequest(
    engine="postgres",
    name="mine",
    source=Source(kind="git", origin="/src/postgres", identity="commit:1", ref="18.1"),
    flags=Flags(recipe=None, cflags="-O2", release="-O3"),
    options=("--with-lz4",),
    jobs=2,
)
COPY = Copy(
    folder=Path("/data/golden/1"),
    facts=CopyFacts(
        workload="w",
        step="fill",
        block_begun_unix_ns=5,
        arm="a",
        version="17.6",
        made_unix_ns=6,
        format=1,
        key="1",
        parts={"seed": 7},
        files=3,
        bytes=5,
        major="17",
        control_sha256="0",
        wal_dir=None,
    ),
)


def again(prepared: ReadyPlan) -> ReadyPlan:
    """Through the text of a message."""
    come: ReadyPlan = decoder(ReadyPlan).decode(encoder().encode(prepared))
    return come


def prepared_of(folder: Path, workloads: str) -> ReadyPlan:
    (folder / "reads.toml").write_text(read_steps.text(three=True))
    return preflight.prepare(plan.parse(FAKES + workloads, folder / "plan.toml"))


@pytest.mark.parametrize(
    "workloads",
    [READS, SWEPT, SUITE, READS + SWEPT],
    ids=["a file", "a sweep", "a suite", "two workloads"],
)
def test_a_prepared_plan_comes_back_as_it_was(tmp_path: Path, workloads: str) -> None:
    prepared = prepared_of(tmp_path, workloads)
    assert len(prepared.steps) >= 1
    assert again(prepared) == prepared


def test_builds_that_are_still_to_be_made_and_golden_copies_come_back(tmp_path: Path) -> None:
    found = dataclasses.replace(
        prepared_of(tmp_path, READS),
        wishes={"a": WISH},
        builds={"a": compile.foreseen(WISH)},
        copies={"1": COPY},
        copy_bytes={"1": 5},
        wal_path=Path("/wal"),
        releases={"a": (9, 6), "b": None},
    )
    assert again(found) == found


def test_every_number_of_a_job_comes_back(tmp_path: Path) -> None:
    prepared = prepared_of(tmp_path, READS)
    ((title, by_arm), *_) = prepared.steps.items()
    (first, *_) = by_arm["a"]

    @given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**63), 2**63 - 1))
    def comes_back(number: float, whole: int) -> None:
        job = structs.replace(first.job, fake={"rate": number, "of": [whole]})
        step = dataclasses.replace(first, job=job, expected_s=number)
        here = dataclasses.replace(prepared, steps={title: {"a": (step,)}})
        assert again(here) == here

    comes_back()


@pytest.mark.live
def test_a_prepared_plan_of_real_servers_comes_back_as_it_was(base_dir: Path, place: Place) -> None:
    folder = place.data_root
    text = SERVERS.replace("BUILD", str(base_dir)).replace("FOLDER", str(folder))
    prepared = preflight.prepare(plan.parse(text, folder / "plan.toml"))
    assert prepared.points and prepared.settled and prepared.disk and prepared.device
    assert again(prepared) == prepared
