"""Runs a plan's hooks: commands, SQL and standbys that join, between what is measured or, where
the plan gives a time, while a window is open.

A command runs as the user that dyno runs as, in the plan's folder, and finds in its environment
where it is: DYNO_ARM, DYNO_STEP, DYNO_SERVER_PID … (docs/plan.md). Its output is kept.
"""

import json
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dbdyno import store
from dbdyno.engine import Server
from dbdyno.host import child
from dbdyno.host.observe.foreign_load import HOOK_MARK
from dbdyno.host.program import of_user
from dbdyno.model import Hook, HookMoment, Json, Plan
from dbdyno.model.error import PlanError, ServerError

HOOK_S_MAX = 3600.0
"""How long a hook may take; then it is ended, and has failed."""
SAID_CHARACTERS_MAX = 4_000
"""The part of a command's output that is kept, from its end."""
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
        for hook in self.hooks:
            if hook.when == moment and wanted(hook.steps, step):
                self.run_one(hook, server, results, step)

    def timed(self, step: str) -> list[Hook]:
        """Those that have a time in the window of a step, the first one first."""
        hooks = [hook for hook in self.hooks if hook.at_s is not None and wanted(hook.steps, step)]
        return sorted(hooks, key=lambda hook: hook.at_s or 0.0)

    @property
    def joins(self) -> bool:
        """Whether one of them makes the arm's standbys, which so are not there from the start."""
        return any(hook.joins for hook in self.hooks)

    def run_one(self, hook: Hook, server: Server, results: Path, step: str | None) -> None:
        """Runs one; what it did goes to a file in `results`. Raises ServerError where it fails."""
        begun_ns = time.monotonic_ns()
        failure, said = self._go(hook, server, results, step)
        done: Json = {"when": hook.when, "mono_ns": begun_ns, "failure": failure, "said": said}
        done |= {"command": hook.command, "sql": hook.sql}
        if hook.at_s is not None:
            done["at_s"] = hook.at_s
        keep(results, done | {"took_us": (time.monotonic_ns() - begun_ns) // 1000})
        if failure is not None:
            raise ServerError(f"hook {hook.when}: {failure}")

    def _go(
        self, hook: Hook, server: Server, results: Path, step: str | None
    ) -> tuple[str | None, str]:
        """Runs one; why it failed, and what it said."""
        if hook.command is None:
            try:
                if hook.joins:
                    return None, json.dumps(server.standbys.join() if server.standbys else [])
                return None, str(server.execute(*hook.sql, limit_s=HOOK_S_MAX))
            except ServerError as error:
                return str(error), ""
        here = {"DYNO_STEP": step or "", HOOK_MARK: str(results.absolute())}
        environment = {**os.environ, **self.facts, **here, **of_server(server)}
        return command(hook.command, self.folder, environment)


def refuse_missing(plan: Plan) -> None:
    """Raises PlanError where a hook's program is not there."""
    for number, hook in enumerate(plan.hooks, start=1):
        if hook.command and of_user(hook.command[0], folder_of(plan)) is None:
            raise PlanError(
                f"hooks[{number}].command: there is no program `{hook.command[0]}`: write its path "
                "relative to the plan, or install it"
            )


def folder_of(plan: Plan) -> Path:
    """The folder in which the plan's hooks run: its own."""
    return plan.path.parent if plan.path else Path()


def of_run(plan: Plan, *, arm: str, block: int, workload: str) -> Hooks:
    """The hooks of an arm's run through a workload."""
    return Hooks(
        hooks=tuple(hook for hook in plan.hooks if wanted(hook.arms, arm)),
        folder=folder_of(plan),
        facts={"DYNO_ARM": arm, "DYNO_BLOCK": str(block), "DYNO_WORKLOAD": workload},
    )


def wanted(names: tuple[str, ...] | None, name: str | None) -> bool:
    """Whether a hook that names only some is for this one."""
    return names is None or name in names


def of_server(server: Server) -> dict[str, str]:
    """The environment that tells a command of the server: its address, its process, its data."""
    address, made = server.address(), server.made
    values = {
        "DYNO_SERVER_PID": made.postmaster_pid if made else None,
        "DYNO_STANDBY_PIDS": " ".join(map(str, made.standby_pids)) if made else None,
        "DYNO_DATA_DIR": made.data_dir if made else None,
        "DYNO_HOST": address.host if address else None,
        "DYNO_PORT": address.port if address else None,
        "DYNO_USER": address.user if address else None,
        "DYNO_DATABASE": address.database if address else None,
    }
    return {name: "" if value is None else str(value) for name, value in values.items()}


def command(
    words: tuple[str, ...], folder: Path, environment: Mapping[str, str]
) -> tuple[str | None, str]:
    """Runs a program to its end; why it failed (None: it did not), and the end of what it said.

    Processes that it leaves running in its session are ended, so that no window has them.
    """
    # A file and no pipe, which what it leaves running could hold open.
    with tempfile.TemporaryFile() as output:
        try:
            end = child.run(
                words, output, folder=folder, environment=environment, limit_s=HOOK_S_MAX
            )
        except OSError as error:
            return f"`{words[0]}` cannot be run: {error.strerror}", ""
        said = end_of(output)
    if end.overdue:
        return f"`{words[0]}` did not end within {HOOK_S_MAX:.0f} s", said
    if end.left:
        said += f"\nit left running, and dyno ended: {', '.join(end.left)}"
    if end.status == 0:
        return None, said
    last = (said.strip().splitlines() or ["it said nothing"])[-1]
    return f"`{words[0]}` ended with status {end.status}: {last}", said


def end_of(output: IO[bytes]) -> str:
    """The end of what a command wrote."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - SAID_CHARACTERS_MAX))
    return output.read().decode(errors="replace")


def keep(results: Path, done: Json) -> None:
    """Adds what a hook did to hooks.jsonl (docs/results.md)."""
    with store.JsonLines(results / FILE, goes_on=True) as lines:
        lines.write(done)
