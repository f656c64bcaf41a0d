"""Load from other hosts: shared out, begun at one instant, and gone with a host that dies."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

import own_lab
import read_steps
from dbdyno.store import Results
from hosts_lab import Lab
from test_agent_live import Run, one_line, written

pytestmark = pytest.mark.live

APART_NS_MAX = 2_000_000
"""How far apart generators may start."""
RATE_OFF_MAX = 0.001
RATE_PER_S, SECONDS = 500, 3
"""The load of RATE."""
PLAN = """
name = "server"
[server]
host = "h1"
[generator]
hosts = ["h2", "h3"]
[arms.pg]
base_dir = "BUILD"
[[workloads]]
name = "./rate.toml"
[schedule]
blocks = 1
void = { foreign = 1.0 }
"""
RATE = (
    read_steps.HEAD
    + """
[[steps]]
name = "read"
seconds = "{seconds}"
warmup_s = 0
headline = { metric = "qps", role = "query", count = "operations" }
roles.query = { run = "point", per = "step", connections = 4, pace = { per_s = 500 } }
"""
)


@pytest.fixture(name="ssh", autouse=True)
def _ssh(hosts: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_SSH", hosts.ssh)


def plan_of(folder: Path, lab: Lab, text: str = PLAN) -> Path:
    written(folder, RATE, "rate.toml")
    hosts = "".join(
        f'[hosts.{name}]\nssh = "{name}"\naddress = "{lab.hosts[name].address}"\n'
        for name in ("h1", "h2", "h3")
    )
    return written(folder, text + hosts)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_hosts_share_a_load_from_one_instant_on_and_one_that_dies_voids_the_block(
    tmp_path: Path, hosts: Lab
) -> None:
    run = Run(tmp_path, plan_of(tmp_path, hosts))
    run.until("fill: ")
    time.sleep(2)
    until_s = time.monotonic() + 120
    while not hosts.kill("h3", "dyno-loadgen"):
        assert time.monotonic() < until_s, "a busy machine begins later, but it begins"
        time.sleep(0.1)
    assert run.end() == 0, "".join(run.said)
    blocks = {block.path.name: block for block in Results.open(run.folder).blocks()}
    assert set(blocks) == {"001", "001.void1"}
    assert "generator on h3" in str(blocks["001.void1"].reason)
    for host in ("h1", "h2", "h3"):
        assert not hosts.processes(host, "postgres") + hosts.processes(host, "dyno-loadgen")
    facts = json.loads((blocks["001"].path / "pg" / "server.json").read_text())
    assert facts["encryption"].startswith("TLS")
    (step,) = [one for one in blocks["001"].runs()[0].steps() if one.name == "read"]
    shared_as_planned(step.path, hosts)


def shared_as_planned(step: Path, hosts: Lab) -> None:
    """Clocks are known within their bound, the start is one, and so is the rate of all."""
    done = json.loads((step / "done.json").read_text())
    offset_s = {name: host.clock_offset_s for name, host in hosts.hosts.items()}
    started_ns = {}
    for name, its in done["network"].items():
        true_us = 1e6 * (offset_s[name] - offset_s["h1"])
        assert abs(its["offset_us"] - true_us) <= its["offset_bound_us"]
        assert its["round_trip_us"] > 0 < its["sent_bytes"]
        said = lines(step / f"events.{name}.jsonl")
        (event,) = [one for one in said if one["event"] == "started"]
        started_ns[name] = int(str(event["mono_ns"])) - round(1e3 * true_us)
    assert set(started_ns) == {"h2", "h3"}
    assert abs(started_ns["h2"] - started_ns["h3"]) < APART_NS_MAX
    assert abs(done["counted"]["operations"] / (RATE_PER_S * SECONDS) - 1) < RATE_OFF_MAX


def test_an_address_that_the_host_does_not_have_is_refused(tmp_path: Path, hosts: Lab) -> None:
    text = plan_of(tmp_path, hosts).read_text()
    wrong = text.replace(hosts.hosts["h1"].address, "192.0.2.1")
    done = subprocess.run(
        own_lab.command("check", written(tmp_path, wrong)),
        env=os.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "this host has no address 192.0.2.1" in one_line(done)
