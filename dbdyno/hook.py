"""Runs a plan's hooks: commands and SQL between what is measured, never while a window is open.

A command runs as the user that dyno runs as, in the plan's folder, and finds in its environment
where it is: DYNO_ARM, DYNO_STEP, DYNO_SERVER_PID … (docs/plan.md). What it said is kept.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno import store
from dbdyno.error import ServerError
from dbdyno.model import Hook, HookMoment, Json, Plan
from dbdyno.server import Server

HOOK_S_MAX = 3600.0
"""How long a hook may take; then it is ended, and has failed."""
SAID_CHARACTERS_MAX = 4_000
"""Of what a command said is kept, from its end."""
FILE = "hooks.jsonl"


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """The hooks of one arm's run, and what they are told."""

    hooks: tuple[Hook, ...]
    folder: Path  # where commands work: the plan's
    facts: Mapping[str, str]  # by variable: arm, block, workload

    def run(
        self, moment: HookMoment, server: Server, results: Path, step: str | None = None
    ) -> None:
        """Runs those of this moment in the plan's order; what they did goes to a file in `results`.

        Raises ServerError with the reason where one fails; those after it do not run then.
        """
        chosen = [one for one in self.hooks if one.when == moment and wanted(one.steps, step)]
        for hook in chosen:
            begun_ns = time.monotonic_ns()
            failure, said = self._go(hook, server, results, step)
            done: Json = {"when": moment, "mono_ns": begun_ns, "failure": failure, "said": said}
            done |= {"command": hook.command, "sql": hook.sql}
            keep(results, done | {"took_us": (time.monotonic_ns() - begun_ns) // 1000})
            if failure is not None:
                raise ServerError(f"hook {moment}: {failure}")

    def _go(
        self, hook: Hook, server: Server, results: Path, step: str | None
    ) -> tuple[str | None, str]:
        """Runs one; why it failed, and what it said."""
        if hook.command is None:
            try:
                return None, str(server.execute(*hook.sql, limit_s=HOOK_S_MAX))
            except ServerError as error:
                return str(error), ""
        told = {"DYNO_STEP": step or "", "DYNO_RESULTS": str(results.absolute())}
        environment = {**os.environ, **self.facts, **told, **of_server(server)}
        return command(hook.command, self.folder, environment)


def of_run(plan: Plan, *, arm: str, block: int, workload: str) -> Hooks:
    """The hooks of an arm's run through a workload."""
    return Hooks(
        hooks=tuple(hook for hook in plan.hooks if wanted(hook.arms, arm)),
        folder=plan.path.parent if plan.path else Path(),
        facts={"DYNO_ARM": arm, "DYNO_BLOCK": str(block), "DYNO_WORKLOAD": workload},
    )


def wanted(names: tuple[str, ...] | None, name: str | None) -> bool:
    """Whether a hook that names only some is for this one."""
    return names is None or name in names


def of_server(server: Server) -> dict[str, str]:
    """What a command is told of the server: where it answers, its process, its data."""
    address = server.address()
    told = {
        "DYNO_SERVER_PID": server.postmaster_pid,
        "DYNO_DATA_DIR": server.data_dir,
        "DYNO_HOST": address.host if address else None,
        "DYNO_PORT": address.port if address else None,
        "DYNO_USER": address.user if address else None,
        "DYNO_DATABASE": address.database if address else None,
    }
    return {name: "" if value is None else str(value) for name, value in told.items()}


def command(
    words: tuple[str, ...], folder: Path, environment: Mapping[str, str]
) -> tuple[str | None, str]:
    """Runs a program to its end; why it failed (None: it did not), and the end of what it said."""
    try:
        done = subprocess.run(
            words, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=HOOK_S_MAX, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"`{words[0]}` did not end within {HOOK_S_MAX:.0f} s", ""
    except OSError as error:
        return f"`{words[0]}` cannot be run: {error.strerror}", ""
    said = done.stdout[-SAID_CHARACTERS_MAX:]
    if done.returncode == 0:
        return None, said
    last = (said.strip().splitlines() or ["it said nothing"])[-1]
    return f"`{words[0]}` ended with status {done.returncode}: {last}", said


def keep(results: Path, done: Json) -> None:
    """Adds what a hook did to hooks.jsonl (docs/results.md)."""
    with store.Lines(results / FILE) as lines:
        lines.write(done)
