"""Builds many commits of one checkout, each from what the one before left compiled.

cache_root/worktrees/<key>/tree/          a tree of the repository, at the commit built last
cache_root/changes/<key>/                 objects of changes that the checkout has not committed
cache_root/worktrees/<key>/objects/       what cmake compiles; make compiles within the tree
cache_root/worktrees/<key>/state.json     which commit the objects are of; not there: unknown
cache_root/builds/bisect-<commit>-<key>/  a build, as any other: found again by commit and flags

All of a worktree's builds are configured for one prefix and moved, so that they differ in nothing
but their commits. A commit that does not build from what is there is built once more from nothing,
unless the compiler names a file that the commit touches. The tree borrows the repository's objects,
and the repository knows nothing of it.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.builds import Build, checkout_state, compile, source
from dbdyno.builds import cache as built
from dbdyno.builds.compile import BuildRequest, Method, Say
from dbdyno.builds.flags import Flags
from dbdyno.builds.log import BuildLog
from dbdyno.builds.source import Source
from dbdyno.builds.step import BuildSite
from dbdyno.host import place
from dbdyno.model.error import HostError, ServerError

FOLDER = "worktrees"
STATE = "state.json"
NAME_DIGITS = 12
KEY_DIGITS = 8
GIT = ("git", "-c", "core.hooksPath=/dev/null")
"""A checkout for a build runs none of the repository's hooks."""
COMPLAINT = re.compile(r"([\w.+-]+):\d+(?::\d+)?: (?:fatal )?error")
"""How compilers and parsers name the file that they refuse."""


@dataclass(frozen=True, kw_only=True)
class Worktree:
    """A place in which commits of a checkout are built with one set of flags."""

    repository: Path
    engine: str
    method: Method
    flags: Flags
    options: tuple[str, ...] = ()  # of one's own, for configure or cmake
    jobs: int = 1
    modules: tuple[str, ...] | None = None  # as of a BuildRequest
    cache: Path | None = None  # None: the usual one

    @property
    def root(self) -> Path:
        """The folder of the worktree and of what belongs to it."""
        parts = {
            "repository": str(self.repository),
            "engine": self.engine,
            "flags": self.flags.words,
            "options": [*self.options, *self.method.again],
        }
        return (self.cache or place.cache_root()) / FOLDER / built.key_of(parts)

    @property
    def tree(self) -> Path:
        """The worktree itself."""
        return self.root / "tree"

    def wish(self, commit: str) -> BuildRequest:
        """The build of a commit (40 digits)."""
        wish = BuildRequest(
            engine=self.engine,
            name="bisect",
            source=Source(kind="git", origin=str(self.repository), identity=f"commit:{commit}"),
            flags=self.flags,
            options=(*self.options, *self.method.again),
            jobs=self.jobs,
            modules=self.modules,
        )
        key = built.key_of(wish.parts)[:KEY_DIGITS]
        return replace(wish, name=f"bisect-{commit[:NAME_DIGITS]}-{key}")

    def version(self, commit: str) -> str:
        """The version that the source says at a commit, which is not checked out for that.

        Raises ServerError where it is no source of the engine.
        """
        with tempfile.TemporaryDirectory() as folder:
            names = self.method.version_files
            changes = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self._changes)}
            source.put_files(self.repository, commit, names, Path(folder), **changes)
            return self.method.version(Path(folder), str(self.repository))

    def foreseen(self, commit: str, said: str) -> Build:
        """What will be there when a commit is built whose source says this version."""
        return compile.to_be(self.engine, self.wish(commit).name, said, self.cache)

    def serves(self, file: str) -> bool:
        """Whether a file of the source may change a build, as far as that is known."""
        serves = self.method.serves
        return serves is None or self.modules is None or serves(file, self.modules)

    def is_there(self, commit: str) -> bool:
        """Whether a commit was built before."""
        wish = self.wish(commit)
        return compile.is_there(wish, built.root(self.cache) / wish.name)

    def built_version(self, commit: str) -> str:
        """The version that the source said of itself when a commit was built."""
        record = built.record(built.root(self.cache) / self.wish(commit).name)
        assert record is not None, "it was built"
        return str(record["version"])

    def build(self, commit: str, say: Say) -> Path:
        """The folder of a commit's build, made where it is not there yet.

        Raises ServerError where the commit cannot be built, HostError where the host is at fault.
        """
        wish = self.wish(commit)
        prefix = built.root(self.cache) / wish.name
        if self.is_there(commit):
            return prefix
        # Whoever builds in this tree holds the log of both.
        logs = [
            built.log_of(name, self.cache) for name in (f"worktree-{self.root.name}", wish.name)
        ]
        with BuildLog(logs[0]), BuildLog(logs[1]) as log:
            before = self._take_state()
            kept = self._check_out(commit, log)
            if before is not None and kept:
                try:
                    self._make(wish, prefix, log, say, before=before)
                    return prefix
                except ServerError as error:
                    if self._touches(before, commit, str(error)):
                        raise
                say(f"{wish.name}: once more, from nothing")
            self._clean(log)
            self._make(wish, prefix, log, say, before=None)
        return prefix

    def _make(
        self, wish: BuildRequest, prefix: Path, log: BuildLog, say: Say, *, before: str | None
    ) -> None:
        """Makes a build from the tree as it lies there; `before`: the commit of its objects."""
        commit = wish.source.identity.removeprefix("commit:")
        site = BuildSite(
            tree=self.tree, prefix=self.root / "prefix", root=self.root / "root", jobs=wish.jobs
        )
        shutil.rmtree(site.root, ignore_errors=True)
        configured = before is not None and not self._configures(before, commit)
        try:
            record = compile.carry_out(wish, self.method, site, log, say, {}, configured=configured)
        except ServerError:
            # The programs ended by themselves, so that what they made is whole.
            self._keep_state(commit)
            raise
        self._keep_state(commit)
        compile.put(record, compile.installed_in(site), prefix, say)
        shutil.rmtree(site.root, ignore_errors=True)

    def _configures(self, before: str, commit: str) -> bool:
        """Whether files differ between two commits that ask for configure."""
        pattern = self.method.configures
        return pattern is not None and any(
            pattern.search(name) for name in self._differing(before, commit)
        )

    def _touches(self, before: str, commit: str, error: str) -> bool:
        """Whether a compiler's error names a file in which two commits differ."""
        names = {Path(name).name for name in self._differing(before, commit)}
        return any(found[1] in names for found in COMPLAINT.finditer(error))

    def _differing(self, before: str, commit: str) -> list[str]:
        said = source.ask(["diff", "--name-only", before, commit], self.tree, must=True)
        return said.splitlines()

    def _take_state(self) -> str | None:
        """The commit of the objects that are there; unknown from now on, until they are whole."""
        path = self.root / STATE
        try:
            found = json.loads(path.read_bytes())["commit"]
        except (OSError, ValueError, KeyError):
            return None
        path.unlink()
        return str(found)

    def _keep_state(self, commit: str) -> None:
        (self.root / STATE).write_text(json.dumps({"commit": commit}) + "\n")

    @property
    def _changes(self) -> Path:
        """The objects of what the checkout has not committed."""
        return checkout_state.folder_of(self.repository, self.cache)

    def _is_orphan(self) -> bool:
        """Whether the repository lacks the commit of the tree: another one lies at its path."""
        try:
            source.ask(["rev-parse", "--verify", "HEAD^{tree}"], self.tree, must=True)
        except ServerError:
            return True
        return False

    def _check_out(self, commit: str, log: BuildLog) -> bool:
        """Puts the commit into the tree; whether the tree was there, with what was compiled."""
        lenders = "".join(
            f"{path}\n" for path in (source.objects_of(self.repository), self._changes)
        )
        borrowed = self.tree / ".git" / "objects" / "info" / "alternates"
        kept = borrowed.is_file() and borrowed.read_text() == lenders and not self._is_orphan()
        if not kept:
            shutil.rmtree(self.root, ignore_errors=True)
            try:
                self.root.mkdir(parents=True)
                self._changes.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise HostError(f"`{self.root}` cannot be made: {error.strerror}") from error
            kind = source.ask(["rev-parse", "--show-object-format"], self.repository, must=True)
            made = ["init", "--quiet", f"--object-format={kind}", str(self.tree)]
            self._git(made, self.root, log)
            borrowed.write_text(lenders)
        self._git(["checkout", "--quiet", "--force", "--detach", commit], self.tree, log)
        return kept

    def _clean(self, log: BuildLog) -> None:
        """Removes all that was compiled."""
        self._git(["clean", "--quiet", "-ffdx"], self.tree, log)
        shutil.rmtree(self.root / "objects", ignore_errors=True)

    def _git(self, arguments: Sequence[str], folder: Path, log: BuildLog) -> None:
        if said := log.run([*GIT, *arguments], folder):
            raise HostError(f"git: {source.last_line(said)}; see `{log.path}`")
