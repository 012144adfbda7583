"""The custom resources of scoring: DynamicScorers, DynamicScoringConfig, and the masks.

They are for people, who see statuses there, and, with delivery.mode UpstreamController, for
upstream's controller. The reconciler reads masks and statuses here, and takes scorers from a list
(`render.scorerlist`). Agents read none of them: the scorers that they run are in the ManifestWorks
(`render.works`).
"""

from collections.abc import Sequence
from typing import Final

from gitops_dsf.hub.names import MASKS_CONFIGMAP, MASKS_KEY
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.render.objects import Object, Wave, config_map, lines_of_json, metadata
from gitops_dsf.repository.model.base import DSF_API
from gitops_dsf.repository.model.metric_source import MetricSourceVariant
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.scorer import Auth, Scoring, Source
from gitops_dsf.repository.model.scoring_config import SINGLETON_NAME, DynamicScoringConfig, Mask
from gitops_dsf.resolve.scorer import EffectiveScorer

# In upstream's order; ours follow (dynamic-scoring-framework v0.1.0, which is what
# multiclusterhub-operator carries). Where upstream's CRDs are on the hub, objects have no others:
# the API server drops what a CRD does not have, and Argo CD would never be in sync.
_UPSTREAM_SPEC: Final = (
    "description",
    "configURL",
    "configSyncMode",
    "location",
    "source",
    "scoring",
    "scoreDestination",
    "scoreDimensionFormat",
)
_KNOWN_OF_SECTION: Final = ("type", "host", "path", "params")
"""Fields of `source` and of `scoring` that upstream's CRD has, besides `auth`."""
_KNOWN_SOURCES: Final = frozenset({"Prometheus", "None"})
_UPSTREAM_SECTION: Final = ("ref", "type", "host", "path", "params", "variants", "auth")
"""The fields of `source` and of `scoring`."""


def scorer(
    effective: EffectiveScorer, variants: Sequence[EffectiveScorer], repository: FleetRepository
) -> Object:
    """The custom resource; with upstream's fields alone where the CRD is not ours.

    `variants` is the scorer with each variant of its MetricSource.
    """
    written = effective.declared.value.metadata
    spec = complete_spec(effective, variants)
    if not repository.spec.renders_crds:
        spec = _known_to_upstream(spec)
    return {
        "apiVersion": DSF_API,
        "kind": "DynamicScorer",
        "metadata": metadata(
            name=effective.name,
            namespace=repository.spec.hub_namespace,
            wave=Wave.SCORERS,
            labels=written.labels,
            annotations=written.annotations,
        ),
        "spec": spec,
    }


def open_scorer(
    effective: EffectiveScorer, variants: Sequence[EffectiveScorer], repository: FleetRepository
) -> Object:
    """The custom resource of a scorer that the upstream controller completes from /config.

    Fields that are not written are left out.
    """
    rendered = scorer(effective, variants, repository)
    spec = rendered["spec"]
    # Without a query the type of the source stays open: the controller takes it from /config, and
    # skips a scorer that has none.
    if not (effective.spec.source.type or effective.spec.source.params.query):
        del spec["source"]["type"]
    for section in ("source", "scoring"):
        spec[section] = _written_fields(spec[section])
        if not spec[section]:
            del spec[section]
    return rendered


def complete_spec(effective: EffectiveScorer, variants: Sequence[EffectiveScorer]) -> Object:
    """The spec with all fields, upstream's first, as the reconciler reads it."""
    spec = _spec(effective, variants)
    for section in ("source", "scoring"):
        spec[section] = _upstream_first(spec[section], _UPSTREAM_SECTION)
    return _upstream_first(spec, _UPSTREAM_SPEC)


def _written_fields(section: Object) -> Object:
    """A section without empty fields."""
    written: Object = {}
    for name, value in section.items():
        # `params` is complete or absent: upstream's CRD requires all its fields, and its controller
        # treats empty ones as not written.
        if name == "params" and not any(value.values()):
            continue
        if value != "":
            written[name] = value
    return written


def scoring_config(config: DynamicScoringConfig, repository: FleetRepository) -> Object:
    """The masks for the upstream controller."""
    return {
        "apiVersion": DSF_API,
        "kind": "DynamicScoringConfig",
        "metadata": metadata(
            name=SINGLETON_NAME, namespace=repository.spec.hub_namespace, wave=Wave.SCORERS
        ),
        "spec": config.spec.model_dump(mode="json", exclude_none=True),
    }


def masks(written: Sequence[Mask], repository: FleetRepository) -> Object:
    """The masks for the reconciler, which may have no access to git.

    It computes their clusters itself.
    """
    authored = [
        mask.model_dump(mode="json", exclude_unset=True, exclude_none=True) for mask in written
    ]
    data = {MASKS_KEY: lines_of_json(authored)}
    return config_map(
        MASKS_CONFIGMAP, data, namespace=repository.spec.hub_namespace, wave=Wave.SCORERS
    )


def _upstream_first(section: Object, names: Sequence[str]) -> Object:
    upstream = {name: section[name] for name in names if name in section}
    return upstream | section


def _known_to_upstream(spec: Object) -> Object:
    """The part of a spec that upstream's CRD keeps, without fields that it refuses."""
    accepted_fields: Object = {name: spec[name] for name in _UPSTREAM_SPEC if name in spec}
    for name in ("source", "scoring"):
        written = spec[name]
        section = {field: written[field] for field in _KNOWN_OF_SECTION if field in written}
        # Scoring has a type here, for scorers that have no API; upstream's has none.
        if name == "scoring":
            section.pop("type", None)
        token = (written.get("auth") or {}).get("tokenSecretRef")
        if token is not None:
            section["auth"] = {"tokenSecretRef": token}
        accepted_fields[name] = section
    # Without its type, the rest of a source would say something else.
    if accepted_fields["source"].get("type", "None") not in _KNOWN_SOURCES:
        del accepted_fields["source"]
    return accepted_fields


def _spec(effective: EffectiveScorer, variants: Sequence[EffectiveScorer]) -> Object:
    """The spec with its defaults.

    What is None, such as what has no meaning for the scorer, is left out.
    """
    spec = effective.spec
    changes: Object = {
        "score_dimension_format": effective.dimension_format,
        "score_ttl_seconds": effective.ttl_seconds,
        "source": _source(effective),
        "scoring": _scoring(effective),
    }
    if spec.scored_by_query:
        changes |= {"config_url": None, "config_sync_mode": None}
    if not spec.on_hub:
        changes["runs_on"] = None
    # The serializer of the whole object is there since it was read. One of the spec alone would
    # take 0.1 s to make.
    complete = effective.declared.value.model_copy(update={"spec": spec.model_copy(update=changes)})
    rendered: Object = complete.model_dump(mode="json", exclude_none=True, include={"spec"})["spec"]
    if spec.source.ref is not None:
        rendered["source"]["variants"] = [
            _variant(scorer, scorer.variant) for scorer in variants if scorer.variant is not None
        ]
    return rendered


def _source(effective: EffectiveScorer) -> Source:
    source = effective.spec.source
    changes = _endpoint(effective)
    changes["parameters"] = source.parameters or None
    if source.dialect == "PromQL":
        changes["dialect"] = None
    return source.model_copy(update=changes)


def _scoring(effective: EffectiveScorer) -> Scoring:
    scoring = effective.spec.scoring
    changes: Object = {
        "type": None,
        "host": effective.scoring_origin,
        "path": effective.scoring_path,
        "auth": _auth(scoring.auth),
    }
    if effective.spec.scored_by_query:
        changes |= {"type": effective.scoring_type, "host": None, "path": None}
    if not effective.spec.on_hub:
        changes["clusters_per_request"] = None
    return scoring.model_copy(update=changes)


def _variant(effective: EffectiveScorer, variant: MetricSourceVariant) -> Object:
    changes = _endpoint(effective)
    changes["parameters"] = variant.parameters or None
    changes["headers"] = variant.headers or None
    return variant.model_copy(update=changes).model_dump(mode="json", exclude_none=True)


def _endpoint(effective: EffectiveScorer) -> Object:
    """The endpoint of the source, and its credentials."""
    if effective.needs_variant:
        return {"type": None, "host": None, "path": None}
    # The receiver is where the agent is, and has no credentials.
    if effective.is_pushed:
        return {"type": PUSHED, "host": None, "path": None, "auth": None}
    host = effective.spec.source.host
    if effective.source_type == "Prometheus":
        host = effective.source_origin
    return {
        "type": effective.source_type,
        "host": host,
        "path": effective.source_path,
        "auth": _auth(effective.spec.source.auth),
    }


def _auth(auth: Auth | None) -> Auth | None:
    """The credentials, without fields that are not used."""
    if auth is None or auth == Auth():
        return None
    if auth.service_account_token:
        return auth
    return auth.model_copy(update={"service_account_token": None})
