"""Lets InnoDB write all of its dirty pages, as PostgreSQL's CHECKPOINT does.

There is no statement for it: the share of dirty pages that InnoDB allows itself is set to nothing
for as long as it takes, and then back to what it was. The checkpoint in the redo log follows.
"""

from __future__ import annotations

import time

from dbdyno.engine.interface import Execute
from dbdyno.model.error import ServerError

ALLOWED = ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm")
DIRTY = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'"
DIRTY_PAGES_MAX = 64
"""So many may stay: InnoDB's own background work dirties a few all the time."""
LOOK_EVERY_S = 0.1
STATEMENT_S_MAX = 60.0


def write_all(execute: Execute, limit_s: float) -> None:
    """Waits until all but a few pages are written. Raises ServerError after `limit_s` seconds."""
    names = ", ".join(f"@@{name}" for name in ALLOWED)
    (before,) = execute(f"SELECT {names}", limit_s=STATEMENT_S_MAX)
    end_s = time.monotonic() + limit_s
    # The lower mark first: it may not lie above the other.
    allow(execute, dict.fromkeys(reversed(ALLOWED), "0"))
    try:
        while (dirty := dirty_pages(execute)) > DIRTY_PAGES_MAX:
            if time.monotonic() > end_s:
                raise ServerError(f"{dirty} pages are still dirty after {limit_s:.0f} s")
            time.sleep(LOOK_EVERY_S)
    finally:
        allow(execute, dict(zip(ALLOWED, map(str, before), strict=True)))


def allow(execute: Execute, shares: dict[str, str]) -> None:
    """Sets the shares of dirty pages, in percent."""
    statements = [f"SET GLOBAL {name} = {share}" for name, share in shares.items()]
    execute(*statements, limit_s=STATEMENT_S_MAX)


def dirty_pages(execute: Execute) -> int:
    """The pages of the buffer pool that are not written yet."""
    ((_, pages),) = execute(DIRTY, limit_s=STATEMENT_S_MAX)
    return int(pages)
