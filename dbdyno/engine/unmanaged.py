"""The common part of servers that leave nothing on this host: a fake, one elsewhere."""

from __future__ import annotations

from pathlib import Path

from dbdyno.engine.alone import Alone
from dbdyno.engine.golden_copy import Copy, Origin
from dbdyno.model import Json


class Unseen(Alone):
    """A server without data, process or log that the lab could see or touch."""

    data_dir: Path | None = None
    wal_dir: Path | None = None
    log_path: Path | None = None
    postmaster_pid: int | None = None
    departures: tuple[str, ...] = ()

    @property
    def identity(self) -> Json:
        """Such a server has no data that the lab could keep."""
        raise AssertionError("`save` is refused for such an arm when the plan is read")

    def prepare(self) -> None:
        """Such a server has no data directory of ours."""

    def prepare_from(self, copy: Copy, *, shared_blocks: bool) -> None:
        """There is nothing to begin from."""
        raise AssertionError("`save` is refused for such an arm when the plan is read")

    def keep(self, parts: Json, origin: Origin) -> Copy:
        """There is nothing to keep."""
        raise AssertionError("`save` is refused for such an arm when the plan is read")

    def stop(self, crash: bool = False) -> None:
        """Such a server is not the lab's to end."""

    def remove(self) -> None:
        """There is nothing of it to remove."""

    def failure(self) -> str | None:
        """None: what goes wrong with it shows as errors of the step."""
        return None

    def processes(self) -> dict[int, str]:
        """None that could be seen."""
        return {}

    def leaders(self) -> dict[int, int]:
        """None that could be seen."""
        return {}

    def log_tail(self, lines: int = 20) -> list[str]:
        """Its log cannot be seen."""
        return []

    def log_position(self) -> int:
        """Its log cannot be seen."""
        return 0

    def log_events(self, since: int) -> list[Json]:
        """Its log cannot be seen."""
        return []
