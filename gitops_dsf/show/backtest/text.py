"""A backtest for a terminal."""

from collections.abc import Iterator, Sequence
from typing import Final

from dsf_wire.text import printable_lines
from gitops_dsf.backtest.figures import is_short
from gitops_dsf.backtest.result import Trial
from gitops_dsf.fleetbacktest.result import RevisionResult, compared, limits
from gitops_dsf.show.backtest import sentences
from gitops_dsf.show.tables import table

_TITLES_OF_TRIALS: Final = (
    "stickiness",
    "deadband",
    "moves",
    "back and forth",
    "regret",
    "hub writes",
    "",
)


def backtest_text(results: Sequence[RevisionResult], *, notes: Sequence[str]) -> str:
    """Formats a table of Placements, then advice, then what is not known."""
    head = results[-1]
    lines = [sentences.span(head)]
    if len(results) > 1:
        lines.append(f"{results[0].side.title} compared with {head.side.title}")
    text = printable_lines(lines) + "\n" + _placements(results)
    if head.side.advice or head.side.demands:
        text += "\nadvice\n"
        for key in head.side.advice:
            text += _advice(head, key)
        text += printable_lines(_demands(head))
    text += _listed(sentences.ESTIMATE, list(sentences.verified(head)))
    text += _listed(sentences.ORDERS, list(sentences.ordered(head)))
    # Last, and never empty: a figure of the past must not be read as a promise.
    unknown = [*sentences.undecided(head), *notes, *sentences.gaps(head), *limits(results)]
    return text + _listed("what is not known", unknown)


def _listed(heading: str, lines: Sequence[str]) -> str:
    """A heading with its lines below; empty without a line."""
    if not lines:
        return ""
    return f"\n{heading}\n" + printable_lines(f"  {line}" for line in lines)


def _placements(results: Sequence[RevisionResult]) -> str:
    head = results[-1]
    # A rate of moves per day says nothing about a span of some hours.
    has_rate = not is_short(head.grid)
    rows: list[list[str]] = []
    for key, before, after in compared(results):
        if after is None:
            moves = "not decided after the change"
            rate = regret = time_on = ""
        else:
            moves = sentences.moved(after, before)
            rate = f"{after.moves_per_day or 0.0:.1f}"
            regret = sentences.regret(head, key, before)
            time_on = sentences.time_on(head, key)
        rows.append(
            [key, moves, rate, regret, time_on] if has_rate else [key, moves, regret, time_on]
        )
    if not rows:
        return "no Placement ranks by scores whose past is known\n"
    if has_rate:
        headers = ["placement", "", "a day", "regret", "most of the time on"]
        return table(headers, rows, right={2})
    return table(["placement", "", "regret", "most of the time on"], rows)


def _demands(result: RevisionResult) -> Iterator[str]:
    for key in result.side.demands:
        for demand in sentences.demanded(result, key):
            yield f"  {key}: {demand.sentence}"
            yield f"      {demand.field}"


def _advice(result: RevisionResult, key: str) -> str:
    advice = result.side.advice[key]
    lines = [f"  {key}: {sentences.advised(result, key)}"]
    for field in sentences.advised_fields(result, key):
        lines.append(f"      {field}")
    text = printable_lines(lines)
    # A table of one setting compares nothing.
    if len(advice.shown) < 2:
        return text
    rows = [_trial(trial, advice.mark(trial)) for trial in advice.shown]
    return text + table(_TITLES_OF_TRIALS, rows, right={0, 2, 3, 4, 5}, indent=6)


def _trial(trial: Trial, mark: str) -> list[str]:
    return [
        str(trial.stickiness),
        "as written" if trial.deadband is None else str(trial.deadband),
        str(trial.moves),
        str(trial.returns),
        f"{trial.regret:.1f}",
        str(trial.writes),
        mark,
    ]
