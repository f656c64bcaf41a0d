"""Reads the jobs that workloads expand to, for the tests: statements as text, roles by name."""

from __future__ import annotations

from typing import Any

from dbdyno.model import Json, Step


def sql(step: Step, name: str) -> str:
    """A statement of a job as readable text."""

    def text(pieces: list[Any]) -> str:
        out = ""
        for piece in pieces:
            match piece:
                case str():
                    out += piece
                case {"value": number}:
                    out += f"<{step.job['values'][number]['name']}>"
                case {"cursor": number}:
                    out += f"<cursor {step.job['cursors'][number]['name']}>"
                case {"table": kind}:
                    out += f"<{kind}>"
                case {"repeat": count, "separator": ",", "pieces": inner}:
                    out += f"[{count}× {text(inner)}]"
        return out

    (found,) = [one for one in step.job["statements"] if one["name"] == name]
    return text(found["pieces"])


def role(step: Step, name: str) -> Json:
    (found,) = [one for one in step.job["roles"] if one["name"] == name]
    return dict(found)
