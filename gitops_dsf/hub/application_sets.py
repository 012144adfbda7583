"""ApplicationSets: which Placements they follow, and whether the reconciler completes their moves.

Guaranteed: an ApplicationSet whose generators are not understood has no handover, so the reconciler
deletes none of its Applications. Not guaranteed: that Argo CD accepts the ApplicationSet.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from gitops_dsf.hub import names
from gitops_dsf.hub.applications import ArgoApplication
from gitops_dsf.hub.metadata import Metadata, condition_of
from gitops_dsf.hub.objects import Conditions

MAKE_BEFORE_BREAK: Final = "MakeBeforeBreak"
NEVER_DELETES: Final = frozenset({"create-update", "create-only"})
"""Values of applicationsSync with which Argo CD never deletes an Application."""
TIMEOUT_SECONDS: Final = 1800.0
"""Default of moves.timeoutSeconds, used when the annotation is missing or not a number."""
_CLUSTER: Final = re.compile(r"\{\{-?\s*\.?(?:name|clusterName)\s*-?\}\}")
"""The cluster parameter, in either template language."""


class _TemplateMetadata(msgspec.Struct, frozen=True):
    name: str = ""
    labels: dict[str, str] | None = None


class _Template(msgspec.Struct, frozen=True):
    metadata: _TemplateMetadata = _TemplateMetadata()


class _SyncPolicy(msgspec.Struct, frozen=True, rename="camel"):
    applications_sync: str = ""


class _SetSpec(msgspec.Struct, frozen=True, rename="camel"):
    generators: list[Any] = []
    template: _Template = _Template()
    template_patch: str | None = None
    sync_policy: _SyncPolicy | None = None


class _Set(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: _SetSpec = _SetSpec()
    status: Conditions = Conditions()


class Handover(msgspec.Struct, frozen=True):
    """The way in which the reconciler completes moves of an ApplicationSet that never deletes."""

    placement: str
    timeout: float
    """Seconds."""
    template_name: str

    def name_on(self, cluster: str) -> str:
        """The name of the Application on a cluster."""
        return _CLUSTER.sub(lambda _: cluster, self.template_name)


class ApplicationSet(msgspec.Struct, frozen=True, kw_only=True):
    """The kept part of an ApplicationSet."""

    name: str = ""
    namespace: str = ""
    uid: str
    placements: frozenset[str]
    """Names of the Placements whose decisions it follows."""
    asked: bool = False
    """Whether the refresh annotation is present, which Argo CD removes once it has refreshed."""
    handover: Handover | None = None
    """None if Argo CD or people delete its Applications, or because of `obstacle`."""
    obstacle: str = ""
    """The reason why moves are not completed although the strategy asks for it."""
    strategy: str | None = None
    """The strategy of its moves; None if gitops-dsf did not render it."""
    template_name: str = ""
    """The name of its Applications, as a template."""
    marked: bool = True
    """Whether its Applications carry the label gitops-dsf.io/application."""
    pulled: bool = False
    """Whether OCM's pull integration delivers its Applications."""
    error: str = ""
    """The condition ErrorOccurred: why no Applications are generated; empty if it is not True."""

    @property
    def rendered(self) -> bool:
        """Whether gitops-dsf rendered it. An ApplicationSet written by hand names no strategy."""
        return self.strategy is not None

    def cluster_of(self, application: str) -> str:
        """The cluster whose Application has this name; empty if the template does not show it."""
        parts = _CLUSTER.split(self.template_name)
        if len(parts) != 2 or "{{" in "".join(parts):
            return ""
        before, after = parts
        if not (application.startswith(before) and application.endswith(after)):
            return ""
        return application[len(before) : len(application) - len(after)]


def read_application_set(raw: bytes | msgspec.Raw) -> ApplicationSet:
    """Decodes an ApplicationSet, also with nested generators. Raises msgspec.DecodeError."""
    application_set = msgspec.json.decode(raw, type=_Set)
    metadata = application_set.metadata
    annotations = metadata.annotations or {}
    template_labels = application_set.spec.template.metadata.labels or {}
    handover = _handover(application_set)
    # Argo CD 3.6.1 changes no Application while this condition is True, so old copies stay
    # (docs/contributing/behaviour.md#generator-errors).
    failure = condition_of(application_set.status.conditions, "ErrorOccurred")
    error = ""
    if failure.status == "True":
        error = failure.message or failure.reason or "an error"
    return ApplicationSet(
        name=metadata.name,
        namespace=metadata.namespace or "",
        uid=metadata.uid,
        placements=frozenset(placements_followed(application_set.spec.generators)),
        asked=names.REFRESH_ANNOTATION in annotations,
        handover=handover if isinstance(handover, Handover) else None,
        obstacle=handover if isinstance(handover, str) else "",
        strategy=annotations.get(names.STRATEGY_ANNOTATION),
        template_name=application_set.spec.template.metadata.name,
        marked=names.APPLICATION_LABEL in template_labels,
        pulled=names.PULL_LABEL in template_labels,
        error=error,
    )


def only_refreshed(before: ApplicationSet | None, after: ApplicationSet | None) -> bool:
    """Whether a refresh was asked for, or was done, and nothing else has changed."""
    if before is None or after is None:
        return False
    return before.asked != after.asked and before == replace(after, asked=before.asked)


def recognised(
    applications: Iterable[ArgoApplication], sets: Iterable[ApplicationSet]
) -> Iterator[ArgoApplication]:
    """The Applications of rendered ApplicationSets, each with its ApplicationSet and cluster.

    Adopted ones may lack our label, and have the URL of an API server as destination. Then their
    owner and their name show both.
    """
    by_uid = {application_set.uid: application_set for application_set in sets}
    for application in applications:
        owner = by_uid.get(application.owner_uid)
        if owner is None or not owner.rendered:
            if application.application:
                yield application
            continue
        cluster = application.cluster
        if "://" in cluster:
            cluster = owner.cluster_of(application.name) or cluster
        name = application.application or owner.name
        yield replace(application, application=name, cluster=cluster)


def placements_followed(value: Any) -> list[str]:  # noqa: ANN401 - any JSON
    """Names of the Placements that generators follow, nested ones (matrix, merge) included."""
    followed: list[str] = []
    if isinstance(value, list):
        for generator in value:
            followed += placements_followed(generator)
    elif isinstance(value, dict):
        for key, content in value.items():
            if key == "clusterDecisionResource" and isinstance(content, dict):
                followed += _placements_selected(content.get("labelSelector") or {})
            else:
                followed += placements_followed(content)
    return followed


def plain_placement(generators: list[Any]) -> str:
    """The Placement that is all that these generators follow; empty if they are anything else."""
    match generators:
        case [
            {
                "merge": {
                    "mergeKeys": ["name"],
                    "generators": [
                        decisions,
                        {"list": {"elements": list(clusters), **listed}, **with_list},
                    ],
                    **merged,
                },
                **beside,
            }
        ]:
            # A merge keeps the number of the decision's entries (Argo CD 3.6.1). Elements that add
            # labels and claims to a cluster change no name.
            is_plain = is_hollow([listed, with_list, merged, beside])
            is_plain = is_plain and all(map(_only_describes, clusters))
            return plain_placement([decisions]) if is_plain else ""
        case [
            {
                "clusterDecisionResource": {
                    "labelSelector": {"matchLabels": labels, **more_terms},
                    **rest,
                },
                **beside,
            }
        ]:
            is_plain = is_hollow([more_terms, beside, rest.get("name"), rest.get("template")])
            if is_plain and labels.keys() == {names.PLACEMENT_LABEL}:
                return str(labels[names.PLACEMENT_LABEL])
    return ""


def is_hollow(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a value holds nothing but empty values.

    Argo CD writes empty templates when it updates an ApplicationSet, so these mean nothing.
    """
    if isinstance(value, dict):
        return all(map(is_hollow, value.values()))
    if isinstance(value, list):
        return all(map(is_hollow, value))
    return value in (None, "")


def _placements_selected(selector: dict[str, Any]) -> list[str]:
    """Names of the Placements whose decisions a label selector of a generator selects."""
    selected = [(selector.get("matchLabels") or {}).get(names.PLACEMENT_LABEL, "")]
    for term in selector.get("matchExpressions") or []:
        if term.get("key") == names.PLACEMENT_LABEL and term.get("operator") == "In":
            selected += term.get("values") or []
    return [name for name in selected if name]


def _handover(application_set: _Set) -> Handover | str | None:
    """The completion of moves, or the reason why there is none; None if it is not asked for.

    Only generators that are understood are accepted. Others might generate more or less than the
    decision, and then a copy that is still wanted would be deleted.
    """
    metadata = application_set.metadata
    spec = application_set.spec
    if metadata.annotation(names.STRATEGY_ANNOTATION) != MAKE_BEFORE_BREAK or metadata.deleting:
        return None
    # With another policy Argo CD deletes Applications itself, and two programs would race.
    if (spec.sync_policy or _SyncPolicy()).applications_sync not in NEVER_DELETES:
        return None
    placement = plain_placement(spec.generators)
    if not placement:
        return "its generators are not one clusterDecisionResource with the label of one Placement"
    name = spec.template.metadata.name
    # A name that depends on more than the cluster cannot be computed here, and a template patch
    # may change it.
    if not _CLUSTER.search(name) or "{{" in _CLUSTER.sub("", name) or spec.template_patch:
        return "the names of its Applications are not made of the cluster's name alone"
    timeout = TIMEOUT_SECONDS
    annotation = metadata.annotation(names.TIMEOUT_ANNOTATION)
    if annotation.isascii() and annotation.isdigit() and int(annotation) > 0:
        timeout = float(annotation)
    return Handover(placement=placement, timeout=timeout, template_name=name)


def _only_describes(element: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether an element of a list adds only labels and claims to a cluster."""
    return isinstance(element, dict) and element.keys() <= {"name", "labels", "claims"}
