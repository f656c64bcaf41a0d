"""An estimate as plain values: its keys in JSON are its columns in exports."""

from dbdyno.model import Json, PairedEstimate
from dbdyno.model.verdict import Judgement

_FIELDS = ("value", "low", "high", "blocks", "kind", "se", "freedom", "basis", "bound", "apart")
_SAID = (
    "fills", "p", "p_sign", "q", "sd", "margin", "within_margin", "reason", "lent", "own_low",
    "own_high", "visible", "blocks_needed", "minutes_needed", "stood_still",
    "base_stood_still", "p_still",
)  # fmt: skip

ESTIMATE = """estimate | number  | | arm beside base: ratio or difference, by the verdict's look
    low      | number  | | lower end of its 95 % interval; null with one block
    high     | number  | | upper end of its 95 % interval
    blocks   | integer | | blocks that it is of
    kind     | text    | | ratio, or difference of what adds up or is 0 in a block
    se       | number  | | standard error of the ratio's logarithm, or of the difference
    freedom  | number  | | degrees of freedom of that
    basis    | text    | | look: of the look behind the verdict; all blocks
    bound    | text    | | exact, at least, at most or unknown
    apart    | boolean | | whether the arms' own figures are of other blocks, or of no look"""
"""The columns of an estimate in exports."""


def of_estimate(estimate: PairedEstimate | None) -> Json:
    """What stands beside the base; without an estimate of no block."""
    if estimate is None:
        return {"estimate": None} | dict.fromkeys(_FIELDS[1:]) | {"blocks": 0}
    return {"estimate": estimate.value} | {name: getattr(estimate, name) for name in _FIELDS[1:]}


def of_judgement(judgement: Judgement | None) -> Json:
    """What is said of a metric beside its estimate; without a judgement nothing."""
    look = None if judgement is None else judgement.look
    so_far = None if judgement is None or judgement.look is None else judgement.so_far
    return {
        "verdict": None if judgement is None else judgement.word,
        **{name: getattr(judgement, name, None) for name in _SAID},
        "look_blocks": None if look is None else look.blocks,
        "look_share": None if look is None else look.share,
        "so_far_estimate": None if so_far is None else so_far.value,
        "so_far_low": None if so_far is None else so_far.low,
        "so_far_high": None if so_far is None else so_far.high,
    }
