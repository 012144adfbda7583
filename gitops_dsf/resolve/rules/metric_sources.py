"""Checks MetricSources, references to them, measures of type Kubernetes, and pushed metrics."""

from collections.abc import Iterator, Mapping
from typing import Final

from dsf_wire.headers import name_fault, value_fault
from dsf_wire.measures import MEASURES, SOURCE_TYPE, MeasureError, selection
from dsf_wire.prometheus import parameter_fault
from dsf_wire.query import split
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Path
from gitops_dsf.repository.model.config import MetricSource
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import SETTINGS, rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import did_you_mean, did_you_mean_one_of, names_text

_NAMED = 5


@rule()
def sources_exist(context: Context) -> Iterator[Diagnostic]:
    """Every MetricSource that a scorer names must exist."""
    for item in context.declared.scorers:
        ref = item.value.spec.source.ref
        if ref is None or ref in context.sources or context.declared.may_exist("MetricSource", ref):
            continue
        known = context.sources
        hint = (
            did_you_mean_one_of(ref, known)
            if known
            else "write it into config/, or write source.host"
        )
        yield codes.UNKNOWN_SOURCE.at(
            item.at("spec", "source", "ref"), f"there is no MetricSource {ref}", hint
        )


@rule(needs=("ManagedCluster", "DynamicScoringConfig"))
def sources_cover_their_clusters(context: Context) -> Iterator[Diagnostic]:
    """Every target cluster of a scorer needs a variant of its MetricSource."""
    for name, clusters in context.target_clusters.items():
        scorer = context.scorers[name]
        source = context.source_of(scorer)
        if source is None or scorer.spec.suspend:
            continue
        lacking = sorted(clusters & source.lacking)
        if lacking:
            where = "this cluster" if len(lacking) == 1 else "these clusters"
            without = f"MetricSource {source.name} has no variant for {where}"
            message = f"{name} runs on {names_text(lacking, most=_NAMED)}, and {without}"
            hint = f"add a variant to {source.item.document.file}"
            hint = f"{hint}; one without clusterSelector serves all other clusters"
            yield codes.SOURCE_LACKING.at(
                scorer.declared.at("spec", "source", "ref"), message, hint
            )


@rule(needs=("DynamicScorer",))
def sources_are_used(context: Context) -> Iterator[Diagnostic]:
    """One that no scorer names is left over. A name that does not exist may be a misspelt one."""
    used = {scorer.spec.source.ref for scorer in context.scorers.values()} - {None}
    if not used <= context.sources.keys():
        return
    for source in context.sources.values():
        if source.name not in used:
            message = f"no scorer names MetricSource {source.name}"
            hint = f"write source.ref: {source.name} into a scorer, or remove the MetricSource"
            yield codes.UNUSED_SOURCE.at(source.item.position, message, hint)


@rule()
def variants_can_match(context: Context) -> Iterator[Diagnostic]:
    """A variant after one without selector, or with the selector of an earlier one, is never used."""
    for source in context.sources.values():
        seen: dict[str, int] = {}
        rest: int | None = None
        for variant in source.variants:
            selector = variant.value.cluster_selector
            key = "" if selector is None else selector.model_dump_json()
            earlier = rest if rest is not None else seen.get(key)
            if earlier is not None:
                why = (
                    "selects every cluster" if rest is not None else "has the same clusterSelector"
                )
                message = f"variants[{variant.index}] is never used: variants[{earlier}] {why} and comes first"
                hint = "give it another clusterSelector, move it up, or remove it"
                yield codes.DEAD_VARIANT.at(source.item.at(*variant.path), message, hint)
                continue
            seen[key] = variant.index
            if selector is None or not (selector.match_labels or selector.match_expressions):
                rest = variant.index


@rule()
def headers_can_be_sent(context: Context) -> Iterator[Diagnostic]:
    """A header needs a name and a value that HTTP allows, once, and must not be one that the agent sets."""
    for variant in context.source_variants:
        seen: set[str] = set()
        for index, header in enumerate(variant.value.headers):
            path = (*variant.path, "headers", index)
            fault = name_fault(header.name)
            if fault:
                hint = _HEADER_HINTS.get(header.name.lower(), "remove it, or correct the name")
                yield codes.BAD_HEADER.at(variant.source.at(*path, "name"), fault, hint)
            elif header.name.lower() in seen:
                message = f"the header {header.name} is written twice"
                yield codes.BAD_HEADER.at(
                    variant.source.at(*path, "name"), message, "remove one of them"
                )
            seen.add(header.name.lower())
            fault = value_fault(header.value) if header.value is not None else ""
            if fault:
                message = f"the header {header.name}: {fault}"
                hint = "write printable ASCII characters on one line"
                yield codes.BAD_HEADER.at(variant.source.at(*path, "value"), message, hint)


_HEADER_HINTS: Final = {
    "authorization": "write auth.tokenSecretRef for a token, or basicAuth for a password",
    "host": "write the name into host",
}


@rule()
def parameters_can_be_sent(context: Context) -> Iterator[Diagnostic]:
    """A URL parameter needs a printable name and value, and must not be a part of the question."""
    for item, path, parameters in parameters_of(context):
        for name, value in parameters.items():
            fault = parameter_fault(name, value)
            if fault:
                hint = _PARAMETER_HINTS.get(name.lower(), "remove it, or correct it")
                yield codes.BAD_PARAMETER.at(item.document.key_at((*path, name)), fault, hint)


def parameters_of(
    context: Context,
) -> Iterator[tuple[Item[DynamicScorer] | Item[MetricSource], Path, Mapping[str, str]]]:
    """The URL parameters that people wrote, with where they are."""
    for scorer in context.declared.scorers:
        yield scorer, ("spec", "source", "parameters"), scorer.value.spec.source.parameters or {}
    for variant in context.source_variants:
        yield variant.source, (*variant.path, "parameters"), variant.value.parameters or {}


_PARAMETER_HINTS: Final = {
    "query": "write it into source.params.query",
    "start": "write source.params.range, the seconds of history",
    "end": "remove it: the agent asks for the present, and for source.params.range before it",
    "step": "write it into source.params.step",
    "time": "remove it: the agent asks for the present",
    "timeout": "remove it: --request-timeout of the agent bounds the whole request",
    "limit": "remove it, and choose series in the query, such as with topk",
}

MAX_EXPRESSIONS = 100
_EXAMPLE = "write the name of a measure, such as cpu_available_ratio; `gitops-dsf explain DSF145` lists them"
_NOT_PROMQL = (
    "write measures only, joined by `;`, such as cpu_available_ratio: PromQL is not evaluated without a"
    " Prometheus"
)


@rule()
def measures_exist(context: Context) -> Iterator[Diagnostic]:
    """Each expression of a query must be a measure."""
    for scorer in _of_kubernetes(context):
        query = scorer.spec.source.params.query
        parts = split(query)
        if query and not parts:
            position = scorer.at("source.params.query")
            yield codes.MEASURE.at(position, "there is no measure in the query", _EXAMPLE)
        if len(parts) > MAX_EXPRESSIONS:
            message = f"more than {MAX_EXPRESSIONS} measures in one query"
            yield codes.MEASURE.at(scorer.at("source.params.query"), message, "use several scorers")
            continue
        for part in parts:
            try:
                selection(part.text)
            except MeasureError as error:
                where = scorer.in_query(part.offset + error.offset)
                yield codes.MEASURE.at(
                    where, f"source type Kubernetes: {error}", _hint(error, part.text)
                )


def _hint(error: MeasureError, text: str) -> str:
    if not error.unknown or "(" in text:
        return _NOT_PROMQL
    return did_you_mean(error.unknown, MEASURES) or _EXAMPLE


@rule()
def only_present_values_are_asked(context: Context) -> Iterator[Diagnostic]:
    """Source type Kubernetes keeps no history. As one variant of several, others may need the range."""
    for scorer in _of_kubernetes(context):
        span = scorer.spec.source.params.range
        if span and scorer.variant is None and not scorer.spec.scored_by_query:
            message = f"range is {span}: source type Kubernetes has present values only"
            hint = "remove range and step, or ask a Prometheus, which keeps the past"
            yield codes.NO_HISTORY.at(scorer.at("source.params.range"), message, hint)


def _of_kubernetes(context: Context) -> Iterator[EffectiveScorer]:
    return (scorer for scorer in context.each_type if scorer.source_type == SOURCE_TYPE)


@rule(needs=(SETTINGS,))
def receivers_are_set_up(context: Context) -> Iterator[Diagnostic]:
    """A scorer that reads pushed metrics needs the receiver, whose image only the fleet's owner can name."""
    if context.is_upstream or context.repository.value.spec.agent.open_telemetry is not None:
        return
    pushed = (item for item in context.each_variant if item.is_pushed and not item.spec.on_hub)
    for position in sorted({scorer.at("source.type") for scorer in pushed}):
        message = "no receiver for OpenTelemetry metrics runs beside the agent"
        hint = (
            "write spec.agent.openTelemetry with image and collectorNamespaces into gitops-dsf.yaml"
        )
        hint = f"{hint}, or write type: Prometheus and a host"
        yield codes.RECEIVER_MISSING.at(position, message, hint)


@rule()
def receivers_need_no_more(context: Context) -> Iterator[Diagnostic]:
    """The agent asks the receiver over loopback, without credentials, and the receiver is a Prometheus."""
    for scorer in context.each_variant:
        dialect = scorer.spec.source.dialect
        if scorer.is_pushed and dialect != "PromQL":
            message = f"source.dialect is {dialect}, and the receiver is a Prometheus: it reads PromQL only"
            position = scorer.declared.at("spec", "source", "dialect")
            yield codes.RECEIVER_FIELD.at(position, message, "write PromQL, and remove dialect")
