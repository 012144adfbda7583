"""Locks, locks/*.yaml: the accepted /config of a scorer. Programs write them."""

from typing import Annotated, Literal

from pydantic import Field

from gitops_dsf.repository.model.base import PRODUCT_API, Authored, Metadata
from gitops_dsf.repository.model.scorer import ScoringParams, SourceParams


class LockedSource(Authored):
    """`source` of /config."""

    type: Literal["Prometheus", "None"] | None = None
    host: str = ""
    path: str = ""
    params: SourceParams = SourceParams()


class LockedScoring(Authored):
    """`scoring` of /config."""

    host: str = ""
    path: str = ""
    params: ScoringParams = ScoringParams()


class LockedConfig(Authored):
    """A scoring API's /config page."""

    name: str = ""
    description: str = ""
    source: LockedSource = LockedSource()
    scoring: LockedScoring = LockedScoring()


class ScorerLockSpec(Authored):
    """The accepted content, and where it was read."""

    config_url: Annotated[str, Field(alias="configURL")]
    """URL of the page."""
    # Every field may be absent: what the page leaves out, the scorer's own spec says.
    config: LockedConfig
    """Content of the page."""


class ScorerLock(Authored):
    """The accepted /config of the DynamicScorer with the same name."""

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["ScorerLock"] = "ScorerLock"
    metadata: Metadata
    spec: ScorerLockSpec
