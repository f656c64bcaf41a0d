"""Chooses the prefix of a log's lines: the one whose fields are plausible over thousands of them.

What lines say themselves (`connection authorized: user=app database=shop`) decides between two that
fit equally well; where nothing does, the user is asked.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbdyno.capture.log.line_prefix import (
    ANY_SEVERITY,
    SHOWN_MAX,
    LogFormat,
    Prefix,
    PrefixFields,
    beginning,
    prefix_of,
)
from dbdyno.capture.log.prefix_shape import candidates
from dbdyno.capture.log.record import STAMP
from dbdyno.model.error import DynoError

TRIED_MAX = 5000
"""Lines by which the prefix is chosen."""
OTHERS_MAX = 200
MAY_BE_EMPTY = frozenset({"%u", "%d", "%a", "%r", "%h", "%b", "%i"})
OF_SESSION = re.compile(r"(?:[\dA-Z]{5}: )?(?:duration|statement|execute|connection auth|disconn)")
"""How messages of sessions begin, whose lines have every field."""
SAYS = re.compile(r"(?:connection authorized|disconnection): .*?user=(.*?) database=(\S+)")
PLAIN = re.compile(r"[^\s,;=|(){}<>/]*")
PLAUSIBLE_MIN = 0.9
FIT_MIN = 0.5
ASKED = "say which by --prefix"


@dataclass(frozen=True)
class MessageStart:
    """A line that begins with a prefix and a severity."""

    head: str  # what stands before its severity
    line: str
    message: str


@dataclass(frozen=True, kw_only=True)
class PrefixFit:
    """How well a prefix reads the lines."""

    prefix: Prefix
    share: float  # of lines that it fits
    plausible: float  # the share of sessions' lines whose names can be names
    agreement: float  # with what lines say themselves of their session
    reading: tuple[tuple[str, ...], ...]  # user, database, application of some lines

    @property
    def rank(self) -> tuple[float, float, float]:
        """What decides between two."""
        return (round(self.share, 2), round(self.plausible, 2), round(self.agreement, 2))


def detected(lines: Sequence[str], name: str, server: str = "", given: str = "") -> Prefix:
    """The prefix of these lines, which are the first of the file `name`.

    `server`: log_line_prefix as the server has it now; `given`: as the user says.
    Raises DynoError: none fits, or two fit equally well, with what to do.
    """
    begun = [each for each in map(begun_of, lines) if each is not None]
    if given:
        return confirmed(prefix_of(given), begun, lines, name)
    if server and (fit := fit_of(prefix_of(server), begun)) and is_good(fit):
        return fit.prefix
    fits = sorted(
        (fit_of(prefix, begun) for prefix in derived(begun)), key=lambda fit: fit.rank, reverse=True
    )
    if not fits or fits[0].share < FIT_MIN or fits[0].plausible < FIT_MIN:
        raise DynoError(
            f"`{name}`: no known prefix fits {first_odd(fits[0] if fits else None, begun, lines)}: "
            "name it as log_line_prefix has it, --prefix '%m [%p] '"
        )
    best = fits[0]
    for other in fits[1:]:
        if other.rank == best.rank and other.reading != best.reading:
            raise DynoError(
                f"`{name}`: its lines may be written by `{best.prefix.written}` ({names_of(best)}) "
                f"or by `{other.prefix.written}` ({names_of(other)}): "
                f"{ASKED} '{best.prefix.written}'"
            )
    return best.prefix


def of_file(lines: Sequence[str], name: str, before: Prefix | None, reading: LogFormat) -> Prefix:
    """The prefix of a file: that of the file before where it fits. Raises DynoError."""
    if before is not None:
        fit = fit_of(before, [each for each in map(begun_of, lines) if each is not None])
        if reading.prefix or min(fit.share, fit.plausible) >= PLAUSIBLE_MIN:
            return before
    return detected(lines, name, reading.server_prefix, reading.prefix)


def another(lines: Sequence[str], known: Sequence[Prefix]) -> Prefix | None:
    """The prefix of lines that none of these has begun; None: they do not tell it."""
    others = [line for line in lines if not any(each.line.match(line) for each in known)]
    begun = [each for each in map(begun_of, others) if each is not None]
    if not any(OF_SESSION.match(each.message) for each in begun):
        return None
    fits = sorted((fit_of(each, begun) for each in derived(begun)), key=lambda fit: fit.rank)
    if not fits or not is_good(fits[-1]):
        return None
    rivals = [fit for fit in fits if fit.rank == fits[-1].rank]
    return fits[-1].prefix if len({fit.reading for fit in rivals}) == 1 else None


def begun_of(line: str) -> MessageStart | None:
    """The parts of a line that begins with a prefix; None: it does not."""
    severity = None if line.startswith("\t") else ANY_SEVERITY.search(line)
    if severity is None or (line[0] == " " and not STAMP.search(line, 0, severity.start())):
        return None
    return MessageStart(line[: severity.start()], line, line[severity.end() :])


def confirmed(
    prefix: Prefix, begun: Sequence[MessageStart], lines: Sequence[str], name: str
) -> Prefix:
    """The prefix that the user names. Raises DynoError where it does not fit."""
    fit = fit_of(prefix, begun)
    if not begun or fit.share < FIT_MIN:
        raise DynoError(
            f"`{name}`: --prefix '{prefix.written}' does not fit {first_odd(fit, begun, lines)}: "
            "write it as log_line_prefix has it, or leave it out"
        )
    if fit.plausible < FIT_MIN:
        raise DynoError(
            f"`{name}`: by --prefix '{prefix.written}' its lines have {names_of(fit)}: the prefix "
            "goes on behind it; write it as log_line_prefix has it, or leave it out"
        )
    return prefix


def is_good(fit: PrefixFit) -> bool:
    """Whether a prefix may be taken without looking for another."""
    return min(fit.share, fit.plausible, fit.agreement) >= PLAUSIBLE_MIN


def derived(begun: Sequence[MessageStart]) -> Iterable[Prefix]:
    """The prefixes that the shape of the lines allows, with %q where other processes end."""
    heads = [each.head for each in begun if OF_SESSION.match(each.message)]
    heads = heads or [each.head for each in begun]
    for pieces in candidates(heads) if heads else ():
        try:
            prefix = prefix_of("".join(pieces))
        except DynoError:  # no time or no session
            continue
        others = {each.head: each.line for each in begun if not prefix.pattern.match(each.line)}
        yield with_stop(pieces, list(others.values())[:OTHERS_MAX]) or prefix


def with_stop(pieces: Sequence[str], others: Sequence[str]) -> Prefix | None:
    """The prefix with %q where most of these lines end; None: it explains none of them."""
    best, count = None, 0
    places = [place for place in range(1, len(pieces)) if pieces[place - 1] not in MAY_BE_EMPTY]
    for place in places if others else ():
        try:
            prefix = prefix_of("".join((*pieces[:place], "%q", *pieces[place:])))
        except DynoError:
            continue
        fitting = sum(prefix.pattern.match(line) is not None for line in others)
        if fitting and fitting >= count:  # the last place: what stands before is read, too
            best, count = prefix, fitting
    return best


def fit_of(prefix: Prefix, begun: Sequence[MessageStart]) -> PrefixFit:
    """How well a prefix reads these lines."""
    fitting = sessions = plausible = says = agrees = 0
    reading: dict[tuple[str, ...], None] = {}
    for each in begun:
        match = prefix.pattern.match(each.line)
        if match is None:
            continue
        fitting += 1
        parts = PrefixFields(**match.groupdict())
        user, database = parts.user or "", parts.database or ""
        application = parts.application or ""
        if OF_SESSION.match(each.message):
            sessions += 1
            plausible += is_plausible(user, database, application, each.head)
            reading.setdefault((user, database, application))
        if (said := SAYS.match(each.message)) is not None:
            says += 2
            agrees += (parts.user == said[1]) + (parts.database == said[2])
    return PrefixFit(
        prefix=prefix,
        share=fitting / len(begun) if begun else 0.0,
        plausible=plausible / sessions if sessions else 1.0,
        agreement=agrees / says if says else 1.0,
        reading=tuple(reading),
    )


def is_plausible(user: str, database: str, application: str, head: str) -> bool:
    """Whether names can be names: no further fields of the prefix in them."""
    plain = PLAIN.fullmatch(user) and PLAIN.fullmatch(database)
    return bool(plain) and "[local]" not in database + user and not re.search(r",\w+=", application)


def names_of(fit: PrefixFit) -> str:
    """The reading of a line, for a message."""
    user, database, application = fit.reading[0] if fit.reading else ("", "", "")
    return f"database `{database[:SHOWN_MAX]}`, user `{user[:SHOWN_MAX]}`" + (
        f", application `{application[:SHOWN_MAX]}`" if application else ""
    )


def first_odd(fit: PrefixFit | None, begun: Sequence[MessageStart], lines: Sequence[str]) -> str:
    """The first line that a prefix does not fit, as a message names it."""
    odd = (each.line for each in begun if fit is None or not fit.prefix.pattern.match(each.line))
    line = next(odd, "") or next((line for line in lines if line.strip()), "")
    return beginning(line, lines) if line else "it"
