"""The lines of a program that knows nothing of dyno, of which patterns find those that tell.

One opens the window (else the program's start does), one closes it (else the result does, or the
program's end where no result is asked for), one has the result: how much was done in it. Nothing
else is made up: seconds and response times are null.
"""

import re
import time
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from dbdyno.model.error import GeneratorError
from dbdyno.model.events import AnyEvent, ClientCounts, Tick, Totals, WindowClose, WindowOpen
from dbdyno.model.job import Job
from dbdyno.model.job.external import Pattern
from dbdyno.run.driver.lines import ended, untimed

PER_S = {"per_s": 1.0, "per_min": 1 / 60}
"""Groups that are rates: how many a second each is."""
SEPARATED = frozenset("0123456789.,'_ \u00a0\u202f")
"""The characters of a number that a program writes for people."""
SEPARATORS = (
    ': say in the pattern what stands between its digits: decimal = "," where 1,5 is one and a '
    'half, thousands = "," where 1,500 is fifteen hundred'
)
BEFORE = re.compile(r"[0-9][.,'_\u00a0\u202f]?$|(?<!\w)[-.,]$")
AFTER = re.compile(r"[.,'_\u00a0\u202f]?[0-9]|[eE][+-]?[0-9]|[kKMG]\b")
"""The rest of a number of which a pattern takes a part."""


class Patterns:
    """The events of a program whose output is text."""

    def __init__(self, job: Job, pattern: Pattern) -> None:
        self.closed = False  # whether the window has closed
        self.over = False  # such a program never says so
        self._program, self._role, self._pattern = job.program, job.roles[0].name, pattern
        self._result: dict[str, float] | None = None
        self._failure: str | None = None
        self._open_ns: int | None = None
        self._length_ns = 0

    @property
    def failed(self) -> bool:
        """Whether a line meant failure."""
        return self._failure is not None

    def hear(self, line: str) -> None:
        """Keeps the first line of standard output or standard error that means failure."""
        if self._failure is None and self._pattern.failed is not None:
            self._failure = line.strip() if re.search(self._pattern.failed, line) else None

    def begun(self) -> Iterator[AnyEvent]:
        """The window opens as the program starts, where no line of its own opens it."""
        if self._pattern.open is None:
            yield self._opened()

    def events(self, line: str) -> Iterator[AnyEvent]:
        """The figures in a line of the program. Raises GeneratorError where a number is none."""
        self.hear(line)
        if self._open_ns is None:
            if self._pattern.open is not None and re.search(self._pattern.open, line):
                yield self._opened()
            return
        pattern, close = self._pattern.result, self._pattern.close
        result = None if pattern is None else re.search(pattern, line)
        if not self.closed and (result if close is None else re.search(close, line)):
            yield self._close(self._open_ns)
        if result and self.closed and self._result is None:
            self._result = {
                name: self._number(result, name)
                for name, text in result.groupdict().items()
                if text
            }

    def missing(self) -> str | None:
        """Why its lines are no measurement; None: they are one."""
        pattern = self._pattern
        if self._failure is not None:
            return f"`{self._program}` failed, by `pattern.failed`: {self._failure[:200]}"
        for key, text, lacks in (
            ("open", pattern.open, self._open_ns is None),
            ("close", pattern.close, not self.closed),
            ("result", pattern.result, self._result is None),
        ):
            if text is not None and lacks:
                return (
                    f"`{self._program}` ended, and no line of its output matched "
                    f"`pattern.{key}`, {text!r}: compare the pattern with its output"
                )
        return None

    def done(self, status: str, reason: str | None) -> Iterator[AnyEvent]:
        """The window as one tick, if it has a result, and the last event."""
        if status == "ok" and self._open_ns is not None and not self.closed:
            yield self._close(self._open_ns)
        if status != "ok" or self._result is None:
            yield ended(status, reason, {})
            return
        count, errors = self._count(self._result), round(self._result.get("errors", 0))
        yield Tick(
            mono_ns=time.monotonic_ns(),
            tick=None,
            active_ns=self._length_ns,
            measured=True,
            role=self._role,
            per_client=[ClientCounts(count, None, errors, None)],
            operations={self._role: untimed(count)},
            late_us_max=None,
            backlog=None,
        )
        total = Totals(count=count, rows=None, errors=errors, retries=None)
        yield replace(ended(status, reason, {self._role: total}), report=self._result)

    def _opened(self) -> AnyEvent:
        self._open_ns = time.monotonic_ns()
        return WindowOpen(mono_ns=self._open_ns)

    def _close(self, open_ns: int) -> WindowClose:
        self.closed = True
        now_ns = time.monotonic_ns()
        self._length_ns = now_ns - open_ns
        return WindowClose(mono_ns=now_ns, active_ns=self._length_ns, clients_end_ns=None)

    def _count(self, result: Mapping[str, float]) -> int:
        if "count" in result:
            return round(result["count"])
        (per_s,) = (result[name] * share for name, share in PER_S.items() if name in result)
        return round(per_s * self._length_ns / 1e9)

    def _number(self, result: re.Match[str], name: str) -> float:
        """A number as the pattern says that the program writes it. Raises GeneratorError."""
        pattern, text, (start, end) = self._pattern, result[name], result.span(name)
        group = (
            "[ \u00a0\u202f]" if pattern.thousands == " " else re.escape(pattern.thousands or "")
        )
        grouped = rf"[0-9]{{1,3}}(?:{group}[0-9]{{3}})+|" if group else ""
        fraction = re.escape(pattern.decimal) + "[0-9]*"
        number = rf"(?:{grouped}[0-9]+)(?:{fraction})?(?:[eE][+-]?[0-9]{{1,2}})?"
        wrong = None
        if (start == result.start() and BEFORE.search(result.string[:start])) or (
            end == result.end() and AFTER.match(result.string[end:])
        ):
            wrong = "a part of a number: let the group take all of it"
        elif not re.fullmatch(number, text):
            wrong = "not a number" + (SEPARATORS if SEPARATED.issuperset(text) else "")
        if wrong is not None:
            raise GeneratorError(
                f"`{self._program}`: `pattern.result` finds `{text}`, which is {wrong}, in: "
                f"{result.string.strip()[:200]}"
            )
        return float(re.sub(group, "", text).replace(pattern.decimal, "."))
