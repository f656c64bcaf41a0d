"""Compiles a server twice, the second time by a profile of the first at work (PGO, by GCC)."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dbdyno.builds.flags import TRAINED, Flags
from dbdyno.builds.step import BuildSite, BuildStep
from dbdyno.host import account
from dbdyno.model.error import ServerError

GENERATE = "-fprofile-generate"
PHASE = "instrument"
"""The first compilation, from its configuration to its installation."""
Rounds = Callable[[Flags], tuple[BuildStep, ...]]
"""The steps of one compilation by these flags."""
IN_A_FOLDER = """
folder=$(mktemp -d /tmp/dyno-train.XXXXXX)
trap 'kill ${server-} 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
"""


@dataclass(frozen=True, kw_only=True)
class Training:
    """What an engine's first server is loaded with."""

    engine: str  # whose account the server runs as
    script: str  # of the shell; `$0` is the server's prefix, `$folder` a folder of its own
    clean: Sequence[str]  # the command that removes what the first round compiled


def steps(flags: Flags, site: BuildSite, rounds: Rounds, load: Training) -> tuple[BuildStep, ...]:
    """All steps of a build: one round where its flags ask for no training."""
    if not flags.trained:
        return rounds(flags)
    profile = site.tree.parent / "profile"
    first = replace(flags, cflags=f"{flags.cflags} {GENERATE}={profile}")
    by_profile = TRAINED.replace("-fprofile-use", f"-fprofile-use={profile}")
    second = replace(flags, cflags=f"{flags.cflags} {by_profile} -Wno-missing-profile")
    # The server writes the profile as it ends, under its own account. What configure and make ran
    # before is none of it, and would not fit what configure compiles next.
    make = ["install", "--directory", "--mode=0777", str(profile)]
    empty = ["find", str(profile), "-type", "f", "-delete"]
    return (
        BuildStep(phase=PHASE, command=make, folder=site.tree),
        *(replace(step, phase=PHASE) for step in rounds(first)),
        BuildStep(phase=PHASE, command=empty, folder=site.tree),
        _train(site, load),
        BuildStep(phase="train", command=load.clean, folder=site.tree),
        *rounds(second),
    )


def _train(site: BuildSite, load: Training) -> BuildStep:
    """Runs the script as the account that servers run as, by what was installed first."""
    prefix = site.root / site.prefix.relative_to("/")
    words = ["sh", "-euc", IN_A_FOLDER + load.script, str(prefix)]
    runs_as = account.choose(load.engine)
    if runs_as.other:
        ids = [f"--reuid={runs_as.uid}", f"--regid={runs_as.gid}", "--clear-groups"]
        words = ["setpriv", *ids, *words]
    libraries = {"LD_LIBRARY_PATH": os.pathsep.join([f"{prefix}/lib", f"{prefix}/lib/private"])}
    return BuildStep(phase="train", command=words, folder=site.root, environment=libraries)


def refuse_clang(options: Sequence[str]) -> None:
    """Raises ServerError where options name clang, whose profiles llvm-profdata would merge."""
    named = next((o for o in options if o.startswith(("CC=", "-DCMAKE_C_COMPILER="))), "")
    if "clang" in named:
        raise ServerError(f"--configure: `{named}`: recipes with a profile need GCC: drop it")
