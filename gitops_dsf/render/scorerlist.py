"""The ConfigMaps with the list of scorers for the reconciler (`gitops_dsf.hub.scorerlist`).

A part has one key for each scorer, so that a pull request shows which scorer changed. A scorer's
part is a hash of its name, and there are as many parts as the list needs.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from gitops_dsf.hub.delivery import OUR_CRDS, OUR_DELIVERY
from gitops_dsf.hub.scorerlist import (
    FORMAT,
    INDEX_CONFIGMAP,
    INDEX_KEY,
    MAX_PARTS,
    PART_CONFIGMAPS,
    ListIndex,
    digest_of,
)
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.plan.works import shard_of
from gitops_dsf.render.objects import Object, Wave, config_map, lines_of_json
from gitops_dsf.render.scorers import complete_spec

# The API server refuses a ConfigMap above 1,048,576 bytes. Half of that leaves room for metadata,
# and keeps all parts together below the 10 MB that Argo CD takes from one folder.
MAX_PART_BYTES: Final = 512_000
"""Bytes of the keys and values of a part."""


def scorer_list(fleet: CheckedFleet) -> Iterator[Object]:
    """Yields the index and the parts."""
    namespace = fleet.repository.spec.hub_namespace
    delivery = fleet.repository.spec.delivery
    # With UpstreamController nothing of ours is in the CRDs, whatever is written.
    crds = OUR_CRDS if delivery.renders_crds else "Existing"
    data_by_name = list_data(scorer_texts(fleet), crds=crds, mode=delivery.mode)
    for name, data in data_by_name.items():
        yield config_map(name, data, namespace=namespace, wave=Wave.SCORERS)


def list_data(
    texts: Mapping[str, str], *, crds: str = OUR_CRDS, mode: str = OUR_DELIVERY
) -> dict[str, dict[str, str]]:
    """The data of the index and of each part that has scorers, by the name of its ConfigMap.

    If there are too many scorers for MAX_PARTS, some are too large; `render.limits` reports that.
    """
    count = 0
    parts: dict[str, dict[str, str]] = {}
    while count < MAX_PARTS and (not count or not all(map(fits, parts.values()))):
        count += 1
        parts = _spread(texts, count)
    digests = {scorer: digest_of(text) for scorer, text in sorted(texts.items())}
    index = ListIndex(format=FORMAT, parts=count, scorers=digests, crds=crds, mode=mode)
    return {INDEX_CONFIGMAP: {INDEX_KEY: lines_of_json(index)}, **dict(sorted(parts.items()))}


def scorer_texts(fleet: CheckedFleet) -> dict[str, str]:
    """The text of each scorer in the list, by name."""
    texts: dict[str, str] = {}
    for effective in fleet.scorers:
        spec = complete_spec(effective, fleet.by_variant[effective.name])
        # A description is for people, who find it in the DynamicScorer. Here it would only count.
        spec.pop("description", None)
        texts[effective.name] = lines_of_json(spec)
    return dict(sorted(texts.items()))


def size_of(data: Mapping[str, str]) -> int:
    """Bytes of keys and values, as the API server counts them."""
    return sum(len(key.encode()) + len(text.encode()) for key, text in data.items())


def fits(data: Mapping[str, str]) -> bool:
    """Whether a ConfigMap of the list is not too large."""
    return size_of(data) <= MAX_PART_BYTES


def _spread(texts: Mapping[str, str], count: int) -> dict[str, dict[str, str]]:
    parts: dict[str, dict[str, str]] = {}
    for scorer, text in texts.items():
        parts.setdefault(PART_CONFIGMAPS[shard_of(scorer, count)], {})[scorer] = text
    return parts
