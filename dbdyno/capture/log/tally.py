"""What reading a log meets beside calls: counted here, said in coverage.md."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts of what was read and could not be used."""

    records: int = 0
    torn: int = 0  # records without an end
    strange: int = 0  # lines that are no record
    bare_durations: int = 0  # a time without a text
    texts_without_time: int = 0
    texts_with_time: int = 0
    plans: int = 0
    translated: int = 0  # messages in another language
    cut_values: int = 0
    not_utf8: int = 0
    severities: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    formats: set[str] = field(default_factory=set)
    prefix: str = ""
