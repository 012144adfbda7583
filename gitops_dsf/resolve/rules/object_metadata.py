"""Checks labels, annotations and namespaces that people write into objects."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from gitops_dsf.argocd.steering import steers
from gitops_dsf.diagnostics import Diagnostic, Edit, codes
from gitops_dsf.hub.names import SYNC_WAVE
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.label_selectors import KEY_RULE, VALUE_RULE, label_key, label_value
from gitops_dsf.resolve.rules.registry import rule

_ALLOWED: Final = {
    ("ApplicationSet", SYNC_WAVE),
    ("ManagedClusterSetBinding", SYNC_WAVE),
    ("Placement", SYNC_WAVE),
}
"""Kinds with an annotation that is allowed: only the author of a copy knows its sync wave."""
_SERVICE_MONITOR: Final[FieldPath] = ("spec", "agent", "serviceMonitor", "labels")
_TEMPLATE: Final[FieldPath] = ("spec", "application", "template")
"""The labels and annotations of an application's copies."""
_NAMESPACE: Final[FieldPath] = ("metadata", "namespace")


class _Entry(NamedTuple):
    """One label or annotation."""

    document: Document
    holder: FieldPath
    """The object that has the labels and annotations."""
    field: str
    """`labels` or `annotations`."""
    key: str
    value: object

    @property
    def path(self) -> FieldPath:
        return (*self.holder, self.field, self.key)


@rule()
def argocd_is_not_steered(context: Context) -> Iterator[Diagnostic]:
    """Hooks, sync options and tracking IDs let Argo CD delete, replace or disown an object.

    Also in documents that are not rendered: there they do nothing, and their author believes
    otherwise. The inventory is a copy of what a hub has.
    """
    declared = context.declared
    repository = () if declared.repository is None else (declared.repository,)
    unrendered = (
        *declared.metric_sources,
        *declared.scoring_configs,
        *declared.locks,
        *declared.score_tests,
        *declared.maintenance,
        *repository,
    )
    for entry in _entries(*_rendered(context), *unrendered):
        if entry.field == "labels" or (entry.document.kind, entry.key) not in _ALLOWED:
            yield from _steering(entry.document, entry.path)
    # These become the labels of a ServiceMonitor on spokes, which may have an Argo CD of their own.
    for settings in repository:
        labels = value_at(settings.document.data, _SERVICE_MONITOR)
        for key in labels if isinstance(labels, dict) else ():
            yield from _steering(settings.document, (*_SERVICE_MONITOR, key))


@rule()
def labels_are_valid(context: Context) -> Iterator[Diagnostic]:
    """Checks labels of clusters and of what is rendered: no selector matches an invalid one."""
    inventory = (*context.declared.clusters, *context.declared.cluster_sets)
    every_entry = (
        *_entries(*inventory, *_rendered(context)),
        *_entries(*context.declared.applications, holder=_TEMPLATE),
    )
    for entry in every_entry:
        document, holder, field, key, value = entry
        # Kubernetes lets the domain of an annotation have capital letters.
        if not label_key(key.lower() if field == "annotations" else key):
            yield codes.BAD_VALUE.at(
                document.key_at(entry.path),
                f"{dotted(holder)}.{field}: {key or 'an empty key'} is not allowed",
                KEY_RULE,
            )
        elif field == "labels" and isinstance(value, str) and not _may_be_a_label(entry):
            yield codes.BAD_VALUE.at(
                document.at(entry.path),
                f"{dotted(holder)}.labels.{key}: {value[:60]} is not allowed",
                VALUE_RULE,
            )


@rule(needs=("FleetRepository",))
def namespaces_have_an_effect(context: Context) -> Iterator[Diagnostic]:
    """Scorers and masks are rendered into the hub namespace; our other kinds are not objects."""
    declared = context.declared
    home = context.settings.hub_namespace
    for rendered in (*declared.scorers, *declared.scoring_configs):
        namespace = value_at(rendered.document.data, _NAMESPACE)
        if namespace and namespace != home:
            yield codes.IGNORED_NAMESPACE.at(
                rendered.at(*_NAMESPACE),
                f"metadata.namespace {namespace} has no effect: a {rendered.document.kind} is"
                f" rendered into {home}",
                "remove it",
                edits=(Edit(_NAMESPACE),),
            )
    repository = () if declared.repository is None else (declared.repository,)
    all_unrendered: tuple[Item[Authored], ...] = (
        *repository,
        *declared.metric_sources,
        *declared.locks,
        *declared.score_tests,
        *declared.maintenance,
    )
    for unrendered in all_unrendered:
        namespace = value_at(unrendered.document.data, _NAMESPACE)
        if namespace:
            yield codes.IGNORED_NAMESPACE.at(
                unrendered.at(*_NAMESPACE),
                f"metadata.namespace {namespace} has no effect: a {unrendered.document.kind}"
                " is not an object of the hub",
                "remove it",
                edits=(Edit(_NAMESPACE),),
            )


def _steering(document: Document, path: FieldPath) -> Iterator[Diagnostic]:
    """The finding about a label or annotation that Argo CD would obey."""
    key = str(path[-1])
    # Argo CD 3.6.1 also takes helm.sh/hook for a hook: with hook-succeeded the object goes once
    # it is healthy, and the Application is Synced and Healthy without it.
    if steers(key):
        yield codes.ARGOCD_CONTROL.at(
            document.key_at(path),
            f"{dotted(path[:-1])}: {key} would steer how Argo CD applies this object",
            "remove it; gitops-dsf renders the waves and options that its objects need",
            edits=(Edit(path),),
        )


def _rendered(context: Context) -> Iterator[Item[Authored]]:
    yield from context.declared.scorers
    yield from context.declared.applications
    yield from context.declared.scored_placements
    yield from context.declared.carried


def _may_be_a_label(entry: _Entry) -> bool:
    """Whether a text is the value of a label. The result of a template is unknown."""
    text = str(entry.value)
    return label_value(text) or (entry.holder == _TEMPLATE and "{{" in text)


def _entries(*objects: Item[Authored], holder: FieldPath = ("metadata",)) -> Iterator[_Entry]:
    """The labels and annotations of objects, or of a part of them."""
    for declared in objects:
        for field in ("labels", "annotations"):
            entries = value_at(declared.document.data, (*holder, field))
            for key, value in entries.items() if isinstance(entries, dict) else ():
                yield _Entry(declared.document, holder, field, key, value)
