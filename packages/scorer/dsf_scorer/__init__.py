"""The scorer SDK: a scoring API as one function, with labelled time series in and scores out.

``scorer`` and ``batch_scorer`` turn it into an ASGI application with the scoring endpoint, /config,
/healthz and /metrics. It imports dsf_wire, msgspec and the standard library only, to be fast; an
application imports prometheus_client.
"""

from dsf_scorer.app import ScorerApp
from dsf_scorer.definition import batch_scorer, scorer
from dsf_scorer.errors import DefinitionError, RefusedError, ScorerError
from dsf_scorer.series import Series
from dsf_scorer.settings import Settings
from dsf_wire import __version__
from dsf_wire.scoring import ScoringResult as Score

__all__ = [
    "DefinitionError",
    "RefusedError",
    "Score",
    "ScorerApp",
    "ScorerError",
    "Series",
    "Settings",
    "__version__",
    "batch_scorer",
    "scorer",
]
