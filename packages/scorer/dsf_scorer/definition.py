"""The definition of a scorer: the content of /config, checked when its module is imported."""

from dataclasses import dataclass
from typing import Final

from dsf_scorer.errors import DefinitionError
from dsf_wire.constants import MAX_POINTS
from dsf_wire.scoring import ConfigParams, ConfigScoring, ConfigScoringParams, ConfigSource, ScorerConfig

DEFAULT_PATH: Final = "/scoring"
RESERVED_PATHS: Final = ("/config", "/healthz", "/metrics")
MAX_NAME: Final = 253
MAX_SECONDS: Final = 31_536_000
"""One year: the longest range, step and interval that a DynamicScorer accepts."""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """Name, metrics and interval of a scorer. An empty query means that it needs no metrics (source type
    None). Raises DefinitionError with all mistakes.
    """

    name: str
    """Score name (wire: scoring.params.name)."""
    description: str = ""
    query: str = ""
    """PromQL; several expressions are joined by ``;``."""
    range_seconds: int = 0
    step_seconds: int = 0
    interval_seconds: int = 60
    source_host: str = ""
    """URL of the metric source for a managed cluster. Usually the DynamicScorer sets it."""
    source_path: str = ""
    path: str = DEFAULT_PATH
    """Path of the scoring endpoint, which answers POST requests."""

    def __post_init__(self) -> None:
        problems = [*self._naming(), *self._cadence()]
        if problems:
            raise DefinitionError(f"scorer {self.name!r}: " + "; ".join(problems))

    def _naming(self) -> list[str]:
        problems = []
        if not self.name.strip():
            problems.append("name is empty; it becomes the score name that Placements refer to")
        if len(self.name) > MAX_NAME:
            problems.append(f"name has {len(self.name)} characters; {MAX_NAME} are allowed")
        if not self.path.startswith("/") or "?" in self.path or "#" in self.path:
            problems.append(f"path {self.path!r} must start with / and hold neither ? nor #")
        if self.path in RESERVED_PATHS:
            problems.append(f"path {self.path} is taken by the SDK; choose another such as {DEFAULT_PATH}")
        return problems

    def _cadence(self) -> list[str]:
        problems = []
        if not 1 <= self.interval_seconds <= MAX_SECONDS:
            problems.append(f"interval_seconds is {self.interval_seconds}; write 1 to {MAX_SECONDS}")
        if not self.query.strip():
            if self.range_seconds or self.step_seconds:
                problems.append("range_seconds and step_seconds need a query")
            return problems
        if not 0 <= self.range_seconds <= MAX_SECONDS:
            problems.append(
                f"range_seconds is {self.range_seconds}; write 0 (the present value) to {MAX_SECONDS}"
            )
        if not 1 <= self.step_seconds <= MAX_SECONDS:
            problems.append(
                f"step_seconds is {self.step_seconds}; write the seconds between two points, 1 to"
                f" {MAX_SECONDS}"
            )
        elif self.range_seconds // self.step_seconds >= MAX_POINTS:
            points = self.range_seconds // self.step_seconds + 1
            problems.append(
                f"range_seconds / step_seconds asks for {points} points per series; Prometheus refuses more"
                f" than {MAX_POINTS}"
            )
        return problems

    def config(self, *, prefix: str = "") -> ScorerConfig:
        """Returns the /config page. The prefix is the path at which another application mounts this one."""
        return ScorerConfig(
            name=self.name,
            description=self.description,
            source=ConfigSource(
                type="Prometheus" if self.query.strip() else "None",
                host=self.source_host,
                path=self.source_path,
                params=ConfigParams(query=self.query, range=self.range_seconds, step=self.step_seconds),
            ),
            scoring=ConfigScoring(
                path=prefix + self.path,
                params=ConfigScoringParams(name=self.name, interval=self.interval_seconds),
            ),
        )
