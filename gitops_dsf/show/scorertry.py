"""The result of `scorer try` for a terminal: counts, items, remarks, and the decisions by them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import UNSET

from dsf_wire.text import printable_lines
from gitops_dsf.show.markdown import code, escaped
from gitops_dsf.show.movechecks import check_condition
from gitops_dsf.show.tables import table
from gitops_dsf.simulator import Explanation
from gitops_dsf.views.scorertry import TryDropped, TryItem, TryOutput, UntriedScorer
from gitops_dsf.wording import names_text, plural, shortened

MAX_ITEMS: Final = 20
"""Items in the text. JSON has all."""
MAX_RAW: Final = 3
"""Raw scores of one item in the text."""
MAX_QUERY: Final = 300
"""Characters of the query in the text."""
MAX_LINE: Final = 400
"""Characters of the line of a changed scorer."""
MAX_EXPLANATIONS: Final = 10
"""Explanations in the text. JSON has all."""
_DROPPED: Final[Mapping[str, str]] = {
    "invalid": "they have no single number as their score",
    "not_finite": "their score is NaN or infinite",
    "no_cluster": "they lack the label that names the cluster",
    "no_name": "scoreDimensionFormat gives an empty name for their labels",
    "long_name": "scoreDimensionFormat gives too long a name for their labels",
    "overflow": "their aggregate is too large a number",
}
"""The meaning of the agent's reasons."""


def try_text(output: TryOutput) -> str:
    """Formats what came of the cycle."""
    runner = "the hub" if output.cluster is None else output.cluster
    lines = [f"{output.scorer} on {runner} at {output.at}; nothing is published"]
    if output.source is not None:
        lines.append(f"  source: {output.source}")
        query = " ".join((output.query or "").split())
        lines.append(f"  query: {shortened(query, max_characters=MAX_QUERY)}")
    if output.scoring is not None:
        lines.append(f"  scoring API: {output.scoring}")
    # A cycle that failed has neither results nor items, so what follows would be zeros.
    if output.failure is not None:
        failure = output.failure
        lines.append(f"  no scores: {failure.stage} failed ({failure.reason}): {failure.message}")
        if failure.hint is not None:
            lines.append(f"  {failure.hint}")
        return printable_lines(lines)
    counts = [plural(output.results, "result"), plural(len(output.items), "item")]
    if output.source is not None:
        counts.insert(0, f"{output.series} series ({output.bytes} bytes)")
    lines.append(f"  {', '.join(counts)}")
    lines += [f"  {line}" for line in _remarks(output)]
    text = printable_lines(lines)
    if output.items:
        text += f"\n{_items(output)}"
    return text + printable_lines((*_placements(output), *_verified(output)))


def changed_text(tries: Sequence[TryOutput | UntriedScorer], *, as_markdown: bool) -> str:
    """One line for each changed scorer; empty without one."""
    if not tries:
        return ""
    lines: list[str] = []
    for tried in tries:
        name = code(tried.scorer) if as_markdown else tried.scorer
        text = tried.why if isinstance(tried, UntriedScorer) else _line(tried)
        text = shortened(text, max_characters=MAX_LINE)
        lines.append(f"- {name}: {escaped(text) if as_markdown else text}")
    if as_markdown:
        lines = [*_head_of_section(tries), *lines]
    return printable_lines(lines)


def _head_of_section(tries: Iterable[TryOutput | UntriedScorer]) -> Iterator[str]:
    """The heading of a comment's section, and where the numbers are from."""
    yield "### What the changed scorers give"
    yield ""
    # In the order of the lines, each source once.
    stores: dict[str, str] = {}
    for tried in tries:
        if isinstance(tried, TryOutput) and tried.source:
            stores[tried.source] = code(tried.source)
    if stores:
        # An agent asks the source beside it, which has no series of other clusters.
        yield (
            f"One cycle of each, asked of {', '.join(stores.values())}. For a scorer of agents"
            " these are the numbers of this store, which may be those of several clusters."
        )
        yield ""


def _line(output: TryOutput) -> str:
    if output.failure is not None:
        failure = output.failure
        return f"no scores: {failure.hint or failure.message}"
    parts = [f"{output.series} series, {plural(len(output.items), 'item')}"]
    raw: list[float] = []
    values: list[int] = []
    for tried in output.items:
        values.append(tried.value)
        if tried.aggregate is not None:
            raw.append(tried.aggregate)
    if raw:
        parts.append(f"raw scores {_between(min(raw), max(raw))}")
    if values:
        parts.append(f"values {_between(min(values), max(values))}")
    clauses = [", ".join(parts)]
    if output.missing:
        clauses.append(f"no item for {plural(len(output.missing), 'cluster')}")
    clauses += map(_dropped_text, output.dropped)
    return "; ".join([*clauses, *output.notes])


def _between(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _dropped_text(dropped: TryDropped) -> str:
    """`dropped 2 results: their score is NaN or infinite`."""
    # A reason without words here is shown as metrics and logs of the agent name it.
    cause = _DROPPED.get(dropped.reason, dropped.reason)
    return f"dropped {plural(dropped.count, 'result')}: {cause}"


def _remarks(output: TryOutput) -> Iterable[str]:
    for part in output.dropped:
        yield _dropped_text(part)
    if output.first_dropped is not None:
        yield f"the first of them: {output.first_dropped}"
    for warning in output.warnings:
        yield f"the source warns: {warning}"
    if output.missing:
        yield f"no item for {plural(len(output.missing), 'cluster')}: {names_text(output.missing)}"
    for note in output.notes:
        yield f"note: {note}"


def _items(output: TryOutput) -> str:
    visible = output.items[:MAX_ITEMS]
    rows: list[tuple[str, str, str, str]] = []
    for tried in visible:
        rows.append((tried.cluster, tried.name, _raw(tried), str(tried.value)))
    text = table(("CLUSTER", "ITEM", "RAW SCORE", "VALUE"), rows, right=(3,))
    more = len(output.items) - len(visible)
    if more:
        text += f"  and {plural(more, 'more item')}; -o json lists all\n"
    return text


def _raw(item: TryItem) -> str:
    if item.aggregate is None:
        return "none (defaultScore)"
    if len(item.raw_scores) == 1:
        return f"{item.aggregate:g}"
    values = names_text([f"{value:g}" for value in item.raw_scores], max_names=MAX_RAW)
    return f"{item.aggregate:g} of {values}"


def _verified(output: TryOutput) -> Iterable[str]:
    """The moves that the scorer verifies, and what its values would say of them."""
    if output.verifies is UNSET:
        return
    yield ""
    for verified in output.verifies[:MAX_EXPLANATIONS]:
        condition = check_condition(verified.check)
        bound = verified.check.at_least
        passing: list[str] = []
        failing: list[str] = []
        for tried in output.items:
            # Without `at_least` the bound is the score before a move, which has not happened.
            if bound is None or tried.name != verified.check.dimension:
                continue
            if tried.value < bound:
                failing.append(f"{tried.cluster} ({tried.value})")
            else:
                passing.append(tried.cluster)
        if failing:
            yield (
                f"verifies moves of {verified.placement}: {condition}; it would fail on"
                f" {names_text(failing)}"
            )
        elif passing:
            yield (
                f"verifies moves of {verified.placement}: {condition}; it would hold on"
                f" {names_text(passing)}"
            )
        else:
            yield f"verifies moves of {verified.placement}: {condition}"
    more = len(output.verifies) - MAX_EXPLANATIONS
    if more > 0:
        yield f"and {plural(more, 'more check')}; -o json lists all"


def _placements(output: TryOutput) -> Iterable[str]:
    if not output.ranked_by:
        return
    yield ""
    if not output.explanations:
        yield (
            f"ranks by it: {names_text(output.ranked_by)}; with --scores, --state-branch or"
            " --context this also says what these values would decide"
        )
        return
    for explanation in output.explanations[:MAX_EXPLANATIONS]:
        yield f"{explanation.placement}, cluster {explanation.cluster}: {_outcome(explanation)}"
        yield f"  {explanation.reason}"
        nearest = explanation.nearest
        if nearest is not None:
            yield f"  the decision about it changes if {nearest}"
    more = len(output.explanations) - MAX_EXPLANATIONS
    if more > 0:
        yield f"and {plural(more, 'more explanation')}; -o json has all"


def _outcome(explanation: Explanation) -> str:
    if explanation.selected is None:
        return "not decided"
    return "would be selected" if explanation.selected else "would not be selected"
