"""When a farm raises an alarm: one error budget over all steps, metrics, branches and nights. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.farm.chain import Alarm, Budget, Reading


def judge(readings: Sequence[Reading], budget: Budget) -> list[Alarm]:
    """All alarms that these readings have raised, in the order of the readings.

    `readings`: all of the farm, from its first night on. A series begins anew after a sure alarm.
    An alarm of a head's first reading that its repetitions did not bear out is not in the list; so
    what the list has of the last head, and `sure` of it, says what is to be done now.
    """
    raise NotImplementedError(f"{len(readings)} readings, {budget}")
