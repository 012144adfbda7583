"""The stage ``fetch``: queries the source of one scorer."""

from dataclasses import replace
from typing import Final

from dsf_agent.endpoints.budget import Reservation
from dsf_agent.endpoints.credentials import Credentials, source_auth
from dsf_agent.endpoints.endpoint import Endpoint
from dsf_agent.endpoints.transport import Transport
from dsf_agent.errors import AgentError
from dsf_agent.fetch.kubernetes import KubernetesSource
from dsf_agent.fetch.kubernetes import fault as kubernetes_fault
from dsf_agent.fetch.prometheus import PrometheusSource
from dsf_agent.fetch.prometheus import fault as prometheus_fault
from dsf_agent.fetch.promjson import Series
from dsf_agent.kubernetes.cluster import Cluster
from dsf_wire.measures import SOURCE_TYPE
from dsf_wire.summary import Summary

PROMETHEUS: Final = "Prometheus"
NONE: Final = "None"
"""The scoring API needs no series."""


def has_series(scorer: Summary) -> bool:
    """Whether the entry has a source that is asked for series."""
    return _kind(scorer) != NONE


def fault(scorer: Summary) -> str | None:
    """Why the source of this entry cannot be used, or None."""
    match _kind(scorer):
        case "Prometheus":
            return prometheus_fault(scorer)
        case "Kubernetes":
            return kubernetes_fault(scorer)
        case "None":
            return None
        case kind:
            return f"sourceType {kind!r} is not one of {SOURCE_TYPE}, {NONE}, {PROMETHEUS}"


def _kind(scorer: Summary) -> str:
    """An entry with a query and without a type means Prometheus; upstream's agent would query no source."""
    return scorer.source_type or (PROMETHEUS if scorer.source_query.strip() else NONE)


class Fetch:
    """The first stage of a cycle, for one scorer."""

    def __init__(
        self,
        *,
        scorer: Summary,
        transport: Transport,
        credentials: Credentials,
        reservation: Reservation,
        cluster: Cluster,
    ) -> None:
        self._endpoint = Endpoint(
            transport=transport, credentials=credentials, auth=source_auth(scorer), reservation=reservation
        )
        self._name = f"MetricSource {scorer.source_ref}: " if scorer.source_ref else ""
        kind = _kind(scorer)
        self._source: PrometheusSource | KubernetesSource | None = None
        if kind == PROMETHEUS:
            self._source = PrometheusSource(scorer=scorer, endpoint=self._endpoint)
        elif kind == SOURCE_TYPE:
            self._source = KubernetesSource(scorer=scorer, cluster=cluster)

    async def __call__(self, *, now: float) -> Series:
        """The series at ``now`` (Unix seconds). Raises AgentError."""
        if self._source is None:
            return Series()
        try:
            series = await self._source.fetch(now=now)
        except AgentError as error:
            raise error.anew(self._name + self._endpoint.hide(str(error)), stage="fetch") from error
        return replace(series, warnings=tuple(map(self._endpoint.hide, series.warnings)))
