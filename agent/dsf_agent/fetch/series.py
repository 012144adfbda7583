"""Series."""

from dataclasses import dataclass

from dsf_agent.endpoints.transport import Body


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
