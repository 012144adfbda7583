"""A backtest as a section of a pull-request comment."""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.fleetbacktest.result import ComparedFigures, RevisionResult, compared, limits
from gitops_dsf.show.backtest import sentences
from gitops_dsf.show.markdown import code, escaped
from gitops_dsf.wording import plural

MAX_ROWS: Final = 20
"""Upper limit of a table or a list.

The comment has a limited length, and holds the preview, too.
"""


def markdown(results: Sequence[RevisionResult], *, notes: Sequence[str] = ()) -> str:
    """The differences, then the figures in a table, then the facts that are unknown."""
    head = results[-1]
    rows: list[ComparedFigures] = []
    for row in compared(results):
        # With two revisions, a reviewer wants the difference only.
        if len(results) == 1 or row.differs:
            rows.append(row)
    lines = ["### What this would have done", "", f"{sentences.span(head)}.", ""]
    if len(results) > 1:
        lines.append(
            f"Compared with {code(results[0].side.title)}, {plural(len(rows), 'Placement')} would"
            " have decided differently."
        )
        lines.append("")
    if rows:
        lines.extend(_table(head, rows))
    lines.extend(_advice(head))
    lines.extend(_listed(sentences.ESTIMATE, list(sentences.verified(head))))
    lines.extend(_listed(sentences.ORDERS, list(sentences.ordered(head))))
    # Folded, because it is nearly the same in each comment. A forge reads Markdown inside of
    # <details> only after an empty line.
    lines.extend(["", "<details><summary>What a backtest does not know</summary>", ""])
    for key, reason in tuple(head.side.unknown.items())[:MAX_ROWS]:
        lines.append(f"- {code(key)}: {escaped(reason)}")
    for sentence in (*notes, *sentences.gaps(head), *limits(results)):
        lines.append(f"- {escaped(sentence)}")
    lines.extend(["", "</details>", ""])
    return "\n".join(lines)


def _table(head: RevisionResult, rows: Sequence[ComparedFigures]) -> Iterator[str]:
    yield "| Placement | moves | most of the time on | regret |"
    yield "|---|---|---|---|"
    for key, before, after in rows[:MAX_ROWS]:
        if after is None:
            yield f"| {code(key)} | not decided after the change | | |"
        else:
            moves = escaped(sentences.moved(after, before))
            time_on = escaped(sentences.time_on(head, key))
            yield f"| {code(key)} | {moves} | {time_on} | {sentences.regret(head, key, before)} |"
    if len(rows) > MAX_ROWS:
        yield f"\n{len(rows) - MAX_ROWS} more are in the JSON output."


def _listed(heading: str, sentences_of: Sequence[str]) -> Iterator[str]:
    """A heading with its sentences; nothing without a sentence."""
    if not sentences_of:
        return
    yield ""
    yield f"**{heading[0].upper()}{heading[1:]}**"
    yield ""
    for text in sentences_of[:MAX_ROWS]:
        yield f"- {escaped(text)}"
    if len(sentences_of) > MAX_ROWS:
        yield f"- {len(sentences_of) - MAX_ROWS} more are in the JSON output"


def _advice(head: RevisionResult) -> Iterator[str]:
    # "Keep it as it is" is for who asks at a terminal. In a comment it is one line more to read.
    changing = [key for key, advice in head.side.advice.items() if advice.changes]
    if not changing and not head.side.demands:
        return
    yield ""
    yield "**Advice**"
    yield ""
    for key in changing[:MAX_ROWS]:
        yield f"- {code(key)}: {escaped(sentences.advised(head, key))}"
        for field in sentences.advised_fields(head, key):
            yield f"  - {escaped(field)}"
    for key in tuple(head.side.demands)[:MAX_ROWS]:
        for demand in sentences.demanded(head, key):
            yield f"- {code(key)}: {escaped(demand.sentence)}"
            yield f"  - {escaped(demand.field)}"
