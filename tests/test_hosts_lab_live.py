"""The hosts that tests make on this machine are apart as real ones are, and the relay disturbs."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import hosts_network as network
from hosts_lab import Lab, started
from one_host import CHECKOUT
from relay import Relay
from server_place import within

pytestmark = pytest.mark.live

ECHO = """
import socket, sys, threading

def echo(connection):
    try:
        while piece := connection.recv(65536):
            connection.sendall(piece)
    except OSError:
        pass
    connection.close()

listening = socket.create_server(("", int(sys.argv[1])))
print(listening.getsockname()[1], flush=True)
while True:
    threading.Thread(target=echo, args=listening.accept()[:1]).start()
"""
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
    with echo_on(hosts, "h2"), client(hosts.hosts["h2"].address, 5000) as connection:
        echoes(connection)
        ask = "import socket; print(socket.create_connection(('h2', 5000), 3).getpeername())"
        assert hosts.hosts["h2"].address in hosts.inside("h3", "python3", "-c", ask)
        hosts.cut("h2")
        connection.sendall(b"late")
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            connection.recv(4)
        hosts.join("h2")
        connection.settimeout(60)
        assert connection.recv(4) == b"late"


def test_the_command_of_a_host_has_its_lock_and_data_in_the_folder_of_the_host(hosts: Lab) -> None:
    assert hosts.run("h4", "which", "dyno").strip() == str(hosts.hosts["h4"].dyno)
    assert hosts.run("h4", "dyno", "--version").startswith("dyno ")
    assert {path.name for path in hosts.hosts["h4"].lab.iterdir()} >= {"run", "data"}


def test_only_a_key_that_a_host_knows_lets_in(hosts: Lab) -> None:
    command = shlex.split(hosts.ssh_through({}, key="stranger_key"))
    refused = subprocess.run(
        [*command, "-o", "BatchMode=yes", "h1", "true"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert refused.returncode == 255
    assert "Permission denied (publickey)" in refused.stderr


def test_a_host_without_power_falls_silent_and_starts_with_nothing_running(hosts: Lab) -> None:
    with echo_on(hosts, "h3"):
        with client(hosts.hosts["h3"].address, 5000) as connection:
            echoes(connection)
            hosts.power_off("h3")
            connection.settimeout(0.1)
            with pytest.raises(TimeoutError):
                connection.recv(1)
        hosts.power_on("h3")
        assert hosts.processes("h3") == []
        assert hosts.run("h3", "hostname") == "h3\n"


def test_processes_of_a_host_are_found_and_ended_by_their_words(hosts: Lab) -> None:
    with echo_on(hosts, "h1"):
        (pid,) = hosts.processes("h1", "socket.create_server")
        assert hosts.processes("h2", "socket.create_server") == []
        inside = int(hosts.inside("h1", "pgrep", "-f", "^python3.*create_server"))
        assert inside > 100_000 > pid
        assert hosts.kill("h1", "socket.create_server", signal.SIGTERM) == 1
        assert within(60, lambda: not hosts.processes("h1", "socket.create_server"))


def test_ssh_through_a_relay_waits_and_breaks_as_the_relay_is_told(hosts: Lab) -> None:
    with hosts.relay("h2") as relay:
        command = [*shlex.split(hosts.ssh_through({"h2": relay})), "h2"]
        with subprocess.Popen(
            [*command, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as session:
            assert round_trip_s(session) < 0.4
            relay.delay(there_ms=300, back_ms=100)
            assert round_trip_s(session) >= 0.4
            assert relay.counts()["connections"] == 1
            assert relay.reset() == 1
            assert session.wait(60) == 255
            assert session.stderr.read()
        assert within(60, lambda: not hosts.processes("h2"))


def test_a_relay_delays_each_way_and_keeps_the_order(echo: int) -> None:
    with Relay("127.0.0.1", echo) as relay, client(relay.address, relay.port) as connection:
        quick_s = min(echoes(connection) for _ in range(5))
        relay.delay(there_ms=200, back_ms=50)
        delayed_s = min(echoes(connection) for _ in range(5))
        assert quick_s < 0.25 <= delayed_s
        connection.sendall(b"first ")
        relay.delay(there_ms=0, back_ms=0)
        connection.sendall(b"second")
        assert read(connection, 12) == b"first second"


def test_a_relay_holds_what_travels_and_keeps_the_connections(echo: int) -> None:
    with Relay("127.0.0.1", echo) as relay, client(relay.address, relay.port) as connection:
        echoes(connection)
        relay.hold(for_s=0.15)
        assert echoes(connection) >= 0.13
        relay.hold()
        connection.sendall(b"held")
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            connection.recv(4)
        relay.release()
        connection.settimeout(60)
        assert read(connection, 4) == b"held"


def test_a_relay_resets_both_sides_and_takes_new_connections(echo: int) -> None:
    with Relay("127.0.0.1", echo) as relay:
        with client(relay.address, relay.port) as connection:
            echoes(connection)
            assert relay.reset() == 1
            with pytest.raises(ConnectionResetError):
                connection.recv(1)
        with client(relay.address, relay.port) as connection:
            echoes(connection)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
        assert within(60, lambda: relay.counts()["connections"] == 0)


def test_a_relay_hands_on_more_than_it_keeps_and_counts_it(echo: int) -> None:
    size = 20 << 20
    with (
        Relay("127.0.0.1", echo, there_ms=5, back_ms=5) as relay,
        client(relay.address, relay.port) as connection,
    ):
        sending = threading.Thread(target=connection.sendall, args=(bytes(size),))
        sending.start()
        assert read(connection, size) == bytes(size)
        sending.join()
        counts = relay.counts()
    assert (counts["there_bytes"], counts["back_bytes"]) == (size, size)


def test_a_relay_resets_a_client_whose_server_is_not_there() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))  # and kept, else the relay itself might get the port
        with (
            Relay(*deaf.getsockname()) as relay,
            pytest.raises(ConnectionResetError),  # by then, or while it connects
            client(relay.address, relay.port) as connection,
        ):
            connection.recv(1)


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


@pytest.fixture(name="echo", scope="module")
def _echo() -> Iterator[int]:
    """The port of a server that says what it is told."""
    command = [sys.executable, "-c", ECHO, "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield int(server.stdout.readline())
        server.kill()


@contextmanager
def echo_on(hosts: Lab, host: str) -> Iterator[None]:
    """The same server on a host."""
    command = hosts.command(host, "python3", "-c", ECHO, "5000")
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"5000\n"
        try:
            yield
        finally:
            server.kill()
            hosts.kill(host, "socket.create_server")


def client(address: str, port: int) -> socket.socket:
    return socket.create_connection((address, port), timeout=60)


def echoes(connection: socket.socket) -> float:
    """How long an echo takes, in seconds."""
    begin_s = time.monotonic()
    connection.sendall(b"echo")
    assert read(connection, 4) == b"echo"
    return time.monotonic() - begin_s


def read(connection: socket.socket, size: int) -> bytes:
    """So many bytes."""
    with connection.makefile("rb") as file:
        return file.read(size)


def round_trip_s(session: subprocess.Popen[bytes]) -> float:
    """How long one line takes to a `cat` elsewhere and back, at best."""
    best_s = float("inf")
    for _ in range(4):
        begin_s = time.monotonic()
        session.stdin.write(b"line\n")
        session.stdin.flush()
        assert session.stdout.readline() == b"line\n"
        best_s = min(best_s, time.monotonic() - begin_s)
    return best_s


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
