"""Where series come from. A source type is one file here and one line in SOURCES."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dsf_agent.sources.base import Series, Source
from dsf_agent.sources.none import NoSource
from dsf_agent.sources.prometheus import PrometheusSource
from dsf_wire.summary import Summary

__all__ = ["SOURCES", "Series", "Source", "fault", "of"]

SOURCES: Final[Mapping[str, type[Source]]] = MappingProxyType(
    {"None": NoSource, "Prometheus": PrometheusSource}
)


def of(scorer: Summary) -> type[Source]:
    """The source type of an entry that has no fault; without a type, a query means Prometheus (upstream's
    default is to run none).
    """
    return SOURCES[_kind(scorer)]


def fault(scorer: Summary) -> str | None:
    """What keeps the source of this entry from being used, or None."""
    kind = _kind(scorer)
    if kind not in SOURCES:
        return f"sourceType {kind!r} is not one of {', '.join(sorted(SOURCES))}"
    return SOURCES[kind].fault(scorer)


def _kind(scorer: Summary) -> str:
    if scorer.source_type:
        return scorer.source_type
    return "Prometheus" if scorer.source_query.strip() else "None"
