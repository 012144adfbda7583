"""Label sets of the hub scorer: a label of each result says which cluster it is about."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

import msgspec

from dsf_agent.samples import SamplePrefix
from dsf_agent.scoring.labels import LabelSet, LabelSets, item_namer, label_set
from dsf_wire import dimension

OTHER_CLUSTER: Final = LabelSet(item="", line=b"", size=0)
"""A result about a cluster that this scorer does not score.

A central store often knows more clusters.
"""
NO_CLUSTER: Final = LabelSet(item="", line=b"", size=0, cluster="\0")
"""A result without the label. No cluster has this name."""
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_FIELD: Final = "the_cluster"


class ClusterLabelSets(LabelSets):
    """The label sets of one scorer on all its clusters."""

    max_results = 200_000

    def __init__(self, *, template: str, score_name: str, label: str) -> None:
        self.struct = _struct(label)
        super().__init__(template=template, cluster="", score_name=score_name)
        self._template = template
        self._score_name = score_name
        self._place = (*dimension.LABELS, label).index(label)
        self._clusters = _NONE
        self._only = ""

    def use(self, clusters: Mapping[str, str], *, only: str = "") -> None:
        """Sets the clusters by value. ``only``: the cluster of results without the label."""
        if clusters is not self._clusters or only != self._only:
            self._clusters = clusters
            self._only = only
            # The label sets that are kept name clusters by the old file.
            self.forget()

    def of(self, labels: tuple[str, ...]) -> LabelSet:
        """The label set of these labels, the last of which may be that of the cluster."""
        value = labels[self._place]
        cluster = self._clusters.get(value, "") if value else self._only
        if not cluster:
            return OTHER_CLUSTER if value else NO_CLUSTER
        labels = labels[: len(dimension.LABELS)]
        name_of = item_namer(template=self._template, cluster=cluster, score_name=self._score_name)
        prefix = SamplePrefix(cluster=cluster, score_name=self._score_name)
        return label_set(name_of(labels), prefix.of(labels), cluster=cluster)


@cache
def _struct(label: str) -> type[msgspec.Struct]:
    """Labels with the cluster's label, which may be one of them."""
    fields = [(name, str, "") for name in dimension.LABELS]
    if label in dimension.LABELS:
        return msgspec.defstruct("ClusterLabels", fields, gc=False)
    return msgspec.defstruct(
        "ClusterLabels", [*fields, (_FIELD, str, "")], gc=False, rename={_FIELD: label}
    )
