"""Source type None: the scoring API needs no series."""

from dsf_agent.endpoint import Endpoint
from dsf_agent.sources.base import Series
from dsf_wire.summary import Summary


class NoSource:
    """Always the empty list."""

    def __init__(self, *, scorer: Summary, endpoint: Endpoint) -> None:
        del scorer, endpoint

    @staticmethod
    def fault(scorer: Summary) -> str | None:
        del scorer
        return None

    async def fetch(self, *, now: float) -> Series:
        del now
        return Series()
