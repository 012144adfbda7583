"""Types of the scoring API: the response, and the /config page."""

from typing import Any, Final

import msgspec

_CONFIG_LEVELS: Final = 4
"""Levels of objects in a /config page."""


class ScoringResponse(msgspec.Struct, frozen=True):
    """The response. Its results are raw, so that an invalid one does not affect the others."""

    results: list[msgspec.Raw]


class ScoringResult(msgspec.Struct, frozen=True):
    """One result: the labels that name it and its raw score."""

    metric: dict[str, str]
    score: float


class ConfigParams(msgspec.Struct, frozen=True, kw_only=True):
    """``source.params`` of /config: PromQL, and range and step in seconds."""

    query: str = ""
    range: int = 0
    step: int = 0


class ConfigSource(msgspec.Struct, frozen=True, kw_only=True):
    """``source`` of /config."""

    type: str = ""
    host: str = ""
    path: str = ""
    params: ConfigParams = msgspec.field(default_factory=ConfigParams)


class ConfigScoringParams(msgspec.Struct, frozen=True, kw_only=True):
    """``scoring.params`` of /config: the score name, and the interval in seconds."""

    name: str = ""
    interval: int = 0


class ConfigScoring(msgspec.Struct, frozen=True, kw_only=True):
    """``scoring`` of /config."""

    host: str = ""
    path: str = ""
    params: ConfigScoringParams = msgspec.field(default_factory=ConfigScoringParams)


class ScorerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The page ``GET /config``: how a scoring API wants to be called."""

    name: str = ""
    description: str = ""
    source: ConfigSource = msgspec.field(default_factory=ConfigSource)
    scoring: ConfigScoring = msgspec.field(default_factory=ConfigScoring)


def without_nulls(data: Any, levels: int = _CONFIG_LEVELS) -> Any:  # noqa: ANN401 - whatever JSON holds
    """A /config page without the fields that are null: FastAPI writes absent optional fields so."""
    # Below that no field of ours follows, and a page of others may nest without end.
    if not isinstance(data, dict) or levels == 0:
        return data
    present: dict[Any, Any] = {}
    for key, value in data.items():
        if value is not None:
            present[key] = without_nulls(value, levels - 1)
    return present
