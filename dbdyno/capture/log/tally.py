"""What reading a log meets beside calls: counted here, said in coverage.md."""

import re
from dataclasses import dataclass, field

from dbdyno.capture.log.line_prefix import ANY_SEVERITY, SEVERITY, SHOWN_MAX
from dbdyno.engine.mysql import flavour

DIGITS = re.compile(r"\d+\.\d+(?:\.\d+)?")
DURATION = re.compile(r"duration: (\d+\.\d+) ms")
WORD = re.compile(r"[^\W_]\w*")
KEYWORDS = re.compile(
    "select|insert|update|delete|merge|from|where|and|or|set|values|into|join|left|on|order|group"
    "|by|having|limit|offset|with|as|in|not|null|is|returning|union|between|like|case|when|then"
    "|else|end|begin|commit|rollback|duration|statement|execute|parse|bind|parameters",
    re.IGNORECASE,
)
"""Words that a message may show of a line, whatever the application's values are."""
LINES_LOST_MAX, TIME_LOST_MAX = 0.01, 0.005
"""Shares of lines and of time above which a log is not understood."""


@dataclass
class Tally:
    """Counts of what was read and could not be used."""

    records: int = 0
    lines: int = 0
    time_s: float = 0.0  # of all calls
    torn: int = 0  # records without an end
    strange: int = 0  # lines that are no record
    strange_calls: int = 0  # of those, that have a duration
    strange_s: float = 0.0  # times in lines that are no record, and so of no call
    lost_s: float = 0.0  # times of calls of which lines were not understood
    first_strange: str = ""  # the first of them: its file, its number, how it looks
    file: str = ""  # the file that is read
    file_line: int = 0  # lines before it
    bare_durations: int = 0  # a time without a text
    texts_without_time: int = 0
    texts_with_time: int = 0
    plans: int = 0
    nested: int = 0  # plans of statements that functions ran
    translated: int = 0  # messages in another language
    cut_values: int = 0
    wrapped: tuple[str, ...] = ()  # in what its lines came, from the outside in
    tabs_lost: bool = False  # lines that go on begin with blanks
    beside: str = ""  # files that are not read as they say the same: a sentence
    format: str = ""
    prefixes: list[str] = field(default_factory=list)  # how lines of stderr begin
    engine: str = ""  # of the server, where the log tells it
    version: str = ""
    untimed: int = 0  # calls of a log that has no times at all
    without_session: int = 0  # calls of which the log does not tell the session
    rate_limit: int = 0  # the log has one of so many calls; 0: it does not say
    shortest_s: float | None = None  # the shortest call that a slow log has

    def opened(self, version: str) -> None:
        """Takes what a server of MySQL or MariaDB says of itself when it opens the log."""
        self.engine = flavour.told(version)
        digits = DIGITS.search(version.removeprefix("5.5.5-"))
        self.version = digits[0] if digits else ""

    def read_by(self, prefix: str, *, tabs_lost: bool) -> None:
        """Takes how lines begin; those of a folder can have more than one prefix."""
        if prefix not in self.prefixes:
            self.prefixes.append(prefix)
        self.tabs_lost = self.tabs_lost or tabs_lost

    def begins(self, file: str) -> None:
        """Takes the name of the file whose lines come next."""
        self.file, self.file_line = file, self.lines

    def strange_line(self, line: str, before: int = 0) -> None:
        """Counts a line that is not understood; `before`: lines that were read since."""
        self.strange += 1
        self.strange_calls += DURATION.search(line) is not None
        self.strange_s += duration_s(line)
        if not self.first_strange:
            within = " of the log within" if self.wrapped else ""
            number = self.lines - self.file_line - before
            text = shown(line).encode("utf-8", "replace").decode()
            self.first_strange = f"`{self.file}`: line {number}{within}, `{text}`"

    @property
    def line_share(self) -> float:
        """The share of lines that were not understood."""
        return self.strange / self.lines if self.lines else 0.0

    @property
    def time_share(self) -> float:
        """The share of the time of calls that were not understood, or not wholly."""
        whole_s = self.time_s + self.strange_s
        return min(1.0, (self.strange_s + self.lost_s) / whole_s) if whole_s else 0.0

    @property
    def is_lossy(self) -> bool:
        """Whether so much was not understood that what is left may say something else."""
        few = self.strange <= 1 and self.lines < 1 / LINES_LOST_MAX
        return (self.line_share > LINES_LOST_MAX and not few) or self.time_share > TIME_LOST_MAX


def duration_s(text: str) -> float:
    """The time that a line or a message tells; 0: none."""
    duration = DURATION.search(text)
    return 0.0 if duration is None else float(duration[1]) / 1000


def shown(line: str) -> str:
    """The beginning of a line without values of the application.

    What stands before a severity is the server's; of the rest only words of SQL are shown.
    """
    severity = ANY_SEVERITY.search(line)
    if severity is not None and SEVERITY.match(line, severity.start()):
        return line[: severity.end()].rstrip()[:SHOWN_MAX]
    masked = WORD.sub(lambda word: word[0] if KEYWORDS.fullmatch(word[0]) else "…", line.rstrip())
    return re.sub(r"…(?:[^\w\s]*…)+", "…", masked)[:SHOWN_MAX]
