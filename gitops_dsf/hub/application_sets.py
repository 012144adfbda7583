"""ApplicationSets: which Placements they follow, and whether the reconciler completes their moves."""

import re
from typing import Any, Final

import msgspec

from gitops_dsf.hub import names
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
    """How the reconciler completes moves of an ApplicationSet whose Applications Argo CD never deletes."""

    placement: str
    timeout: float
    """Seconds."""
    template_name: str

    def name_on(self, cluster: str) -> str:
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
    """Why moves are not completed although the strategy asks for it."""
    strategy: str | None = None
    """The strategy of its moves; None if gitops-dsf did not render it."""
    pulled: bool = False
    """Whether OCM's pull integration delivers its Applications."""
    error: str = ""
    """Why Argo CD generates no Applications: what condition ErrorOccurred says; empty if it is not
    True.
    """

    @property
    def rendered(self) -> bool:
        """Whether gitops-dsf rendered it. An ApplicationSet written by hand names no strategy."""
        return self.strategy is not None


def read_application_set(raw: bytes | msgspec.Raw) -> ApplicationSet:
    """Decodes an ApplicationSet, also with nested generators. Raises msgspec.DecodeError."""
    item = msgspec.json.decode(raw, type=_Set)
    meta = item.metadata
    handover, obstacle = _handover(item)
    failed = condition_of(item.status.conditions, "ErrorOccurred")
    return ApplicationSet(
        name=meta.name,
        namespace=meta.namespace or "",
        uid=meta.uid,
        placements=frozenset(placements_followed(item.spec.generators)),
        asked=names.REFRESH_ANNOTATION in (meta.annotations or {}),
        handover=handover,
        obstacle=obstacle,
        strategy=(meta.annotations or {}).get(names.STRATEGY_ANNOTATION),
        pulled=names.PULL_LABEL in (item.spec.template.metadata.labels or {}),
        error=(failed.message or failed.reason or "an error") if failed.status == "True" else "",
    )


def _handover(item: _Set) -> tuple[Handover | None, str]:
    """Accepts only generators that are understood: others might generate more or less than the decision."""
    meta, spec = item.metadata, item.spec
    if meta.annotation(names.STRATEGY_ANNOTATION) != MAKE_BEFORE_BREAK or meta.deleting:
        return None, ""
    if (spec.sync_policy or _SyncPolicy()).applications_sync not in NEVER_DELETES:
        return None, ""
    placement = _plain_placement(spec.generators)
    if not placement:
        return (
            None,
            "its generators are not one clusterDecisionResource with the label of one Placement",
        )
    name = spec.template.metadata.name
    if not _CLUSTER.search(name) or "{{" in _CLUSTER.sub("", name) or spec.template_patch:
        return None, "the names of its Applications are not made of the cluster's name alone"
    text = meta.annotation(names.TIMEOUT_ANNOTATION)
    timeout = (
        float(text) if text.isascii() and text.isdigit() and int(text) > 0 else TIMEOUT_SECONDS
    )
    return Handover(placement=placement, timeout=timeout, template_name=name), ""


def _plain_placement(generators: list[Any]) -> str:
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
            # Elements that add labels and claims to a cluster change no name.
            plain = _hollow([listed, with_list, merged, beside]) and all(
                isinstance(each, dict) and each.keys() <= {"name", "labels", "claims"}
                for each in clusters
            )
            return _plain_placement([decisions]) if plain else ""
        case [
            {
                "clusterDecisionResource": {
                    "labelSelector": {"matchLabels": labels, **more_terms},
                    **rest,
                },
                **beside,
            }
        ]:
            plain = _hollow([more_terms, beside, rest.get("name"), rest.get("template")])
            if plain and labels.keys() == {names.PLACEMENT_LABEL}:
                return str(labels[names.PLACEMENT_LABEL])
    return ""


def _hollow(value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a template is empty.

    Argo CD writes empty templates when it updates an ApplicationSet.
    """
    if isinstance(value, dict | list):
        return all(_hollow(each) for each in (value.values() if isinstance(value, dict) else value))
    return value in (None, "")


def placements_followed(value: Any) -> list[str]:  # noqa: ANN401 - any JSON
    """Names of the Placements that generators follow, nested ones (matrix, merge) included."""
    if isinstance(value, list):
        return [name for each in value for name in placements_followed(each)]
    if not isinstance(value, dict):
        return []
    found = []
    for key, item in value.items():
        if key == "clusterDecisionResource" and isinstance(item, dict):
            selector = item.get("labelSelector") or {}
            found.append((selector.get("matchLabels") or {}).get(names.PLACEMENT_LABEL, ""))
            for term in selector.get("matchExpressions") or []:
                if term.get("key") == names.PLACEMENT_LABEL and term.get("operator") == "In":
                    found += term.get("values") or []
        else:
            found += placements_followed(item)
    return [name for name in found if name]
