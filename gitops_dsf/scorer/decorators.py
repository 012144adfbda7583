"""``@scorer`` and ``@batch_scorer``: a function becomes a scoring API."""

import inspect
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from dsf_wire.scoring import ScoringResult
from gitops_dsf.scorer.app import ScorerApp
from gitops_dsf.scorer.definition import DEFAULT_PATH, Definition
from gitops_dsf.scorer.function import Function
from gitops_dsf.scorer.settings import Settings


def scorer(
    *,
    name: str,
    interval_seconds: int,
    query: str = "",
    range_seconds: int = 0,
    step_seconds: int = 0,
    description: str = "",
    source_host: str = "",
    source_path: str = "",
    path: str = DEFAULT_PATH,
    settings: Settings | None = None,
) -> Callable[[Callable[..., float | None] | Callable[..., Awaitable[float | None]]], ScorerApp]:
    """Turns ``(series) -> score`` or ``(series, arguments) -> score`` into a scoring API; None is no score for that series.

    Each result carries the labels of its series. The description defaults to the function's docstring, the settings to the
    environment (SCORER_TOKEN_FILE and so on). Raises DefinitionError.
    """

    def decorate(function: Callable[..., float | None] | Callable[..., Awaitable[float | None]]) -> ScorerApp:
        definition = Definition(
            name=name,
            description=description or _summary(function),
            query=query,
            range_seconds=range_seconds,
            step_seconds=step_seconds,
            interval_seconds=interval_seconds,
            source_host=source_host,
            source_path=source_path,
            path=path,
        )
        return _app(definition, Function(function, each=True), settings)

    return decorate


def batch_scorer(
    *,
    name: str,
    interval_seconds: int,
    query: str = "",
    range_seconds: int = 0,
    step_seconds: int = 0,
    description: str = "",
    source_host: str = "",
    source_path: str = "",
    path: str = DEFAULT_PATH,
    settings: Settings | None = None,
) -> Callable[[Callable[..., Iterable[ScoringResult]] | Callable[..., Awaitable[Iterable[ScoringResult]]]], ScorerApp]:
    """As ``scorer``, for functions that see all series at once: ``(list of series[, arguments]) -> iterable of Score``.

    For scores that need several series (a price and a size, power and throughput) or none at all (no query).
    """

    def decorate(function: Callable[..., Iterable[ScoringResult]] | Callable[..., Awaitable[Iterable[ScoringResult]]]) -> ScorerApp:
        definition = Definition(
            name=name,
            description=description or _summary(function),
            query=query,
            range_seconds=range_seconds,
            step_seconds=step_seconds,
            interval_seconds=interval_seconds,
            source_host=source_host,
            source_path=source_path,
            path=path,
        )
        return _app(definition, Function(function, each=False), settings)

    return decorate


def _app(definition: Definition, function: Function, settings: Settings | None) -> ScorerApp:
    if settings is None:
        settings = Settings.from_environment(os.environ)
    return ScorerApp(definition=definition, function=function, settings=settings)


def _summary(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
