"""DynamicScorers as rendered. Typed decoding skips the rest, so memory does not grow with what others write into objects."""

from datetime import datetime
from typing import Any, Final

import msgspec

from dsf_wire.constants import DSF_GROUP, DSF_VERSION
from dsf_wire.scorename import sanitise
from gitops_dsf.reconciler.hub.metadata import Metadata

SCORERS_PATH: Final = f"/apis/{DSF_GROUP}/{DSF_VERSION}/namespaces/{{}}/dynamicscorers"


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


class _Metadata(Metadata, frozen=True, rename="camel"):
    creation_timestamp: datetime | None = None


class _ScorerSpec(
    msgspec.Struct,
    frozen=True,
    rename={
        "config_url": "configURL",
        "mode": "configSyncMode",
        "destination": "scoreDestination",
        "ttl": "scoreTTLSeconds",
        "selector": "clusterSelector",
        "dimension": "scoreDimensionFormat",
        "aggregation": "scoreAggregation",
    },
):
    config_url: str = ""
    mode: str = "None"
    destination: str = "AddOnPlacementScore"
    ttl: int = 900
    suspend: bool = False
    selector: dict[str, Any] | None = None
    """A label selector over ManagedClusters; None: everywhere."""
    dimension: str = ""
    aggregation: str = "Last"
    source: _Endpoint = _Endpoint()
    scoring: _Endpoint = _Endpoint()


class Scorer(msgspec.Struct, frozen=True):
    """A DynamicScorer as rendered: effective values, defaults written out."""

    metadata: _Metadata
    spec: _ScorerSpec
    status: dict[str, Any] = {}

    @property
    def created(self) -> float:
        """Seconds since 1970."""
        at = self.metadata.creation_timestamp
        return at.timestamp() if at else 0.0

    @property
    def resource(self) -> str:
        """Name of its AddOnPlacementScores."""
        return sanitise(self.spec.scoring.params.name)


def scorer(raw: msgspec.Raw) -> tuple[str, Scorer]:
    """Keyed by name."""
    item = msgspec.json.decode(raw, type=Scorer)
    return item.metadata.name, item
