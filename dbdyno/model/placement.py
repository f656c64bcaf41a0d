"""Where clients and the sessions that serve them run."""

from typing import Literal

SessionPlacement = Literal["together", "apart", "free"]
"""Where a client and the session that serves it run: on one processor, clients and servers on
processors of their own, or both as the kernel likes."""
