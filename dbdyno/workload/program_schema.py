"""Programs that make a step's load, as a workload file writes them (docs/workload.md explains)."""

from typing import Literal

from pydantic import Field

from dbdyno.model.document import Form


class PgbenchForm(Form):
    """Scripts and options of pgbench; scripts are written as on its command line, `name@weight`."""

    program: str = "newest"
    builtin: list[str] = Field(default_factory=list)
    scripts: list[str] = Field(default_factory=list)
    protocol: Literal["simple", "extended", "prepared"] = "simple"
    options: list[str] = Field(default_factory=list)


class SysbenchForm(Form):
    """The script and options of sysbench; options are written as on its command line."""

    program: str = "sysbench"
    script: str
    options: list[str] = Field(default_factory=list)


class PatternForm(Form):
    """Regular expressions for lines of a program that writes no events.

    `open` and `close` say which lines are the ends of the window, `result` has what was done in it;
    a line that `failed` matches means failure.
    """

    result: str | None = None
    open: str | None = None
    close: str | None = None
    failed: str | None = None
    decimal: Literal[".", ","] = "."
    thousands: Literal[",", ".", " ", "'", "_"] | None = None


class SuitedQueryForm(Form):
    """A captured query, as far as the data have to suit it."""

    name: str
    role: str | None = None
    names: list[str] = Field(default_factory=list)


class RestoreForm(Form):
    """A dump that makes the data; its path is from the root on."""

    path: str
    encoding: str | None = None
    locale: str | None = None
    statistics: Literal["same", "own"] = "same"
    queries: list[SuitedQueryForm] = Field(default_factory=list)
