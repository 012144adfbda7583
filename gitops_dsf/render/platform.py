"""rendered/platform: the objects that exist once per hub, with every default written out."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from dsf_wire.text import printable_json
from gitops_dsf.hub.names import MASKS_CONFIGMAP, MASKS_KEY
from gitops_dsf.hub.scorers import PUSHED
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render import agent
from gitops_dsf.render.admission import score_policies
from gitops_dsf.render.objects import Object, Wave, config_map, filled, metadata
from gitops_dsf.repository.model.base import DSF_API
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.repository.model.scorer import Auth
from gitops_dsf.repository.model.scoring_config import SINGLETON_NAME, DynamicScoringConfig, Mask
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.schema.crd import crds

KEEP = "Prune=false,Delete=false"


def platform(fleet: CheckedFleet) -> Iterator[Object]:
    """Yields CRDs, hub namespace, permissions, add-on definition and the DynamicScorers."""
    spec = fleet.repository.spec
    ours = spec.delivers_works
    if ours:
        yield from definitions()
    yield {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": metadata(name=spec.hub_namespace, wave=Wave.FOUNDATIONS, sync_options=KEEP),
    }
    if ours:
        yield from filled("agent-rights.yaml")
        yield from score_policies(fleet, of_agents=True)
        yield from agent.addon(fleet.repository, (work.addon for work in fleet.works))
        yield masks(fleet.masks, fleet.repository)
    for item in fleet.scorers:
        yield scorer(item, fleet.by_variant[item.name], fleet.repository)
    for item in fleet.open_scorers:
        yield open_scorer(item, fleet.by_variant[item.name], fleet.repository)
    if not ours and fleet.scoring_config is not None:
        yield scoring_config(fleet.scoring_config, fleet.repository)


def definitions() -> Iterator[Object]:
    """The CRDs. They are never pruned, because that would delete every object of their kinds."""
    for crd in crds():
        meta = crd["metadata"]
        yield {**crd, "metadata": metadata(name=meta["name"], wave=Wave.CRDS, sync_options=KEEP)}


_SPEC: Final = "description configURL configSyncMode location source scoring scoreDestination scoreDimensionFormat"
"""Upstream's fields of a spec, and of its sections. Ours follow."""
_SECTION: Final = "ref type host path params variants auth"


def scorer(
    item: EffectiveScorer, variants: Sequence[EffectiveScorer], repository: FleetRepository
) -> Object:
    """The custom resource; with delivery.mode UpstreamController upstream's fields alone.

    `variants` is the scorer with each variant of its MetricSource.
    """
    meta = item.declared.value.metadata
    ours = repository.spec.delivers_works
    spec = _spec(item, variants)
    for name in ("source", "scoring"):
        spec[name] = _upstream_first(spec[name], _SECTION, ours=ours)
    return {
        "apiVersion": DSF_API,
        "kind": "DynamicScorer",
        "metadata": metadata(
            name=item.name,
            namespace=repository.spec.hub_namespace,
            wave=Wave.SCORERS,
            labels=meta.labels,
            annotations=meta.annotations,
        ),
        "spec": _upstream_first(spec, _SPEC, ours=ours),
    }


def _upstream_first(section: Object, names: str, *, ours: bool) -> Object:
    found = {name: section[name] for name in names.split() if name in section}
    return found | section if ours else found


def _spec(item: EffectiveScorer, variants: Sequence[EffectiveScorer]) -> Object:
    """The spec with its defaults.

    What is None, such as what has no meaning for the scorer, is left out.
    """
    spec, by_query, dialect = item.spec, item.spec.scored_by_query, item.spec.source.dialect
    changes: Object = {
        "score_dimension_format": item.dimension_format,
        "score_ttl_seconds": item.ttl_seconds,
        "source": spec.source.model_copy(
            update=_place(item)
            | {
                "dialect": None if dialect == "PromQL" else dialect,
                "parameters": spec.source.parameters or None,
            }
        ),
        "scoring": spec.scoring.model_copy(
            update={
                "type": item.scoring_type if by_query else None,
                "host": None if by_query else item.scoring_origin,
                "path": None if by_query else item.scoring_path,
                "auth": _auth(spec.scoring.auth),
                "clusters_per_request": spec.scoring.clusters_per_request
                if item.spec.on_hub
                else None,
            }
        ),
    }
    if by_query:
        changes |= {"config_url": None, "config_sync_mode": None}
    if not item.spec.on_hub:
        changes["runs_on"] = None
    # The serializer of the whole object is there since it was read; one of the spec would take 0.1
    # s to make.
    whole = item.declared.value.model_copy(update={"spec": spec.model_copy(update=changes)})
    found: Object = whole.model_dump(mode="json", exclude_none=True, include={"spec"})["spec"]
    if item.spec.source.ref is not None:
        found["source"]["variants"] = [
            each.variant.model_copy(
                update={
                    **_place(each),
                    "parameters": each.variant.parameters or None,
                    "headers": each.variant.headers or None,
                }
            ).model_dump(mode="json", exclude_none=True)
            for each in variants
            if each.variant is not None
        ]
    return found


def _place(item: EffectiveScorer) -> Object:
    """Where the source is. The receiver is where the agent is, and has no credentials."""
    if item.needs_variant:
        return dict.fromkeys(("type", "host", "path"))
    if item.is_pushed:
        return {"type": PUSHED, **dict.fromkeys(("host", "path", "auth"))}
    host = item.source_origin if item.source_type == "Prometheus" else item.spec.source.host
    return {
        "type": item.source_type,
        "host": host,
        "path": item.source_path,
        "auth": _auth(item.spec.source.auth),
    }


def _auth(auth: Auth | None) -> Auth | None:
    """Without what is not used."""
    if auth is None or auth == Auth():
        return None
    return (
        auth
        if auth.service_account_token
        else auth.model_copy(update={"service_account_token": None})
    )


def open_scorer(
    item: EffectiveScorer, variants: Sequence[EffectiveScorer], repository: FleetRepository
) -> Object:
    """The custom resource of a scorer that the upstream controller completes from /config.

    Fields that are not written are left out.

    `params` is complete or absent: upstream's CRD requires all its fields, and its controller
    treats empty ones as not written. Without a query, the type of the source stays open, too: the
    controller takes it from /config, and skips a scorer that has none.
    """
    found = scorer(item, variants, repository)
    spec = found["spec"]
    if not (item.spec.source.type or item.spec.source.params.query):
        del spec["source"]["type"]
    for name in ("source", "scoring"):
        spec[name] = {
            key: value
            for key, value in spec[name].items()
            if value != "" and (key != "params" or any(value.values()))
        }
        if not spec[name]:
            del spec[name]
    return found


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

    It computes their clusters itself.
    """
    authored = [
        mask.model_dump(mode="json", exclude_unset=True, exclude_none=True) for mask in written
    ]
    text = msgspec.json.format(msgspec.json.encode(authored), indent=2).decode()
    data = {MASKS_KEY: printable_json(text)}
    return config_map(
        MASKS_CONFIGMAP, data, namespace=repository.spec.hub_namespace, wave=Wave.SCORERS
    )
