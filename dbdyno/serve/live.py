"""The live page of a result: how a plan stands, pushed while it runs by server-sent events."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, replace
from types import SimpleNamespace

from starlette.concurrency import run_in_threadpool

from dbdyno.findings.answer import show as answer
from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Comparison, Json
from dbdyno.model.error import DynoError
from dbdyno.model.metric.primary import CPU, called, is_second
from dbdyno.model.verdict import Judgement
from dbdyno.parts import cells, colors, looks, number, undisturbed
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.report.render import html
from dbdyno.serve import listing
from dbdyno.serve.folders import ListedResult
from dbdyno.serve.frame import Frame
from dbdyno.serve.judged import JudgedResults
from dbdyno.serve.watch import ResultWatch, WatchState

LOOK_S = 1.0
"""Between two looks at the files."""
ALIVE_S = 15.0
"""After so long without news a line is sent all the same, so that nobody between hangs up."""
EVIDENCE = (
    "Until the next look nothing here is a verdict: a ratio that is read again and again while it "
    "moves errs more often than one that is read at looks."
)


def page(frame: Frame, judged: JudgedResults, result: ListedResult) -> str:
    """The page as it stands now; its script takes what comes then."""
    sight = ResultWatch().look(result)
    body = frame.filled(
        "live.html.j2",
        result=result,
        rates=rates(result, sight),
        state=state(frame, result, sight),
        pulse=pulse(sight),
        evidence=evidence(frame, judged, result),
    )
    return frame.page(result.plan, body, at="live", result=result, scripts=("live.js",))


async def events(
    frame: Frame, judged: JudgedResults, find: Callable[[], ListedResult | None]
) -> AsyncIterator[str]:
    """Server-sent events: `state`, `pulse`, `rates`, `evidence`, each when it has changed.

    Ends where the result is gone.
    """
    watch, sent, quiet = ResultWatch(), dict[str, str](), time.monotonic()
    judging: asyncio.Task[str] | None = None
    while (result := await run_in_threadpool(find)) is not None:
        news: dict[str, str] = {}
        try:
            sight = await run_in_threadpool(watch.look, result)
            news = {
                "state": state(frame, result, sight),
                "pulse": pulse(sight),
                "rates": json.dumps(rates(result, sight)),
            }
        except (DynoError, OSError):
            pass  # a file of it is being replaced; the next look has it
        if judging is not None and judging.done():
            news["evidence"] = judging.result()
        if judging is None or judging.done():  # it may take long, and the rest goes on meanwhile
            judging = asyncio.create_task(run_in_threadpool(evidence, frame, judged, result))
        for name in [name for name in news if sent.get(name) != news[name]]:
            yield event(name, news[name])
            quiet = time.monotonic()
        sent |= news
        if time.monotonic() - quiet > ALIVE_S:
            yield ": nothing new\n\n"
            quiet = time.monotonic()
        await asyncio.sleep(LOOK_S)


def event(name: str, text: str) -> str:
    """A server-sent event."""
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n"


# --- What is said ------------------------------------------------------------------------------


def state(frame: Frame, result: ListedResult, sight: WatchState) -> str:
    """The running block, and each arm's state in its steps, as markup."""
    return frame.filled(
        "live_state.html.j2", result=result, sight=sight, blocks=listing.blocks(result)
    )


def pulse(sight: WatchState) -> str:
    """Whether it runs, and when something was written last."""
    ago = max(0, round(time.time() - sight.written_s))
    if sight.state == "complete":
        return f"complete, {listing.day(sight.written_s)} UTC"
    unit = f"{ago} s" if ago < 120 else number.minutes(ago / 60)
    return f"{sight.state}; last written {unit} ago"


def rates(result: ListedResult, sight: WatchState) -> Json | None:
    """The figures that the page's script draws."""
    if sight.rates is None:
        return None
    drawn = asdict(sight.rates)
    for line in drawn["lines"]:
        line["place"] = result.arms.index(line["arm"]) % 8
        line["last"] = number.number(line["points"][-1][1]) if line["points"] else ""
    return drawn


def evidence(frame: Frame, judged: JudgedResults, result: ListedResult) -> str:
    """The last look's verdicts, and between looks what is known so far, as markup."""
    if not result.complete:
        return frame.filled(
            "evidence.html.j2", said="No block is complete yet.", table=None, answers=()
        )
    try:
        comparison = judged.so_far(result)
    except DynoError as error:
        return frame.filled("evidence.html.j2", said=str(error), table=None, answers=())
    table = of_steps(comparison)
    taken = comparison.looked is not None and comparison.looked.taken
    return frame.filled(
        "evidence.html.j2",
        answers=answer.parts(comparison) if taken else (),
        said=looks.sentence(comparison),
        table=table if table.rows else None,
        page=SimpleNamespace(arms=comparison.arms),
        titles=html.Titles(),
    )


def of_steps(comparison: Comparison) -> Table:
    """A row for each step and arm: the word of the last look, and the figures of all blocks."""
    sure = colors.trusted(comparison.calibration, comparison.aims)
    taken = comparison.looked is not None and bool(comparison.looked.taken)
    judged = (cell.verdict for step in comparison.steps for cell in step.cells if cell.verdict)
    beside = undisturbed.head(each for verdict in judged for each in verdict.judgements)
    rows = []
    for step in comparison.steps:
        for cell in step.cells[1:]:
            if cell.verdict is None:
                continue
            word = TableCell(text="no look yet", tone="quiet")
            if taken:
                said = verdicts.said(cell.verdict, sure)
                word = TableCell(text=said, tone=colors.tone(cell.verdict, sure))
            figures = (
                figure(verdicts.primary(cell.verdict, second), beside) for second in (False, True)
            )
            name = TableCell(text=step.step)
            rows.append(
                Row.of(
                    name,
                    cell.arm,
                    word,
                    *figures,
                    group=step.workload,
                    arm=cell.arm if len(comparison.arms) > 2 else None,
                )
            )
    return Table(
        name="evidence-table",
        title=f"Against {comparison.base}, {number.blocks(comparison.blocks)} so far",
        columns=Column.heads(
            "step",
            Column(text="arm", left=True),
            Column(text="at the last look", left=True),
            Column(text="throughput", group="all blocks so far"),
            Column(
                text=f"{beside} per operation" if beside == called(CPU) else beside,
                group="all blocks so far",
            ),
        ),
        rows=tuple(rows),
        look="verdicts inline",
        note=EVIDENCE,
    )


def figure(judgement: Judgement | None, beside: str) -> TableCell:
    """A ratio with its interval by all blocks so far, without a word."""
    if judgement is None or not judgement.blocks:
        return TableCell(text="")
    so_far = judgement.so_far
    cell = cells.change_cell(so_far.value, so_far.low, so_far.high)
    if is_second(judgement.metric):
        return replace(cell, text=undisturbed.labelled(cell.text, judgement, beside))
    return cell
