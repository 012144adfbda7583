"""Masks as the hub has them: in a ConfigMap that is rendered from the fleet repository."""

import msgspec
from msgspec import Struct

from gitops_dsf.hub.glob import is_glob, matches
from gitops_dsf.hub.labels import LabelIndex
from gitops_dsf.hub.names import MASKS_KEY
from gitops_dsf.hub.objects import LabelSelector
from gitops_dsf.hub.selectors import Selector


class Mask(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Excludes clusters from a score."""

    score_name: str
    """Score name or shell-style glob."""
    cluster_name: str | None = None
    """Cluster name or shell-style glob."""
    cluster_selector: LabelSelector | None = None
    """Selects clusters by their labels, instead of clusterName."""

    def __post_init__(self) -> None:
        if (self.cluster_name is None) == (self.cluster_selector is None):
            msg = "a mask names its clusters by clusterName or by clusterSelector: write exactly one of them"
            raise ValueError(msg)


def read_masks(data: object) -> tuple[Mask, ...] | None:
    """The masks in the data of the ConfigMap; None if it does not have them. Raises msgspec.DecodeError."""
    text = (msgspec.convert(data, dict[str, str] | None) or {}).get(MASKS_KEY)
    return None if text is None else msgspec.json.decode(text, type=tuple[Mask, ...])


def masked_clusters(
    clusters: LabelIndex[str], *, name: str | None, selector: Selector | None
) -> frozenset[str]:
    """Names of the clusters that a mask matches: by its selector, else by name or glob."""
    if selector is not None:
        return clusters.select(selector)
    pattern = name or ""
    if not is_glob(pattern):
        return clusters.everything & {pattern}
    return frozenset(each for each in clusters.everything if matches(each, pattern))
