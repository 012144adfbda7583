"""The identity of a series in a metric store: its cluster, and the labels of its result."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import label_of
from gitops_dsf.hub.raw_results import LabelValues


class SeriesIdentity(NamedTuple):
    """The cluster and the labels that a series belongs to."""

    cluster: str
    """Empty if the series names no cluster of the fleet."""
    labels: LabelValues


SeriesReader = Callable[[Mapping[str, str]], SeriesIdentity]
"""Reads the identity of a series from its labels."""


def exported(cluster_label: str) -> SeriesReader:
    """A reader for series of the metric dynamic_score."""
    names = tuple(map(label_of, LABELS))

    def read(labels: Mapping[str, str]) -> SeriesIdentity:
        return SeriesIdentity(labels.get(cluster_label, ""), _values_of(labels, names))

    return read


def evaluated(label: str, clusters: Iterable[tuple[str, str]]) -> SeriesReader:
    """A reader for series of a query that the store evaluates now.

    `clusters` are values of the label, and the clusters that they mean.
    """
    cluster_by_value = dict(clusters)

    def read(labels: Mapping[str, str]) -> SeriesIdentity:
        cluster = cluster_by_value.get(labels.get(label, ""), "")
        return SeriesIdentity(cluster, _values_of(labels, LABELS))

    return read


def _values_of(labels: Mapping[str, str], names: Iterable[str]) -> LabelValues:
    # For Prometheus an absent label and an empty one are the same.
    return tuple([labels.get(name, "") for name in names])
