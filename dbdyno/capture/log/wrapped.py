"""Logs as services and tools hand them out: the server's text within lines or objects of theirs.

A wrapper is told by the beginning of a file, and one can stand in another: a record of
CloudNativePG in a line of a container's log. The time and the process that a wrapper has stand
before a text that has none itself. (Shapes are those of the tools' manuals and of public reports.)
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from dbdyno.capture.log import entries, syslog
from dbdyno.capture.log.line_prefix import SEVERITY
from dbdyno.capture.log.message import Message, head_shape
from dbdyno.capture.log.record import STAMP, stamp_of

HEAD_LINES = 200
LAYERS_MAX = 4
ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)"
CONTAINER = re.compile(rf"({ISO}) std(?:out|err) ([FP])(?::\w+)? ?(.*)", re.DOTALL)
TIME_BEFORE = re.compile(rf"({ISO}) (.*)", re.DOTALL)
COMPOSE = re.compile(r"()[\w.-]+ +\| ?(.*)", re.DOTALL)
PROCESS = re.compile(r"(?<![\w.(/-])(?:(?!00000)\d+(?![\w.-])|[\da-f]{6,8}\.[\da-f]+\b)")
"""A number by itself, or a session, in what stands before a severity."""
CSV_BEGINS = re.compile(rf'"?{STAMP.pattern}"?,')


@dataclass(frozen=True)
class Wrapper:
    """A way to hand out a log."""

    name: str
    fits: Callable[[list[str]], bool]
    messages: Callable[[Iterator[str]], Iterator[Message]]


def unwrapped(lines: Iterator[str]) -> tuple[Iterator[str], tuple[str, ...]]:
    """The server's own lines, and the names of what they were wrapped in."""
    names: list[str] = []
    for _ in range(LAYERS_MAX):
        head = list(islice(lines, HEAD_LINES))
        lines = chain(head, lines)
        begun = [line for line in head if line.strip()]
        wrapper = next((each for each in WRAPPERS if begun and each.fits(begun)), None)
        if wrapper is None:
            break
        names.append(wrapper.name)
        lines = completed(wrapper.messages(lines))
    return lines, tuple(names)


def completed(messages: Iterator[Message]) -> Iterator[str]:
    """The lines of messages, with the time and the process that they do not have themselves."""
    head = list(islice(messages, HEAD_LINES))
    begun = [each for each in head if SEVERITY.search(each.text)]
    lacks_time = 2 * sum(map(has_time, begun)) < len(begun)
    lacks_process = 2 * sum(map(has_process, begun)) < len(begun)
    for message in chain(head, messages):
        if not message.whole:
            yield message.text
            continue
        first, *more = message.text.rstrip("\n").split("\n")
        shape = None if first[:1] in ("\t", "{") else head_shape(first)
        process = f"[{message.process}] " if lacks_process and message.process else ""
        time = f"{stamp_of(message.time)} " if lacks_time and message.time else ""
        yield f"{first}\n" if shape is None else f"{time}{process}{first}\n"
        goes_on = shape is not None and CSV_BEGINS.match(first) is None
        for line in more:
            if not goes_on or line.startswith("\t"):
                yield f"{line}\n"
            elif head_shape(line) == shape:
                yield f"{time}{process}{line}\n"
            else:
                yield f"\t{line}\n"
        if shape is not None and message.detail:
            detail = message.detail.rstrip("\n").replace("\n", "\n\t")
            yield f"{time}{process}{first[: begins_at(first)]}DETAIL:  {detail}\n"


def begins_at(line: str) -> int:
    """Where the severity of a line begins."""
    severity = SEVERITY.search(line)
    return severity.start() if severity is not None else 0


def has_time(message: Message) -> bool:
    """Whether a text has its own time."""
    return STAMP.search(message.text, 0, begins_at(message.text)) is not None


def has_process(message: Message) -> bool:
    """Whether a text has its own process or session."""
    return PROCESS.search(STAMP.sub("", message.text[: begins_at(message.text)])) is not None


def most(pattern: re.Pattern[str]) -> Callable[[list[str]], bool]:
    """Whether a pattern fits half of the lines that do not go on."""

    def fits(head: list[str]) -> bool:
        begun = [line for line in head if not line[0].isspace()]
        fitting = sum(pattern.match(line) is not None for line in begun)
        return 2 * fitting > len(begun)

    return fits


def container(lines: Iterable[str]) -> Iterator[Message]:
    """Of a container's log (CRI), in which long lines come in parts."""
    time, parts = "", [""]
    for line in lines:
        match = CONTAINER.match(line)
        if match is None:
            yield Message(line)
            continue
        time = time or match[1]
        parts.append(match[3])
        if match[2] == "P":
            parts[-1] = parts[-1].removesuffix("\n")
            continue
        yield Message("".join(parts), time=time)
        time, parts = "", [""]
    if parts[1:]:
        yield Message("".join(parts), time=time, whole=False)


def behind(pattern: re.Pattern[str]) -> Callable[[Iterator[str]], Iterator[Message]]:
    """Of lines with something before the server's text, which lines that go on may lack."""

    def messages(lines: Iterable[str]) -> Iterator[Message]:
        for line in lines:
            match, whole = pattern.match(line), line.endswith("\n")
            text, time = (line, "") if match is None else (match[2], match[1])
            yield Message(text, time=time, whole=whole)

    return messages


WRAPPERS = (
    Wrapper("lines of a container", most(CONTAINER), container),
    Wrapper("lines of syslog", syslog.fits, syslog.messages),
    Wrapper("a time before each line", most(TIME_BEFORE), behind(TIME_BEFORE)),
    Wrapper("a container's name before each line", most(COMPOSE), behind(COMPOSE)),
    Wrapper("JSON of a service", entries.fits, entries.messages),
)
