"""The meaning of a compiler's flags."""

import re

from dbdyno.model.server_facts import ServerFacts

OPTIMIZATION = re.compile(r"(?:^|\s)-O(\w*)")


def for_size(flags: str | None) -> bool:
    """Whether a compiler with these flags makes code small, not fast.

    Of several -O the last one counts (gcc's manual, "Options That Control Optimization").
    """
    optimizations = OPTIMIZATION.findall(flags or "")
    return bool(optimizations) and optimizations[-1] in ("s", "z")


def flags_of(server: ServerFacts) -> str | None:
    """What the compiler of an arm's server was told; None where nobody says.

    `flags` of server.json; older results say it of builds that dyno made alone.
    """
    return server.flags or (server.build.flags if server.build else None)
