"""The hosts that tests make on this machine are apart as real ones are."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import hosts_network as network
from hosts_lab import Lab, started
from one_host import CHECKOUT, SSH_PORT
from server_place import within

pytestmark = pytest.mark.live

SAY_CLOCK = """
import sys, time
for line in sys.stdin:
    print(time.monotonic_ns(), flush=True)
"""


def test_each_host_answers_by_ssh_with_its_own_name_home_and_processes(hosts: Lab) -> None:
    words = ["sh", "-c", "hostname; cd; pwd; ps ax | wc -l; ls /tmp | wc -l"]
    running = {
        name: subprocess.Popen(hosts.command(name, *words), stdout=subprocess.PIPE, text=True)
        for name in hosts.hosts
    }
    for name, process in running.items():
        said, home, processes, files = process.communicate()[0].split()
        assert said == name
        assert home == str(hosts.hosts[name].home)
        assert int(processes) < 10
        assert int(files) == CHECKOUT.is_relative_to("/tmp")  # else programs there were missing
    found = hosts.inside("h1", "ls", hosts.folder / "h1", hosts.folder / "h2")
    assert "host_key\n" in found.split("h2:")[0]
    assert not found.split("h2:")[1].strip()  # another host's folder is empty there


def test_a_clock_is_ahead_by_what_was_asked_for(hosts: Lab) -> None:
    for name in ("h1", "h3"):
        lowest, highest = offset_bounds_ns(hosts.command(name, sys.executable, "-c", SAY_CLOCK))
        wanted_ns = hosts.hosts[name].clock_offset_s * 10**9
        assert lowest <= wanted_ns <= highest
        assert highest - lowest < 5e9  # mostly 0.2 ms, where nothing else runs
        uptime_s = float(hosts.inside(name, "cat", "/proc/uptime").split()[0])
        assert uptime_s > hosts.hosts[name].clock_offset_s


def test_hosts_reach_each_other_until_a_cable_is_pulled(hosts: Lab) -> None:
    address = (hosts.hosts["h2"].address, SSH_PORT)
    ask = f"import socket; print(socket.create_connection(('h2', {SSH_PORT}), 3).getpeername())"
    assert address[0] in hosts.inside("h3", "python3", "-c", ask)
    with socket.create_connection(address, timeout=60) as connection:
        assert connection.makefile("rb").readline().startswith(b"SSH-")
        hosts.cut("h2")
        connection.sendall(b"SSH-2.0-late\r\n")
        with pytest.raises(TimeoutError):
            socket.create_connection(address, timeout=0.2)
        hosts.join("h2")
        assert connection.recv(1), "its keys, though the cable was out when it was asked"


@pytest.mark.usefixtures("hosts")  # skips where none can be made
def test_what_a_killed_process_made_ends_with_it_or_goes_with_the_next_start() -> None:
    pid, folder = fork_with_lab()
    namespace = f"dyno{folder.name.removeprefix('dyno-hosts-')}h1"
    try:
        assert running_in(namespace)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert within(60, lambda: not running_in(namespace))
    with network.alone():
        network.clear_leftovers()
    assert not folder.exists()
    links = [link["ifname"] for link in json.loads(network.ip("-json", "link", "show"))]
    assert not [link for link in links if link.startswith(f"dyno{pid}")]
    assert namespace not in network.ip("netns", "list")


def fork_with_lab() -> tuple[int, Path]:
    """A process that made a lab, and the folder of it."""
    reading, writing = os.pipe()
    if not (pid := os.fork()):
        try:
            with started({"h1": 0}) as lab:
                os.write(writing, str(lab.folder).encode())
                signal.pause()
        finally:
            os._exit(1)
    os.close(writing)
    folder = Path(os.read(reading, 4096).decode())
    os.close(reading)
    return pid, folder


def running_in(namespace: str) -> list[str]:
    """The processes in a network that have not ended."""
    found = []
    for pid in network.ip("netns", "pids", namespace).split():
        with suppress(OSError):
            if "State:\tZ" not in Path(f"/proc/{pid}/status").read_text():
                found.append(pid)
    return found


def offset_bounds_ns(command: list[str]) -> tuple[int, int]:
    """Between what the clock of a program that says it lies, less ours, by its quickest answer."""
    found = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        for _ in range(20):
            before = time.monotonic_ns()
            program.stdin.write("\n")
            program.stdin.flush()
            said = int(program.stdout.readline())
            after = time.monotonic_ns()
            found.append((after - before, said - after, said - before))
    return min(found)[1:]
