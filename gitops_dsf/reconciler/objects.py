"""What is kept of each hub object. Typed decoding skips the rest, so memory does not grow with what others write into them."""

from datetime import datetime
from typing import Any, Final

import msgspec

from dsf_wire.constants import DSF_GROUP, DSF_VERSION, SCORE_GROUP, SCORE_PLURAL, SCORE_VERSION

SCORERS_PATH: Final = f"/apis/{DSF_GROUP}/{DSF_VERSION}/namespaces/{{}}/dynamicscorers"
SCORES_PATH: Final = f"/apis/{SCORE_GROUP}/{SCORE_VERSION}/{SCORE_PLURAL}"
DECISIONS_PATH: Final = f"/apis/{SCORE_GROUP}/v1beta1/namespaces/{{}}/placementdecisions"
SETS_PATH: Final = "/apis/argoproj.io/v1alpha1/namespaces/{}/applicationsets"

PLACEMENT_LABEL: Final = "cluster.open-cluster-management.io/placement"
"""On every PlacementDecision, and in the selector of a clusterDecisionResource generator."""
REFRESH: Final = "argocd.argoproj.io/application-set-refresh"
"""Argo CD generates at once when an ApplicationSet has it, and removes it."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Params(msgspec.Struct, frozen=True):
    query: str = ""
    range: int = 0
    step: int = 0
    name: str = ""
    interval: int = 0


class _Endpoint(msgspec.Struct, frozen=True):
    type: str = ""
    host: str = ""
    path: str = ""
    params: _Params = _Params()


class _ScorerSpec(
    msgspec.Struct,
    frozen=True,
    rename={"config_url": "configURL", "mode": "configSyncMode", "destination": "scoreDestination", "ttl": "scoreTTLSeconds"},
):
    config_url: str = ""
    mode: str = "None"
    destination: str = "AddOnPlacementScore"
    ttl: int = 900
    suspend: bool = False
    source: _Endpoint = _Endpoint()
    scoring: _Endpoint = _Endpoint()


class Scorer(msgspec.Struct, frozen=True):
    """A DynamicScorer as rendered: effective values, defaults written out."""

    metadata: _Metadata
    spec: _ScorerSpec
    status: dict[str, Any] = {}


class _ScoreStatus(msgspec.Struct, frozen=True, rename="camel"):
    valid_until: datetime | None = None
    scores: list[msgspec.Raw] = []


class _Score(msgspec.Struct, frozen=True):
    metadata: _Metadata
    status: _ScoreStatus = _ScoreStatus()


class Freshness(msgspec.Struct, frozen=True):
    """All that is kept of an AddOnPlacementScore: seconds since 1970 (0: none is named), and how many items it has."""

    valid_until: float
    count: int


class _Decision(msgspec.Struct, frozen=True, rename="camel"):
    cluster_name: str = ""


class _DecisionStatus(msgspec.Struct, frozen=True):
    decisions: list[_Decision] | None = None


class _DecisionPage(msgspec.Struct, frozen=True):
    metadata: _Metadata
    status: _DecisionStatus = _DecisionStatus()


class DecisionPage(msgspec.Struct, frozen=True):
    """One of a Placement's PlacementDecisions."""

    placement: str
    clusters: frozenset[str]


class _SetSpec(msgspec.Struct, frozen=True):
    generators: list[Any] = []


class _Set(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _SetSpec = _SetSpec()


class Follower(msgspec.Struct, frozen=True):
    """An ApplicationSet that follows Placements."""

    uid: str
    placements: frozenset[str]
    asked: bool
    """Whether the refresh annotation is there: Argo CD has not looked yet."""


def scorer(raw: msgspec.Raw) -> tuple[str, Scorer]:
    """Keyed by name."""
    item = msgspec.json.decode(raw, type=Scorer)
    return item.metadata.name, item


def freshness(raw: msgspec.Raw) -> tuple[str, Freshness]:
    """Keyed by cluster/name."""
    item = msgspec.json.decode(raw, type=_Score)
    until = item.status.valid_until
    key = f"{item.metadata.namespace}/{item.metadata.name}"
    return key, Freshness(valid_until=until.timestamp() if until else 0.0, count=len(item.status.scores))


def decision_page(raw: msgspec.Raw) -> tuple[str, DecisionPage]:
    """Keyed by name."""
    item = msgspec.json.decode(raw, type=_DecisionPage)
    clusters = frozenset(each.cluster_name for each in item.status.decisions or ())
    return item.metadata.name, DecisionPage(placement=item.metadata.labels.get(PLACEMENT_LABEL, ""), clusters=clusters)


def follower(raw: msgspec.Raw) -> tuple[str, Follower]:
    """Keyed by name. Generators may be nested (matrix, merge)."""
    item = msgspec.json.decode(raw, type=_Set)
    placements = frozenset(_followed(item.spec.generators))
    return item.metadata.name, Follower(uid=item.metadata.uid, placements=placements, asked=REFRESH in item.metadata.annotations)


def _followed(value: Any) -> list[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [name for each in value for name in _followed(each)]
    if not isinstance(value, dict):
        return []
    found = []
    for key, item in value.items():
        if key == "clusterDecisionResource" and isinstance(item, dict):
            selector = item.get("labelSelector") or {}
            found.append((selector.get("matchLabels") or {}).get(PLACEMENT_LABEL, ""))
            for term in selector.get("matchExpressions") or []:
                if term.get("key") == PLACEMENT_LABEL and term.get("operator") == "In":
                    found += term.get("values") or []
        else:
            found += _followed(item)
    return [name for name in found if name]
