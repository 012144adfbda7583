"""The results of a backtest, for a terminal."""

from collections.abc import Iterator, Sequence

from dsf_wire.text import printable_lines
from gitops_dsf.backtest.figures import is_short
from gitops_dsf.fleetbacktest.comparison import RevisionResult, limits
from gitops_dsf.show.backtest import sentences
from gitops_dsf.show.tables import table


def backtest_text(results: Sequence[RevisionResult], *, notes: Sequence[str]) -> str:
    """Formats a table of Placements, then advice, then what is not known."""
    head = results[-1]
    lines = [sentences.span(head)]
    if len(results) > 1:
        lines.append(f"{results[0].side.title} compared with {head.side.title}")
    text = f"{printable_lines(lines)}\n{_placements(results)}"
    if head.side.advice or head.side.demands:
        text += "\nadvice\n"
        for key in head.side.advice:
            text += _advice(head, key)
        text += printable_lines(_demands(head))
    unknown = [f"  {key}: {reason}" for key, reason in head.side.unknown.items()]
    unknown += [f"  {note}" for note in (*notes, *sentences.gaps(head), *limits(results))]
    return f"{text}\nwhat is not known\n{printable_lines(unknown)}"


def _placements(results: Sequence[RevisionResult]) -> str:
    head = results[-1]
    # A rate of moves per day says nothing about a span of some hours.
    has_rate = not is_short(head.grid)
    rows = []
    for key, before, after in sentences.comparisons(results):
        if after is None:
            cells = ["not decided after the change", "", "", ""]
        else:
            rate = f"{after.moves_per_day or 0.0:.1f}"
            regret = sentences.regret(head, key, before)
            cells = [sentences.moved(after, before), rate, regret, sentences.time_on(head, key)]
        rows.append([key, *cells] if has_rate else [key, cells[0], *cells[2:]])
    if not rows:
        return "no Placement ranks by scores whose past is known\n"
    if has_rate:
        headers = ["placement", "", "a day", "regret", "most of the time on"]
        return table(headers, rows, right={2})
    return table(["placement", "", "regret", "most of the time on"], rows)


def _demands(result: RevisionResult) -> Iterator[str]:
    for key in result.side.demands:
        for demand, place in sentences.demanded(result, key):
            yield f"  {key}: {demand}"
            yield f"      {place}"


def _advice(result: RevisionResult, key: str) -> str:
    advice = result.side.advice[key]
    places = [f"      {place}" for place in sentences.places(result, key)]
    text = printable_lines((f"  {key}: {sentences.advised(result, key)}", *places))
    if len(advice.shown) < 2:
        return text
    headers = ["stickiness", "deadband", "moves", "back and forth", "regret", "hub writes", ""]
    rows = []
    for trial in advice.shown:
        deadband = "as written" if trial.deadband is None else str(trial.deadband)
        regret = f"{trial.regret:.1f}"
        counts = [str(trial.moves), str(trial.returns), regret, str(trial.writes)]
        rows.append([str(trial.stickiness), deadband, *counts, advice.mark(trial)])
    return text + table(headers, rows, right={0, 2, 3, 4, 5}, indent=6)
