"""A clone of a repository that is followed: where its branches are, and what came since.

What was once measured stays: each commit that is kept has a ref of the clone's own, so that a
branch which is rewritten, or a tag that goes, takes nothing away.
"""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.builds import source
from dbdyno.builds.log import BuildLog
from dbdyno.builds.worktree import GIT
from dbdyno.model.bisection import Commit
from dbdyno.model.error import HostError, ServerError

KEPT = "refs/dyno/"
COMMITS_MAX = 1000
"""Heads of one look; of more the last ones are followed."""
REVERTS = re.compile(r"[Tt]his reverts commit ([0-9a-f]{7,40})")


@dataclass(frozen=True, kw_only=True)
class RepositoryClone:
    """A repository, and the clone of it that is ours."""

    origin: str  # a folder or an address
    folder: Path

    @property
    def _log(self) -> BuildLog:
        return BuildLog(self.folder.with_name(f"{self.folder.name}.log"))

    def update(self) -> None:
        """Makes the clone, or brings it up to date. Raises HostError with what git says."""
        part = self.folder.with_name(f"{self.folder.name}.part")
        with self._log as log:
            if not self.folder.exists():
                shutil.rmtree(part, ignore_errors=True)
                here = Path(self.origin).expanduser()
                origin = str(here.absolute()) if here.exists() else self.origin
                self._git(log, ["clone", "--quiet", "--", origin, str(part)], part.parent)
                part.rename(self.folder)
                return
            refs = "+refs/heads/*:refs/remotes/origin/*"
            fetch = ["fetch", "--quiet", "--prune", "--force", "--tags", "origin", refs]
            self._git(log, fetch, self.folder)

    def tip(self, branch: str) -> str:
        """The commit that a branch is at. Raises HostError: there is none of that name."""
        commit = self._commit(f"refs/remotes/origin/{branch}")
        if commit is None:
            raise HostError(f"`{self.origin}` has no branch `{branch}`")
        return commit

    def commit(self, ref: str) -> str | None:
        """The commit that a tag, a branch or a part of a commit's name means; None: none."""
        if ref.startswith("-"):
            return None
        return self._commit(ref) or self._commit(f"refs/remotes/origin/{ref}")

    def is_on(self, commit: str, tip: str) -> bool:
        """Whether a commit is the tip or before it."""
        return commit == tip or source.ask(["merge-base", commit, tip], self.folder) == commit

    def parting(self, commit: str, tip: str) -> str | None:
        """The last commit that two have in common; None: there is none."""
        return source.ask(["merge-base", commit, tip], self.folder) or None

    def between(self, after: str, tip: str) -> tuple[Commit, ...]:
        """The commits after one up to the tip, along first parents, the oldest first."""
        return self._listed(["--first-parent", "--reverse", f"{after}..{tip}"])[-COMMITS_MAX:]

    def alone(self, commit: str) -> Commit:
        """A commit with its subject."""
        return self._listed(["--max-count=1", commit])[0]

    def parent(self, commit: str) -> str | None:
        """The first parent; None: it has none."""
        return self._commit(f"{commit}^1")

    def reverts(self, commit: str) -> tuple[str, ...]:
        """The commits that a commit says it takes back."""
        body = source.ask(["log", "--max-count=1", "--format=%B", commit], self.folder, must=True)
        known = (self._commit(match[1]) for match in REVERTS.finditer(body))
        return tuple(each for each in known if each is not None)

    def keep(self, name: str, commit: str) -> None:
        """Holds a commit under a name of ours."""
        with self._log as log:
            self._git(log, ["update-ref", KEPT + name, commit], self.folder)

    def kept(self, name: str) -> str | None:
        """The commit that is held under a name; None: none is."""
        return self._commit(KEPT + name)

    def _commit(self, ref: str) -> str | None:
        spec = ref + "^{commit}"
        return source.ask(["rev-parse", "--verify", "--quiet", spec], self.folder) or None

    def _listed(self, arguments: Sequence[str]) -> tuple[Commit, ...]:
        said = source.ask(["log", "--format=%H %s", *arguments], self.folder, must=True)
        words = [line.partition(" ") for line in said.split("\n") if line]
        return tuple(Commit(sha=sha, subject=subject) for sha, _, subject in words)

    def _git(self, log: BuildLog, arguments: Sequence[str], folder: Path) -> None:
        try:
            said = log.run([*GIT, "-c", "gc.auto=0", *arguments], folder)
        except ServerError as error:
            raise HostError(str(error)) from None
        if said:
            raise HostError(f"`{self.origin}`: git: {source.last_line(said)}; see `{log.path}`")
