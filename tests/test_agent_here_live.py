"""A server on a host that an agent answers for, without sshd: `ssh` is a program of this test."""

import shlex
import sys
from pathlib import Path

import pytest

import command
import own_lab
from dbdyno.run.agent import session
from dbdyno.store import Results
from server_place import an_open_folder, ends

pytestmark = pytest.mark.live
PLAN = """
base = "pg"
[hosts.h1]
ssh = "h1"
[server]
host = "h1"
[arms.pg]
base_dir = "{build}"
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
parameters = {{ seconds = 1, rows = 1000, tables = 1, clients = 1, warmup_s = 0, pause_s = 0 }}
[schedule]
blocks = 1
void = {{ foreign = 1.0 }}
"""


@pytest.mark.capability("hosts")
def test_a_server_of_another_host_is_measured_by_its_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent has a lab of its own, as on a host of its own."""
    with an_open_folder() as lab:
        code = own_lab.COMMAND.format(tests=str(Path(__file__).parent), folder=str(lab))
        ssh = tmp_path / "ssh.py"
        ssh.write_text(f"import sys\nsys.argv = ['dyno', 'agent']\n{code}")
        monkeypatch.setenv("DYNO_SSH", shlex.join([sys.executable, str(ssh)]))
        monkeypatch.setattr(session, "HELLO_S_MAX", 600.0)  # a busy machine begins later
        file = tmp_path / "plan.toml"
        file.write_text(PLAN.format(build=ends()[-1]))
        ended = command.dyno("run", file, "--out", tmp_path / "out", "--wait")
        assert ended.returncode == 0, ended.stderr
        results = Results.open(tmp_path / "out" / "plan")
        (block,) = results.blocks()
        assert block.host == "h1" and list(results.hosts()) == ["h1"]
        (run,) = block.runs()
        assert [step.name for step in run.steps()] == ["fill", "point-query"]
        assert run.steps()[-1].done().totals["query"].count
        assert not list((lab / "data").glob("*/data")), "nothing stays there"
