"""The keys `initdb` and `transport` of an arm: how its cluster is made, how the load reaches it."""

from __future__ import annotations

import re
from typing import get_args

from dbdyno.model import Transport, engine
from dbdyno.model.document import suggestion
from dbdyno.plan.schema import ArmForm, refusal

TRANSPORTS: tuple[Transport, ...] = get_args(Transport)
LOCALE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]*")
SEGMENT_MB_MAX = 1024
"""As `initdb --wal-segsize` takes it: a power of two from 1 to this."""


def initdb(form: ArmForm, key: str, source: str) -> dict[str, str | bool | int]:
    """The keys of `initdb` that are written. Raises PlanError."""
    if form.initdb is None:
        return {}
    if "initdb" not in engine.of(form.engine).can:
        sentence = f"no cluster of {form.engine} is made by initdb; remove it"
        raise refusal(source, f"{key}.initdb", sentence)
    locale, segment_mb = form.initdb.locale, form.initdb.wal_segment_mb
    if locale is not None and not LOCALE.fullmatch(locale):
        sentence = f'{locale!r} cannot be a locale; write it as "en_US.UTF-8" or "C"'
        raise refusal(source, f"{key}.initdb.locale", sentence)
    if segment_mb is not None and segment_mb not in powers_of_two(SEGMENT_MB_MAX):
        sentence = f"must be a power of two from 1 to {SEGMENT_MB_MAX:,}, not {segment_mb:,}"
        raise refusal(source, f"{key}.initdb.wal_segment_mb", sentence)
    return form.initdb.model_dump(exclude_none=True)


def transport(form: ArmForm, key: str, source: str) -> Transport | None:
    """How the load is to connect; None: the plan does not say it. Raises PlanError."""
    if form.transport is None:
        return None
    found = next((one for one in TRANSPORTS if one == form.transport), None)
    if found is None:
        sentence = f"no transport `{form.transport}`; {suggestion(form.transport, TRANSPORTS)}"
        raise refusal(source, f"{key}.transport", sentence)
    return found


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4 … up to `most`."""
    return [1 << shift for shift in range(most.bit_length()) if 1 << shift <= most]
