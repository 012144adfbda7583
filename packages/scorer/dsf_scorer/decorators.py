"""``@scorer`` and ``@batch_scorer``: a function becomes a scoring API."""

import inspect
import os
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from dsf_scorer.app import ScorerApp
from dsf_scorer.definition import DEFAULT_PATH, Definition
from dsf_scorer.function import BatchFunction, EachFunction, Function
from dsf_scorer.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


class Decorator(Generic[F]):
    """Turns a function into a scoring API. By default its docstring is the description, and settings are in
    the environment. Without a query it needs no metrics. Raises DefinitionError with all mistakes.
    """

    def __init__(self, *, each: bool) -> None:
        self._each = each

    def __call__(
        self,
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
    ) -> Callable[[F], ScorerApp]:
        """The decorator for one function; its arguments are what /config says (docs/scores/scorers.md)."""

        def decorate(function: F) -> ScorerApp:
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
            return ScorerApp(
                definition=definition,
                function=Function(function, each=self._each),
                settings=settings if settings is not None else Settings.from_environment(os.environ),
            )

        return decorate


scorer: Final = Decorator[EachFunction](each=True)
"""For functions ``(series) -> score`` or ``(series, arguments) -> score``; None means no score for that
series. Each result has the labels of its series.
"""

batch_scorer: Final = Decorator[BatchFunction](each=False)
"""For functions that take all series at once: ``(list of series[, arguments]) -> iterable of Score``. Use it
for scores that need several series (a price and a size, power and throughput) or no series (no query).
"""


def _summary(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
