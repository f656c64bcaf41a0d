"""Starts a server's process: as its account, on its processors and memory, within its limit.

Programs that exec one another stand before the server's own (taskset, numactl, and where memory is
limited a shell that enters the cgroup while it is still root), so the process id is the server's.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from dbdyno.host.account import Account
from dbdyno.host.callgrind import program as counter
from dbdyno.host.observe import limits
from dbdyno.host.observe.reader import HostReader
from dbdyno.model import Arm, Placement
from dbdyno.model.error import HostError, PlanError
from dbdyno.model.size import bytes_of

COUNTS = "counts"
"""The folder, in that of a server, which a counter writes into."""
ENTER = 'echo $$ >"$0" && exec "$@"'
"""What a shell does that enters the cgroup whose list of processes is named first."""
LIMIT_FILES = ("memory.max", "memory.limit_in_bytes")
"""The limit of cgroups of version 2, and of version 1."""
SWAP_FILES = ("memory.swap.max", "memory.memsw.limit_in_bytes")
"""What may be swapped out (version 2); memory and swap together (version 1)."""


def start(  # noqa: PLR0913 (what a process is made of, each by its name)
    command: Sequence[str | Path],
    *,
    arm: Arm,
    placement: Placement,
    account: Account,
    environment: Mapping[str, str],
    output: IO[bytes],
    folder: Path,
    before: Callable[[], None],
) -> subprocess.Popen[Any]:
    """Starts a server of `arm` in a session of its own; what it says goes to `output`.

    `environment`: what its build needs, below what the arm names; `folder`: where it works;
    `before`: what its process does before its program begins.
    Raises HostError where its memory cannot be limited.
    """
    options = account.options()
    options["env"] |= {**environment, **arm.environment}
    counts = str(folder / COUNTS)
    counted = [word.replace(counter.FOLDER, counts) for word in placement.counter]
    whole = [*prefix(placement), *counted, *command]
    if arm.memory_max is not None:
        group = limited(arm)
        if account.other:
            user = [f"--reuid={options.pop('user')}", f"--regid={options.pop('group')}"]
            options.pop("extra_groups")
            whole = ["setpriv", *user, "--clear-groups", *whole]
        whole = ["sh", "-c", ENTER, group / "cgroup.procs", *whole]
    return subprocess.Popen(
        whole,
        stdout=output,
        stderr=output,
        cwd=folder,
        start_new_session=True,
        preexec_fn=before,
        **options,
    )


def prefix(placement: Placement) -> list[str]:
    """The programs that stand before a server's own: where it runs, where its memory lies."""
    found = []
    if placement.server_cpus is not None:
        found += ["taskset", "--cpu-list", placement.server_cpus]
    if placement.interleave_memory:
        found += ["numactl", "--interleave=all"]
    return found


def check(arm: Arm, placement: Placement) -> None:
    """Looks whether this host allows what the plan asks for; leaves nothing behind.

    Raises HostError or PlanError.
    """
    for key, program in (("cpus", "taskset"), ("interleave_memory", "numactl")):
        if program in prefix(placement) and shutil.which(program) is None:
            package = {"taskset": "util-linux"}.get(program, program)
            raise HostError(f"server.{key}: needs `{program}`: apt-get install {package}")
    if arm.memory_max is not None:
        limited(arm)
        leave(arm)


def limited(arm: Arm) -> Path:
    """The folder of the arm's cgroup, made with its limit; swap is not to stand in for memory.

    Raises HostError where cgroups do not allow it, PlanError where the limit is no size.
    """
    key = f"arms.{arm.name}.memory_max"
    try:
        size = bytes_of(arm.memory_max or "")
    except PlanError as error:
        raise PlanError(f"{key}: {error}") from error
    folder = group_of(arm)
    try:
        folder.mkdir(exist_ok=True)
        limit = next(name for name in LIMIT_FILES if (folder / name).exists())
        (folder / limit).write_text(str(size))
        swap = folder / SWAP_FILES[LIMIT_FILES.index(limit)]
        with suppress(OSError):  # where swap is not counted there is no such limit
            swap.write_text("0" if limit == LIMIT_FILES[0] else str(size))
    except (OSError, StopIteration) as error:
        leave(arm)
        why = getattr(error, "strerror", None) or "its cgroups have no memory controller"
        raise HostError(
            f"{key}: this host does not let `{folder}` limit memory ({why}): run as root outside "
            "of a container, or remove the key"
        ) from error
    return folder


def leave(arm: Arm) -> None:
    """Removes the arm's cgroup, once no process is in it."""
    with suppress(OSError):
        group_of(arm).rmdir()


def group_of(arm: Arm) -> Path:
    """The folder of an arm's cgroup: below the one that dyno itself is in."""
    return own_group(HostReader()) / f"dyno-{os.getpid()}-{arm.name}"


def own_group(reader: HostReader) -> Path:
    """The folder of the cgroup that dyno is in, by which memory is counted.

    Of version 2 the one above it, where processes and groups may not lie in one folder. In a
    container the kernel may name one that lies outside of it: then the topmost that is there.
    """
    mounted = limits.groups(reader)
    folders = [reader.at(folder) for folder in mounted.folders("memory")]
    if not folders:
        return reader.at("/sys/fs/cgroup")  # where none is mounted nothing can be made either
    inside = folders[0] if folders[0].is_dir() else folders[-1]
    return inside if mounted.version == 1 or inside == folders[-1] else inside.parent
