"""Checks what the generator of raw ApplicationSets would do
(docs/contributing/argocd-behaviour.md#the-clusterdecisionresource-generator).
"""

import re
from collections.abc import Iterator

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.repository.load import Path, texts_in
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.delivery import DUCK_TYPE_CONFIGMAP, RawPlacement
from gitops_dsf.repository.model.scored_placement import ScoredPlacement
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.raw_document import Reader
from gitops_dsf.resolve.rules.templates import GENERATOR

KEEPING_POLICIES = ("create-only", "create-update")
_NESTING = ("matrix", "merge")
_PATCHED_PROJECT = re.compile(
    r"(?:^|[{,])[ \t]*[\"']?project[\"']?[ \t]*:[ \t]*(?P<value>[^\n,}]*\{\{)", re.MULTILINE
)
"""A project with a template, also as a field of a flow mapping on one line."""


def application_sets_follow_decisions(context: Context) -> Iterator[Diagnostic]:
    """Checks every raw ApplicationSet."""
    for item in context.declared.application_sets:
        reader = Reader(item.document)
        namespace = context.namespace_of(item)
        if namespace != context.argocd_namespace:
            message = (
                f"decisions are looked up in {context.argocd_namespace}, the Argo CD namespace, never in"
                f" {namespace}"
            )
            reader.report(
                codes.WRONG_NAMESPACE, ("metadata", "namespace"), message, f"write {context.argocd_namespace}"
            )
        reader.fits(fields.application_set_spec(), "spec")
        generators = list(_generators(reader, ("spec", "generators")))
        for place in generators:
            _generator(context, reader, place)
        _template(reader)
        if generators:
            _policy(reader)
        yield from reader.found


def _generators(reader: Reader, place: Path, depth: int = 0) -> Iterator[Path]:
    for item in reader.items(*place):
        found = reader.mapping(*item)
        if GENERATOR in found:
            yield (*item, GENERATOR)
        for kind in _NESTING:
            if kind in found and depth < 2:
                yield from _generators(reader, (*item, kind, "generators"), depth + 1)


def _generator(context: Context, reader: Reader, place: Path) -> None:
    if not reader.is_mapping(*place):
        return
    config = reader.text(*place, "configMapRef")
    if config not in {None, DUCK_TYPE_CONFIGMAP}:
        message = (
            f"the ConfigMap {config} is not the one that is rendered; if it has no matchKey, every"
            " Application is deleted"
        )
        reader.report(
            codes.GENERATOR_CONFIG,
            (*place, "configMapRef"),
            message,
            f"write configMapRef: {DUCK_TYPE_CONFIGMAP}",
        )
    name, selector = reader.text(*place, "name"), reader.mapping(*place, "labelSelector")
    if name is not None and selector:
        message = "name and labelSelector together are an error to the generator"
        reader.report(codes.GENERATOR, (*place, "name"), message, "remove name", at_key=True)
    elif name is not None:
        message = (
            f"{name} is one page of a decision: clusters beyond the hundredth, and other decision groups, are"
            " missed"
        )
        hint = f"write labelSelector: {{matchLabels: {{{PLACEMENT_LABEL}: PLACEMENT}}}} in place of name"
        reader.report(codes.DECISION_BY_NAME, (*place, "name"), message, hint, at_key=True)
    elif not selector:
        message = "neither labelSelector nor name: the generator finds no decision"
        hint = f"write labelSelector: {{matchLabels: {{{PLACEMENT_LABEL}: PLACEMENT}}}}"
        reader.report(codes.GENERATOR, place, message, hint, at_key=True)
    reader.selector(*place, "labelSelector")
    if selector:
        _placement(context, reader, place)


def _placement(context: Context, reader: Reader, place: Path) -> None:
    labels = (*place, "labelSelector", "matchLabels")
    if PLACEMENT_LABEL in reader.mapping(*labels):
        placement_name = reader.text(*labels, PLACEMENT_LABEL)
        if placement_name is not None:
            _followed(context, reader, (*labels, PLACEMENT_LABEL), placement_name)
        return
    terms = reader.items(*place, "labelSelector", "matchExpressions")
    naming = [term for term in terms if reader.text(*term, "key") == PLACEMENT_LABEL]
    if not naming:
        message = "the selector names no Placement: it finds the decisions of all of them"
        reader.report(
            codes.GENERATOR,
            (*place, "labelSelector"),
            message,
            f"add the label {PLACEMENT_LABEL}",
            at_key=True,
        )
    for term in naming:
        for where, name in reader.texts(*term, "values") if reader.text(*term, "operator") == "In" else []:
            _followed(context, reader, where, name)


def _followed(context: Context, reader: Reader, place: Path, placement_name: str) -> None:
    """Checks that the Placement exists, and that it is in the namespace where decisions are looked up."""
    declared = context.declared
    placements: dict[str, Item[RawPlacement] | Item[ScoredPlacement]] = {
        item.name: item for item in declared.placements
    }
    placements |= {item.name: item for item in declared.scored_placements if item.name not in placements}
    placements |= context.shared_placements
    names = {*placements, *(item.name for item in declared.rankings)}
    if placement_name not in names:
        if not (
            context.is_malformed("Placement", placement_name)
            or context.is_malformed("ScoredApplication", placement_name)
            or context.is_malformed("ScoredPlacement", placement_name)
        ):
            hint = (
                did_you_mean(placement_name, names)
                or "write the Placement into apps/, or a ScoredApplication in place of both"
            )
            reader.report(
                codes.UNKNOWN_PLACEMENT, place, f"there is no Placement {placement_name} in apps/", hint
            )
        return
    placement = placements.get(placement_name)
    if placement is not None and context.namespace_of(placement) != context.argocd_namespace:
        message = (
            "an ApplicationSet follows this Placement, but decisions are looked up in"
            f" {context.argocd_namespace} only"
        )
        position = placement.at("metadata", "namespace")
        reader.found.append(
            codes.WRONG_NAMESPACE.at(position, message, f"write namespace: {context.argocd_namespace}")
        )


def _template(reader: Reader) -> None:
    message = "a templated project lets whoever controls the parameters choose the permissions"
    patch = reader.text("spec", "templatePatch") or ""
    for match in _PATCHED_PROJECT.finditer(patch):
        position = reader.document.inside(("spec", "templatePatch"), match.start("value"))
        reader.found.append(codes.TEMPLATED_PROJECT.at(position, message, "write the project's name"))
    for place, text in texts_in(reader.mapping("spec"), ("spec",)):
        if place[-3:] == ("template", "spec", "project") and "{{" in text:
            reader.report(codes.TEMPLATED_PROJECT, place, message, "write the project's name")


def _policy(reader: Reader) -> None:
    place: Path = ("spec", "syncPolicy")
    policy = reader.text(*place, "applicationsSync")
    if policy in KEEPING_POLICIES or reader.mapping(*place).get("preserveResourcesOnDeletion") is True:
        return
    message = (
        "an empty decision, or one page of it missing for a moment, deletes the Applications and what"
        " they run"
    )
    hint = "write syncPolicy: {applicationsSync: create-update}, or preserveResourcesOnDeletion: true"
    reader.report(codes.DELETION_POLICY, (*place, "applicationsSync"), message, hint)
