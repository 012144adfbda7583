"""Checks PromQL of scorers, each expression of a `;` list on its own, and the labels that dimensions need."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from dsf_wire.dimension import LABELS, PLACEHOLDERS, label_placeholders, placeholders
from dsf_wire.measures import SOURCE_TYPE, MeasureError, select
from dsf_wire.query import Part, split
from gitops_dsf.diagnostics import Diagnostic, Severity, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.promql.check import MAX_QUERY, Checked, check, tokens
from gitops_dsf.resolve.promql.labels import can_have, mixing_clauses, others
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import did_you_mean

_CODES = {
    "syntax": codes.PROMQL,
    "function": codes.UNKNOWN_FUNCTION,
    "renamed": codes.UNKNOWN_FUNCTION,
    "result": codes.RESULT_TYPE,
}


@rule()
def queries_parse(context: Context) -> Iterator[Diagnostic]:
    """Every PromQL expression must parse and return an instant vector or a scalar."""
    for scorer in context.each_type:
        for part, checked in _parsed(scorer) if scorer.spec.source.dialect == "PromQL" else []:
            for mistake in checked.mistakes:
                where = scorer.in_query(part.offset + mistake.offset)
                dotted = _dotted_name(part.text, mistake.offset) if scorer.is_pushed else ""
                hint = dotted or _other_language(part.text) or mistake.hint
                severity = Severity.WARNING if mistake.kind == "renamed" else None
                yield _CODES[mistake.kind].at(
                    where, f"PromQL: {mistake.message}", hint, severity=severity
                )
        query = scorer.spec.source.params.query
        if scorer.source_type == "Prometheus" and query and not split(query[:MAX_QUERY]):
            message = "PromQL: there is no expression in it"
            yield codes.PROMQL.at(
                scorer.at("source.params.query"), message, "write a PromQL expression"
            )
        if len(query) > MAX_QUERY:
            message = f"PromQL: more than {MAX_QUERY} characters"
            yield codes.PROMQL.at(scorer.at("source.params.query"), message, "use recording rules")


@rule()
def placeholders_are_known(context: Context) -> Iterator[Diagnostic]:
    """An unknown placeholder would stay in every item name."""
    for scorer in context.scorers.values():
        declared = scorer.declared
        template = scorer.spec.score_dimension_format
        for item in placeholders(template):
            if item.name not in PLACEHOLDERS:
                where = declared.inside(("spec", "scoreDimensionFormat"), item.offset)
                known = ", ".join(f"${{{name}}}" for name in PLACEHOLDERS)
                hint = did_you_mean(item.name, PLACEHOLDERS) or f"known: {known}"
                message = f"the placeholder ${{{item.name}}} is not known"
                yield codes.UNKNOWN_PLACEHOLDER.at(where, message, hint)
        for found in _UNFINISHED.finditer(template):
            where = declared.inside(("spec", "scoreDimensionFormat"), found.start())
            message = f"{found[0]} is not a placeholder, so it stays in every name"
            hint = f"write ${{{found[1]}}}" if found[1] else "close it with }"
            yield codes.UNKNOWN_PLACEHOLDER.at(where, message, hint)


_UNFINISHED = re.compile(rf"\$\{{?({'|'.join(PLACEHOLDERS)})\b(?!\}})|\$\{{[^}}]*$")
"""`$node` or `${node` without its closing brace."""


@rule()
def placeholders_can_be_filled(context: Context) -> Iterator[Diagnostic]:
    """A label that no expression keeps is empty in every result, unless a scoring API sets it, which only
    its author knows.

    `meta` is always set by the scoring API (docs/contributing/behaviour.md#scores-of-upstream), so it is
    reported only if there is none.
    """
    for scorer in context.each_type:
        keeps = _labels_of(scorer)
        if keeps is None:
            continue
        for item in placeholders(scorer.spec.score_dimension_format):
            name, by_query = item.name, scorer.spec.scored_by_query
            if name not in LABELS or keeps(name) or (name == "meta" and not by_query):
                continue
            code, empty = codes.UNFILLED_PLACEHOLDER, "is empty unless the scoring API sets it"
            hint = f"fine if the scoring API sets {name}; otherwise keep the label in the query"
            if by_query:
                code, empty = codes.EMPTY_PLACEHOLDER, "is always empty"
                hint = f"keep it in the query, as in sum by ({name}) (...)"
            where = scorer.declared.inside(("spec", "scoreDimensionFormat"), item.offset)
            message = f"no query keeps the label {name}: ${{{name}}} {empty}"
            yield code.at(where, message, f"{hint}, or remove the placeholder")


def _labels_of(scorer: EffectiveScorer) -> Callable[[str], bool] | None:
    """Whether the series of a query can have a label; None if that is not known."""
    if scorer.source_type == SOURCE_TYPE:
        try:
            per_node = any(
                found.measure.per_node for found in select(scorer.spec.source.params.query)
            )
        except MeasureError:
            return None
        return lambda label: per_node and label == "node"
    parsed = [checked for _, checked in _parsed(scorer)]
    if not parsed or any(checked.tree is None for checked in parsed):
        return None
    return lambda label: any(can_have(checked.tree, label) for checked in parsed)


@rule()
def series_have_items_of_their_own(context: Context) -> Iterator[Diagnostic]:
    """Of several series for one item Last takes the last, and no metric source promises an order."""
    for scorer in context.each_type:
        spec, template = scorer.spec, scorer.dimension_format
        chosen = scorer.declared.document.has(("spec", "scoreAggregation"))
        if not spec.scored_by_query or chosen or spec.score_destination == "None":
            continue
        names = [item.name for item in label_placeholders(template)]
        label = spec.source.cluster_label
        apart = [label.name] if label is not None and spec.on_hub else []
        apart += names
        for index, (offset, several) in enumerate(_differing(scorer, apart)):
            if several is False and (index == 0 or names):
                continue
            message = f"several series can have the item {template}, and the last one of the answer counts"
            hint = "write scoreAggregation: Mean, Min, Max or Sum"
            if scorer.source_type != SOURCE_TYPE:
                wanted = f" by ({', '.join(apart)}) " if apart else ""
                hint = f"aggregate them, as in avg{wanted}(...), or {hint}"
            severity = Severity.NOTICE if several is None else None
            yield codes.SERIES_SHARE_ITEM.at(
                scorer.in_query(offset), message, hint, severity=severity
            )


def _differing(scorer: EffectiveScorer, names: Sequence[str]) -> Iterator[tuple[int, bool | None]]:
    """Offset of each expression, and whether its series differ in other labels; None if not known."""
    query = scorer.spec.source.params.query
    if scorer.source_type != SOURCE_TYPE:
        trees = ((part.offset, checked.tree) for part, checked in _parsed(scorer))
        yield from ((offset, others(tree, names)) for offset, tree in trees if tree is not None)
        return
    with suppress(MeasureError):
        for part, found in zip(split(query), select(query), strict=True):
            each_resource = found.measure.resource == "extended" and found.resource is None
            yield part.offset, each_resource or (found.measure.per_node and "node" not in names)


@rule()
def hub_queries_keep_clusters_apart(context: Context) -> Iterator[Diagnostic]:
    """A query over all clusters gives each cluster a score of its own only if it never mixes their series."""
    for scorer in context.scorers.values():
        label = scorer.spec.source.cluster_label
        if not scorer.spec.on_hub or label is None:
            continue
        for part, (tree, _) in _parsed(scorer):
            mixing = (
                () if tree is None else mixing_clauses(part.text, tree, label.name, most=MAX_QUERY)
            )
            for mistake in mixing:
                where = scorer.in_query(part.offset + (mistake.offset or 0))
                yield codes.MIXED_CLUSTERS.at(where, f"PromQL: {mistake.message}", mistake.hint)


_OPERATORS_ELSEWHERE = {
    "|": "LogQL",
    **dict.fromkeys(("default", "if", "ifnot", "keep_metric_names"), "MetricsQL"),
}


def _other_language(text: str) -> str:
    """The hint for an expression with an operator of another language."""
    words = (
        word.text.lower() for word in tokens(text, most=MAX_QUERY) if word.kind in {"name", "bad"}
    )
    language = next((found for word in words if (found := _OPERATORS_ELSEWHERE.get(word))), "")
    dialect = language if language == "MetricsQL" else "Other"
    return f"if this is {language}, write source.dialect: {dialect}" if language else ""


def _dotted_name(text: str, offset: int) -> str:
    """The hint when PromQL ends at the dot of an OpenTelemetry name."""
    name = next(
        (found for found in _DOTTED.finditer(text) if found.start() <= offset < found.end()), None
    )
    if name is None or text[offset] != ".":
        return ""
    suffix = "the suffix of unit and type, such as _ratio, _bytes or _total"
    written = name[0].replace(".", "_")
    return f"Prometheus translates OpenTelemetry names: write {written}, and for metrics {suffix}"


_DOTTED = re.compile(r"[a-zA-Z_]\w*(\.\w+)+")


def _parsed(scorer: EffectiveScorer) -> list[tuple[Part, Checked]]:
    query = scorer.spec.source.params.query
    if (
        scorer.source_type != "Prometheus"
        or len(query) > MAX_QUERY
        or scorer.spec.source.dialect == "Other"
    ):
        return []
    return [(part, check(part.text)) for part in split(query)]
