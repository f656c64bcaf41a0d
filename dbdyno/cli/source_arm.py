"""Builds the server of a source, or of a commit of a checkout, that an arm of a race names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno import engine as engines
from dbdyno.builds import cache, compile, flags, source
from dbdyno.builds.worktree import Worktree
from dbdyno.cli.exit_status import say
from dbdyno.host import capacity
from dbdyno.host.lock import HostLock
from dbdyno.model.engine import having
from dbdyno.model.error import DynoError, ServerError
from dbdyno.plan.race import RaceServer
from dbdyno.plan.race.arm import named

NAME_MAX = 40
BUILD_LOCK = "dyno: build of a commit"
KEY_DIGITS = 8
"""Digits of a build's key in its name: sources change, and builds of both stay."""


def find(folder: Path) -> RaceServer | None:
    """The engine and version of the source in a folder; None where there is none."""
    for engine in having("source"):
        try:
            version = engines.of(engine).method().version(folder, str(folder))
        except ServerError:
            continue
        return RaceServer(engine=engine, version=version)
    return None


def built(
    source: RaceServer, folder: Path, recipe: str | None, where: str, *, builds: bool
) -> RaceServer:
    """The build of a source by a recipe, which is made where it is not there yet.

    Raises DynoError where that fails, or where nothing is to be made now (not `builds`).
    """
    chosen = flags.choose(
        engines.recipes(source.engine), recipe=recipe, cflags=None, march=None, lto=False
    )
    content = compile.source_of(source.engine, str(folder), None)
    wish = compile.BuildRequest(
        engine=source.engine, name="", source=content, flags=chosen, jobs=capacity.cores()
    )
    name = f"{named(folder.name, NAME_MAX)}-{cache.key_of(wish.parts)[:KEY_DIGITS]}"
    if not builds and cache.record(cache.root() / name) is None:
        raise DynoError(
            f"{where}: is a source, not built yet: dyno server build {source.engine} {folder} "
            f"--name {name} --recipe {chosen.recipe}"
        )
    compile.build(replace(wish, name=name), engines.of(source.engine).method(), say)
    return replace(source, build=name)


# --- A commit of a checkout -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CommitBuilds:
    """How commits of a checkout are built: all from one worktree, as those of a search are.

    Where their functions are aligned, builds differ in their commits alone (docs/bisect.md).
    """

    recipe: str | None = None
    cflags: str | None = None
    configure: tuple[str, ...] = ()
    jobs: int | None = None
    aligned: bool = True
    relaid: int = 0  # by which other layout all code lies elsewhere in memory; 0: by none

    def worktree(self, checkout: Path, engine: str) -> Worktree:
        """Where they are built. Raises DynoError: a recipe that is trained.

        Raises ServerError: a recipe or flags that there are not.
        """
        chosen = flags.choose(
            engines.recipes(engine), recipe=self.recipe, cflags=self.cflags, march=None, lto=False
        )
        if chosen.trained:
            raise DynoError(
                f"--recipe {self.recipe}: each commit would have a profile of its own, which "
                "differs more than commits do: take another recipe"
            )
        chosen = flags.aligned(chosen) if self.aligned else chosen
        return Worktree(
            repository=checkout,
            engine=engine,
            method=engines.of(engine).method(),
            flags=flags.relaid(chosen, self.relaid) if self.relaid else chosen,
            options=flags.options_of(self.configure),
            jobs=self.jobs or capacity.cores(),
        )

    def found(self, checkout: Path, commit: str, *, builds: bool = True) -> RaceServer:
        """The build of a commit, made where it is not there yet, while no lab measures here.

        Raises DynoError where that fails, or where nothing is to be made now (not `builds`).
        """
        source_here = find(checkout)
        if source_here is None:
            raise ServerError(f"`{checkout}` is no checkout of a server's source")
        worktree = self.worktree(checkout, source_here.engine)
        if not worktree.is_there(commit):
            if not builds:
                raise ServerError("is not built yet: leave out --dry-run")
            with HostLock(plan=BUILD_LOCK, wait=True):
                worktree.build(commit, say)
        return RaceServer(
            engine=worktree.engine,
            version=worktree.built_version(commit),
            build=worktree.wish(commit).name,
        )


def ref_in(path: Path) -> tuple[Path, str] | None:
    """The checkout and the ref of an arm such as `~/postgres@REL_18_1`; None of another folder."""
    text = str(path)
    places = [place for place, sign in enumerate(text) if sign == "@"]
    if not places or path.exists():
        return None
    parts = ((Path(text[:place]), text[place + 1 :]) for place in places)
    return next((part for part in parts if (part[0] / ".git").exists()), None)


def built_ref(checkout: Path, ref: str, recipe: str | None, *, builds: bool) -> RaceServer:
    """The build of a ref of a checkout, as an arm of a race names it. Raises DynoError."""
    from dbdyno.builds.commits import no_such_commit

    where = f"arm `{checkout}@{ref}`"
    commit = commit_of(checkout, ref)
    if commit is None:
        raise DynoError(f"{where}: {no_such_commit(checkout)}")
    try:
        return CommitBuilds(recipe=recipe).found(checkout, commit, builds=builds)
    except DynoError as error:
        raise ServerError(f"{where}: {error}") from error


def commit_of(checkout: Path, ref: str) -> str | None:
    """The commit that a ref of a checkout means; None: it has none of that name."""
    if ref.startswith("-"):
        return None
    spec = ref + "^{commit}"
    return source.ask(["rev-parse", "--verify", "--quiet", spec], checkout) or None


def checkout_of(folder: Path) -> Path | None:
    """The checkout of a server's source that a folder lies in; None: it lies in none."""
    root = next((path for path in (folder, *folder.parents) if (path / ".git").exists()), None)
    return root if root is not None and find(root) is not None else None
