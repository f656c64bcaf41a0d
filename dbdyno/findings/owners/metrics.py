"""The metrics of costs by owner: CPU, context switches and bytes by operation."""

import math
from collections.abc import Mapping

from dbdyno.evidence import evidence as basis
from dbdyno.evidence import raw_files
from dbdyno.evidence.evidence import US_PER_S, Evidence
from dbdyno.evidence.raw_files import per, scaled
from dbdyno.findings.owners import step
from dbdyno.model.step_run import SERVER_OWNERS

Metrics = Mapping[str, float | None]
KIB = 1 << 10
BACKGROUND = {
    "checkpointer": ("background:checkpointer",),
    "writer": ("background:background writer", "background:walwriter"),
    "autovacuum": ("background:autovacuum",),
    "io_worker": ("background:io worker",),
    "parallel": ("parallel:", "background:parallel worker"),
    "page_cleaner": ("background:page cleaner",),
    "log": ("background:log ",),
    "purge": ("background:purge",),
    "io_thread": ("background:io read", "background:io write", "background:io other"),
}
"""The kinds of background that have a metric of their own, and how their owners' names begin."""

NAMED_THREAD = "background:page cleaner"
"""An owner that every MySQL and MariaDB has whose threads are known by name."""


def metrics(evidence: Evidence) -> Metrics:
    """CPU, context switches and bytes of a step by owner, for each operation or row."""
    headline = evidence.step.headline
    role = None if headline is None else evidence.owners.get(f"role:{headline.role}")
    read, written = (None, None) if role is None else (role.read_bytes, role.write_bytes)
    return {
        **costs(evidence),
        **background(evidence),
        **idle(evidence),
        "role_read_kib_per_op": scaled(per(read, evidence.operations), 1 / KIB),
        "role_write_kib_per_op": scaled(per(written, evidence.operations), 1 / KIB),
    }


def costs(evidence: Evidence) -> Metrics:
    """CPU and context switches by owner, for each operation or row."""
    operations, headline = evidence.operations, evidence.step.headline
    roles = [headline.role] if headline is not None else []
    in_operations = raw_files.plus(basis.operations_cpu_us(evidence, role) for role in roles)
    server = basis.cpu_us(evidence, *SERVER_OWNERS)
    generator = basis.cpu_us(evidence, "generator") if "generator" in evidence.owners else None
    known = (evidence.owners.get(f"role:{role}") for role in roles)
    switches = raw_files.plus(cost.context_switches for cost in known if cost is not None)
    # Without what is counted with operations.
    background_us = basis.cpu_us(evidence, "background:", "exited")
    if background_us is not None:
        background_us -= basis.helpers_cpu_us(evidence)
    # With less than that known, a change of owners would pass for one of the operations' CPU.
    owned = operations if basis.without_owner(evidence) <= basis.WITHOUT_OWNER_MAX else None
    return {
        "cpu_per_op": per(in_operations, owned),
        "server_cpu_per_op": per(basis.roles_cpu_us(evidence, roles), owned),
        "connections_cpu_per_op": per(basis.connections_cpu_us(evidence), operations),
        "cs_per_op": per(switches, operations),
        "background_cpu_per_op": per(background_us, operations),
        "whole_server_cpu_per_op": per(server, operations),
        "generator_cpu_per_op": per(generator, operations),
        "generator_share": scaled(per(generator, server), 100.0),
        "insert_cpu_per_row": _cpu_per_row(evidence, "insert"),
        "delete_cpu_per_row": _cpu_per_row(evidence, "delete"),
    }


def background(evidence: Evidence) -> Metrics:
    """CPU of the server's background for each operation, by task.

    Of InnoDB's threads only where the server names them, else none of a task is no 0.
    """
    unnamed = evidence.servers == "InnoDB" and NAMED_THREAD not in evidence.owners
    return {
        f"{task}_cpu_per_op": None
        if unnamed
        else per(basis.cpu_us(evidence, *owners), evidence.operations)
        for task, owners in BACKGROUND.items()
    }


def _cpu_per_row(evidence: Evidence, work: str) -> float | None:
    rows = evidence.rows_inserted if work == "insert" else evidence.rows(work)
    return per(basis.roles_cpu_us(evidence, evidence.roles(work)), rows)


def idle(evidence: Evidence) -> Metrics:
    """Between the arm's turns: CPU and bytes by operation, CPU by the time waited, in percent."""
    costs = step.waiting(evidence)
    cpu_us = math.fsum(cost.cpu_us for cost in costs) if costs else None
    written = raw_files.plus(cost.write_bytes for cost in costs)
    waited_us = scaled(step.waits(evidence.server_host).seconds, US_PER_S)
    return {
        "idle_cpu_per_op": per(cpu_us, evidence.operations),
        "idle_write_kib_per_op": scaled(per(written, evidence.operations), 1 / KIB),
        "idle_cpu_share": scaled(per(cpu_us, waited_us), 100.0),
    }
