"""Checks raw ApplicationSets: their generators, policy and namespace.

docs/contributing/behaviour.md#the-clusterdecisionresource-generator describes what the generator
does with decisions.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import DUCK_TYPE_CONFIGMAP, RawPlacement
from gitops_dsf.repository.model.scored_placement import ScoredPlacement
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.generators import (
    GENERATOR,
    GENERATORS,
    decision_generators,
    followed_placements,
)
from gitops_dsf.resolve.label_selectors import invalid
from gitops_dsf.resolve.object_shapes import misfits
from gitops_dsf.resolve.rules.registry import PLACEMENTS, rule
from gitops_dsf.wording import did_you_mean

_KEEPING_POLICIES: Final = ("create-only", "create-update")
"""Values of applicationsSync with which Argo CD deletes no Application."""
_SELECTOR: Final = f"labelSelector: {{matchLabels: {{{PLACEMENT_LABEL}: PLACEMENT}}}}"


@rule()
def application_sets_follow_decisions(context: Context) -> Iterator[Diagnostic]:
    """Checks the fields and the generators of every raw ApplicationSet."""
    for application_set in context.declared.application_sets:
        document = application_set.document
        yield from misfits(document, fields.application_set_spec(), "spec")
        generators = list(decision_generators(document))
        for generator in generators:
            yield from _decision_generator(document, generator)
        if generators:
            yield from _policy(document)
        yield from _generates_something(document)


@rule(needs=("FleetRepository",))
def application_sets_live_with_argocd(context: Context) -> Iterator[Diagnostic]:
    """Argo CD looks up decisions only in its own namespace."""
    home = context.argocd_namespace
    for application_set in context.declared.application_sets:
        namespace = context.namespace_of(application_set)
        if namespace != home:
            yield codes.WRONG_NAMESPACE.at(
                application_set.at("metadata", "namespace"),
                f"decisions are looked up in {home}, the Argo CD namespace, never in {namespace}",
                f"write {home}, or the namespace of Argo CD as spec.argocd.namespace in"
                " gitops-dsf.yaml",
            )


@rule(needs=("FleetRepository", *PLACEMENTS))
def followed_placements_exist(context: Context) -> Iterator[Diagnostic]:
    """The Placements that generators name must exist, in the namespace of Argo CD."""
    home = context.argocd_namespace
    placements = _placements_by_name(context)
    names = {*placements, *(ranking.name for ranking in context.declared.rankings)}
    for application_set in context.declared.application_sets:
        for path, name in followed_placements(application_set.document):
            placement = placements.get(name)
            if name not in names:
                yield codes.UNKNOWN_PLACEMENT.at(
                    application_set.at(*path),
                    f"there is no Placement {name} in apps/",
                    did_you_mean(name, names)
                    or "write the Placement into apps/, or a ScoredApplication in place of both",
                )
            elif placement is not None and context.namespace_of(placement) != home:
                yield codes.WRONG_NAMESPACE.at(
                    placement.at("metadata", "namespace"),
                    "an ApplicationSet follows this Placement, but decisions are looked up in"
                    f" {home} only",
                    f"write {home}, or the namespace of Argo CD as spec.argocd.namespace in"
                    " gitops-dsf.yaml",
                )


def _placements_by_name(
    context: Context,
) -> Mapping[str, Item[RawPlacement] | Item[ScoredPlacement]]:
    """Placements by name. One in Argo CD's namespace comes before others of its name."""
    placements: dict[str, Item[RawPlacement] | Item[ScoredPlacement]] = {}
    for scored_placement in context.declared.scored_placements:
        placements[scored_placement.name] = scored_placement
    for placement in context.declared.placements:
        placements[placement.name] = placement
    return {**placements, **context.shared_placements}


def _generates_something(document: Document) -> Iterator[Diagnostic]:
    """An empty list, or an empty item, is not an error to Argo CD. It generates no Application."""
    listed = value_at(document.data, GENERATORS)
    if not isinstance(listed, list):
        return
    # Argo CD 3.6.1 does not report it, and deletes with the policy sync.
    if not listed:
        yield codes.NO_GENERATOR.at(
            document.at(GENERATORS),
            "spec.generators is empty: Argo CD generates no Application for it, and deletes those"
            " that it generated",
            "write a generator, or remove the object",
        )
    for path in document.items(*GENERATORS):
        if not _names_a_generator(value_at(document.data, path)):
            yield codes.NO_GENERATOR.at(
                document.at(path),
                "this item names no generator: Argo CD generates no Application for it, and deletes"
                " those that it generated",
                "write a generator, or remove the object",
            )


def _names_a_generator(listed: object) -> bool:
    """Whether an item of the list has a generator. One of the wrong type has another finding."""
    if not isinstance(listed, dict):
        return True
    return any(kind != "selector" and content is not None for kind, content in listed.items())


def _decision_generator(document: Document, place: FieldPath) -> Iterator[Diagnostic]:
    """The findings about one clusterDecisionResource generator."""
    generator = value_at(document.data, place)
    yield from _config_map(document, (*place, "configMapRef"), generator.get("configMapRef"))
    name = generator.get("name")
    selector = generator.get("labelSelector")
    name_path = (*place, "name")
    # Argo CD 3.6.1 returns an error for both, and changes no Application of the set.
    if name is not None and selector:
        yield codes.GENERATOR.at(
            document.key_at(name_path),
            "the generator accepts name or labelSelector, not both",
            "remove name",
            edits=(Edit(name_path),),
        )
    elif name is not None:
        # OCM writes a PlacementDecision for each 100 clusters and each decision group.
        yield codes.DECISION_BY_NAME.at(
            document.key_at(name_path),
            f"{name} is one page of a decision: clusters beyond the hundredth, and other decision"
            " groups, are missed",
            f"write {_SELECTOR} in place of name",
        )
    elif not selector:
        yield codes.GENERATOR.at(
            document.key_at(place),
            "neither labelSelector nor name: the generator finds no decision",
            f"write {_SELECTOR}",
        )
    yield from _label_selector(document, (*place, "labelSelector"), selector)


def _config_map(document: Document, path: FieldPath, name: object) -> Iterator[Diagnostic]:
    # Without matchKey, Argo CD 3.6.1 generates no parameters and reports no error.
    if isinstance(name, str) and name != DUCK_TYPE_CONFIGMAP:
        yield codes.GENERATOR_CONFIG.at(
            document.at(path),
            f"the ConfigMap {name} is not the one that is rendered; if it has no matchKey, every"
            " Application is deleted",
            f"write configMapRef: {DUCK_TYPE_CONFIGMAP}",
            edits=(Edit(path, value=DUCK_TYPE_CONFIGMAP),),
        )


def _label_selector(
    document: Document, path: FieldPath, selector: Mapping[str, Any] | None
) -> Iterator[Diagnostic]:
    schema = fields.part("generators", "[]", GENERATOR, "labelSelector")
    if not any(fields.problems(schema, selector or {})):
        yield from invalid(document, path, selector)
    if selector and PLACEMENT_LABEL not in _selected_labels(document, path):
        yield codes.GENERATOR.at(
            document.key_at(path),
            "the selector names no Placement: it finds the decisions of all of them",
            f"add the label {PLACEMENT_LABEL}",
        )


def _selected_labels(document: Document, selector: FieldPath) -> set[object]:
    """The labels that a selector names."""
    labels = set(value_at(document.data, (*selector, "matchLabels")) or ())
    for term in document.items(*selector, "matchExpressions"):
        labels.add(value_at(document.data, (*term, "key")))
    return labels


def _policy(document: Document) -> Iterator[Diagnostic]:
    """Whether Applications stay when a decision is empty."""
    policy: FieldPath = ("spec", "syncPolicy")
    # With the policy sync, the default, Argo CD deletes the Application of every cluster that is
    # on no page of the decision, without a report.
    if value_at(document.data, (*policy, "preserveResourcesOnDeletion")) is True:
        return
    if value_at(document.data, (*policy, "applicationsSync")) in _KEEPING_POLICIES:
        return
    yield codes.DELETION_POLICY.at(
        document.at((*policy, "applicationsSync")),
        "an empty decision, or a page of it that is missing for a moment, deletes the Applications"
        " and what they run",
        "write syncPolicy: {applicationsSync: create-update}, or preserveResourcesOnDeletion: true",
    )
