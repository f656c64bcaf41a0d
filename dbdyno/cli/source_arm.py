"""Builds of sources, or of commits of checkouts, that arms name: known before they are made."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno import engine as engines
from dbdyno.builds import Build, cache, compile, flags, source
from dbdyno.builds.compile import Method
from dbdyno.builds.worktree import Worktree
from dbdyno.cli.exit_status import say
from dbdyno.host import capacity
from dbdyno.model import Plan
from dbdyno.model.bisection import short
from dbdyno.model.engine import having
from dbdyno.model.error import DynoError, ServerError, WorkloadError
from dbdyno.plan.race import RaceServer
from dbdyno.plan.race.arm import named
from dbdyno.workload import file as workload_file

NAME_MAX = 40
KEY_DIGITS = 8
"""Digits of a build's key in its name: sources change, and builds of both stay."""


def find(folder: Path) -> RaceServer | None:
    """The engine and version of the source in a folder; None where there is none.

    Raises ServerError of a source that lacks what dyno builds by.
    """
    said: ServerError | None = None
    for engine in having("source"):
        try:
            version = engines.of(engine).method().version(folder, str(folder))
        except ServerError as error:
            said = said or error
            continue
        return RaceServer(engine=engine, version=version)
    if said is not None and (folder / "meson.build").is_file():
        raise said
    return None


def loading_texts(
    workload: str | None, config: Sequence[str], words: Iterable[str]
) -> tuple[str, ...]:
    """What may name modules that the servers of a race load: its workload, files, settings."""
    files = [Path(name).expanduser() for name in config]
    texts = [*words, *(path.read_text(errors="replace") for path in files if path.is_file())]
    if workload is not None:
        with suppress(WorkloadError):  # a step of the usual one
            texts.append(workload_file.text(workload))
    return tuple(texts)


@dataclass(frozen=True, kw_only=True)
class SourceBuild:
    """The build of a source that an arm names: there, or to be made."""

    where: str  # how the command names it
    source: str  # what it is of
    server: RaceServer
    build: Build  # as it is, or will be
    make: Callable[[], object]
    made: bool  # whether it is there

    @property
    def name(self) -> str:
        """The build's name."""
        assert self.server.build is not None, "dyno compiles it"
        return self.server.build


class SourceBuilds:
    """The builds of sources that the arms of a command name.

    `texts`: what may name modules that their servers load; None: nobody knows, builds are whole.
    """

    def __init__(self, texts: tuple[str, ...] | None = None) -> None:
        self.texts = texts
        self._builds: dict[str, SourceBuild] = {}

    def __iter__(self) -> Iterator[SourceBuild]:
        """Each once, in the order of the arms."""
        return iter(self._builds.values())

    def add(self, build: SourceBuild) -> RaceServer:
        """Takes a build, which is one with another of its name; its server."""
        self._builds.setdefault(build.name, build)
        return build.server

    @property
    def servers(self) -> dict[str, RaceServer]:
        """By the builds' names."""
        return {build.name: build.server for build in self}

    def foreseen(self, plan: Plan) -> dict[str, Build]:
        """By arm the builds that are yet to be made."""
        missing = {build.name: build.build for build in self.unmade}
        return {arm.name: missing[arm.build] for arm in plan.arms if arm.build in missing}

    @property
    def unmade(self) -> list[SourceBuild]:
        """Those that are not there yet."""
        return [build for build in self if not build.made]

    def refuse_unmade(self) -> None:
        """Raises DynoError where one is not there yet, for who makes none."""
        for build in self.unmade:
            raise DynoError(
                f"{build.where}: is not built yet: `dyno race` builds it, or name a build of "
                "`dyno server build`"
            )

    def make(self) -> None:
        """Makes those that are not there yet. Raises DynoError that names the arm."""
        for build in self.unmade:
            try:
                build.make()
            except DynoError as error:
                raise type(error)(f"{build.where}: {error}") from error
            self._builds[build.name] = replace(build, made=True)

    def lines(self) -> Iterator[str]:
        """What would be built, and what was built before."""
        for build in self:
            state = "built before" if build.made else "is to be built"
            yield f"{build.where}: {build.source}, {state}"


def modules_of(method: Method, texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The modules of a server of measured steps; None: a whole build."""
    return None if method.named is None or texts is None else method.named(texts)


def of_folder(
    source: RaceServer, folder: Path, recipe: str | None, where: str, texts: tuple[str, ...] | None
) -> SourceBuild:
    """The build of a source by a recipe; `texts`: as of SourceBuilds.

    Raises DynoError where there cannot be one.
    """
    method = engines.of(source.engine).method()
    chosen = flags.choose(
        engines.recipes(source.engine), recipe=recipe, cflags=None, march=None, lto=False
    )
    content = compile.source_of(source.engine, str(folder), None)
    wish = compile.BuildRequest(
        engine=source.engine, name="", source=content, flags=chosen, jobs=capacity.cores(),
        modules=modules_of(method, texts),
    )  # fmt: skip
    name = f"{named(folder.name, NAME_MAX)}-{cache.key_of(wish.parts)[:KEY_DIGITS]}"
    wish = replace(wish, name=name)
    compile.compiler_of(chosen.options, folder)
    return SourceBuild(
        where=where,
        source=f"the source as it stands, {source.version}",
        server=replace(source, build=name),
        build=compile.to_be(source.engine, name, source.version),
        make=lambda: compile.build(wish, method, say),
        made=compile.is_there(wish, cache.root() / name),
    )


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
    texts: tuple[str, ...] | None = None  # as of SourceBuilds
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
        chosen, method = flags.aligned(chosen), engines.of(engine).method()
        return Worktree(
            repository=checkout,
            engine=engine,
            method=method,
            modules=modules_of(method, self.texts),
            flags=flags.relaid(chosen, self.relaid) if self.relaid else chosen,
            options=flags.options_of(self.configure),
            jobs=self.jobs or capacity.cores(),
        )

    def of(
        self, checkout: Path, commit: str, where: str, *, version: str | None = None
    ) -> SourceBuild:
        """The build of a commit; `version`: what its source says, None: ask it.

        Raises DynoError where there cannot be one.
        """
        source_here = find(checkout)
        if source_here is None:
            raise ServerError(f"{where}: `{checkout}` is no checkout of a server's source")
        try:
            worktree = self.worktree(checkout, source_here.engine)
            made = worktree.is_there(commit)
            said = worktree.built_version(commit) if made else version or worktree.version(commit)
            if not made:
                compile.compiler_of((*worktree.flags.options, *worktree.options), checkout)
        except DynoError as error:
            raise type(error)(f"{where}: {error}") from error
        return SourceBuild(
            where=where,
            source=f"commit {short(commit)}, {said}",
            server=RaceServer(
                engine=worktree.engine, version=said, build=worktree.wish(commit).name
            ),
            build=worktree.foreseen(commit, said),
            make=lambda: worktree.build(commit, say),
            made=made,
        )


def ref_in(path: Path) -> tuple[Path, str] | None:
    """The checkout and the ref of an arm such as `~/postgres@REL_18_1`; None of another folder."""
    text = str(path)
    places = [place for place, sign in enumerate(text) if sign == "@"]
    if not places or path.exists():
        return None
    parts = ((Path(text[:place]), text[place + 1 :]) for place in places)
    return next((part for part in parts if (part[0] / ".git").exists()), None)


def of_ref(checkout: Path, ref: str, builds: CommitBuilds) -> SourceBuild:
    """The build of a ref of a checkout, as an arm of a race names it. Raises DynoError."""
    where = f"arm `{checkout}@{ref}`"
    return builds.of(checkout, commit_named(checkout, ref, where), where)


def commit_named(checkout: Path, ref: str, where: str) -> str:
    """The commit that a ref of a checkout means; `where`: how the command names it.

    Raises DynoError: it has none of that name.
    """
    from dbdyno.builds.commits import no_such_commit

    commit = commit_of(checkout, ref)
    if commit is None:
        raise DynoError(f"{where}: {no_such_commit(checkout)}")
    return commit


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
