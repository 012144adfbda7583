"""Checks PromQL of scorers, each expression of a `;` list on its own."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dsf_wire.query import QueryPart, split
from gitops_dsf.diagnostics import Diagnostic, Severity, codes
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.promql.check import MAX_QUERY, QueryMistake, tokens
from gitops_dsf.resolve.promql.mixing import mixing_clauses
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer

_CODES: Final[Mapping[str, codes.FindingCode]] = {
    "syntax": codes.PROMQL,
    "function": codes.UNKNOWN_FUNCTION,
    "renamed": codes.UNKNOWN_FUNCTION,
    "result": codes.RESULT_TYPE,
}
_METRICSQL: Final = frozenset({"default", "if", "ifnot", "keep_metric_names"})
"""Operators that MetricsQL has and PromQL has not."""
_DOTTED: Final = re.compile(r"[a-zA-Z_]\w*(\.\w+)+")
"""A name as OpenTelemetry writes it."""


@rule()
def queries_parse(context: Context) -> Iterator[Diagnostic]:
    """Every PromQL expression must parse and return an instant vector or a scalar."""
    for scorer in context.each_type:
        # MetricsQL allows what PromQL refuses, so a mistake there may be none.
        if scorer.spec.source.dialect == "PromQL":
            for part, parsed in scorer.parsed_query():
                for mistake in parsed.mistakes:
                    yield _reported(scorer, part, mistake)
        query = scorer.spec.source.params.query
        # A longer query has the next finding, and is not read to its end.
        if scorer.source_type == "Prometheus" and query and not split(query[:MAX_QUERY]):
            yield codes.PROMQL.at(
                scorer.at("source.params.query"),
                "PromQL: there is no expression in it",
                "write a PromQL expression",
            )
        if len(query) > MAX_QUERY:
            yield codes.PROMQL.at(
                scorer.at("source.params.query"),
                f"PromQL: more than {MAX_QUERY} characters",
                "use recording rules",
            )


@rule()
def hub_queries_keep_clusters_apart(context: Context) -> Iterator[Diagnostic]:
    """A query over all clusters must never mix their series, or scores would be shared."""
    for scorer in context.scorers.values():
        label = scorer.spec.source.cluster_label
        if not scorer.spec.on_hub or label is None:
            continue
        for part, (tree, _) in scorer.parsed_query():
            if tree is None:
                continue
            for mistake in mixing_clauses(part.text, tree, label.name, max_tokens=MAX_QUERY):
                yield codes.MIXED_CLUSTERS.at(
                    scorer.in_query(part.offset + (mistake.offset or 0)),
                    f"PromQL: {mistake.message}",
                    mistake.hint,
                )


def _reported(scorer: EffectiveScorer, part: QueryPart, mistake: QueryMistake) -> Diagnostic:
    hint = _otel_name(part.text, mistake.offset) if scorer.is_pushed else ""
    return _CODES[mistake.kind].at(
        scorer.in_query(part.offset + mistake.offset),
        f"PromQL: {mistake.message}",
        hint or _other_language(part.text) or mistake.hint,
        # A source with Prometheus 2 still knows the old name.
        severity=Severity.WARNING if mistake.kind == "renamed" else None,
    )


def _other_language(text: str) -> str:
    """The hint for an expression with an operator of another language."""
    for token in tokens(text, limit=MAX_QUERY):
        if token.kind not in {"name", "bad"}:
            continue
        # PromQL has no such operator. LogQL joins the stages of a query by it.
        if token.text == "|":
            return "if this is LogQL, write source.dialect: Other"
        if token.text.lower() in _METRICSQL:
            return "if this is MetricsQL, write source.dialect: MetricsQL"
    return ""


def _otel_name(text: str, offset: int) -> str:
    """The hint when PromQL ends at the dot of an OpenTelemetry name."""
    for name in _DOTTED.finditer(text):
        if name.start() <= offset < name.end() and text[offset] == ".":
            translated = name[0].replace(".", "_")
            return (
                f"Prometheus translates OpenTelemetry names: write {translated}, and for metrics"
                " the suffix of unit and type, such as _ratio, _bytes or _total"
            )
    return ""
