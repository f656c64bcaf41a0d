"""The parts of result files that judging needs, so that damage names its file.

How forms are written is in dbdyno.model.form; those of events.jsonl are in dbdyno.model.events.
"""

from __future__ import annotations

from dbdyno.model.form import NUMBER, Natural

NAME = {"name": str}

PLAN = {"name": str, "base": str, "blocks": int, "arms": [NAME], "workloads?": [NAME]}
SERVER = {"settings?": (None, dict), "nondefault?": (None, dict), "preset?": (None, dict)}
_SAMPLED = {
    "event": str,
    "hertz": Natural,
    "call_graph": str,
    "samples": Natural,
    "lost": Natural,
    "binaries": [{"path": str, "symbols": bool, "samples": Natural}],
    "seconds?": NUMBER,
    "counters?": {"*": NUMBER},
    "no_counters?": (None, str),
    "failure": None,
}
PROFILE = ({"failure": str}, _SAMPLED)
SNAPSHOT = {"tables?": (None, {"*": dict}), "explain?": (None, {"*": {"*": (None, str)}})}
GENERATOR = {
    "loads": [
        {
            "connections": int,
            "per_s": NUMBER,
            "cpu_us_per_operation": (None, *NUMBER),
            "threads": [{"busy_share": NUMBER}],
        }
    ]
}
