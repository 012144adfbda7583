"""What a source of series is."""

from dataclasses import dataclass
from typing import Protocol

from dsf_agent.endpoint import Endpoint
from dsf_agent.transport import Body
from dsf_wire.summary import Summary


@dataclass(frozen=True, kw_only=True)
class Series:
    """Series as JSON text, undecoded: ``parts`` joined by commas are the elements of the request's ``data``
    array.

    ``size`` is in bytes as received; ``warnings`` are the source's own words.
    """

    parts: tuple[Body, ...] = ()
    count: int = 0
    size: int = 0
    warnings: tuple[str, ...] = ()


class Source(Protocol):
    """One scorer's source. Made anew whenever its entry changes; may remember things from run to run."""

    def __init__(self, *, scorer: Summary, endpoint: Endpoint) -> None: ...

    @staticmethod
    def fault(scorer: Summary) -> str | None:
        """What is wrong with the entry for this type of source, or None."""
        ...

    async def fetch(self, *, now: float) -> Series:
        """The series at ``now`` (Unix seconds). Raises FetchError or CallError."""
        ...
