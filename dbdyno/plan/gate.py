"""`dyno-gate.toml`: what a repository's gate asks, and what options of `dyno gate` put above it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from dbdyno.model.document import Form, read, text_of
from dbdyno.model.error import PlanError
from dbdyno.model.gate import FILE, Tolerances
from dbdyno.plan.schema import OPERATIONS_MAX, Operations

PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")
LEAST, MOST = 0.0005, 0.5
"""Of a tolerance; counts repeat to 0.02 %."""
OFF = "off"
MINUTES = 10.0
MINUTES_MIN, MINUTES_MAX = 1.0, 1440.0
WORK, TIME = "0.3%", "5%"
NUMBER = re.compile(r"\d{1,6}")


def share(text: object) -> float:
    """The share of a percentage such as `0.3%`. Raises ValueError."""
    written = PERCENT.fullmatch(text.strip()) if isinstance(text, str) else None
    value = float(written[1]) / 100 if written else 0.0
    if not LEAST <= value <= MOST:
        raise ValueError(f"must be a percentage from 0.05% to 50%, such as {WORK}, not {text}")
    return value


def share_or_off(text: object) -> float | None:
    """The same; None of `off`. Raises ValueError."""
    if text == OFF:
        return None
    try:
        return share(text)
    except ValueError as error:
        raise ValueError(f'{error}; "{OFF}" asks of work alone') from None


def number_or_off(written: object) -> int | None:
    """The number of events of an operation; None of `off`. Raises ValueError."""
    if written == OFF:
        return None
    if isinstance(written, bool) or not NUMBER.fullmatch(str(written)):
        raise ValueError(
            f'must be a whole number of an operation, such as 1, or "{OFF}", not {written}'
        )
    return int(str(written))


READERS: Mapping[str, Callable[[object], float | None]] = {
    "work": share,
    "time": share_or_off,
    "system_calls": number_or_off,
    "atomics": number_or_off,
}
"""How tolerances are read, by key."""
Share = Annotated[float, BeforeValidator(share)]
ShareOrOff = Annotated[float | None, BeforeValidator(share_or_off)]
NumberOrOff = Annotated[int | None, BeforeValidator(number_or_off)]


class GateForm(Form):
    """The keys of the file."""

    workload: str | None = None
    steps: Sequence[str] | None = Field(
        default=None, min_length=1, description="the steps to guard"
    )
    config: Sequence[str] = ()
    minutes: float | int = Field(default=MINUTES, ge=MINUTES_MIN, le=MINUTES_MAX)
    operations: Operations | None = None
    work: Share = share(WORK)
    time: ShareOrOff = share(TIME)
    system_calls: NumberOrOff = 0
    atomics: NumberOrOff = 0
    recipe: str | None = None
    cflags: str | None = None
    configure: Sequence[str] = ()

    @property
    def tolerances(self) -> Tolerances:
        """What the head may lose."""
        return Tolerances(
            work=self.work, time=self.time, system_calls=self.system_calls, atomics=self.atomics
        )


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """What the command line says above the file, as it was written; None, or empty: nothing."""

    workload: str | None = None
    steps: Sequence[str] = ()
    config: Sequence[str] = ()
    minutes: float | None = None
    operations: int | None = None
    work: str | None = None
    time: str | None = None
    system_calls: str | None = None
    atomics: str | None = None
    recipe: str | None = None
    cflags: str | None = None
    configure: Sequence[str] = ()

    def words(self) -> Iterator[str]:
        """The words of a command that says the same."""
        for key, value in vars(self).items():
            if isinstance(value, str | float | int):
                option = f"--{key.replace('_', '-')}"
                yield from (option, f"{value:g}" if isinstance(value, float) else str(value))
            elif key == "configure":
                yield from (word for option in value for word in (f"--{key}", option))
            elif value:
                yield from (f"--{key}", ",".join(value))

    def over(self, form: GateForm) -> GateForm:
        """What is asked, all in all. Raises PlanError that names the option."""
        values = {key: value for key, value in vars(self).items() if value}
        for key in [key for key in READERS if key in values]:
            try:
                values[key] = READERS[key](values[key])
            except ValueError as error:
                raise PlanError(f"--{key.replace('_', '-')}: {error}") from None
        if self.minutes is not None and not MINUTES_MIN <= self.minutes <= MINUTES_MAX:
            raise PlanError(
                f"--minutes: must be from {MINUTES_MIN:g} to {MINUTES_MAX:,g}, not {self.minutes:g}"
            )
        if self.operations is not None and not 1 <= self.operations <= OPERATIONS_MAX:
            raise PlanError(
                f"--operations: must be from 1 to {OPERATIONS_MAX:,}, not {self.operations}"
            )
        return form.model_copy(update=values)


def load(folder: Path, options: GateOptions) -> GateForm:
    """What a gate asks: the file of a folder, where it has one, and the options above it.

    Raises PlanError in one line.
    """
    path = folder / FILE
    if not path.exists():
        return options.over(GateForm())
    form = options.over(read(GateForm, text_of(path, PlanError), str(path), PlanError))
    if form.steps is None:
        raise PlanError(
            f"{path}: key `steps`: missing: name those that the gate guards, such as "
            'steps = ["point-query"]'
        )
    return form
