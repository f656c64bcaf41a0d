"""Where a farm's branches come from: repositories that are followed, or a command that builds."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.farm.hands import BranchState
from dbdyno.farm.journal import Head
from dbdyno.farm.readings import HEAD, PINNED, PREVIOUS
from dbdyno.model.bisection import short
from dbdyno.model.error import HostError, PlanError, ServerError
from dbdyno.store import safe_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbdyno.builds.repository_clone import RepositoryClone
    from dbdyno.farm.file import Branch, Farm
    from dbdyno.farm.hands import HeadPair

REPOSITORIES, BUILDS = "repositories", "builds"


@dataclass(frozen=True, kw_only=True)
class BranchOrigin:
    """A branch's repository, or its command."""

    farm: Farm
    branch: Branch
    say: Callable[[str], None]

    @property
    def repository(self) -> RepositoryClone:
        """The clone of a branch that has a repository."""
        from dbdyno.builds.repository_clone import RepositoryClone

        assert self.branch.source is not None, "it has a command"
        source = self.branch.source
        here = self.farm.path.parent / Path(source).expanduser()
        return RepositoryClone(
            origin=str(here) if here.exists() else source,
            folder=self.farm.folder / REPOSITORIES / self.branch.name,
        )

    # --- Looks

    def look(self, known: str | None) -> BranchState:
        """What the branch has come to. Raises DynoError: not reached, or it has no `since`."""
        if self.branch.command is not None:
            return self.made(known)
        repository = self.repository
        repository.update()
        tip = repository.tip(self.branch.branch)
        odd = self.pinned_words(repository)
        if known is None:
            return BranchState(tip=tip, heads=(self.head(tip),), why=odd)
        commit = repository.commit(known)
        first = known == self.branch.since
        if commit is None or (first and not repository.is_on(commit, tip)):
            raise PlanError(
                f"{self.farm.path}: key `since`: `{self.branch.branch}` has no commit `{known}`: "
                "name a tag or a commit that is on the branch"
            )
        since = commit if first else ""
        if repository.is_on(commit, tip):
            return BranchState(tip=tip, since=since, heads=self.heads(commit, tip), why=odd)
        parted = repository.parting(commit, tip)
        why = (
            f"`{self.branch.branch}` was rewritten: {short(commit)} is no longer on it; "
            f"goes on with {short(tip)}"
        )
        heads = (self.head(tip),) if parted is None else self.heads(parted, tip)
        return BranchState(tip=tip, heads=heads, parted=parted or "", rewritten=True, why=why)

    def heads(self, after: str, tip: str) -> tuple[Head, ...]:
        """The heads to measure after a commit: all, or the night's last."""
        if after == tip:
            return ()
        if self.branch.every == "night":
            return (self.head(tip),)
        return tuple(map(Head.of, self.repository.between(after, tip)))

    def head(self, commit: str) -> Head:
        """A commit as the journal has it."""
        return Head.of(self.repository.alone(commit))

    # --- The pinned release

    def pinned_commit(self) -> str | None:
        """The commit that is pinned, for good; None: a version, or a build of a command's.

        Raises PlanError: the repository has none of that name.
        """
        from dbdyno.plan.schema import VERSION

        written = self.branch.pinned
        if self.branch.command is not None or VERSION.fullmatch(written):
            return None
        repository, name = self.repository, f"pinned/{safe_name(written)}"
        kept = repository.kept(name)
        if kept is not None:
            return kept
        commit = repository.commit(written)
        if commit is None:
            raise PlanError(
                f"{self.farm.path}: key `pinned`: `{written}` is neither a version nor a tag, "
                f"branch or commit of `{repository.origin}`"
            )
        repository.keep(name, commit)
        return commit

    def pinned_words(self, repository: RepositoryClone) -> str:
        """What has become of the pinned ref, where that is odd."""
        commit = self.pinned_commit()
        if commit is None or repository.commit(self.branch.pinned) == commit:
            return ""
        return (
            f"pinned `{self.branch.pinned}` has moved or gone: goes on with commit "
            f"{short(commit)}, as it was"
        )

    # --- Builds

    def arms(self, pair: HeadPair, *, relaid: bool = False) -> dict[str, str]:
        """The arms of a head as a race has them, built where they are not there yet.

        Raises ServerError where the head cannot be built, HostError where another cannot.
        """
        head = self.built(pair.head, relaid=relaid)
        arms = {}
        try:
            arms[PINNED] = self.pinned(relaid=relaid)
            if pair.previous is not None:
                arms[PREVIOUS] = self.built(pair.previous, relaid=relaid)
        except ServerError as error:
            raise HostError(f"what {short(pair.head)} is measured beside: {error}") from None
        return arms | {HEAD: head}

    def pinned(self, *, relaid: bool = False) -> str:
        """The pinned release as a race has it."""
        commit = self.pinned_commit()
        if commit is not None:
            return self.built(commit, relaid=relaid)
        folder = self.farm.folder / BUILDS / self.branch.name / safe_name(self.branch.pinned)
        return str(folder) if folder.exists() else self.branch.pinned

    def built(self, commit: str, *, relaid: bool = False) -> str:
        """The build of a commit as a race has it. Raises ServerError: it does not build."""
        from dbdyno.cli import farm_plans, source_arm

        if self.branch.command is not None:
            return str(self.farm.folder / BUILDS / self.branch.name / safe_name(commit))
        source = source_arm.find(self.repository.folder)
        if source is None:
            raise HostError(f"`{self.repository.origin}` is no source of a server")
        builds = source_arm.CommitBuilds(
            recipe=self.branch.build, cflags=self.branch.cflags,
            configure=tuple(self.branch.configure), relaid=relaid,
            texts=source_arm.loading_texts(
                farm_plans.workload_of(self.farm, self.branch), self.branch.config, ()
            ),
        )  # fmt: skip
        worktree = builds.worktree(self.repository.folder, source.engine)
        worktree.build(commit, self.say)
        return worktree.wish(commit).name

    # --- A command in place of a repository

    def made(self, known: str | None) -> BranchState:
        """The build that the command makes, if it is a new one. Raises HostError: it fails."""
        from dbdyno.builds.log import BuildLog

        assert self.branch.command is not None, "it has a repository"
        place = self.farm.folder / BUILDS / self.branch.name
        new = place / ".new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        with BuildLog(place / "command.log") as log:
            words = ["sh", "-c", self.branch.command, "sh", str(new)]
            try:
                why = log.run(words, place)
            except ServerError as error:
                raise HostError(str(error)) from None
            said = log.path.read_text(errors="replace").removeprefix(f"$ {' '.join(words)}\n")
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        if why is not None or not lines:
            last = lines[-1] if lines else "it said nothing"
            raise HostError(f"command: {last}; see `{log.path}`")
        version = lines[-1]
        folder = place / safe_name(version)
        if folder.exists():
            shutil.rmtree(new, ignore_errors=True)
        else:
            new.rename(folder)
        if version == known:
            return BranchState(tip=version)
        return BranchState(tip=version, heads=(Head(commit=version),))


def timed(clock: Callable[[], float] = time.monotonic) -> Callable[[], float]:
    """Tells the seconds since it was made."""
    begun = clock()
    return lambda: clock() - begun
