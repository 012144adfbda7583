"""DynamicScorer and DynamicScoringConfig for the hub: effective values with every default written out."""

from collections.abc import Sequence
from typing import Any

import msgspec

from dsf_wire.constants import RUNS_ON_HUB
from dsf_wire.text import printable_json
from gitops_dsf.hub.names import MASKS_CONFIGMAP, MASKS_KEY
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.repository.model.base import DSF_API
from gitops_dsf.repository.model.metric_source import MetricSourceVariant
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.scorer import Auth
from gitops_dsf.repository.model.scoring_config import SINGLETON_NAME, DynamicScoringConfig, Mask
from gitops_dsf.resolve.types import EffectiveScorer


def scorer(item: EffectiveScorer, repository: FleetRepository) -> Object:
    """The custom resource. With delivery.mode UpstreamController it has only upstream's fields, which its
    controller reads.
    """
    declared = item.declared
    by_query = item.spec.scored_by_query
    api = {"configURL": declared.spec.config_url, "configSyncMode": declared.spec.config_sync_mode}
    spec: Object = {
        "description": declared.spec.description,
        **({} if by_query else api),
        "location": item.spec.location,
        "source": _source(item),
        "scoring": _without_none(
            {
                "type": item.scoring_type if by_query else None,
                "host": None if by_query else item.scoring_host,
                "path": None if by_query else item.scoring_path,
                "params": {"name": item.score_name, "interval": item.interval},
                "auth": _auth(item.spec.scoring.auth),
            }
        ),
        "scoreDestination": item.spec.score_destination,
        "scoreDimensionFormat": item.dimension_format,
    }
    if repository.spec.delivers_works:
        _extend(spec, item)
    return {
        "apiVersion": DSF_API,
        "kind": "DynamicScorer",
        "metadata": metadata(
            name=item.name,
            namespace=repository.spec.hub_namespace,
            wave=Wave.SCORERS,
            labels=declared.metadata.labels,
            annotations=declared.metadata.annotations,
        ),
        "spec": spec,
    }


def _source(item: EffectiveScorer) -> Object:
    params = {"query": item.query, "range": item.range, "step": item.step}
    if item.metric_source is None:
        place = _place(item)
        auth = place.pop("auth", None)
        return _without_none({**place, "params": params, "auth": auth})
    variants = [
        _without_none(
            {
                "clusterSelector": written.cluster_selector.model_dump(mode="json")
                if written.cluster_selector is not None
                else None,
                **_place(found),
                **_extras(written),
            }
        )
        for written, found in zip(item.metric_source.spec.variants, item.variants, strict=True)
    ]
    return {"ref": item.metric_source.metadata.name, "params": params, "variants": variants}


def _place(item: EffectiveScorer) -> Object:
    if item.source_is_pushed:
        # The receiver is where the agent is, and has no credentials.
        return {"type": PUSHED}
    return _without_none(
        {
            "type": item.source_type,
            "host": item.source_host,
            "path": item.source_path,
            "auth": _auth(item.source_auth),
        }
    )


def _extras(variant: MetricSourceVariant) -> Object:
    dumped: Object = variant.model_dump(
        mode="json", include={"basic_auth", "client_certificate", "headers"}, exclude_none=True
    )
    return {key: value for key, value in dumped.items() if value}


def open_scorer(item: EffectiveScorer, repository: FleetRepository) -> Object:
    """The custom resource of a scorer that the upstream controller completes from /config. Fields that are
    not written are left out.

    `params` is complete or absent: upstream's CRD requires all its fields, and its controller treats empty
    ones as not written.
    """
    found = scorer(item, repository)
    spec = {
        key: _written(value) if key in {"source", "scoring"} else value
        for key, value in found["spec"].items()
    }
    return {**found, "spec": {key: value for key, value in spec.items() if value != {}}}


def _written(section: Object) -> Object:
    return {
        key: value
        for key, value in section.items()
        if value != "" and (key != "params" or any(value.values()))
    }


def scoring_config(config: DynamicScoringConfig, repository: FleetRepository) -> Object:
    """The masks for the upstream controller."""
    return {
        "apiVersion": DSF_API,
        "kind": "DynamicScoringConfig",
        "metadata": metadata(name=SINGLETON_NAME, namespace=repository.spec.hub_namespace, wave=Wave.SCORERS),
        "spec": config.spec.model_dump(mode="json", exclude_none=True),
    }


def masks(written: Sequence[Mask], repository: FleetRepository) -> Object:
    """The masks for the reconciler, which may have no access to git. It computes the clusters itself, so this
    object changes only when a mask is edited.
    """
    authored = [mask.model_dump(mode="json", exclude_unset=True, exclude_none=True) for mask in written]
    text = msgspec.json.format(msgspec.json.encode(authored), indent=2).decode()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(
            name=MASKS_CONFIGMAP, namespace=repository.spec.hub_namespace, wave=Wave.SCORERS
        ),
        "data": {MASKS_KEY: printable_json(text)},
    }


def _extend(spec: Object, item: EffectiveScorer) -> None:
    written = item.spec
    if written.source.dialect != "PromQL":
        spec["source"]["dialect"] = written.source.dialect
    if item.on_hub:
        spec["runsOn"] = RUNS_ON_HUB
        spec["scoring"]["clustersPerRequest"] = written.scoring.clusters_per_request
        if written.source.cluster_label is not None:
            spec["source"]["clusterLabel"] = written.source.cluster_label.model_dump(
                mode="json", exclude_none=True
            )
    if written.scoring.arguments is not None:
        spec["scoring"]["arguments"] = dict(written.scoring.arguments)
    spec["suspend"] = written.suspend
    if written.cluster_selector is not None:
        spec["clusterSelector"] = written.cluster_selector.model_dump(mode="json")
    if written.score_range is not None:
        spec["scoreRange"] = written.score_range.model_dump(mode="json")
    spec["scoreAggregation"] = written.score_aggregation
    spec["scoreTTLSeconds"] = item.ttl_seconds
    spec["publish"] = written.publish.model_dump(mode="json")
    if written.default_score is not None:
        spec["defaultScore"] = written.default_score


def _auth(auth: Auth | None) -> Object | None:
    if auth is None:
        return None
    dumped: Object = auth.model_dump(mode="json", exclude_none=True)
    if not auth.service_account_token:
        dumped.pop("serviceAccountToken", None)
    return dumped or None


def _without_none(value: dict[str, Any]) -> Object:
    return {key: item for key, item in value.items() if item is not None}
