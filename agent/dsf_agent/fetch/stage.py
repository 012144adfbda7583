"""The stage ``fetch``: queries the source of one scorer."""

from dataclasses import replace

from dsf_agent.endpoints.budget import Reservation
from dsf_agent.endpoints.credentials import Credentials, source_auth
from dsf_agent.endpoints.endpoint import Endpoint
from dsf_agent.endpoints.transport import Transport
from dsf_agent.errors import CallError, FetchError
from dsf_agent.fetch import sources
from dsf_agent.fetch.series import Series
from dsf_agent.kubernetes.cluster import Cluster
from dsf_wire.summary import Summary


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
        self._source = sources.of(scorer)(scorer=scorer, endpoint=self._endpoint, cluster=cluster)

    async def __call__(self, *, now: float) -> Series:
        """The series at ``now`` (Unix seconds). Raises FetchError."""
        try:
            series = await self._source.fetch(now=now)
        except (CallError, FetchError) as error:
            raise FetchError(
                self._name + self._endpoint.hide(str(error)),
                reason=error.reason,
                retry_after=error.retry_after,
            ) from error
        return replace(series, warnings=tuple(map(self._endpoint.hide, series.warnings)))
