"""What a build is made of: a release, a tarball, a folder, a git checkout or its address.

A source is identified before anything is unpacked, so that a build that is there is found at once.
Nobody's checkout is touched: what is built is a copy.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.builds import release
from dbdyno.builds.log import BuildLog, environment_of
from dbdyno.model import engine, gate
from dbdyno.model.error import ServerError

TARBALL = re.compile(r"\.(tar(\.(gz|bz2|xz|zst|lzma))?|tgz|tbz2?|txz)$")
ADDRESS = re.compile(r"^(?:[a-z+]+://|[\w.-]+@[\w.-]+:)")
"""`https://…`, `file:///…`, `git@host:…`."""
COMMIT = re.compile(r"[0-9a-f]{40}")
DYNO_FILES = (gate.FILE,)
"""What dyno reads in a checkout: no part of its source."""
DYNO_RESULTS = ("*/plan.json", f"*/{gate.RECORD}", "*/bisect.json")
"""What a folder of results holds, which is no part of a source either."""
GIT_S_MAX = 120.0
"""How long git may take to answer a question; fetching has no limit."""
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Ref:
    """What of a repository is wanted."""

    kind: str  # "tag", "branch" or "commit"
    name: str

    @property
    def full(self) -> str:
        """As git writes it."""
        folders = {"tag": "refs/tags/", "branch": "refs/heads/", "commit": ""}
        return folders[self.kind] + self.name


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source whose content is known."""

    kind: str  # "release", "tarball", "folder", "git", "git with changes", "address"
    origin: str  # where it lies, absolute; of a release the tarball's address
    identity: str  # "sha256:…" of the tarball or of the files; "commit:…"
    ref: str | None = None  # "tag REL_18_1", as asked for; of a release its version


def identify(written: str, ref: Ref | None = None) -> Source:
    """The source that is written; `ref`: what of a repository.

    Raises ServerError where it is none of those that there are.
    """
    if ADDRESS.match(written):
        return _address(written, ref)
    path = Path(written).expanduser().absolute()
    if (path / ".git").exists():
        return _checkout(path, ref)
    if ref is not None:
        raise ServerError(
            f"--{ref.kind} {ref.name}: `{written}` is no git checkout: drop the option"
        )
    if path.is_dir():
        refuse_built_in(path)
        return Source(
            kind="folder", origin=str(path), identity=f"sha256:{_hash(path, _walk(path))}"
        )
    if not path.is_file():
        raise ServerError(f"`{written}`: no such file or folder: name a tarball, a folder or a URL")
    if not TARBALL.search(path.name):
        raise ServerError(f"`{written}` is no tarball: .tar.gz, .tar.bz2, .tar.xz or .tar.zst")
    return Source(kind="tarball", origin=str(path), identity=f"sha256:{_hash_file(path)}")


def of_release(name: str, version: str) -> Source:
    """The official source of a version; of a major alone the newest.

    Raises ServerError where there is none, or the site cannot be reached.
    """
    if "release" not in engine.of(name).can:
        raise ServerError(f"only PostgreSQL's source is brought: name a tarball of {name}")
    version = release.newest(version)
    identity = f"sha256:{release.checksum(version)}"
    return Source(kind="release", origin=release.url_of(version), identity=identity, ref=version)


def refuse_built_in(folder: Path) -> None:
    """Raises ServerError where the folder holds what a compiler made.

    make takes object files that are there as done, whatever flags they were compiled with.
    """
    for name in ("config.status", "CMakeCache.txt"):
        if (folder / name).exists():
            raise ServerError(
                f"`{folder}` has been built in (`{name}`): its objects would have other flags: run "
                "`make distclean` there, or name a tarball or a git checkout"
            )


def unpack(source: Source, into: Path, log: BuildLog) -> Path:
    """Puts a copy of the source below `into`, which is empty, and returns the tree's own folder.

    Raises ServerError where that fails.
    """
    tree = into / "tree"
    tree.mkdir(parents=True)
    if source.kind in ("release", "tarball"):
        tarball = Path(source.origin)
        if source.kind == "release":
            tarball = into / "source.tar.bz2"
            release.bring(source.origin, source.identity.removeprefix("sha256:"), tarball)
        _untar(tarball, tree, log)
        inside = list(tree.iterdir())
        return inside[0] if len(inside) == 1 and inside[0].is_dir() else tree
    if source.kind == "git":
        archive = into / "source.tar"
        commit = source.identity.removeprefix("commit:")
        _git(["-C", source.origin, "archive", "-o", str(archive), commit], into, log)
        _untar(archive, tree, log)
        archive.unlink()
    elif source.kind == "address":
        _fetch(source, tree, log)
    else:
        folder = Path(source.origin)
        changed = source.kind == "git with changes"
        for name in _tracked(folder) if changed else _walk(folder):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, tree / name, follow_symlinks=False)
    return tree


def _untar(tarball: Path, into: Path, log: BuildLog) -> None:
    command: list[str | Path] = [
        "tar",
        "--extract",
        "--no-same-owner",
        "--file",
        tarball,
        "--directory",
        into,
    ]
    if said := log.run(command, into):
        raise ServerError(f"`{tarball}` cannot be unpacked: {last_line(said)}; see `{log.path}`")


# --- Content -----------------------------------------------------------------------------------


def _hash_file(path: Path) -> str:
    found = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                found.update(chunk)
    except OSError as error:
        raise ServerError(f"`{path}` cannot be read: {error.strerror}") from error
    return found.hexdigest()


def _walk(folder: Path) -> Iterator[Path]:
    """The files and links below a folder, relative to it, in order."""
    for here, folders, files in os.walk(folder):
        folders.sort()
        links = [name for name in folders if Path(here, name).is_symlink()]
        yield from (Path(here, name).relative_to(folder) for name in sorted([*files, *links]))


def _hash(folder: Path, names: Iterator[Path]) -> str:
    """A hash of the files: their names, contents, and whether they can be run."""
    found = hashlib.sha256()
    for name in names:
        path = folder / name
        if path.is_symlink():
            content = f"-> {path.readlink()}"
        else:
            content = f"{os.access(path, os.X_OK)} {_hash_file(path)}"
        found.update(f"{name}\0{content}\n".encode())
    return found.hexdigest()


# --- git ---------------------------------------------------------------------------------------


def _checkout(folder: Path, ref: Ref | None) -> Source:
    """A folder with .git: the commit asked for, else as it stands, changes included."""
    if ref is not None:
        spec = ref.full + "^{commit}"
        commit = ask(["rev-parse", "--verify", "--quiet", spec], folder)
        if not commit and ref.kind == "branch":
            remote = f"refs/remotes/origin/{ref.name}" + "^{commit}"
            commit = ask(["rev-parse", "--verify", "--quiet", remote], folder)
        if not commit:
            raise ServerError(
                f"--{ref.kind} {ref.name}: `{folder}` has none of that name; git fetch?"
            )
        return Source(
            kind="git",
            origin=str(folder),
            identity=f"commit:{commit}",
            ref=f"{ref.kind} {ref.name}",
        )
    commit = ask(["rev-parse", "--verify", "HEAD"], folder, must=True)
    if not changed_names(folder):
        return Source(kind="git", origin=str(folder), identity=f"commit:{commit}")
    content = _hash(folder, iter(_tracked(folder)))
    identity = f"commit:{commit} with changes sha256:{content}"
    return Source(kind="git with changes", origin=str(folder), identity=identity)


def _tracked(folder: Path) -> list[Path]:
    """What a checkout holds as it stands, without what its .gitignore names, or is dyno's."""
    names = set(_listed(["ls-files"], folder)) - set(DYNO_FILES)
    if new := _new_names(folder):
        names |= set(_listed(["ls-files", *NEW, "--", *map(literal, new)], folder))
    return [Path(name) for name in sorted(names) if os.path.lexists(folder / name)]


def changed_names(folder: Path) -> list[str]:
    """What of a checkout differs from its HEAD: files, and folders in which all is new.

    What its .gitignore names, and what dyno reads and writes, is left out. Raises ServerError.
    """
    changed = _listed(["diff", "--name-only", "--no-renames", "HEAD"], folder)
    return [name for name in changed if name not in DYNO_FILES] + _new_names(folder)


NEW = ("--others", "--exclude-standard")


def _new_names(folder: Path) -> list[str]:
    """Files that git does not track, and folders in which it tracks none; none of dyno's."""
    names = _listed(["ls-files", *NEW, "--directory", "--no-empty-directory"], folder)
    results = {
        name
        for name in names
        if any(next((folder / name).glob(pattern), None) is not None for pattern in DYNO_RESULTS)
    }
    return [name.rstrip("/") for name in names if name not in results.union(DYNO_FILES)]


def literal(name: str) -> str:
    """A path as git takes it that is no pattern."""
    return f":(literal){name}"


def _listed(arguments: list[str], folder: Path) -> list[str]:
    """The paths that git lists, relative to the folder. Raises ServerError."""
    said = ask([arguments[0], "-z", *arguments[1:]], folder, must=True)
    return [name for name in said.split("\0") if name]


def put_files(
    repository: Path, commit: str, names: Sequence[str], into: Path, **environment: str
) -> None:
    """Writes these files of a commit below a folder, those that the commit has.

    Raises ServerError.
    """
    listed = ["ls-tree", "--name-only", commit, "--", *names]
    for name in ask(listed, repository, must=True, **environment).splitlines():
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ask(["show", f"{commit}:{name}"], repository, must=True, **environment))


def objects_of(repository: Path) -> Path:
    """The folder in which a repository keeps its objects. Raises ServerError."""
    return repository / ask(["rev-parse", "--git-path", "objects"], repository, must=True)


def _address(address: str, ref: Ref | None) -> Source:
    """A repository elsewhere: which commit its name means now."""
    if ref is not None and ref.kind == "commit":
        if not COMMIT.fullmatch(ref.name):
            raise ServerError(f"--commit {ref.name}: of a URL all 40 digits are needed")
        return Source(
            kind="address", origin=address, identity=f"commit:{ref.name}", ref=f"commit {ref.name}"
        )
    wanted = ref.full if ref is not None else "HEAD"
    said = ask(["ls-remote", address, wanted, wanted + "^{}"], Path("/"), must=True)
    lines = [line.split("\t") for line in said.splitlines()]
    # A tag with a message is an object of its own; what it points to is the last line.
    if not lines:
        raise ServerError(f"`{address}` has no {wanted}: see `git ls-remote {address}`")
    commit = max(lines, key=lambda line: line[1].endswith("^{}"))[0]
    words = f"{ref.kind} {ref.name}" if ref is not None else None
    return Source(kind="address", origin=address, identity=f"commit:{commit}", ref=words)


def _fetch(source: Source, tree: Path, log: BuildLog) -> None:
    commit = source.identity.removeprefix("commit:")
    kind, _, name = (source.ref or "").partition(" ")
    wanted = Ref(kind=kind, name=name).full if kind else "HEAD"
    _git(["init", "--quiet", str(tree)], tree, log)
    _git(["fetch", "--quiet", "--depth", "1", source.origin, wanted], tree, log)
    _git(["-c", "advice.detachedHead=false", "checkout", "--quiet", "FETCH_HEAD"], tree, log)
    found = ask(["rev-parse", "HEAD"], tree, must=True)
    if found != commit:
        raise ServerError(f"`{source.origin}` has changed while it was fetched: build it again")
    shutil.rmtree(tree / ".git")


def _git(arguments: list[str], folder: Path, log: BuildLog) -> None:
    if said := log.run(["git", *arguments], folder):
        raise ServerError(f"git: {last_line(said)}; see `{log.path}`")


def ask(arguments: list[str], folder: Path, *, must: bool = False, **environment: str) -> str:
    """What git answers in a folder, "" where it finds nothing.

    Raises ServerError: `must`, or there is no git.
    """
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, errors="replace",
            check=False, timeout=GIT_S_MAX, stdin=subprocess.DEVNULL,
            env=environment_of(environment),
        )  # fmt: skip
    except FileNotFoundError as error:
        raise ServerError("git is not installed: apt-get install git, or name a tarball") from error
    except subprocess.TimeoutExpired as error:
        raise ServerError(f"git did not answer within {GIT_S_MAX:.0f} s: {arguments[0]}") from error
    if done.returncode != 0 and (must or done.returncode > 1):
        raise ServerError(f"git {arguments[0]}: {last_line(done.stderr)}")
    return done.stdout.strip() if done.returncode == 0 else ""


def last_line(said: str) -> str:
    """The last line of a text that is not empty."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
