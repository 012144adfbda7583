"""The types of metric sources. A new type is a class in this package and a line in SOURCES."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dsf_agent.endpoints.endpoint import Endpoint
from dsf_agent.fetch.kubernetes import KubernetesSource
from dsf_agent.fetch.prometheus import PrometheusSource
from dsf_agent.fetch.series import Series, Source
from dsf_agent.kubernetes.cluster import Cluster
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.summary import Summary


class NoSource:
    """Source type None: the scoring API needs no series."""

    def __init__(self, *, scorer: Summary, endpoint: Endpoint, cluster: Cluster) -> None:
        del scorer, endpoint, cluster

    @staticmethod
    def fault(scorer: Summary) -> str | None:
        del scorer
        return None

    async def fetch(self, *, now: float) -> Series:
        del now
        return Series()


SOURCES: Final[Mapping[str, type[Source]]] = MappingProxyType(
    {SOURCE_TYPE: KubernetesSource, "None": NoSource, "Prometheus": PrometheusSource}
)


def of(scorer: Summary) -> type[Source]:
    """The class for a valid entry. An entry with a query and without a type means Prometheus. (The upstream
    agent would query no source.)
    """
    return SOURCES[_kind(scorer)]


def has_series(scorer: Summary) -> bool:
    """Whether the entry has a source that is asked for series."""
    return _kind(scorer) != "None"


def fault(scorer: Summary) -> str | None:
    """Why the source of this entry cannot be used, or None."""
    kind = _kind(scorer)
    if kind not in SOURCES:
        return f"sourceType {kind!r} is not one of {', '.join(sorted(SOURCES))}"
    return SOURCES[kind].fault(scorer)


def _kind(scorer: Summary) -> str:
    if scorer.source_type:
        return scorer.source_type
    return "Prometheus" if scorer.source_query.strip() else "None"
