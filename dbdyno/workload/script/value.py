"""What a script has to know of a value of the workload file that it writes."""

from dataclasses import dataclass

from dbdyno.workload.maker_schema import SampleForm


@dataclass(frozen=True, kw_only=True)
class ScriptValue:
    """A value that a script writes: its number among the job's.

    `draws` are the numbers of what each execution draws for it at its beginning, once.
    """

    number: int
    draws: frozenset[int]
    is_text: bool
    sample: SampleForm | None
