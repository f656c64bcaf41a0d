"""The rows that tell of sweeps: which values steps have, and where arms peak."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.model import Comparison, Json, Ratio
from dbdyno.model.sweep import Peak, Sweep, parted


def values(comparison: Comparison) -> Iterator[Json]:
    """A row for each value in the name of a step, or of its workload."""
    for step in comparison.steps:
        place: Json = {"workload": step.workload, "ordinal": step.ordinal, "step": step.step}
        sweep, own = parted(step.step)
        for key, text in {**parted(step.workload)[1], **own}.items():
            yield place | {
                "sweep": sweep,
                "parameter": key,
                "parameter_value": _number(text),
                "parameter_text": text,
            }


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def peaks(comparison: Comparison) -> Iterator[Json]:
    """A row for each arm of each sweep that peaks."""
    for sweep in comparison.sweeps:
        for peak in sweep.peaks:
            yield _peak(peak, sweep, comparison.base)


def _peak(peak: Peak, sweep: Sweep, base: str) -> Json:
    return {
        "workload": sweep.workload,
        "sweep": sweep.title,
        "base": base,
        "arm": peak.arm,
        "blocks": peak.blocks,
        "clients": peak.clients,
        "fewest": peak.fewest,
        "most": peak.most,
        **_figures(peak.throughput, ("peak", "peak_low", "peak_high")),
        **_figures(peak.by_base, ("ratio", "low", "high")),
        **_figures(peak.drop, ("drop_factor", "drop_factor_low", "drop_factor_high")),
        **_figures(peak.drop_by_base, ("drop_ratio", "drop_ratio_low", "drop_ratio_high")),
        "stood_still": peak.stood_still,
        "limited": bool(peak.limited),
    }


def _figures(ratio: Ratio | None, names: tuple[str, str, str]) -> Json:
    found = (None,) * 3 if ratio is None else (ratio.value, ratio.low, ratio.high)
    return dict(zip(names, found, strict=True))
