"""The rules of STYLE.md that ruff and import-linter do not have.

`python tools/tidy.py` prints each violation as `file:line rule: message`; any makes it end with 1.
Each rule is one function that takes the tree and yields violations; its docstring is its reason.
RULES at the end lists them, and tests/test_tidy.py plants a violation of each.
"""

import ast
import os
import posixpath
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

PACKAGE = "dbdyno"
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 500
SKIPPED_FOLDERS = frozenset({"target", "results", "dist", "build", "__pycache__", "node_modules"})
CHECKED_SUFFIXES = frozenset({".py", ".rs", ".toml", ".j2"})

BANNED_FILE_NAMES = frozenset(
    {"util", "utils", "common", "helper", "helpers", "manager", "managers", "misc"}
)
UNFINISHED = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r")\b")
ABBREVIATIONS = {
    "conn": "connection",
    "stmt": "statement",
    "txn": "transaction",
    "cfg": "settings",
    "ctx": "the thing's own name",
    "mgr": "the thing's own name",
}


@dataclass(frozen=True, order=True)
class Violation:
    """One line that breaks one rule."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.rule}: {self.message}"


@dataclass(frozen=True)
class Function:
    """A function's name and its first and last line, counted from 1."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class Source:
    """One text file of the tree; `path` is relative to its root, with forward slashes."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines without their ends."""
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of a Python file; SyntaxError where it is none."""
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of a Python file, which several rules go through."""
        return list(ast.walk(self.tree))

    @cached_property
    def code(self) -> str:
        """The text of a Rust file with comments, strings and characters blanked, lines kept."""
        return RUST_NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)

    @property
    def suffix(self) -> str:
        """`.py`, `.rs` …"""
        return PurePosixPath(self.path).suffix

    @property
    def module(self) -> str | None:
        """The dotted name of a module of the package, `None` for any other file."""
        parts = PurePosixPath(self.path).with_suffix("").parts
        if self.suffix != ".py" or parts[0] != PACKAGE:
            return None
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class Tree:
    """All checked files, by path."""

    sources: Mapping[str, Source]

    def of(self, suffix: str) -> Iterator[Source]:
        """The files that end in `suffix`."""
        return (source for source in self.sources.values() if source.suffix == suffix)

    @cached_property
    def modules(self) -> Mapping[str, Source]:
        """The modules of the package by dotted name."""
        named = ((source.module, source) for source in self.sources.values())
        return {name: source for name, source in named if name}

    @cached_property
    def imports(self) -> Mapping[str, Mapping[str, int]]:
        """Path of a Python file -> what it imports (every dotted prefix) -> line."""
        return {source.path: dict(imported(source)) for source in self.of(".py")}


def read(root: Path) -> Tree:
    """All files under `root` that have rules; folders of builds, results and tools are left out."""
    sources = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not is_skipped(name))
        for file in (Path(folder, name) for name in sorted(files)):
            if file.suffix in CHECKED_SUFFIXES:
                path = file.relative_to(root).as_posix()
                sources[path] = Source(path, file.read_text(encoding="utf-8"))
    return Tree(sources)


def is_skipped(folder: str) -> bool:
    """Whether a folder of this name holds nothing that was written by hand."""
    return folder in SKIPPED_FOLDERS or folder.startswith(".")


# --- Reading Python and Rust -------------------------------------------------------------------

RUST_NOT_CODE = re.compile(
    r"""
      //[^\n]*
    | /\*.*?\*/
    | \bb?r(?P<fence>\#*)".*?"(?P=fence)
    | "(?:\\.|[^"\\])*"
    | '(?:\\u\{[^}]*\}|\\x..|\\.|[^'\\\n])'
    """,
    re.VERBOSE | re.DOTALL,
)
RUST_FUNCTION = re.compile(r"\bfn\s+(\w+)")
RUST_MODULE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", re.MULTILINE)
RUST_USE = re.compile(r"\bcrate::(\w+)")
RUST_PATH = re.compile(r'^\s*#\[path = "([^"]+)"\]', re.MULTILINE)


def imported(source: Source) -> Iterator[tuple[str, int]]:
    """Every module that a Python file may import, wherever the statement stands, with its line."""
    for node in source.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = absolute(source, node)
            yield base, node.lineno
            for alias in node.names:
                yield f"{base}.{alias.name}", node.lineno


def absolute(source: Source, node: ast.ImportFrom) -> str:
    """The module that `from … import` names, with leading dots resolved."""
    if node.level == 0:
        return node.module or ""
    folder = PurePosixPath(source.path).parts[: -node.level]
    return ".".join((*folder, *([node.module] if node.module else [])))


def functions(source: Source) -> Iterator[Function]:
    """All functions and methods of a Python or Rust file."""
    if source.suffix == ".py":
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Function(node.name, node.lineno, node.end_lineno or node.lineno)
        return
    for match in RUST_FUNCTION.finditer(source.code):
        end = rust_end(source.code, match.end())
        first = source.code.count("\n", 0, match.start()) + 1
        yield Function(match[1], first, source.code.count("\n", 0, end) + 1)


def rust_end(code: str, start: int) -> int:
    """Where the Rust function that `start` lies in the signature of ends: at its `}` or `;`."""
    depth = 0
    in_body = False
    for position in range(start, len(code)):
        character = code[position]
        if character in "([{":
            in_body = in_body or (character == "{" and depth == 0)
            depth += 1
        elif character in ")]}":
            depth -= 1
            if in_body and depth == 0:
                return position
        elif character == ";" and depth == 0:
            return position
    return len(code)


# --- Rules -------------------------------------------------------------------------------------


def function_length(tree: Tree) -> Iterator[Violation]:
    """A function fits a screen, so that it can be judged without scrolling."""
    for source in [*tree.of(".py"), *tree.of(".rs")]:
        for function in functions(source):
            length = function.last - function.first + 1
            if length > FUNCTION_LINES_MAX:
                message = f"`{function.name}` has {length} lines, at most {FUNCTION_LINES_MAX}"
                yield Violation(source.path, function.first, "function-length", message)


def file_length(tree: Tree) -> Iterator[Violation]:
    """A file has one subject; one that grows past this has two."""
    for source in [*tree.of(".py"), *tree.of(".rs")]:
        length = len(source.lines)
        if length > FILE_LINES_MAX:
            message = f"{length} lines, at most {FILE_LINES_MAX}: split it by subject"
            yield Violation(source.path, FILE_LINES_MAX + 1, "file-length", message)


def file_doc(tree: Tree) -> Iterator[Violation]:
    """The first paragraph says what a file is for; of Python files ruff asks for it (D100)."""
    for source in tree.of(".rs"):
        if not source.text.startswith("//!"):
            yield Violation(source.path, 1, "file-doc", "begin with `//!`: what is it for?")


def file_name(tree: Tree) -> Iterator[Violation]:
    """A drawer for odds and ends has no subject, so everything ends up in it."""
    for source in tree.sources.values():
        for part in PurePosixPath(source.path).with_suffix("").parts:
            if part in BANNED_FILE_NAMES:
                yield Violation(source.path, 1, "file-name", f"`{part}` names no subject")


def unfinished(tree: Tree) -> Iterator[Violation]:
    """What is left to do is an issue with a reason, where it is seen, not a remark in the code."""
    for source in tree.sources.values():
        for number, line in enumerate(source.lines, start=1):
            if match := UNFINISHED.search(line):
                message = f"`{match[0]}`: do it, or open an issue"
                yield Violation(source.path, number, "unfinished", message)


def abbreviation(tree: Tree) -> Iterator[Violation]:
    """One word per thing, in full: it is read a hundred times and typed once."""
    for source in tree.of(".py"):
        for node in source.nodes:
            name = identifier(node)
            if name in ABBREVIATIONS:
                line = getattr(node, "lineno", 1)
                message = f"`{name}`: write `{ABBREVIATIONS[name]}`"
                yield Violation(source.path, line, "abbreviation", message)
    declared = re.compile(r"\b(?:let|let mut|fn|mod|struct)\s+(\w+)|\b(\w+)\s*:\s*&?(?:mut )?[A-Z]")
    for source in tree.of(".rs"):
        for match in declared.finditer(source.code):
            name = match[1] or match[2]
            if name in ABBREVIATIONS:
                line = source.code.count("\n", 0, match.start()) + 1
                message = f"`{name}`: write `{ABBREVIATIONS[name]}`"
                yield Violation(source.path, line, "abbreviation", message)


def identifier(node: ast.AST) -> str | None:
    """The name that a node of Python declares, if it declares one."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.name
    return None


def within(module: str, parts: Collection[str]) -> bool:
    """Whether a module is one of the parts, or inside of one; all without the package's name."""
    return any(module == part or module.startswith(f"{part}.") for part in parts)


ENGINES_FILE = "dbdyno/model/engine.py"
KNOWING_ENGINES = frozenset({"engine", "model.engine"})


def engine_name(tree: Tree) -> Iterator[Violation]:
    """Who compares an engine's name has to be found and changed for each new engine."""
    names = engine_names(tree)
    for name, source in tree.modules.items():
        if within(name.removeprefix(f"{PACKAGE}."), KNOWING_ENGINES):
            continue
        for node in source.nodes:
            for found in sorted(compared(node) & names):
                message = f"`{found}`: ask `can`, a trait or a method of the engine"
                yield Violation(source.path, getattr(node, "lineno", 1), "engine-name", message)


SHOWING = frozenset({"report", "serve", "farm"})


def mean_shown(tree: Tree) -> Iterator[Violation]:
    """A mean that a page computes for itself is a second value of what judging has."""
    for name, source in tree.modules.items():
        if not within(name.removeprefix(f"{PACKAGE}."), SHOWING):
            continue
        for node in source.nodes:
            if is_mean(node):
                message = "ask `model.metric.over.taken`, or the cell's estimate"
                yield Violation(source.path, getattr(node, "lineno", 1), "mean-shown", message)


def is_mean(node: ast.AST) -> bool:
    """Whether it is a sum divided by `len(…)`, or the library's mean."""
    match node:
        case ast.BinOp(op=ast.Div(), left=ast.Call() as sum_of, right=ast.Call() as count):
            return ast.unparse(count.func) == "len" and ast.unparse(sum_of.func).endswith("sum")
        case ast.ImportFrom(module="statistics"):
            return any(alias.name.endswith("mean") for alias in node.names)
    return False


def engine_names(tree: Tree) -> set[str]:
    """The keys of TRAITS, the table of engines."""
    source = tree.sources.get(ENGINES_FILE)
    found: set[str] = set()
    for node in source.tree.body if source else ():
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "TRAITS":
            found |= set(texts_of(getattr(node.value, "keys", ())))
    return found


def compared(node: ast.AST) -> set[str]:
    """The texts that a node compares with, matches, or has as keys of a dict."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return {text for side in sides for text in texts_of(getattr(side, "elts", [side]))}
    if isinstance(node, ast.MatchValue):
        return set(texts_of([node.value]))
    if isinstance(node, ast.Dict):
        return set(texts_of(node.keys))
    if isinstance(node, ast.Subscript):
        return set(texts_of([node.slice]))
    return set()


def texts_of(nodes: Iterable[ast.expr | None]) -> Iterator[str]:
    """The texts among some nodes."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def unreached(tree: Tree) -> Iterator[Violation]:
    """A file that nothing reaches is read, kept up and trusted for nothing."""
    reached: set[str] = set()
    for path, found in tree.imports.items():
        own = tree.sources[path].module
        reached |= {target for target in found if target != own}
    for name, source in tree.modules.items():
        is_entry = name in {PACKAGE, f"{PACKAGE}.__main__", f"{PACKAGE}.cli"}
        is_parent = any(other.startswith(f"{name}.") for other in reached)
        if not (is_entry or is_parent or name in reached):
            yield Violation(source.path, 1, "unreached", f"nothing imports `{name}`")
    alive = rust_files(tree)
    for source in tree.of(".rs"):
        if source.path not in alive:
            yield Violation(source.path, 1, "unreached", "no `mod` and no target of Cargo.toml")


def rust_files(tree: Tree) -> set[str]:
    """The Rust files that the targets of Cargo.toml reach through `mod name;`, or by a `path`."""
    manifest = tree.sources.get("Cargo.toml")
    if manifest is None:
        return set()
    cargo = tomllib.loads(manifest.text)
    targets = [cargo.get("lib", {})]
    for kind in ("bin", "test", "bench", "example"):
        targets += cargo.get(kind, [])
    waiting = [target["path"] for target in targets if "path" in target] + ["build.rs"]
    alive: set[str] = set()
    while waiting:
        source = tree.sources.get(waiting.pop())
        if source is None or source.path in alive:
            continue
        alive.add(source.path)
        path = PurePosixPath(source.path)
        is_root = path.as_posix() in {target.get("path") for target in targets}
        folder = path.parent if is_root or path.name == "mod.rs" else path.with_suffix("")
        for match in RUST_MODULE.finditer(source.code):
            waiting += [f"{folder / match[1]}.rs", f"{folder / match[1] / 'mod.rs'}"]
        for match in RUST_PATH.finditer(source.text):
            waiting.append(posixpath.normpath(path.parent / match[1]))
    return alive


def rust_circle(tree: Tree) -> Iterator[Violation]:
    """A module of a crate, beside `lib.rs`, can be read and tested without those that use it."""
    for root in sorted(path for path in tree.sources if path.endswith("src/lib.rs")):
        folder = PurePosixPath(root).parent
        modules = set(RUST_MODULE.findall(tree.sources[root].code))
        uses: dict[str, set[str]] = {module: set() for module in modules}
        for source in tree.of(".rs"):
            path = PurePosixPath(source.path)
            if path.is_relative_to(folder):
                module = path.relative_to(folder).with_suffix("").parts[0]
                used = {name for name in RUST_USE.findall(source.code) if name in modules}
                uses.setdefault(module, set()).update(used - {module})
        if names := circle(uses):
            yield Violation(root, 1, "rust-circle", " uses ".join(names))


def python_circle(tree: Tree) -> Iterator[Violation]:
    """A module can be read and tested without those that import it, also a package's `__init__`."""
    # import-linter compares folders and files that lie beside each other, so it sees no __init__.
    uses = {name: used(source, tree.modules) - {name} for name, source in tree.modules.items()}
    if names := circle(uses):
        source = tree.modules[names[0]]
        line = tree.imports[source.path][names[1]]
        yield Violation(source.path, line, "python-circle", " imports ".join(names))


def used(source: Source, modules: Collection[str]) -> set[str]:
    """The modules that a file imports, or names of; also for types alone, or within a function."""
    names: set[str] = set()
    for node in source.nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute(source, node)
            inner = {f"{base}.{alias.name}" for alias in node.names}
            names |= inner if inner <= set(modules) else {base, *inner}
    return names & set(modules)


def circle(uses: Mapping[str, Collection[str]]) -> list[str]:
    """Names of which each uses the next, and the last is the first; none where there is no circle.

    The same tree has the same answer.
    """
    try:
        TopologicalSorter({name: sorted(uses[name]) for name in sorted(uses)}).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


Rule = Callable[[Tree], Iterator[Violation]]
RULES: tuple[Rule, ...] = (
    function_length,
    file_length,
    file_doc,
    file_name,
    unfinished,
    abbreviation,
    engine_name,
    mean_shown,
    unreached,
    rust_circle,
    python_circle,
)


def check(root: Path) -> list[Violation]:
    """All violations under `root`, in order of file and line."""
    tree = read(root)
    return sorted(violation for rule in RULES for violation in rule(tree))


def main() -> int:
    """Prints the violations of the checkout; 1 where there are any."""
    violations = check(Path(__file__).resolve().parents[1])
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
