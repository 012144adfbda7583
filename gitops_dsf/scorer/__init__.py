"""Write a scoring API as one function: labelled time series in, scores out.

``scorer`` and ``batch_scorer`` turn a function into an ASGI application with the scoring endpoint, /config, /healthz and /metrics. The
package imports dsf_wire, msgspec and the standard library only, so a scoring API starts fast and carries nothing of the generator at run
time; prometheus_client, of the extra ``gitops-dsf[scorer]``, comes with the first application.
"""

from dsf_wire.scoring import ScoringResult as Score
from gitops_dsf.scorer.app import ScorerApp
from gitops_dsf.scorer.decorators import batch_scorer, scorer
from gitops_dsf.scorer.errors import DefinitionError, RefusedError, ScorerError
from gitops_dsf.scorer.series import Series
from gitops_dsf.scorer.settings import Settings

__all__ = [
    "DefinitionError",
    "RefusedError",
    "Score",
    "ScorerApp",
    "ScorerError",
    "Series",
    "Settings",
    "batch_scorer",
    "scorer",
]
