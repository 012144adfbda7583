"""spec.pace of gitops-dsf.yaml: how fast applications may move by their scores."""

from typing import Annotated

from pydantic import Field

from gitops_dsf.repository.model.base import Authored


class Pace(Authored):
    """How fast applications may move by their scores. The reconciler admits the moves."""

    concurrent: Annotated[int, Field(ge=1, le=1000)] = 2
    """Moves under way at a time, over all applications."""
    arrivals_per_cluster: Annotated[int, Field(ge=1, le=1000)] = 1
    """Applications that a cluster may receive before its scores have measured them."""
    settle_seconds: Annotated[int, Field(ge=0, le=86_400)] | None = None
    """Seconds after an arrival until the scores count as measured. When absent, the time until a new
    measurement is published, and the query range, of the scorers that rank the application.
    """
    cooldown_seconds: Annotated[int, Field(ge=0, le=604_800)] = 3600
    """Seconds between two moves of one application."""
    refuges: bool = False
    """Whether the reconciler plans where each application goes when its cluster is lost. OCM follows the plan
    also while the reconciler does not run.
    """
