"""Checks ApplicationSets (docs/contributing/behaviour.md#the-clusterdecisionresource-generator)."""

from collections.abc import Iterator, Sequence

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.repository.load import Document, Path, texts_in, value_at
from gitops_dsf.repository.model.apps import ScoredPlacement
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.foreign import DUCK_TYPE_CONFIGMAP, RawPlacement
from gitops_dsf.resolve.application_templates import GENERATORS, generators
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import PLACEMENTS, rule
from gitops_dsf.resolve.rules.selectors import invalid, misfits
from gitops_dsf.resolve.rules.templates import GENERATOR
from gitops_dsf.wording import did_you_mean

KEEPING_POLICIES = ("create-only", "create-update")


@rule()
def application_sets_follow_decisions(context: Context) -> Iterator[Diagnostic]:
    """Checks every raw ApplicationSet."""
    for item in context.declared.application_sets:
        document = item.document
        yield from misfits(document, fields.application_set_spec(), "spec")
        of_decisions = list(_generators(document))
        for place in of_decisions:
            yield from _generator(document, place)
        if of_decisions:
            yield from _policy(document)
        yield from _generates_something(document)


def _generates_something(document: Document) -> Iterator[Diagnostic]:
    """An empty list, or an empty item, is no error to Argo CD. It generates no Application."""
    listed = value_at(document.data, GENERATORS)
    if not isinstance(listed, list):
        return
    empty = [
        place for place in document.items(*GENERATORS) if not _names_a_generator(document, place)
    ]
    for place in empty if listed else [GENERATORS]:
        what = "this item names no generator" if listed else "spec.generators is empty"
        message = (
            f"{what}: Argo CD generates no Application for it, and deletes those that it generated"
        )
        yield codes.NO_GENERATOR.at(
            document.at(place), message, "write a generator, or remove the object"
        )


def _names_a_generator(document: Document, place: Path) -> bool:
    item = value_at(document.data, place)
    return not isinstance(item, dict) or any(
        kind != "selector" and content is not None for kind, content in item.items()
    )


@rule(needs=("FleetRepository",))
def application_sets_live_with_argocd(context: Context) -> Iterator[Diagnostic]:
    """Argo CD looks up decisions only in its own namespace."""
    for item in context.declared.application_sets:
        namespace = context.namespace_of(item)
        home = context.argocd_namespace
        if namespace != home:
            place = ("metadata", "namespace")
            message = (
                f"decisions are looked up in {home}, the Argo CD namespace, never in {namespace}"
            )
            hint = f"write {home}, or the namespace of Argo CD as spec.argocd.namespace in gitops-dsf.yaml"
            yield codes.WRONG_NAMESPACE.at(item.at(*place), message, hint)


@rule(needs=("FleetRepository", *PLACEMENTS))
def followed_placements_exist(context: Context) -> Iterator[Diagnostic]:
    """The Placements that generators name must exist, in the namespace where decisions are looked up."""
    declared, home = context.declared, context.argocd_namespace
    items: Sequence[Item[RawPlacement] | Item[ScoredPlacement]]
    items = (*declared.scored_placements, *declared.placements, *context.shared_placements.values())
    placements = {item.name: item for item in items}
    names = {*placements, *(item.name for item in declared.rankings)}
    for item in declared.application_sets:
        for place, name in followed_placements(item.document):
            placement = placements.get(name)
            if name not in names:
                write = "write the Placement into apps/, or a ScoredApplication in place of both"
                message = f"there is no Placement {name} in apps/"
                yield codes.UNKNOWN_PLACEMENT.at(
                    item.at(*place), message, did_you_mean(name, names) or write
                )
            elif placement is not None and context.namespace_of(placement) != home:
                follows = "an ApplicationSet follows this Placement"
                message = f"{follows}, but decisions are looked up in {home} only"
                position = placement.at("metadata", "namespace")
                hint = f"write {home}, or the namespace of Argo CD as spec.argocd.namespace in gitops-dsf.yaml"
                yield codes.WRONG_NAMESPACE.at(position, message, hint)


def followed_placements(document: Document) -> Iterator[tuple[Path, str]]:
    """The Placements that the generators of an ApplicationSet name, and where."""
    for generator in _generators(document):
        yield from followed_by(document, generator)


def followed_by(document: Document, generator: Path) -> Iterator[tuple[Path, str]]:
    """The Placements that one generator names, and where."""
    selector = (*generator, "labelSelector")
    named = (*selector, "matchLabels", PLACEMENT_LABEL)
    yield from texts_in(value_at(document.data, named), named)
    for term in document.items(*selector, "matchExpressions"):
        key, operator, values = (
            value_at(document.data, (*term, name)) for name in ("key", "operator", "values")
        )
        if (key, operator) == (PLACEMENT_LABEL, "In"):
            yield from texts_in(values, (*term, "values"))


def _generators(document: Document) -> Iterator[Path]:
    """The generators that read decisions."""
    return (place for place in generators(document) if place[-1] == GENERATOR)


def _generator(document: Document, place: Path) -> Iterator[Diagnostic]:
    written = value_at(document.data, place)
    config, name, selector = (written.get(key) for key in ("configMapRef", "name", "labelSelector"))
    write = f"write labelSelector: {{matchLabels: {{{PLACEMENT_LABEL}: PLACEMENT}}}}"
    where = (*place, "configMapRef")
    if isinstance(config, str) and config != DUCK_TYPE_CONFIGMAP:
        message = f"the ConfigMap {config} is not the one that is rendered"
        message = f"{message}; if it has no matchKey, every Application is deleted"
        hint, edits = (
            f"write configMapRef: {DUCK_TYPE_CONFIGMAP}",
            (Edit(where, value=DUCK_TYPE_CONFIGMAP),),
        )
        yield codes.GENERATOR_CONFIG.at(document.at(where), message, hint, edits=edits)
    where = (*place, "name")
    if name is not None and selector:
        message = "name and labelSelector together are an error to the generator"
        yield codes.GENERATOR.at(
            document.key_at(where), message, "remove name", edits=(Edit(where),)
        )
    elif name is not None:
        missed = "clusters beyond the hundredth, and other decision groups, are missed"
        message = f"{name} is one page of a decision: {missed}"
        yield codes.DECISION_BY_NAME.at(
            document.key_at(where), message, f"{write} in place of name"
        )
    elif not selector:
        message = "neither labelSelector nor name: the generator finds no decision"
        yield codes.GENERATOR.at(document.key_at(place), message, write)
    where = (*place, "labelSelector")
    schema = fields.part("generators", "[]", GENERATOR, "labelSelector")
    if not any(fields.problems(schema, selector or {})):
        yield from invalid(document, where, selector)
    if selector and PLACEMENT_LABEL not in _keys(document, where):
        message = "the selector names no Placement: it finds the decisions of all of them"
        yield codes.GENERATOR.at(
            document.key_at(where), message, f"add the label {PLACEMENT_LABEL}"
        )


def _keys(document: Document, selector: Path) -> set[object]:
    """The labels that a selector names."""
    labels = value_at(document.data, (*selector, "matchLabels"))
    terms = document.items(*selector, "matchExpressions")
    return {*(labels or ()), *(value_at(document.data, (*term, "key")) for term in terms)}


def _policy(document: Document) -> Iterator[Diagnostic]:
    place: Path = ("spec", "syncPolicy")
    kept = value_at(document.data, (*place, "preserveResourcesOnDeletion")) is True
    if kept or value_at(document.data, (*place, "applicationsSync")) in KEEPING_POLICIES:
        return
    missing = "an empty decision, or one page of it missing for a moment"
    message = f"{missing}, deletes the Applications and what they run"
    hint = (
        "write syncPolicy: {applicationsSync: create-update}, or preserveResourcesOnDeletion: true"
    )
    yield codes.DELETION_POLICY.at(document.at((*place, "applicationsSync")), message, hint)
