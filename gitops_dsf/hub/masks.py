"""Masks as the hub has them: a ConfigMap that is rendered from the fleet repository."""

import msgspec
from msgspec import Struct

from gitops_dsf.hub.glob import is_glob, matches
from gitops_dsf.hub.labels import LabelIndex
from gitops_dsf.hub.objects import LabelSelector
from gitops_dsf.hub.selectors import Selector


class Mask(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Keeps a score off clusters."""

    score_name: str
    """Score name, or a shell-style glob."""
    cluster_name: str | None = None
    """Cluster, or a shell-style glob."""
    cluster_selector: LabelSelector | None = None
    """Clusters by their labels, in place of clusterName."""

    def __post_init__(self) -> None:
        if (self.cluster_name is None) == (self.cluster_selector is None):
            msg = "a mask names its clusters by clusterName or by clusterSelector: write exactly one of them"
            raise ValueError(msg)


def read_masks(text: str | bytes) -> tuple[Mask, ...]:
    """Masks from the value of the ConfigMap's key. Raises msgspec.DecodeError (ValidationError is one)."""
    return msgspec.json.decode(text, type=tuple[Mask, ...])


def masked_clusters(
    clusters: LabelIndex[str], *, name: str | None, selector: Selector | None
) -> frozenset[str]:
    """Clusters that a mask names: by selector, else by name or glob."""
    if selector is not None:
        return clusters.select(selector)
    pattern = name or ""
    if not is_glob(pattern):
        return clusters.everything & {pattern}
    return frozenset(each for each in clusters.everything if matches(each, pattern))
