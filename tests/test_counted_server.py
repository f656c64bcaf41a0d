"""What a server under a counter is spared, where each process takes seconds to begin and to end."""

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.engine import local_server
from dbdyno.engine.postgres import cache_warming
from dbdyno.host import process


def test_caches_are_warmed_by_two_connections() -> None:
    """One asks which relations there are, and one reads them all."""
    asked: list[tuple[str, ...]] = []

    def execute(*statements: str, limit_s: float = 0.0) -> list[tuple[Any, ...]]:
        asked.append(statements)
        return [(1, "t", "r", 8192), (2, "t_pkey", "i", 8192)]

    warmed = cache_warming.warm("prewarm", execute)
    assert (warmed.relations, warmed.bytes) == (2, 16_384)
    assert [len(statements) for statements in asked] == [2, 2]


@pytest.mark.parametrize(
    ("counter", "sent"), [((), [signal.SIGQUIT, signal.SIGKILL]), (("valgrind",), [signal.SIGKILL])]
)
def test_a_counted_server_is_killed_at_once(
    counter: tuple[str, ...], sent: list[signal.Signals], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its processes would write counts that nobody reads; its children end with it.

    They run the counter's program, so that nothing else knows them as the server's.
    """
    ended: list[tuple[int, list[signal.Signals]]] = []
    monkeypatch.setattr(process, "start_ticks", lambda pid: 1)
    monkeypatch.setattr(process, "children", lambda pid: [8, 9])

    def end(pid: int, ticks: int, signals: process.Signals) -> bool:
        ended.append((pid, [number for number, _ in signals]))
        return True

    monkeypatch.setattr(process, "end", end)
    monkeypatch.setattr(local_server.launch, "leave", lambda arm: None)
    home: Any = SimpleNamespace(
        process=SimpleNamespace(pid=7, wait=lambda: 0), _entry=None,
        _arm=SimpleNamespace(name="a"),
        _place=SimpleNamespace(placement=SimpleNamespace(counter=counter)),
    )  # fmt: skip
    local_server.Home.stop(home, ((signal.SIGQUIT, 1.0), (signal.SIGKILL, 1.0)))
    assert ended == [(pid, sent) for pid in ((7, 8, 9) if counter else (7,))]
    assert home.process is None
