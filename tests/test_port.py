"""Where servers of the lab listen: never where the kernel may put a client meanwhile."""

import errno
import socket
from pathlib import Path

import pytest

from dbdyno.engine.local_server import free_port
from dbdyno.host import port
from dbdyno.host.account import choose
from dbdyno.host.place import Place

LOOPBACK = "127.0.0.1"


def clients_of(monkeypatch: pytest.MonkeyPatch, folder: Path, first: int, last: int) -> None:
    """The kernel gives these ports to clients."""
    (folder / "range").write_text(f"{first}\t{last}\n")
    monkeypatch.setattr(port, "OF_CLIENTS", folder / "range")


def test_a_servers_port_is_none_that_the_kernel_gives_to_clients(tmp_path: Path):
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    place = Place(
        data_root=tmp_path, run_root=tmp_path, cache_root=tmp_path, log_dir=tmp_path,
        account=choose("postgres"),
    )  # fmt: skip
    chosen = {free_port("a", 0, place) for _ in range(50)}
    assert len(chosen) > 40, "labs that choose at once choose different ones"
    assert [number for number in chosen if first <= number <= last] == []
    assert min(chosen) >= 10_000


def test_a_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with socket.create_server((LOOPBACK, port.free(LOOPBACK))) as other:
        taken = int(other.getsockname()[1])
        monkeypatch.setattr(port, "OF_SERVERS", range(taken, taken + 1))
        first = 1 if taken > 40_000 else 50_000
        clients_of(monkeypatch, tmp_path, first, first + 9)
        assert port.free(LOOPBACK) != taken
        with pytest.raises(OSError) as raised:
            port.free(LOOPBACK, taken)
    assert raised.value.errno == errno.EADDRINUSE


def test_the_kernel_chooses_where_it_gives_all_ports_to_clients(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    clients_of(monkeypatch, tmp_path, 1024, 65_535)
    assert port.free(LOOPBACK) >= 1024
