"""What each part of the package may import, and which parts only compute: read by tidy.py."""

from __future__ import annotations

from collections.abc import Mapping

BASE = frozenset({"model", "error", "metric", "verdict", "compiler"})
MEASURING = BASE | {"binary", "plan", "workload", "schedule", "host", "probe", "server"}
MEASURING |= {"loadgen", "preset", "store"}
COMMANDS = {"auto", "calibrate", "progress", "preflight", "outlook", "runner", "analysis"}
COMMANDS |= {"report", "export", "publish", "doctor", "checkup"}
# What each part of the package may import of the package: imports run one way, so that measuring
# and judging meet only in `model`, `metric` and the result folder. "" is dbdyno/__init__.py.
LAYERS: Mapping[str, frozenset[str]] = {
    "": frozenset({"export"}),
    "verdict": frozenset(),
    "model": frozenset({"verdict"}),
    "error": frozenset(),
    "metric": frozenset(),
    "compiler": frozenset(),
    "job": frozenset({"model"}),
    "hdr": frozenset({"error"}),
    "response": BASE | {"hdr"},
    "stats": frozenset(),
    "shape": frozenset(),
    "batch": frozenset({"stats"}),
    "decision": frozenset({"verdict", "stats", "batch"}),
    "pilot": frozenset({"verdict", "stats", "decision"}),
    "change": BASE,
    "binary": frozenset({"error"}),
    "cutoff": frozenset(),
    "cores": frozenset(),
    "workload": BASE,
    "schedule": BASE,
    "preset": BASE | {"workload"},
    "plan": BASE | {"connection", "workload", "schedule", "preset"},
    "host": BASE | {"binary"},
    "connection": BASE,
    "probe": BASE | {"connection", "cutoff"},
    "server": BASE | {"binary", "connection", "cutoff", "host", "preset"},
    "doctor": BASE,
    "checkup": MEASURING | {"doctor"},
    "loadgen": BASE | {"binary"},
    "ceiling": BASE | {"binary", "loadgen"},
    "store": BASE | {"change"},
    "progress": BASE,
    "meter": BASE | {"progress", "job", "response"},
    "origin": MEASURING,
    "room": MEASURING,
    "preflight": MEASURING | {"drop", "job", "kept", "origin", "room"},
    "fit": MEASURING | {"room", "preflight"},
    "hook": MEASURING,
    "kept": MEASURING,
    "drop": MEASURING,
    "measure": MEASURING | {"drop", "hook", "job", "progress", "meter"},
    "void": BASE | {"store"},
    "run": MEASURING | {"hook", "progress", "origin", "preflight", "measure", "room"},
    "turns": MEASURING | {"job", "progress", "measure"},
    "together": MEASURING | {"job", "progress", "measure", "run", "turns"},
    "outlook": MEASURING | {"pilot", "progress", "origin", "room", "preflight", "fit", "together"},
    "runner": MEASURING
    | {"doctor", "progress", "origin", "preflight", "fit", "ceiling", "run", "together", "void"},
    "auto": MEASURING | {"pilot", "progress", "run", "runner", "analysis"},
    "calibrate": BASE | {"plan"},
    "analysis": BASE
    | {"doctor", "stats", "shape", "decision", "pilot", "store", "cores", "job", "response"},
    "report": BASE | {"analysis", "doctor"},
    "export": BASE | {"store", "analysis", "job", "response"},
    "publish": frozenset({"error"}),
    "cli": MEASURING | COMMANDS,
    "__main__": frozenset({"cli"}),
}
# Modules that compute and do nothing else (ARCHITECTURE.md, invariants), and what would break that.
PURE = frozenset({"model", "error", "metric", "stats", "plan", "workload", "schedule", "analysis"})
PURE |= {"verdict", "shape", "batch", "decision", "pilot", "doctor"}
PURE |= {
    "report",
    "change",
    "job",
    "hdr",
    "response",
    "host.procfs",
    "preset",
    "server.config",
    "probe.activity",
}
