"""The rooms of the package, the walls inside them, and what only computes: read by tidy.py."""

from __future__ import annotations

from collections.abc import Mapping

KNOWING = frozenset({"model", "stats", "doctor", "store"})
MEASURING = frozenset({"model", "store", "host", "builds", "engine", "workload", "plan"})
JUDGING = KNOWING | {"analysis"}
# What each room may import of the others. Imports run one way, from below upwards, so measuring and
# judging meet only in `model`, `stats`, `doctor` and `store`. "" is dbdyno/__init__.py.
LAYERS: Mapping[str, frozenset[str]] = {
    "model": frozenset(),
    "stats": frozenset({"model"}),
    "doctor": frozenset({"model"}),
    "store": frozenset({"model"}),
    "host": frozenset({"model"}),
    "builds": frozenset({"model", "host"}),
    "engine": frozenset({"model", "host", "builds"}),
    "workload": frozenset({"model"}),
    "plan": frozenset({"model", "engine", "workload"}),
    "run": MEASURING | {"stats", "doctor"},
    "analysis": KNOWING,
    "report": JUDGING,
    "cli": MEASURING | JUDGING | {"run", "report"},
    "": frozenset({"model", "report"}),
    "__main__": frozenset({"cli"}),
}
# Inside a room: what a part of it may not import, though the room may.
WALLS: Mapping[str, frozenset[str]] = {
    "engine.fake": frozenset({"engine.postgres", "engine.mysql"}),
    "engine.mysql": frozenset({"engine.postgres", "engine.fake"}),
    "engine.postgres": frozenset({"engine.mysql", "engine.fake"}),
    "analysis.step": frozenset({"analysis.compare"}),
    "report.section": frozenset({"report.chart", "report.render"}),
}
# What computes and does nothing else (ARCHITECTURE.md, invariants): rooms, or parts of rooms.
PURE = frozenset(
    {
        "model",
        "stats",
        "doctor",
        "workload",
        "plan",
        "analysis",
        "report",
        "store.continuation",
        "host.observe.procfs",
        "engine.preset",
        "engine.postgres.activity",
    }
)
# Parts of those that act all the same.
ACTING = frozenset({"analysis.step.parallel", "report.write", "report.export"})
