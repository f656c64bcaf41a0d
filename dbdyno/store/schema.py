"""The parts of result files that judging needs, so that damage names its file.

How forms are written is in dbdyno.model.form; those of events.jsonl are in dbdyno.model.events.
"""

from __future__ import annotations

NAME = {"name": str}

PLAN = {"name": str, "base": str, "blocks": int, "arms": [NAME], "workloads?": [NAME]}
