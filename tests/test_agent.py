"""Parts of labs on other hosts, without one: messages, files that come back, what is refused."""

import json
import os
import shlex
import shutil
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbdyno import __version__, plan
from dbdyno.model import Host, Plan
from dbdyno.model.block_files import BlockDone, Order
from dbdyno.model.error import DynoError, HostError, LabDied, PlanError
from dbdyno.model.extra import OF_JUDGES
from dbdyno.model.json import decoder, encoder
from dbdyno.model.plan_record import ArmRecord, PlanRecord
from dbdyno.run.agent import lab, packing, prepare, wire
from dbdyno.run.agent.files import FileSender, Receiver
from dbdyno.run.agent.session import AgentSession
from dbdyno.run.agent.site import sent
from dbdyno.run.agent.wire import (
    ClockReading,
    ClockRequest,
    EmptyAnswer,
    FilePiece,
    HoldRequest,
    NetworkRequest,
    Reply,
)
from dbdyno.run.driver.interface import NetworkReading
from dbdyno.store import Results
from dbdyno.store.handover import BlockEnds

ROOT = Path(__file__).parents[1]
HOLD = HoldRequest(plan="p", wait=False)
DB1 = Host(name="db1", ssh="bench@db1")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "dbdyno/plan/shipped").glob("*.toml")), ids=lambda path: path.stem
)
def test_a_plan_is_the_same_when_it_comes_back(path: Path) -> None:
    its = plan.load(path)
    assert decoder(Plan).decode(encoder().encode(its)) == its


# --- Files -----------------------------------------------------------------------------------


def test_files_of_a_block_come_whole_and_again_only_if_they_changed(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    messages: list[FilePiece] = []
    step = there / "pg" / "w" / "01-read"
    step.mkdir(parents=True)
    (there / "order.json").write_text("{}")
    (step / "events.jsonl").write_bytes(b"x" * (1 << 20))  # a whole piece, and an empty one
    (step / ".hidden").write_text("no")
    (there / "pg" / "log").mkdir()
    (there / "pg" / "log" / "server.log").write_text("still written")
    sender, receiver = FileSender(there, messages.append), Receiver(here, "db1")
    sender.new(all_of_it=False)
    assert {piece.file for piece in messages} == {"pg/w/01-read/events.jsonl"}
    sender.new(all_of_it=True)
    assert {piece.file for piece in messages[2:]} == {"pg/log/server.log"}
    for piece in messages:
        receiver.take(piece)
    events = here / "pg" / "w" / "01-read" / "events.jsonl"
    assert events.read_bytes() == (step / "events.jsonl").read_bytes()
    assert events.stat().st_mtime_ns == (step / "events.jsonl").stat().st_mtime_ns


def test_a_file_that_never_came_whole_leaves_nothing(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path, "db1")
    messages: list[FilePiece] = []
    (tmp_path / "from" / "pg").mkdir(parents=True)
    (tmp_path / "from" / "pg" / "big").write_bytes(b"y" * (3 << 20))
    FileSender(tmp_path / "from", messages.append).new(all_of_it=True)
    receiver.take(messages[0])
    assert not (tmp_path / "pg" / "big").exists()
    receiver.clear()
    assert not list((tmp_path / "pg").iterdir())


@pytest.mark.parametrize("name", ["../plan.json", "/etc/passwd", "order.json", "pg/../../x"])
def test_a_host_writes_nothing_but_files_of_arms(tmp_path: Path, name: str) -> None:
    with pytest.raises(HostError, match="not of a block"):
        Receiver(tmp_path, "db1").take(FilePiece(name, b"", 0))


def test_the_files_that_a_plan_names_go_along_and_absolute_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.sql").write_text("SELECT 1;")
    (tmp_path / "before.sh").write_text("true")
    text = """
arms.a = { engine = "fake", fake = { default_us = 9 } }
[[workloads]]
pgbench = ["MINE"]
parameters = { seconds = 1 }
[[hooks]]
when = "before-step"
command = ["./before.sh", "--fast"]
"""
    (tmp_path / "plan.toml").write_text(text.replace("MINE", "mine.sql"))
    files = sent(plan.load(tmp_path / "plan.toml")).files
    assert {Path(name).name for name in files} == {"plan.toml", "mine.sql", "before.sh"}
    whole = text.replace("MINE", str(tmp_path / "mine.sql"))
    with pytest.raises(PlanError, match="is not there on another host"):
        sent(plan.parse(whole, tmp_path / "plan.toml"))


def test_blocks_of_an_agent_are_those_of_the_result_without_earlier_runs(tmp_path: Path) -> None:
    results = Results(
        tmp_path, PlanRecord(name="p", base="a", blocks=1, arms=(ArmRecord(name="a"),))
    )
    first = {"001": BlockEnds(order=Order(block=1, order=("a",)))}
    lab.mirror(results, first, 1)
    (tmp_path / "blocks" / "001" / "a").mkdir()
    lab.mirror(results, first, 1)
    assert (tmp_path / "blocks" / "001" / "a").is_dir(), "what the block has measured stays"
    again = {"001": BlockEnds(order=Order(block=1, order=("a",), seed=2))}
    lab.mirror(results, again, 1)
    assert not (tmp_path / "blocks" / "001" / "a").exists(), "another try of the block"
    (tmp_path / "blocks" / "001" / "a").mkdir()
    second = {"002": BlockEnds(order=Order(block=2, order=("a",)))}
    done = {"001": replace(again["001"], done=BlockDone())}
    lab.mirror(results, done | second, 2)
    assert [block.state for block in results.blocks()] == ["done", "broken"]
    assert not (tmp_path / "blocks" / "001" / "a").exists()


# --- Who answers -----------------------------------------------------------------------------


def answering(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """From now on `ssh` is this Python script."""
    path = folder / "ssh.py"
    path.write_text("import sys, json, time\n" + script)
    monkeypatch.setenv("DYNO_SSH", shlex.join([sys.executable, str(path)]))


def hello(*, ahead_s: int = 0, **other: object) -> str:
    """A script that says so, and waits for the end of its input."""
    own = {"agent": wire.PROTOCOL, "version": __version__, "code": wire.code(), "mono_ns": 1}
    return (
        f"said = json.loads({json.dumps(own | other)!r})\n"
        f"said['unix_ns'] = time.time_ns() + {ahead_s} * 10**9\n"
        "print(json.dumps(said), flush=True)\nsys.stdin.read()"
    )


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (hello(version="0.0.9"), "`bench@db1` has dyno 0.0.9, .*: run `dyno host prepare bench"),
        (hello(code="other"), "hosts.db1: `bench@db1` has another build of dyno"),
        (hello(ahead_s=6000), r"the clock of `bench@db1` is [56],\d{3}\.\d s ahead: set both by"),
        (hello(ahead_s=-6000), r"the clock of `bench@db1` is [56],\d{3}\.\d s behind"),
        ("sys.exit(127)", "`bench@db1` has no `dyno`: run `dyno host prepare bench@db1`"),
        ("sys.exit('Permission denied')", "reached: Permission denied: make `ssh bench@db1` work"),
    ],
    ids=["version", "build", "ahead", "behind", "missing", "refused"],
)
def test_who_is_not_as_needed_is_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, line: str
) -> None:
    answering(tmp_path, monkeypatch, script)
    with pytest.raises(HostError, match=line) as found:
        AgentSession(DB1)
    assert "\n" not in str(found.value)


def test_a_login_shell_that_talks_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    answering(tmp_path, monkeypatch, "print('Welcome to db1!', flush=True)\n" + hello())
    with AgentSession(DB1) as session:
        assert session.lost is None


def test_what_was_asked_of_a_host_that_goes_is_lost_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = hello().replace("sys.stdin.read()", "sys.stdin.readline(); sys.exit('reset by peer')")
    answering(tmp_path, monkeypatch, go)
    with AgentSession(DB1) as session:
        with pytest.raises(LabDied, match=r"the connection broke .*reset by peer"):
            session.request(HOLD, EmptyAnswer)
        with pytest.raises(LabDied, match="the connection broke"):
            session.request(HOLD, EmptyAnswer)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"type": "Say"}', "the key `answer.text` is missing"),
        ('{"type": "Sing"}', "the key `answer.type`: invalid value"),
        ("nonsense", "it is not JSON"),
    ],
    ids=["a key", "a name", "a text"],
)
def test_a_host_whose_answer_is_no_message_is_lost_with_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, said: str
) -> None:
    line = f'{{"type": "Reply", "number": 1, "answer": {answer}}}'
    script = f"sys.stdin.readline(); print({line!r}, flush=True); sys.stdin.read()"
    answering(tmp_path, monkeypatch, hello().replace("sys.stdin.read()", script))
    with AgentSession(DB1) as session:
        with pytest.raises(LabDied, match=f"host db1: it sent .*: {said}") as lost:
            session.request(HOLD, EmptyAnswer)
        assert "\n" not in str(lost.value)


def test_an_answer_of_another_kind_is_a_lost_host_and_an_unknown_error_an_error() -> None:
    with pytest.raises(LabDied, match="host db1: it answered ClockReading, not EmptyAnswer"):
        wire.result(wire.DoneAnswer(wire.ClockReading(1)), EmptyAnswer, "db1")
    for name in ("re", "NoSuchError", "annotations"):
        with pytest.raises(DynoError, match="host db1: said"):
            wire.result(wire.FailureAnswer(name, "said"), EmptyAnswer, "db1")


@pytest.mark.parametrize(
    ("host", "request_", "said"),
    [
        ("db2", '{"type": "ReadFacts", "measure": true}', "others FactsRequest"),
        ("db9", '{"type": "ReadClock"}', "the plan has no other host db9"),
    ],
    ids=["a request", "a host"],
)
def test_an_agent_asks_of_others_what_its_load_takes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, request_: str, said: str
) -> None:
    ask = f'{{"type": "Ask", "number": 1, "request": {request_}}}'
    line = f'{{"type": "ForHost", "host": "{host}", "message": {ask}}}'
    script = f"sys.stdin.readline(); print({line!r}, flush=True); sys.stdin.read()"
    answering(tmp_path, monkeypatch, hello().replace("sys.stdin.read()", script))
    with AgentSession(DB1) as session, AgentSession(DB1) as other:
        session.others = {"db2": other}
        with pytest.raises(LabDied, match=f"host db1: it sent what is no message .*{said}"):
            session.request(HOLD, EmptyAnswer)


@pytest.mark.long
def test_an_agent_that_is_sent_no_message_ends_and_says_why() -> None:
    with AgentSession(Host(name="here")) as session:
        session.send(Reply(1, "nonsense"))  # type: ignore[arg-type]
        with pytest.raises(LabDied, match="this is no message of dyno: the key `answer`"):
            session.request(HOLD, EmptyAnswer)


@pytest.mark.long
def test_this_machine_can_be_a_host_by_itself() -> None:
    with AgentSession(Host(name="here")) as session:
        clock = session.request(ClockRequest(), ClockReading)
        assert abs(clock.mono_ns - time.monotonic_ns()) < 10**9
        network = session.request(NetworkRequest("127.0.0.1", None), NetworkReading)
        assert network.sent_bytes is None, "nothing leaves the host"


# --- What is installed there -----------------------------------------------------------------


def test_what_dyno_needs_is_known_with_the_extras_that_it_asks_for() -> None:
    names = {packing.normal(one.name) for one in packing.needed()}
    assert {"dbdyno", "numpy", "psycopg-binary", "cryptography"} <= names
    assert not names & ({"pytest", "ruff", "mypy"} | OF_JUDGES)
    assert list(packing.required("a[b, c]>=1; extra == 'x'", "")) == []
    assert list(packing.required("a[b, c]>=1; extra == 'x'", "x")) == [
        ("a", ""), ("a", "b"), ("a", "c"),
    ]  # fmt: skip


@pytest.mark.long
def test_what_is_sent_to_a_host_is_small(tmp_path: Path) -> None:
    uv = shutil.which("uv") or os.environ.get("UV")
    if uv is None:
        pytest.skip("no uv here: `make setup` brings it")
    archive = prepare.packed(tmp_path, packing.wheels(tmp_path), Path(uv))
    assert archive.stat().st_size < 60_000_000
