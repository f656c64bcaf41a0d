"""What `dbdyno/` has of untyped access, fragments and words that name nothing; it may only fall.

    python tools/ratchet.py           # for `make check`: 1 where a figure is above the file's
    python tools/ratchet.py --write   # keeps today's figures, where none is above
    python tools/ratchet.py --names   # the fifty most frequent names of things

The figures of each room are in tools/ratchet.json.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "dbdyno"
FIGURES = ROOT / "tools" / "ratchet.json"
NAMELESS = frozenset({"one", "its", "found", "told", "asked", "which", "kind"})
"""Names that say of a thing nothing but that it is there."""
NO_NOUN = re.compile(
    "_?(Across|Ask|Assign|Began|Begin|Begun|Beside|Best|Contest|Deliver|Doing|Drawn|Execute|Facing"
    "|Found|Gave|Generate|Given|Held|Here|Inside|Into|Kept|Known|Left|Lost|Made|Measure|Newer"
    "|Newest|Nothing|Observe|Off|Open|Over|Ran|Raw|Renew|Resolve|Said|Say|Seen|Send|Sent|Shown"
    "|Sight|Spent|Still|Stop|Taken|Taking|There|Told|Took|Way|Ways|Went|Where|Whole|Wish|Written"
    "|[A-Z][a-z]*[^e]ed)|.*[a-z](Beside|Here|Seen|Sent|There)"
)
"""What no class is called: participles, prepositions, adverbs, verbs."""
DICTIONARIES = frozenset(
    f"{outer}[str, {inner}]"
    for outer in ("dict", "Mapping", "MutableMapping")
    for inner in ("Any", "object")
) | {"Json"}
NAMES_SHOWN = 50


@dataclass(frozen=True)
class Figures:
    """Counts of one room."""

    accesses: int  # x["key"] and x.get("key") together
    dictionary_parameters: int  # of a type that is a dictionary of anything
    one_line_functions: int  # private, and used once in their file
    nameless: int  # bindings of NAMELESS
    renamed_classes: int  # classes that are imported under another name
    repeated_classes: int  # classes whose names other files have, too
    no_nouns: int  # classes that are called NO_NOUN

    def above(self, kept: Figures) -> Iterator[str]:
        """What is above the kept figures, in words."""
        for field in fields(self):
            now, before = getattr(self, field.name), getattr(kept, field.name)
            if now > before:
                yield f"{field.name.replace('_', ' ')}: {now}, and {before} are kept"


def of_room(sources: Iterable[str], repeated: Set[str] = frozenset()) -> Figures:
    """The figures of these files together; `repeated`: the classes' names of several files."""
    counts: Counter[str] = Counter()
    for source in sources:
        tree = ast.parse(source)
        counts.update(
            accesses=sum(map(is_access, ast.walk(tree))),
            dictionary_parameters=sum(map(is_dictionary, parameters(tree))),
            one_line_functions=sum(1 for _ in one_line_functions(tree)),
            nameless=sum(name in NAMELESS for name in bindings(tree)),
            renamed_classes=sum(1 for _ in renamed_classes(tree)),
            repeated_classes=sum(name in repeated for name in classes(tree)),
            no_nouns=sum(NO_NOUN.fullmatch(name) is not None for name in classes(tree)),
        )
    return Figures(**{field.name: counts[field.name] for field in fields(Figures)})


def is_access(node: ast.AST) -> bool:
    """Whether it is `x["key"]`, read, or `x.get("key")`; a type `Literal["word"]` is none."""
    match node:
        case ast.Subscript(value=ast.Name(id="Literal")):
            return False
        case ast.Subscript(slice=ast.Constant(value=str()), ctx=ast.Load()):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str()), *_]):
            return True
    return False


def parameters(tree: ast.AST) -> Iterator[ast.arg]:
    """The parameters of all functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            yield from (*node.posonlyargs, *node.args, *node.kwonlyargs)


def is_dictionary(parameter: ast.arg) -> bool:
    """Whether its type is a dictionary of anything, or that or none."""
    if parameter.annotation is None:
        return False
    return ast.unparse(parameter.annotation).removesuffix(" | None") in DICTIONARIES


def one_line_functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Private functions of one line that are used once in their file."""
    used = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and used[node.name] == 1:
            private = node.name.startswith("_") and not node.name.startswith("__")
            body = node.body[ast.get_docstring(node) is not None :]
            if private and len(body) == 1 and body[0].lineno == body[0].end_lineno:
                yield node


def bindings(tree: ast.AST) -> Iterator[str]:
    """The name of each thing that is bound: variables and parameters."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            yield node.arg


def renamed_classes(tree: ast.AST) -> Iterator[ast.alias]:
    """Imports of a class under another name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (a for a in node.names if a.asname is not None and a.name[:1].isupper())


def classes(tree: ast.Module) -> Iterator[str]:
    """The names of a file's classes; those within others are as a library asks for them."""
    return (node.name for node in tree.body if isinstance(node, ast.ClassDef))


def repeated(sources: Iterable[str]) -> Set[str]:
    """The names of classes that stand in several of these files."""
    names = Counter(name for text in sources for name in classes(ast.parse(text)))
    return {name for name, count in names.items() if count > 1}


def rooms(package: Path = PACKAGE) -> dict[str, list[str]]:
    """The sources of each room of the package, by its name."""
    return {
        room.name: [path.read_text() for path in sorted(room.rglob("*.py"))]
        for room in sorted(package.iterdir())
        if (room / "__init__.py").exists()
    }


def kept(path: Path = FIGURES) -> dict[str, Figures]:
    """The kept figures of each room."""
    return {room: Figures(**counts) for room, counts in json.loads(path.read_text()).items()}


def above(now: Mapping[str, Figures], before: Mapping[str, Figures]) -> Iterator[str]:
    """A line for each figure that is above what is kept; a new room begins at nothing."""
    nothing = of_room(())
    for room, figures in now.items():
        yield from (f"dbdyno/{room}: {words}" for words in figures.above(before.get(room, nothing)))


def main() -> int:
    """Compares, writes or lists; 1 where a figure is above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="keep today's figures")
    parser.add_argument("--names", action="store_true", help="list the most frequent names")
    arguments = parser.parse_args()
    sources = rooms()
    if arguments.names:
        names = Counter(
            name for room in sources.values() for text in room for name in bindings(ast.parse(text))
        )
        sys.stdout.writelines(
            f"{count:6} {name}\n" for name, count in names.most_common(NAMES_SHOWN)
        )
        return 0
    twice = repeated(text for texts in sources.values() for text in texts)
    now = {room: of_room(texts, twice) for room, texts in sources.items()}
    lines = list(above(now, kept())) if FIGURES.exists() else []
    sys.stdout.writelines(f"{line}: use a type, a field's word, or fold it\n" for line in lines)
    if arguments.write and not lines:
        figures = {room: asdict(counts) for room, counts in now.items()}
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
