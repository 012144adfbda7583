"""A backtest as a section of a pull-request comment."""

from collections.abc import Sequence

from gitops_dsf.views.backtest.build import LIMITS, Result
from gitops_dsf.views.backtest.sentences import (
    advised,
    comparisons,
    demanded,
    differs,
    gaps,
    moved,
    places,
    regret,
    span,
    time_on,
)
from gitops_dsf.views.markdown import code, escaped
from gitops_dsf.wording import plural

MOST_ROWS = 20


def markdown(results: Sequence[Result], *, notes: Sequence[str] = ()) -> str:
    """What would have changed, then the figures in a table, then what is not known."""
    head = results[-1]
    lines = ["### What this would have done", "", f"{span(head)}.", ""]
    rows = [
        (key, before, after)
        for key, before, after in comparisons(results)
        if len(results) == 1 or differs(before, after)
    ]
    if len(results) > 1:
        changed = f"{plural(len(rows), 'Placement')} would have decided differently"
        lines += [f"Compared with {code(results[0].side.title)}, {changed}.", ""]
    if rows:
        lines += ["| Placement | moves | most of the time on | regret |", "|---|---|---|---|"]
    for key, before, after in rows[:MOST_ROWS]:
        if after is None:
            lines.append(f"| {code(key)} | not decided after the change | | |")
        else:
            moves, most = escaped(moved(after, before)), escaped(time_on(head, key))
            lines.append(f"| {code(key)} | {moves} | {most} | {regret(head, key, before)} |")
    if len(rows) > MOST_ROWS:
        lines.append(f"\n{len(rows) - MOST_ROWS} more are in the JSON output.")
    changing = [key for key, item in head.side.advice.items() if item.changes]
    if changing or head.side.demands:
        lines += ["", "**Advice**", ""]
        for key in changing[:MOST_ROWS]:
            lines.append(f"- {code(key)}: {escaped(advised(head, key))}")
            lines += [f"  - {escaped(place)}" for place in places(head, key)]
        for key in [*head.side.demands][:MOST_ROWS]:
            for said, place in demanded(head, key):
                lines += [f"- {code(key)}: {escaped(said)}", f"  - {escaped(place)}"]
    open_questions = [f"{code(key)}: {escaped(why)}" for key, why in head.side.unknown.items()]
    lines += ["", "<details><summary>What a backtest does not know</summary>", ""]
    lines += [f"- {text}" for text in open_questions[:MOST_ROWS]]
    lines += [f"- {escaped(text)}" for text in (*notes, *gaps(head), *LIMITS)]
    return "\n".join([*lines, "", "</details>", ""])
