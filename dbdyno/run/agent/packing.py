"""Wheels of what is installed here: dbdyno itself, and every library that an agent needs.

So another host gets the very same, and neither host needs a network for it. Wheels are as the
binary distribution format has them (packaging.python.org, "Binary distribution format").
"""

import base64
import hashlib
import re
import zipfile
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path

from dbdyno.host import program
from dbdyno.model.error import HostError
from dbdyno.model.extra import OF_JUDGES

PACKAGE = "dbdyno"
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[(?P<extras>[^]]*)\])?")
"""The beginning of a requirement (PEP 508)."""
EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
LEFT_OUT = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json")
"""Files by which an installer says what it did."""
SCRIPT = b"#!python\nimport sys\n\nfrom dbdyno.cli import main\n\nsys.exit(main())\n"
Content = tuple[str, bytes, bool]
"""A file of a wheel: its name there, its content, whether it is a program."""


def wheels(folder: Path) -> list[Path]:
    """Writes the wheels into a folder. Raises HostError where a library's files are not known."""
    paths = []
    for library in needed():
        name = f"{normal(library.name).replace('-', '_')}-{library.version}"
        content = (
            own(library, name) if normal(library.name) == PACKAGE else installed(library, name)
        )
        paths.append(write(folder / f"{name}-{tag(library)}.whl", name, content))
    return paths


def needed() -> list[metadata.Distribution]:
    """dbdyno, and all that it needs to measure, as far as it is installed here."""
    known: dict[str, metadata.Distribution] = {}
    left, done = [(PACKAGE, "")], set()  # with each extra by itself
    while left:
        name, extra = left.pop()
        if (name, extra) in done or name in OF_JUDGES:
            continue
        done.add((name, extra))
        try:
            known[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # of another system
            continue
        left += [
            project for line in known[name].requires or () for project in required(line, extra)
        ]
    return list(known.values())


def required(line: str, extra: str) -> Iterator[tuple[str, str]]:
    """The project that a requirement names, by itself and with each of its extras.

    Nothing where it is for another extra than the one that is wanted.
    """
    match, of_extra = REQUIREMENT.match(line), EXTRA.search(line)
    if match is None or (of_extra is not None and of_extra[1] != extra):
        return
    for wanted in ("", *filter(None, re.split(r"\s*,\s*", match["extras"] or ""))):
        yield normal(match["name"]), wanted


def normal(name: str) -> str:
    """A project's name as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def tag(library: metadata.Distribution) -> str:
    """The tags of a wheel's name, such as `cp311-cp311-manylinux_2_17_x86_64`."""
    tags = re.findall(r"(?m)^Tag: (\S+)$", library.read_text("WHEEL") or "")
    if not tags:
        raise HostError(f"`{library.name}` is not installed from a wheel: install it by pip or uv")
    python, abi, _ = tags[0].split("-")
    platforms = dict.fromkeys(each.rsplit("-", 1)[1] for each in tags)
    pythons = dict.fromkeys(each.split("-", 1)[0] for each in tags)
    return f"{'.'.join(pythons) or python}-{abi}-{'.'.join(platforms)}"


def installed(library: metadata.Distribution, name: str) -> Iterator[Content]:
    """The files of a library, as its wheel had them."""
    if library.files is None:
        raise HostError(f"`{library.name}` does not say its files: install it by pip or uv")
    scripts = {entry.name for entry in library.entry_points if entry.group == "console_scripts"}
    for file in library.files:
        path = Path(str(file.locate()))
        if path.suffix == ".pyc" or file.name in LEFT_OUT or not path.is_file():
            continue
        if file.parts[0] != "..":
            yield str(file), path.read_bytes(), False
        elif path.parent.name == "bin" and file.name not in scripts:  # installers make the others
            yield f"{name}.data/scripts/{file.name}", path.read_bytes(), True


def own(library: metadata.Distribution, name: str) -> Iterator[Content]:
    """The files of dbdyno, whether it is installed or a checkout."""
    package = Path(str(resources.files(PACKAGE)))
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"{PACKAGE}/{path.relative_to(package)}", path.read_bytes(), False
    for program_name in program.ERRORS:
        yield f"{name}.data/scripts/{program_name}", program.find(program_name).read_bytes(), True
    yield f"{name}.data/scripts/dyno", SCRIPT, True
    for file in ("METADATA", "WHEEL"):
        yield f"{name}.dist-info/{file}", (library.read_text(file) or "").encode(), False


def write(path: Path, name: str, content: Iterator[Content]) -> Path:
    """Writes a wheel, not compressed: it is unpacked at once."""
    record = []
    with zipfile.ZipFile(path, "w") as wheel:
        for file, data, is_program in content:
            entry = zipfile.ZipInfo(file)
            entry.external_attr = (0o755 if is_program else 0o644) << 16
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{file},sha256={digest},{len(data)}\n")
        wheel.writestr(f"{name}.dist-info/RECORD", "".join(record) + f"{name}.dist-info/RECORD,,\n")
    return path
