"""The decorators ``@scorer`` and ``@batch_scorer``: a function becomes a scoring API.

Its /config is checked on import.
"""

import inspect
import os
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from dsf_scorer.app import ScorerApp
from dsf_scorer.errors import DefinitionError
from dsf_scorer.function import BatchFunction, EachFunction, Function
from dsf_scorer.settings import Settings
from dsf_wire.constants import MAX_POINTS
from dsf_wire.scoring import (
    ConfigParams,
    ConfigScoring,
    ConfigScoringParams,
    ConfigSource,
    ScorerConfig,
)

DEFAULT_PATH: Final = "/scoring"
RESERVED_PATHS: Final = ("/config", "/healthz", "/metrics")
MAX_NAME: Final = 253
MAX_SECONDS: Final = 31_536_000
"""One year: the longest range, step and interval that a DynamicScorer accepts."""

F = TypeVar("F", bound=Callable[..., Any])


class Decorator(Generic[F]):
    """Turns a function into a scoring API.

    By default its docstring is the description, and settings are in the environment. Without a
    query it needs no metrics. Raises DefinitionError with all mistakes.
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
        """The decorator for one function.

        Its arguments are what /config says (docs/scores/scorers.md).
        """

        def decorate(function: F) -> ScorerApp:
            paragraph = (inspect.getdoc(function) or "").partition("\n\n")[0]
            source_type = "None"
            if query.strip():
                source_type = "Prometheus"
            config = ScorerConfig(
                name=name,
                description=description or " ".join(paragraph.split()),
                source=ConfigSource(
                    type=source_type,
                    host=source_host,
                    path=source_path,
                    params=ConfigParams(query=query, range=range_seconds, step=step_seconds),
                ),
                scoring=ConfigScoring(
                    path=path, params=ConfigScoringParams(name=name, interval=interval_seconds)
                ),
            )
            # On import, so that a mistake shows in the author's test and not on a cluster.
            check_definition(config)
            return ScorerApp(
                config=config,
                function=Function(function, each=self._each),
                settings=settings or Settings.from_environment(os.environ),
            )

        return decorate


scorer: Final = Decorator[EachFunction](each=True)
"""The decorator for functions ``(series) -> score`` or ``(series, arguments) -> score``; None means
no score for that series. Each result has the labels of its series.
"""

batch_scorer: Final = Decorator[BatchFunction](each=False)
"""The decorator for functions that take all series at once: ``(list of series[, arguments]) ->
iterable of Score``. Use it for scores that need several series (a price and a size, power and
throughput) or no series (no query).
"""


def check_definition(config: ScorerConfig) -> None:
    """Raises DefinitionError with all mistakes. Without a query a scorer needs no metrics."""
    name = config.scoring.params.name
    path = config.scoring.path
    interval = config.scoring.params.interval
    params = config.source.params
    problems: list[str] = []
    if not name.strip():
        problems.append("name is empty; it becomes the score name that Placements refer to")
    if len(name) > MAX_NAME:
        problems.append(f"name has {len(name)} characters; {MAX_NAME} are allowed")
    if not path.startswith("/") or "?" in path or "#" in path:
        problems.append(f"path {path!r} must start with / and hold neither ? nor #")
    if path in RESERVED_PATHS:
        problems.append(f"path {path} is taken by the SDK; choose another such as {DEFAULT_PATH}")
    if not 1 <= interval <= MAX_SECONDS:
        problems.append(f"interval_seconds is {interval}; write 1 to {MAX_SECONDS}")
    if params.query.strip():
        problems += _query_problems(params)
    elif params.range or params.step:
        problems.append("range_seconds and step_seconds need a query")
    if problems:
        raise DefinitionError(f"scorer {name!r}: " + "; ".join(problems))


def _query_problems(params: ConfigParams) -> list[str]:
    """The mistakes in the span of a query."""
    problems: list[str] = []
    if not 0 <= params.range <= MAX_SECONDS:
        problems.append(
            f"range_seconds is {params.range}; write 0 (the present value) to {MAX_SECONDS}"
        )
    if not 1 <= params.step <= MAX_SECONDS:
        problems.append(
            f"step_seconds is {params.step}; write the seconds between two points, 1 to"
            f" {MAX_SECONDS}"
        )
    # Prometheus answers such a query with 400, on every cluster and in every cycle.
    elif params.range // params.step >= MAX_POINTS:
        points = params.range // params.step + 1
        problems.append(
            f"range_seconds / step_seconds asks for {points} points per series; Prometheus refuses"
            f" more than {MAX_POINTS}"
        )
    return problems
