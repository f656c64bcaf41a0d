"""The commits between two commits of a git repository, and the functions that each touched.

git names the function of a hunk by the last line before it that looks like one's beginning; where
that function ends and others begin is told from the hunk's own lines, as code is usually set. What
is told is a place to look at, no analysis of the code.
"""

import re
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from dbdyno.builds.log import environment_of
from dbdyno.builds.source import Source, last_line
from dbdyno.model.suspects import CommitBetween, CommitsBetween

LANGUAGES = {
    "cpp": ("c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "ic", "y", "l"),
    "rust": ("rs",),
}
"""Files with functions of a server, by the name that git has for how theirs begin."""
COMMITS_MAX = 10_000
"""So many commits are read, the newest; five years of a busy database have no more."""
GIT_S_MAX = 180.0
FILES_AT_ONCE = 500
"""Of which git is asked in one command, whose length is limited."""

CONTEXT = 8
"""Lines around a change, by which it is told whether it lies within the function that git names."""

HEAD = re.compile(r"\x01([<>]) ([0-9a-f]{40,64}) (\d+) (.*)")
HUNK = re.compile(r"@@ -\S+ \+\S+ @@ ?(.*)")
NAME = re.compile(r"([A-Za-z_~][\w~]*(?:::~?[A-Za-z_]\w*)*)\s*$")
NO_NAMES = frozenset(
    (
        "if",
        "else",
        "for",
        "while",
        "do",
        "switch",
        "return",
        "sizeof",
        "defined",
        "typedef",
        "case",
        "pub",
    )
)


class _GitError(Exception):
    """What git said, in one line."""


def repository(arm: Source, base: Source) -> Path | None:
    """The checkout of either that has the commits of both; None where there is none here."""
    commits = [commit_of(arm), commit_of(base)]
    for source in (arm, base):
        folder = Path(source.origin)
        if None in commits or source.kind not in ("git", "git with changes"):
            continue
        try:
            for commit in commits:
                list(_git(["cat-file", "-e", f"{commit}^{{commit}}"], folder))
        except (_GitError, OSError):
            continue
        return folder
    return None


def commit_of(source: Source) -> str | None:
    """The commit of a source; None of one that is of no repository."""
    found = re.match(r"commit:([0-9a-f]{40,64})", source.identity)
    return found[1] if found else None


def between(folder: Path, *, arm: tuple[str, str], base: tuple[str, str]) -> CommitsBetween:
    """The commits of a checkout between an arm's and the base's, each with its name.

    Where git fails or takes too long `missing` says so: a result is whole without them.
    """
    bare = CommitsBetween(arm=arm[0], base=base[0], arm_commit=arm[1], base_commit=base[1])
    try:
        commits = _commits(folder, base[1], arm[1])
        files = sorted({file for commit in commits for file in commit.touched})
        defined = _defined(folder, arm[1], files)
    except (_GitError, OSError) as error:
        return replace(bare, missing=f"git: {error}")
    most = len(commits) == COMMITS_MAX
    missing = f"only the newest {COMMITS_MAX:,} were read" if most else None
    return replace(bare, commits=commits, defined=defined, missing=missing)


# --- Commits ----------------------------------------------------------------------------------


@dataclass
class _PartialCommit:
    """A commit as far as its lines have been read."""

    of: Literal["arm", "base"]
    commit: str
    unix_s: int
    subject: str
    touched: dict[str, dict[str, None]] = field(default_factory=dict)  # in the order of lines
    file: str = ""
    within: str | None = None  # the function that the lines read last lie in

    def begin_hunk(self, line: str) -> None:
        """`line`: the last one before the hunk that looks like a function's beginning."""
        self.touched.setdefault(self.file, {})
        self.within = function_of(line)

    def take(self, line: str, *, changed: bool) -> None:
        """A line of a hunk: where it begins or ends a function, and which one it changed."""
        name = function_of(line)
        if name is not None or line.startswith("/*"):  # such comments stand before a function
            self.within = name
        if changed and self.within is not None:
            self.touched[self.file][self.within] = None
        if line.startswith("}"):
            self.within = None

    def done(self) -> CommitBetween:
        """The commit, read."""
        touched = {file: tuple(names) for file, names in self.touched.items()}
        return CommitBetween(
            commit=self.commit,
            unix_s=self.unix_s,
            subject=self.subject,
            of=self.of,
            touched=touched,
        )


def _commits(folder: Path, base: str, arm: str) -> tuple[CommitBetween, ...]:
    """The commits on either side that touched code; merges are what they brought."""
    command = [
        *("log", "--left-right", "--no-merges", f"--max-count={COMMITS_MAX}"),
        *(
            "--format=%x01%m %H %ct %s",
            "--patch",
            f"--unified={CONTEXT}",
            "--no-color",
            "--no-renames",
        ),
        *("--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"),
        f"{base}...{arm}",
        "--",
        *(f"*.{suffix}" for suffixes in LANGUAGES.values() for suffix in suffixes),
    ]
    with _attributes() as options:
        return tuple(read(_git([*options, *command], folder)))


@contextmanager
def _attributes() -> Iterator[list[str]]:
    """Options by which git knows how functions begin, whatever the repository says of its files."""
    with tempfile.NamedTemporaryFile("w", prefix="dyno-attributes-") as file:
        for language, suffixes in LANGUAGES.items():
            file.writelines(f"*.{suffix} diff={language}\n" for suffix in suffixes)
        file.flush()
        yield ["-c", f"core.attributesFile={file.name}", "-c", "core.quotePath=false"]


def read(lines: Iterable[str]) -> Iterator[CommitBetween]:
    """The commits of a `git log` with patches, each after a line of \\x01, side, commit, time."""
    reading: _PartialCommit | None = None
    names_file = False
    for line in lines:
        if head := HEAD.fullmatch(line):
            if reading is not None:
                yield reading.done()
            side, commit, unix_s, subject = head.groups()
            of: Literal["arm", "base"] = "arm" if side == ">" else "base"
            reading = _PartialCommit(of, commit, int(unix_s), subject)
        elif reading is None:
            continue
        elif line.startswith("diff --git "):
            names_file = True
        elif names_file and line.startswith(("--- a/", "+++ b/")):
            reading.file = line[6:]  # of a file that is gone there is the old name alone
        elif hunk := HUNK.match(line):
            names_file = False
            reading.begin_hunk(hunk[1])
        elif not names_file and line[:1] in ("+", "-", " "):
            reading.take(line[1:], changed=line[0] != " ")
    if reading is not None:
        yield reading.done()


def function_of(line: str) -> str | None:
    """The name of the function that begins in a line; None of a prototype and of any other line."""
    begin, opens, _ = line.partition("(")
    rust = re.match(r"\s*(?:pub(?:\([^)]*\))? +)?(?:const +|async +|unsafe +)*fn +(\w+)", line)
    if rust:
        return rust[1]
    if not opens or not (line[0].isalpha() or line[0] in "_~") or line.rstrip().endswith(";"):
        return None
    found = NAME.search(begin)
    if found is None or "=" in begin or found[1] in NO_NAMES:
        return None
    return found[1]


def _defined(folder: Path, commit: str, files: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The functions that each file of a commit defines; none of files that it lacks."""
    found: dict[str, dict[str, None]] = {}
    pattern = r"^[A-Za-z_~][A-Za-z0-9_:~ *&<>,]*\(|^ *(pub.* )?fn "
    for begin in range(0, len(files), FILES_AT_ONCE):
        paths = [f":(literal){file}" for file in files[begin : begin + FILES_AT_ONCE]]
        command = ["-c", "core.quotePath=false", "grep", "-z", "--no-color", "-I", "-E", pattern]
        for line in _git([*command, commit, "--", *paths], folder, found_none=1):
            path, _, text = line.partition("\0")
            name = function_of(text)
            if name is not None:
                found.setdefault(path.partition(":")[2], {})[name] = None
    return {file: tuple(names) for file, names in found.items()}


# --- git --------------------------------------------------------------------------------------


def _git(arguments: Sequence[str], folder: Path, *, found_none: int = 0) -> Iterator[str]:
    """The lines that git says; `found_none`: its exit status where there is nothing to say.

    Raises _GitError where it fails or takes too long.
    """
    with tempfile.TemporaryFile() as said:
        try:
            running = subprocess.Popen(
                ["git", *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=said, env=environment_of(),
            )  # fmt: skip
        except FileNotFoundError as error:
            raise _GitError("it is not installed, or its checkout is gone") from error
        limit = threading.Timer(GIT_S_MAX, running.kill)
        with running:
            limit.start()
            try:
                assert running.stdout is not None
                for line in running.stdout:
                    yield line.decode(errors="replace").rstrip("\r\n")
                status = running.wait()
            finally:
                late = limit.finished.is_set()
                limit.cancel()
                running.kill()  # nobody may have read it to its end
        said.seek(0)
        if late:
            raise _GitError(f"no answer within {GIT_S_MAX:.0f} s")
        if status not in (0, found_none):
            raise _GitError(last_line(said.read().decode(errors="replace")))
