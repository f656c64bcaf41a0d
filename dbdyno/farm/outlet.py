"""The outlet of a farm: its folder of reports, and the report command, which gets each once.

FOLDER/reports/NAME.md, NAME.json       the last revision of each report
FOLDER/outlet/NAME-REVISION.json        what the command gets on standard input
FOLDER/outlet/NAME-REVISION.status      how it ended; 0: it has taken the report

The command outlives a watcher that is killed: a shell in a session of its own runs it, keeps its
status, and has the report locked meanwhile. The next watcher waits for that shell, reads the
status, and does not give the report again.
"""

import fcntl
import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dbdyno.farm import findings
from dbdyno.farm.file import Farm
from dbdyno.farm.state import FarmFinding
from dbdyno.model.error import HostError
from dbdyno.store import disk
from dbdyno.store.file import made, write_atomically

REPORTS, OUTLET = "reports", "outlet"
COMMAND_S_MAX = 120
"""The report command ends by then, or is ended; it is tried again."""
KILL_S = 5
"""After so many seconds a command that was ended is killed."""
LOOK_S = 0.02
SCRIPT = (
    'timeout --kill-after="$1" "$2" sh -c "$3" <"$4" >"$5.out" 2>&1; '
    'echo "$?" >"$5.part" && mv -f "$5.part" "$5"'
)
"""Runs the command, and keeps its status at once and whole (timeout(1): 124 where it was ended)."""
OVERDUE = ("124", "137")
WORDS_MAX = 200


@dataclass(frozen=True, kw_only=True)
class ReportMessage:
    """A report on its way to the command."""

    name: str  # of finding and revision: the same report has the same name
    report: bytes  # JSON, for standard input
    title: str
    page: Path  # the same in Markdown
    standing: str = "open"
    finding: str = ""

    @property
    def environment(self) -> Mapping[str, str]:
        """What the command's environment has beside ours."""
        return {
            "DYNO_TITLE": self.title,
            "DYNO_REPORT": str(self.page),
            "DYNO_FINDING": self.finding,
            "DYNO_STANDING": self.standing,
        }


def write(farm: Farm, finding: FarmFinding) -> ReportMessage:
    """Writes a report into the folder of reports, for people and programs. Raises DiskError."""
    branches = {branch.name: branch for branch in farm.branches}
    report = findings.report(finding, branches.get(finding.branch))
    content = findings.as_json(report)
    folder = made(farm.folder / REPORTS)
    page = folder / f"{report.id}.md"
    write_atomically(page, findings.markdown(report).encode())
    write_atomically(folder / f"{report.id}.json", content)
    return ReportMessage(
        name=f"{report.id}-{report.revision}", report=content, title=findings.title(report),
        page=page, standing=report.standing, finding=report.id,
    )  # fmt: skip


def deliver(
    command: str, folder: Path, message: ReportMessage, *, limit_s: float = COMMAND_S_MAX
) -> str:
    """Gives a report to the command, unless it has taken the one of this name.

    Why it did not take it; empty: it did. Raises HostError where no shell can be started,
    DiskError.
    """
    place = made(folder / OUTLET)
    source, status = place / f"{message.name}.json", place / f"{message.name}.status"
    if not source.exists():
        write_atomically(source, message.report)
    with source.open("rb") as file:
        wait_for_lock(file.fileno(), limit_s)  # a shell that an earlier watcher has begun
        if ended(status) == "0":
            return ""
        with suppress(FileNotFoundError):
            disk.remove(status)
        try:
            shell = subprocess.Popen(
                ["/bin/sh", "-c", SCRIPT, "sh", f"{KILL_S}", f"{limit_s:g}", command,
                 str(source), str(status)],
                cwd=folder, env={**os.environ, **message.environment},
                stdin=file,  # which holds the lock; the command has another
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise HostError(f"report_command: no shell can be started: {error}") from error
        shell.wait()
    return why_not(ended(status), status.with_name(f"{status.name}.out"))


def wait_for_lock(descriptor: int, limit_s: float) -> None:
    """Waits until no other process holds the lock of an open file; locks it.

    No longer than a command may take, beside what an ended one takes.
    """
    until_s = time.monotonic() + limit_s + 2 * KILL_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until_s:
                raise HostError(
                    "report_command: one that was begun before does not end: end it by hand"
                ) from None
            time.sleep(LOOK_S)
        else:
            return


def ended(status: Path) -> str:
    """The status that a command ended with; empty: it has not, as far as is known."""
    try:
        return status.read_text().strip()
    except FileNotFoundError:
        return ""


def why_not(status: str, output: Path) -> str:
    """Why a command did not take a report, in one line; empty: it did."""
    if status == "0":
        return ""
    if status in OVERDUE:
        return "report_command: did not end in time, and was ended; it is tried again"
    said = ""
    with suppress(OSError):
        text = output.read_bytes()[-4 * WORDS_MAX :].decode(errors="replace")
        said = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    words = f": {said.strip()[:WORDS_MAX]}" if said else ""
    ending = f"ended with status {status}" if status else "was killed"
    return f"report_command: {ending}{words}; it is tried again"
