"""Which steps belong to a sweep: the values in their names, `select-only@clients=4,rate=500`."""

from collections.abc import Mapping

CLIENTS = "clients"
"""The parameter over which an arm peaks."""
P99 = "response_p99_us"
"""The metric of the latencies that a sweep shows."""


def named(base: str, values: Mapping[str, object]) -> str:
    """What a step, or a workload, is called that has these values: `point-query@clients=4,rate=0`.

    Its plain name where there are none; `parted` takes it apart.
    """
    settings = ",".join(f"{key}={value}" for key, value in values.items())
    return f"{base}@{settings}" if settings else base


def parted(name: str) -> tuple[str, dict[str, str]]:
    """What a step, or a workload, is called without what is swept, and the values by parameter."""
    base, _, settings = name.partition("@")
    parts = [part.split("=", 1) for part in settings.split(",") if "=" in part]
    return base, {part[0]: part[1] for part in parts}


def values(name: str) -> dict[str, tuple[float, str]]:
    """By parameter the number in a step's name, and the name without it; of no sweep none."""
    base, settings = parted(name)
    numbers: dict[str, tuple[float, str]] = {}
    for key, text in settings.items():
        others = {other: value for other, value in settings.items() if other != key}
        try:
            numbers[key] = float(text), named(base, others)
        except ValueError:
            continue
    return numbers
