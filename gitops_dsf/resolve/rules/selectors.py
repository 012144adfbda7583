"""Checks label selectors: whether Kubernetes accepts them, and whether they match a cluster."""

from collections.abc import Iterator
from functools import cache
from typing import Final, get_args

from pydantic.alias_generators import to_camel

from gitops_dsf.diagnostics import Diagnostic, Severity, codes
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.agent import ROLLOUT_FIELDS
from gitops_dsf.repository.model.base import Authored, LabelSelector
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.label_selectors import invalid
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS, rule

_ROLLOUT: Final[FieldPath] = ("spec", "agent", "rollout")


@rule()
def selectors_are_valid(context: Context) -> Iterator[Diagnostic]:
    """Checks operators, keys and values of every selector.

    Neither OCM's CRDs nor ours check these, and one invalid selector breaks the whole hub
    (docs/contributing/behaviour.md#invalid-selectors).
    """
    declared = context.declared
    repository = () if declared.repository is None else (declared.repository,)
    # Copied Placements and ApplicationSets are plain data. Their own rules check their selectors.
    objects: tuple[Item[Authored], ...] = (
        *repository,
        *declared.scorers,
        *declared.metric_sources,
        *declared.scoring_configs,
        *declared.maintenance,
        *declared.cluster_sets,
        *declared.rankings,
    )
    for owner in objects:
        document = owner.document
        for path in _selectors(owner.value, ()):
            yield from invalid(document, path, value_at(document.data, path))


@rule(needs=(CLUSTERS, "FleetRepository", "ManagedCluster"))
def scorer_selectors_find_clusters(context: Context) -> Iterator[Diagnostic]:
    """A scorer whose selector matches no cluster runs nowhere."""
    for scorer in context.scorers.values():
        selector = scorer.spec.cluster_selector
        if selector is None or context.inventory.selected(selector):
            continue
        term = _hint(context, selector)
        hint = term
        # Only who sees an error needs to know how to make it a warning.
        if context.unmatched is Severity.ERROR:
            hint = (
                f"{term}; if clusters join later, write allowUnmatchedSelectors: true below spec in"
                " gitops-dsf.yaml"
            )
        yield codes.MATCHES_NOTHING.at(
            scorer.declared.document.key_at(("spec", "clusterSelector")),
            f"no cluster of the inventory has these labels: {scorer.name} runs nowhere",
            hint,
            severity=context.unmatched,
        )


@rule(needs=(CLUSTERS, SETTINGS, "ManagedCluster"))
def service_monitors_find_clusters(context: Context) -> Iterator[Diagnostic]:
    """A ServiceMonitor whose selector matches no cluster is rendered nowhere."""
    monitor = context.settings.agent.service_monitor
    if monitor is not None:
        yield from _no_cluster_gets(
            context,
            "serviceMonitor",
            monitor.cluster_selector,
            "no cluster of the inventory has these labels: no cluster gets the ServiceMonitor",
        )


@rule(needs=(CLUSTERS, SETTINGS, "ManagedCluster"))
def remote_write_finds_clusters(context: Context) -> Iterator[Diagnostic]:
    """Finds a remoteWrite selector that matches no cluster: no raw score reaches the store."""
    writing = context.settings.agent.remote_write
    if writing is not None:
        yield from _no_cluster_gets(
            context,
            "remoteWrite",
            writing.cluster_selector,
            "no cluster of the inventory has these labels: no cluster sends its raw scores",
        )


@rule(needs=(CLUSTERS, SETTINGS, "ManagedCluster"))
def rollouts_find_clusters(context: Context) -> Iterator[Diagnostic]:
    """Each field of an entry of spec.agent.rollout must count on some cluster."""
    document = context.repository.document
    covered: dict[str, set[str]] = {name: set() for name in ROLLOUT_FIELDS}
    for index, entry in enumerate(context.repository.value.spec.agent.rollout):
        selected = context.inventory.selected(entry.cluster_selector)
        path = (*_ROLLOUT, index, "clusterSelector")
        if not selected:
            yield codes.MATCHES_NOTHING.at(
                document.key_at(path),
                "no cluster of the inventory has these labels: the entry has no effect",
                _hint(context, entry.cluster_selector),
            )
            continue
        yield from _dead_fields(document, path, selected, covered, list(entry.changed))
        # Each field of a cluster is that of the first entry which selects it.
        for name in entry.changed:
            covered[name] |= selected


def _no_cluster_gets(
    context: Context, part: str, selector: LabelSelector | None, message: str
) -> Iterator[Diagnostic]:
    """The finding about a part of spec.agent whose selector matches no cluster."""
    if selector is not None and not context.inventory.selected(selector):
        path: FieldPath = ("spec", "agent", part, "clusterSelector")
        yield codes.MATCHES_NOTHING.at(
            context.repository.document.key_at(path), message, _hint(context, selector)
        )


def _dead_fields(
    document: Document,
    path: FieldPath,
    selected: frozenset[str],
    covered: dict[str, set[str]],
    names: list[str],
) -> Iterator[Diagnostic]:
    """The fields of an entry that earlier ones set for all of its clusters."""
    dead = [to_camel(name) for name in names if selected <= covered[name]]
    if dead:
        yield codes.DEAD_ROLLOUT.at(
            document.key_at(path),
            f"earlier entries set {' and '.join(dead)} for all of its clusters: it has no effect"
            " here",
            "move the entry up, give it another clusterSelector, or remove what has no effect",
        )


def _selectors(value: object, path: FieldPath) -> Iterator[FieldPath]:
    """The paths of all label selectors in an object."""
    if isinstance(value, LabelSelector):
        yield path
    elif isinstance(value, Authored):
        for name, alias in _holders(type(value)):
            yield from _selectors(getattr(value, name), (*path, alias))
    elif isinstance(value, list):
        for index, inside in enumerate(value):
            yield from _selectors(inside, (*path, index))


@cache
def _holders(model: type[Authored]) -> tuple[tuple[str, str], ...]:
    """The fields in which a selector can be, each as Python and as people write it.

    An object has few of them. To look into all of its fields took a fifth of all rules.
    """
    return tuple(
        (name, field.alias or name)
        for name, field in model.model_fields.items()
        if _can_hold(field.annotation)
    )


def _can_hold(annotation: object) -> bool:
    """Whether a value of a type can be or have a selector."""
    if inside := get_args(annotation):
        return any(_can_hold(argument) for argument in inside)
    if not isinstance(annotation, type):
        return False
    if issubclass(annotation, LabelSelector):
        return True
    return issubclass(annotation, Authored) and bool(_holders(annotation))


def _hint(context: Context, selector: LabelSelector) -> str:
    """Names the term that matches nothing alone: among several it is usually the misspelt one."""
    for key, value in selector.match_labels.items():
        values = context.inventory.values(key)
        if not values:
            return f"no cluster has the label {key}"
        if value not in values:
            return f"the label {key} has these values: {', '.join(values[:6])}"
    return "correct the labels, or label the clusters"
