"""Series, and the interface of a source."""

from dataclasses import dataclass
from typing import Protocol

from dsf_agent.endpoints.endpoint import Endpoint
from dsf_agent.endpoints.transport import Body
from dsf_agent.kubernetes.cluster import Cluster
from dsf_wire.summary import Summary


@dataclass(frozen=True, kw_only=True)
class Series:
    """Series as JSON text, not decoded. ``parts``, joined by commas, are the elements of the request's
    ``data`` array.

    ``size`` is the number of received bytes. ``warnings`` are texts of the source.
    """

    parts: tuple[Body, ...] = ()
    count: int = 0
    size: int = 0
    warnings: tuple[str, ...] = ()


class Source(Protocol):
    """The source of one scorer. It is created again when the entry changes, and may keep state between
    cycles.
    """

    def __init__(self, *, scorer: Summary, endpoint: Endpoint, cluster: Cluster) -> None: ...

    @staticmethod
    def fault(scorer: Summary) -> str | None:
        """Why the entry cannot be used with this type of source, or None."""
        ...

    async def fetch(self, *, now: float) -> Series:
        """The series at ``now`` (Unix seconds). Raises FetchError or CallError."""
        ...
