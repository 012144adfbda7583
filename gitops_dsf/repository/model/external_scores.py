"""Scores of other add-ons, as spec.externalScores of gitops-dsf.yaml declares them."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from gitops_dsf.hub.intervals import ScoreSpan
from gitops_dsf.repository.model.base import Authored, DnsName, FieldError

ScoreItemName = Annotated[str, Field(min_length=1, max_length=1024)]
PublishedValue = Annotated[int, Field(ge=SCORE_MIN, le=SCORE_MAX)]


class AddOnScore(Authored):
    """An item of an AddOnPlacementScore that another add-on publishes."""

    resource: DnsName
    """Name of the AddOnPlacementScore, as spec.externalScores of gitops-dsf.yaml declares it."""
    name: ScoreItemName
    """Name of the item in its status.scores."""

    def __str__(self) -> str:
        """`resource/name`, as OCM and our outputs name a score."""
        return f"{self.resource}/{self.name}"


class PublishedRange(Authored):
    """The values that an add-on publishes."""

    min: PublishedValue = SCORE_MIN
    """The lowest value."""
    max: PublishedValue = SCORE_MAX
    """The highest value."""

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.min >= self.max:
            msg = f"min {self.min} is not below max {self.max}: swap them"
            raise FieldError(msg, "min")
        return self


class ExternalScore(Authored):
    """Items of an AddOnPlacementScore that another add-on publishes on the hub."""

    resource: DnsName
    """Name of the AddOnPlacementScores, such as resource-usage-score."""
    names: Annotated[list[ScoreItemName], Field(min_length=1)]
    """Names of the items in status.scores by which Placements may rank."""
    description: str | None = None
    """What publishes them, and what they mean."""
    range: PublishedRange = PublishedRange()
    """The values that the add-on publishes. Validation judges weights and stickiness by them."""
    # Nothing on the hub says how often another add-on measures, so only people can.
    measured_after_seconds: Annotated[int, Field(ge=0, le=86_400)] | None = None
    """Seconds after which the items show what changed on a cluster, at most. Paced applications
    that rank by them need it, and so does `demand`.
    """

    @property
    def published(self) -> ScoreSpan:
        """The scores that the add-on can publish."""
        return ScoreSpan(self.range.min, self.range.max)
