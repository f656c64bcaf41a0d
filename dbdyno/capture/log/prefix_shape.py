"""Derives `log_line_prefix` from the lines themselves: from what stands before their severities.

Times, sessions, hosts and numbers are told by their form, names by the keys before them (`db=`) or
by `user@database`. Names that nothing tells apart give a candidate for each order.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dbdyno.capture.log.line_prefix import TIME, ZONE

KEY = re.compile(r"(?<!\w)([A-Za-z_]\w*(?: = |=))")
KEYS = {
    **dict.fromkeys(("user", "usr", "username", "user_name", "role", "u"), "u"),
    **dict.fromkeys(("db", "database", "dbname", "datname", "database_name", "d"), "d"),
    **dict.fromkeys(("app", "application", "application_name", "appname", "a"), "a"),
    **dict.fromkeys(("client", "host", "remote", "remote_host", "ip", "addr", "rhost", "h"), "h"),
    **dict.fromkeys(("pid", "process", "process_id", "p"), "p"),
    **dict.fromkeys(("session", "session_id", "sess", "sid", "c"), "c"),
    **dict.fromkeys(("line", "line_num", "l"), "l"),
    **dict.fromkeys(("vxid", "vtxid", "vtx", "v", "virtual_xid"), "v"),
    **dict.fromkeys(("xid", "txid", "trx_id", "tx", "xact", "x", "transaction"), "x"),
    **dict.fromkeys(("state", "sqlstate", "statecode", "state_code", "code", "err", "e"), "e"),
    "sql_error_code": "e",
    **dict.fromkeys(("queryid", "query_id", "qid", "q"), "Q"),
    **dict.fromkeys(("cmd", "cmdtag", "tag", "command", "command_tag", "i"), "i"),
    **dict.fromkeys(("backend", "backend_type", "type", "b"), "b"),
}
"""Fields by the names that people write before them; of another name, what follows is no name."""
NAMES = "dua"
HOST = r"\[local\]|\d{1,3}(?:\.\d{1,3}){3}|[\da-f:]*::[\da-f:]*|(?:[\da-f]{1,4}:){7}[\da-f]{1,4}"
BACKENDS = "client backend|parallel worker|autovacuum worker|walsender|background worker"
TAGS = "SELECT|INSERT|UPDATE|DELETE|PARSE|BIND|EXECUTE|FETCH|BEGIN|COMMIT|ROLLBACK|SET|COPY|idle"
SCAN = re.compile(
    rf"(?P<m>{TIME}\.\d{{3}}{ZONE})|(?P<t>{TIME}{ZONE})|(?<!\w)(?P<n>\d{{10}}\.\d{{3}})(?!\w)"
    rf"|(?P<r>(?:{HOST}|[\w.-]+)\(\d+\))|(?P<h>{HOST})(?!\w)"
    r"|(?<!\w)(?:(?P<c>[\da-f]{6,8}\.[\da-f]{1,8})|(?P<v>-?\d+/\d+)|(?P<e>00000)"
    rf"|(?P<b>{BACKENDS})|(?P<i>{TAGS})|(?P<pair>\d+-\d+)|(?P<number>-?\d+))(?![\w.])"
    r"|(?P<w>\[unknown\]|[\w$](?:(?!-00000\b)[\w.$-])*(?<!-))|(?P<literal>.)",
    re.DOTALL,
)
AT_END = re.compile(rf"(.*?)([\s,;|/-]+)({HOST}|[\w.-]+\(\d+\))(\W*)")
"""An application, what is between, its host, and what is behind."""
DELIMITERS = " ,;|])}>:'\"-/"
OPENERS = "'\"[(<{ "
UNKNOWN = "[unknown]"
NAME = r"[^\s,;|\])}>'\"]+"
QUERY_ID_MIN = 10**10
KINDS = "mtnrhcvebi"
SURE_MIN = 0.95
TRANSACTION_MIN = 0.2
"""The share of lines without a transaction from which on a number is that of one."""


@dataclass(frozen=True)
class Slot:
    """A place of the prefix: a text that all lines share, or a field with each line's value."""

    letter: str  # of the escape; "w": a name, "number": one of %p, %l, %x; empty: a text
    values: Sequence[str]

    @property
    def text(self) -> str:
        """The text that all lines share."""
        return self.values[0]


def candidates(heads: Sequence[str]) -> list[list[str]]:
    """The prefixes that may have written what stands before severities, each in its pieces."""
    split = [KEY.split(head) for head in heads]
    keys, _ = Counter(tuple(parts[1::2]) for parts in split).most_common(1)[0]
    alike = [parts for parts in split if tuple(parts[1::2]) == keys]
    slots = positional([parts[0] for parts in alike])
    for place, key in enumerate(keys):
        slots.append(Slot("", [key]))
        slots += valued(
            KEYS.get(key.lower().rstrip(" =")), [parts[2 * place + 2] for parts in alike]
        )
    return [list(written(each)) for each in named(numbered(timed(slots)))]


def positional(texts: Sequence[str]) -> list[Slot]:
    """The fields of a part without keys, as most lines have them."""
    scanned = [
        [(str(match.lastgroup), match[0]) for match in SCAN.finditer(text)] for text in texts
    ]
    shapes = Counter(tuple(shape(*token) for token in tokens) for tokens in scanned)
    best, _ = shapes.most_common(1)[0]
    alike = [tokens for tokens in scanned if tuple(shape(*token) for token in tokens) == best]
    slots: list[Slot] = []
    for place, form in enumerate(best):
        values = [tokens[place][1] for tokens in alike]
        if form == "pair":
            first, second = zip(*(value.split("-") for value in values), strict=True)
            counted = set(second) == {"1"}  # `%l-1`, as pgBadger wants it
            slots += [Slot("l" if counted else "number", first), Slot("", ["-"])]
            slots.append(Slot("", ["1"]) if counted else Slot("number", second))
        elif form in KINDS or form in ("number", "w"):
            slots.append(Slot(form, values))
        else:
            slots.append(Slot("", [form]))
    return slots


def shape(form: str, text: str) -> str:
    """What two lines of one prefix share in a place."""
    return text if form == "literal" else form


def valued(letter: str | None, texts: Sequence[str]) -> list[Slot]:
    """The field of a key, and what follows it up to the next key."""
    plain = [text.replace(UNKNOWN, "U").replace("[local]", "L") for text in texts]
    end = shared([text[::-1] for text in plain], DELIMITERS)[::-1]
    begin = shared(plain, OPENERS)
    if len(begin) + len(end) > min(map(len, texts)):
        begin = ""
    bodies = [text[len(begin) : len(text) - len(end)] for text in texts]
    before, after = ([Slot("", [text])] if text else [] for text in (begin, end))
    if letter == "a":
        return before + application(bodies) + after
    if letter is None and len(set(bodies)) == 1:
        return [*before, Slot("", [bodies[0]]), *after]
    if (
        letter is None
        and (match := SCAN.match(bodies[0]))
        and match.lastgroup in (*KINDS, "number")
    ):
        return positional(texts)
    letter = letter or "i"
    first = [re.match(NAME, body) for body in bodies]
    whole = sum(1 for body, match in zip(bodies, first, strict=True) if match and match[0] == body)
    blanks = any(" " in body for body in bodies)
    if 10 * whole >= 9 * len(bodies) or not (all(first) if letter in NAMES else blanks):
        return [*before, Slot(letter, bodies), *after]
    values = [match[0] if match else "" for match in first]
    rests = [body[len(value) :] for body, value in zip(bodies, values, strict=True)]
    return [*before, Slot(letter, values), *positional([rest + end for rest in rests])]


def shared(texts: Sequence[str], characters: str) -> str:
    """What all texts begin with of these characters."""
    columns = zip(*texts, strict=False)
    alike = itertools.takewhile(lambda column: len(set(column)) == 1, columns)
    return "".join(itertools.takewhile(characters.__contains__, (first for first, *_ in alike)))


def application(bodies: Sequence[str]) -> list[Slot]:
    """The name of an application, which may have blanks, and a host that may follow it."""
    ended = [AT_END.fullmatch(body) for body in bodies]
    matches = [match.groups() for match in ended if match is not None]
    if len(matches) < len(bodies) or len({between for _, between, _, _ in matches}) > 1:
        return [Slot("a", bodies)]
    names, betweens, hosts, behind = zip(*matches, strict=True)
    after = [Slot("", [behind[0]])] if behind[0] else []
    return [Slot("a", names), Slot("", [betweens[0]]), Slot("h", hosts), *after]


def timed(slots: Sequence[Slot]) -> list[Slot]:
    """With one time of the line; others are those of a session's start."""
    exact = any(slot.letter in ("m", "n") for slot in slots)
    taken, made = False, []
    for slot in slots:
        if slot.letter in ("m", "n", "t"):
            is_line_s = not taken and (slot.letter != "t" or not exact)
            taken = taken or is_line_s
            slot = slot if is_line_s else replace(slot, letter="s")
        made.append(slot)
    return made


def numbered(slots: Sequence[Slot]) -> list[Slot]:
    """With %p, %l, %x and %Q for numbers: a session's lines count up, its process stays."""
    places = [place for place, slot in enumerate(slots) if slot.letter == "number"]
    letters = {slot.letter for slot in slots}
    made = list(slots)
    for place in list(places):
        if any(abs(int(value)) >= QUERY_ID_MIN for value in slots[place].values):
            made[place] = replace(slots[place], letter="Q")
            places.remove(place)
    process = next((place for place, slot in enumerate(slots) if slot.letter == "p"), None)
    if process is None and not places and not letters & {"c", "p"}:
        process = next((place for place, slot in enumerate(slots) if slot.letter == "l"), None)
        if process is not None:  # `%p-%l` of sessions with one line each
            made[process] = replace(slots[process], letter="p")
    if process is None and places:
        process = max(places, key=lambda place: (process_like(slots, place), -place))
        made[process] = replace(slots[process], letter="p")
        places.remove(process)
    for place in places:
        counts = process is not None and (
            counting(slots[process].values, slots[place].values) > SURE_MIN
        )
        letter = "l" if counts and "l" not in letters else "x"
        letters.add(letter)
        made[place] = replace(slots[place], letter=letter)
    return made


def process_like(slots: Sequence[Slot], place: int) -> int:
    """How much a number is that of a process: 2 where another always grows while it stays."""
    values = slots[place].values
    if values.count("0") > TRANSACTION_MIN * len(values):
        return -1
    others = [slot for slot in slots if slot.letter in ("number", "l") and slot is not slots[place]]
    return 2 * any(counting(values, other.values) > SURE_MIN for other in others)


def counting(processes: Sequence[str], numbers: Sequence[str]) -> float:
    """The share of a process's next lines in which a number grew."""
    last: dict[str, int] = {}
    grew = pairs = 0
    for process, number in zip(processes, map(int, numbers), strict=False):
        if process in last:
            pairs += 1
            grew += number > last[process]
        last[process] = number
    return grew / pairs if pairs else 0.0


def named(slots: Sequence[Slot]) -> Iterator[list[Slot]]:
    """With %u, %d and %a for names, in each order that nothing rules out."""
    made = list(slots)
    for place in range(len(slots) - 2):
        first, at, second = slots[place : place + 3]
        if (first.letter, at.values[0], second.letter) == ("w", "@", "w") and not at.letter:
            made[place], made[place + 2] = replace(first, letter="u"), replace(second, letter="d")
            break
    free = [name for name in NAMES if all(slot.letter != name for slot in made)]
    places = []
    for place, slot in enumerate(made):
        behind = [each.letter or each.text for each in slots[place + 1 : place + 3]]
        if slot.letter == "w" and behind == ["-", "e"]:  # `PG-%e`
            made[place] = replace(slot, letter="")
        elif slot.letter == "w":
            places.append(place)
    made, places = fewer(made, places, len(free))
    yielded = False
    for likely in (free[: len(places)] if len(places) > 1 else free, free):
        for letters in itertools.permutations(likely, len(places)) if not yielded else ():
            chosen = dict(zip(places, letters, strict=True))
            if all(name == "a" or UNKNOWN not in made[at].values for at, name in chosen.items()):
                yielded = True
                yield [
                    replace(slot, letter=chosen.get(at, slot.letter))
                    for at, slot in enumerate(made)
                ]


def fewer(slots: list[Slot], places: list[int], count: int) -> tuple[list[Slot], list[int]]:
    """So many places of names at most: of more words some are texts, or one name together."""
    constant = [place for place in places if len(set(slots[place].values)) == 1]
    if len(constant) < len(places):
        for place in constant[: max(0, len(places) - count)]:
            slots[place] = replace(slots[place], letter="")
            places = [each for each in places if each != place]
    surplus = len(places) - count
    first, last = (places[-surplus - 1], places[-1]) if surplus > 0 and count else (0, 0)
    if surplus <= 0 or not count or last - first != 2 * surplus:  # words with one blank between
        return slots, places
    values = [
        "".join(parts)
        for parts in zip(*(slot.values for slot in spread(slots[first : last + 1])), strict=False)
    ]
    return [*slots[:first], Slot("w", values), *slots[last + 1 :]], [*places[: -surplus - 1], first]


def spread(slots: Sequence[Slot]) -> list[Slot]:
    """The places, with the texts that all lines share repeated for each line."""
    count = max(len(slot.values) for slot in slots)
    return [
        slot if len(slot.values) == count else replace(slot, values=[slot.text] * count)
        for slot in slots
    ]


def written(slots: Sequence[Slot]) -> Iterator[str]:
    """The pieces of a prefix as the setting has them: an escape each, or a character."""
    for slot in slots:
        if slot.letter:
            yield f"%{slot.letter}"
        else:
            yield from (character.replace("%", "%%") for character in slot.text)
