"""The text of `gitops-dsf backtest`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dsf_wire.text import printable_lines
from gitops_dsf.cli.terminal import table

if TYPE_CHECKING:
    from gitops_dsf.views.backtest.build import Result


def backtest_text(results: "Sequence[Result]", *, notes: Sequence[str] = ()) -> str:
    """A table of Placements, then advice, then what is not known."""
    from gitops_dsf.views.backtest.build import LIMITS
    from gitops_dsf.views.backtest.sentences import comparisons, demanded, gaps, moved, regret, span, time_on

    head = results[-1]
    compared = [f"{results[0].side.title} compared with {head.side.title}"] if len(results) > 1 else []
    text = printable_lines((span(head), *compared))
    rows = []
    for key, before, after in comparisons(results):
        if after is None:
            rows.append([key, "not decided after the change", "", "", ""])
            continue
        rows.append(
            [
                key,
                moved(after, before),
                f"{after.moves_per_day:.1f}",
                regret(head, key, before),
                time_on(head, key),
            ]
        )
    if rows:
        text += "\n" + table(["placement", "", "a day", "regret", "most of the time on"], rows, right={2})
    else:
        text += "\nno Placement ranks by scores whose past is known\n"
    if head.side.advice or head.side.demands:
        text += "\nadvice\n" + "".join(_advice(head, key) for key in head.side.advice)
        text += printable_lines(
            line
            for key in head.side.demands
            for said, place in demanded(head, key)
            for line in (f"  {key}: {said}", f"      {place}")
        )
    unknown = [f"{key}: {why}" for key, why in head.side.unknown.items()]
    open_questions = (*unknown, *notes, *gaps(head), *LIMITS)
    return text + "\nwhat is not known\n" + printable_lines(f"  {line}" for line in open_questions)


def _advice(result: "Result", key: str) -> str:
    from gitops_dsf.views.backtest.sentences import advised, places

    item = result.side.advice[key]
    text = printable_lines(
        (f"  {key}: {advised(result, key)}", *(f"      {place}" for place in places(result, key)))
    )
    if len(item.shown) < 2:
        return text
    rows = [
        [
            str(each.stickiness),
            "as written" if each.deadband is None else str(each.deadband),
            str(each.moves),
            str(each.returns),
            f"{each.regret:.1f}",
            str(each.writes),
            item.mark(each),
        ]
        for each in item.shown
    ]
    return text + table(
        ["stickiness", "deadband", "moves", "back and forth", "regret", "hub writes", ""],
        rows,
        right={0, 2, 3, 4, 5},
        indent=6,
    )
