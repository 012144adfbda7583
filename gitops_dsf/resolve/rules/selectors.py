"""Checks label selectors: whether Kubernetes accepts them, and whether they match a cluster; and the shape of
documents that are copied into the output. Any is possible there, and a wrong one is a finding.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pydantic.alias_generators import to_camel

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Edit, Severity, codes
from gitops_dsf.hub.selectors import OPERATORS, label_key_error, label_value_error
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.base import Authored, LabelSelector
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.repository import ROLLOUT_FIELDS
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS, rule
from gitops_dsf.wording import did_you_mean, shortened

_ROLLOUT: Path = ("spec", "agent", "rollout")


_LATER = (
    "; if clusters join later, write allowUnmatchedSelectors: true below spec in gitops-dsf.yaml"
)
IF_MEANT = {Severity.ERROR: _LATER, Severity.WARNING: ""}
"""What to write if nothing is wrong."""


@rule()
def selectors_are_valid(context: Context) -> Iterator[Diagnostic]:
    """Checks operators, keys and values of every selector.

    Neither OCM's CRDs nor ours check these, and one invalid selector breaks the whole hub
    (docs/contributing/behaviour.md#invalid-selectors).
    """
    declared = context.declared
    items: tuple[Item[Authored], ...] = (
        *(() if declared.repository is None else (declared.repository,)),
        *(
            *declared.scorers,
            *declared.metric_sources,
            *declared.scoring_configs,
            *declared.maintenance,
        ),
        *(*declared.cluster_sets, *declared.rankings),
    )
    for item in items:
        for place in _selectors(item.value, ()):
            yield from invalid(item.document, place, value_at(item.document.data, place))


@rule(needs=(CLUSTERS, "FleetRepository", "ManagedCluster"))
def scorer_selectors_find_clusters(context: Context) -> Iterator[Diagnostic]:
    """A scorer whose selector matches no cluster runs nowhere."""
    for scorer in context.scorers.values():
        selector = scorer.spec.cluster_selector
        if selector is not None and not context.inventory.selected(selector):
            document, place = scorer.declared.document, ("spec", "clusterSelector")
            found = _none(context, selector, document, place, f"{scorer.name} runs nowhere")
            yield replace(
                found, hint=found.hint + IF_MEANT[context.unmatched], severity=context.unmatched
            )


@rule(needs=(CLUSTERS, SETTINGS, "ManagedCluster"))
def service_monitors_find_clusters(context: Context) -> Iterator[Diagnostic]:
    """A ServiceMonitor whose selector matches no cluster is rendered nowhere."""
    monitor = context.settings.agent.service_monitor
    selector = monitor.cluster_selector if monitor is not None else None
    if selector is not None and not context.inventory.selected(selector):
        place: Path = ("spec", "agent", "serviceMonitor", "clusterSelector")
        effect = "no cluster gets the ServiceMonitor"
        yield _none(context, selector, context.repository.document, place, effect)


@rule(needs=(CLUSTERS, SETTINGS, "ManagedCluster"))
def rollouts_find_clusters(context: Context) -> Iterator[Diagnostic]:
    """An entry of spec.agent.rollout must select a cluster, and each of its fields must count on one."""
    repository = context.repository
    taken = {name: set[str]() for name in ROLLOUT_FIELDS}
    for index, entry in enumerate(repository.value.spec.agent.rollout):
        selected = context.inventory.selected(entry.cluster_selector)
        place = (*_ROLLOUT, index, "clusterSelector")
        if not selected:
            effect = "the entry has no effect"
            yield _none(context, entry.cluster_selector, repository.document, place, effect)
            continue
        dead = [name for name in entry.changed if selected <= taken[name]]
        if dead:
            fields = " and ".join(to_camel(name) for name in dead)
            message = f"earlier entries set {fields} for all of its clusters: it has no effect here"
            hint = (
                "move the entry up, give it another clusterSelector, or remove what has no effect"
            )
            yield codes.DEAD_ROLLOUT.at(repository.document.key_at(place), message, hint)
        for name in entry.changed:
            taken[name] |= selected


def invalid(
    document: Document, place: Path, selector: Mapping[str, Any] | None
) -> Iterator[Diagnostic]:
    """Yields every mistake of one selector whose shape is right."""
    selector = selector or {}
    for key, value in (selector.get("matchLabels") or {}).items():
        where = (*place, "matchLabels", key)
        if not label_key(key):
            message = f"{shortened(key) or 'an empty key'} is not a label key"
            yield codes.BAD_SELECTOR.at(document.key_at(where), message, KEY_RULE)
        yield from _value(document, where, value)
    for index, term in enumerate(selector.get("matchExpressions") or ()):
        yield from _term(document, (*place, "matchExpressions", index), term)


def _term(document: Document, place: Path, term: Mapping[str, Any]) -> Iterator[Diagnostic]:
    key, operator, values = term["key"], term["operator"], term.get("values") or []
    if not label_key(key):
        message = f"{shortened(key or 'an empty key')} is not a label key"
        yield codes.BAD_SELECTOR.at(document.at((*place, "key")), message, KEY_RULE)
    where = (*place, "operator")
    if operator not in OPERATORS:
        message = (
            f"the operator {operator} does not exist" if operator else "the operator is missing"
        )
        hint = f"write {', '.join(OPERATORS[:-1])} or {OPERATORS[-1]}"
        yield codes.BAD_SELECTOR.at(document.at(where), message, hint)
        return
    if operator in {"In", "NotIn"} and not values:
        message = f"{operator} needs at least one value"
        yield codes.BAD_SELECTOR.at(document.at(where), message, "write values: [a, b]")
    if operator in {"Exists", "DoesNotExist"} and values:
        message, hint = f"{operator} takes no values", "remove values, or write operator: In"
        yield codes.BAD_SELECTOR.at(document.key_at((*place, "values")), message, hint)
    for index, value in enumerate(values):
        yield from _value(document, (*place, "values", index), value)


def _value(document: Document, place: Path, value: str | None) -> Iterator[Diagnostic]:
    if value is None or not label_value(value):
        shown = "an empty value" if value is None else shortened(value)
        yield codes.BAD_SELECTOR.at(document.at(place), f"{shown} is not a label value", VALUE_RULE)


def _selectors(value: object, path: Path) -> Iterator[Path]:
    """The paths of all label selectors in an object."""
    if isinstance(value, LabelSelector):
        yield path
    elif isinstance(value, Authored):
        for name, field in type(value).model_fields.items():
            yield from _selectors(getattr(value, name), (*path, field.alias or name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _selectors(item, (*path, index))


@lru_cache(maxsize=4096)
def label_key(key: str) -> bool:
    """Kubernetes' rule for label keys: an optional DNS prefix, and a name of at most 63 characters."""
    return label_key_error(key) is None


@lru_cache(maxsize=4096)
def label_value(value: str) -> bool:
    """Kubernetes' rule: empty, or at most 63 characters of letters, digits, '-', '_' and '.'."""
    return value.isascii() and label_value_error(value) is None


KEY_RULE = "a key is at most 63 letters, digits, '-', '_' and '.', with an optional domain and '/' before it"
VALUE_RULE = "a value is at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or digit"


def _none(
    context: Context, selector: LabelSelector, document: Document, place: Path, effect: str
) -> Diagnostic:
    message = f"no cluster of the inventory has these labels: {effect}"
    hint = _closest(context, selector) or "correct the labels, or label the clusters"
    return codes.MATCHES_NOTHING.at(document.key_at(place), message, hint)


def _closest(context: Context, selector: LabelSelector) -> str:
    """Names the term that matches nothing on its own; among several it is usually the misspelt one."""
    for key, value in selector.match_labels.items():
        values = context.inventory.values(key)
        if not values:
            return f"no cluster has the label {key}"
        if value not in values:
            return f"the label {key} has these values: {', '.join(values[:6])}"
    return ""


def misfits(document: Document, schema: fields.Schema, *place: str | int) -> Iterator[Diagnostic]:
    """What an API server with the CRDs of Argo CD and OCM would refuse or drop, at any depth."""
    for problem in fields.problems(schema, value_at(document.data, place), place):
        where = problem.path
        if problem.kind is fields.Kind.WRONG:
            yield _wrong(document, where, problem.expected, problem.known)
        elif problem.kind is fields.Kind.UNKNOWN:
            name = str(where[-1])
            hint = (
                did_you_mean(name, problem.known)
                or f"known here: {', '.join(sorted(problem.known))}"
            )
            message = f"{name} is not a field of {dotted(where[:-1])}"
            yield codes.UNKNOWN_FIELD.at(document.key_at(where), message, hint)
        else:
            message = f"{dotted(where)} is missing: the API server refuses the object"
            yield codes.MISSING_FIELD.at(document.at(where), message, f"add {where[-1]}")


def _wrong(document: Document, place: Path, expected: str, known: Collection[str]) -> Diagnostic:
    hint, written = "", document.written(place)
    edits: tuple[Edit, ...] = ()
    if expected == "a whole number" and re.fullmatch(r"0|[1-9][0-9]{0,17}", written):
        hint, edits = "remove the quotes", (Edit(place, value=int(written)),)
    elif expected == "text" and written and value_at(document.data, place) is not None:
        hint, edits = f'quote it: "{written}"', (Edit(place, value=written),)
    elif expected == "a list" and written:
        hint = f"write [{written}]"
    elif expected.startswith("one of "):
        value = str(value_at(document.data, place))
        hint = did_you_mean(value, expected.removeprefix("one of ").split(", "))
    elif known:
        hint = f"its fields are {', '.join(sorted(known))}"
    message = f"{dotted(place)} must be {expected}"
    return codes.PLACEMENT_SHAPE.at(document.at(place), message, hint, edits=edits)
