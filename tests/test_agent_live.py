"""A plan whose servers run on another host, over a real sshd: the same result, and what breaks."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import own_lab
from dbdyno.store import Results
from hosts_lab import Lab
from server_place import ends
from test_looks_run import workload

pytestmark = pytest.mark.live

FAKES = """
name = "fakes"
base = "a"
{host}
[arms.a]
engine = "fake"
fake = {{ service_us = {{ point = 200, other = 60_000 }}, jitter = 0.2 }}
[arms.b]
engine = "fake"
fake = {{ service_us = {{ point = 240, other = 70_000 }}, jitter = 0.2 }}
[[workloads]]
name = "./reads.toml"
[schedule]
blocks = 2
"""
ON_H1 = """
[hosts.h1]
ssh = "h1"
[server]
host = "h1"
"""
SERVER = """
name = "server"
base = "pg"
[hosts.h1]
ssh = "h1"
[server]
host = "h1"
[arms.pg]
base_dir = "BUILD"
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
parameters = { seconds = 2, rows = 1000 }
[schedule]
blocks = 1
repeats_max = 3
void = { foreign = 1.0 }
"""


@pytest.fixture(name="ssh", autouse=True)
def _ssh(hosts: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("DYNO_SSH", hosts.ssh)
    return hosts


def written(folder: Path, text: str, name: str = "plan.toml") -> Path:
    path = folder / name
    path.write_text(text.replace("BUILD", str(ends()[-1])))
    return path


def dyno(folder: Path, *words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        own_lab.command(*words),
        cwd=folder,
        env=os.environ | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    return line


def figures(folder: Path) -> dict[str, object]:
    """By block, arm and step what was counted, which a fake decides to the last operation."""
    return {
        str(path.parent.relative_to(folder)): json.loads(path.read_text())["totals"]
        for path in folder.glob("blocks/*/*/*/*/done.json")
    }


def test_a_plan_that_runs_on_another_host_gives_what_it_gives_here(tmp_path: Path) -> None:
    (tmp_path / "reads.toml").write_text(workload())
    for where, host in (("here", ""), ("there", ON_H1)):
        plan = written(tmp_path, FAKES.format(host=host))
        done = dyno(tmp_path, "run", plan, "--out", tmp_path / where, "--quiet")
        assert done.returncode == 0, done.stderr
    here, there = (tmp_path / where / "fakes" for where in ("here", "there"))
    assert figures(there) == figures(here) != {}
    assert {path.name for path in there.glob("blocks/001/a/reads/*/*")} == {
        path.name for path in here.glob("blocks/001/a/reads/*/*")
    }
    results = Results.open(there)
    assert [block.host for block in results.blocks()] == ["h1", "h1"]
    assert list(results.hosts()) == ["h1"]


class Run:
    """A `dyno run` in the background."""

    def __init__(self, folder: Path, plan: Path) -> None:
        self.folder = folder / "out" / "server"
        self._words = own_lab.command("run", plan, "--out", folder / "out")
        self.said: list[str] = []
        self.process = subprocess.Popen(
            self._words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def until(self, pattern: str) -> None:
        """Waits for a line on standard error."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if re.search(pattern, line):
                return
        raise AssertionError(f"{pattern} never came:\n{''.join(self.said)}")

    def end(self) -> int:
        """Waits for its end."""
        assert self.process.stderr is not None
        self.said += self.process.stderr
        return self.process.wait(120)

    def kill_ssh(self) -> None:
        """Kills the ssh that it started."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        (ssh,) = map(int, children.split())
        os.kill(ssh, signal.SIGKILL)


def kill_agent(run: Run, lab: Lab) -> None:
    assert lab.kill("h1", "dyno agent") or lab.kill("h1", "agent")


def kill_ssh(run: Run, lab: Lab) -> None:
    run.kill_ssh()


def kill_generator(run: Run, lab: Lab) -> None:
    assert lab.kill("h1", "dyno-loadgen")


def kill_dyno(run: Run, lab: Lab) -> None:
    run.process.kill()


def cut_for_a_while(run: Run, lab: Lab) -> None:
    lab.cut("h1")
    time.sleep(4)
    lab.join("h1")


def cut_for_30_s(run: Run, lab: Lab) -> None:
    lab.cut("h1")
    time.sleep(30)
    lab.join("h1")


def test_what_dies_makes_its_block_void_and_what_is_cut_goes_on(tmp_path: Path, hosts: Lab) -> None:
    run = Run(tmp_path, written(tmp_path, SERVER))
    for strike in (kill_agent, kill_ssh, cut_for_a_while):
        run.until("fill: ")
        time.sleep(1)
        strike(run, hosts)
    assert run.end() == 0, "".join(run.said)
    blocks = {block.path.name: block for block in Results.open(run.folder).blocks()}
    assert set(blocks) == {"001", "001.void1", "001.void2"}
    assert blocks["001"].state == "done"
    for name in ("001.void1", "001.void2"):
        assert "the connection broke" in str(blocks[name].reason)
    kept = [step.name for arm in blocks["001.void1"].runs() for step in arm.steps()]
    assert "fill" in kept, "what was measured before is kept"
    nothing_left(hosts)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("strike", [kill_agent, kill_ssh, kill_generator, kill_dyno, cut_for_30_s])
def test_the_plan_is_finished_whenever_it_is_struck(
    strike: Callable[[Run, Lab], None], seed: int, tmp_path: Path, hosts: Lab
) -> None:
    run = Run(tmp_path, written(tmp_path, SERVER))
    run.until("load generator on h1")
    time.sleep(random.Random(f"{strike.__name__} {seed}").uniform(0, 8))
    with contextlib.suppress(AssertionError, ValueError):  # it may not run now
        strike(run, hosts)
    while (status := run.end()) in (2, -signal.SIGKILL):  # the same command goes on
        run = Run(tmp_path, tmp_path / "plan.toml")
    assert status == 0, "".join(run.said)
    states = {block.path.name: block.state for block in Results.open(run.folder).blocks()}
    assert states.pop("001") == "done"
    assert set(states.values()) <= {"void"}
    nothing_left(hosts)


def test_an_interruption_stops_the_servers_there(tmp_path: Path, hosts: Lab) -> None:
    run = Run(tmp_path, written(tmp_path, SERVER))
    run.until("fill: ")
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 130, "".join(run.said)
    nothing_left(hosts)


def nothing_left(lab: Lab) -> None:
    """Nothing runs on the host any more, and its servers' data are gone."""
    for _ in range(100):
        running = [pid for word in ("postgres", "dyno") for pid in lab.processes("h1", word)]
        if not running:
            break
        time.sleep(0.1)
    assert not running
    assert not list((lab.hosts["h1"].lab / "data").glob("pg*"))


def test_a_host_that_cannot_be_reached_is_refused_in_a_line(tmp_path: Path, hosts: Lab) -> None:
    plan = written(tmp_path, SERVER)
    stranger = hosts.ssh_by("stranger_key")
    line = one_line(dyno(tmp_path, "run", plan, DYNO_SSH=stranger))
    assert line.startswith("dyno: hosts.h1: `h1` cannot be reached: root@h1") or "denied" in line
    assert "make `ssh h1` work without a password" in line
    nowhere = written(tmp_path, SERVER.replace('ssh = "h1"', 'ssh = "nowhere.invalid"'), "n.toml")
    assert "`nowhere.invalid` cannot be reached: " in one_line(dyno(tmp_path, "check", nowhere))
    assert not (tmp_path / "results").exists(), "nothing was started"


def test_a_host_without_dyno_is_told_how_to_get_it(tmp_path: Path, hosts: Lab) -> None:
    command = hosts.hosts["h1"].dyno
    command.rename(command.with_name("hidden"))
    try:
        line = one_line(dyno(tmp_path, "run", written(tmp_path, SERVER)))
    finally:
        command.with_name("hidden").rename(command)
    assert line == "dyno: hosts.h1: `h1` has no `dyno`: run `dyno host prepare h1`"
