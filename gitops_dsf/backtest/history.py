"""Raw scores of the past, on a grid of equal steps."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gitops_dsf.backtest.publisher import Labels

Values = npt.NDArray[np.float64]
"""Raw scores at consecutive points of a grid; NaN where there is no result."""
Results = Mapping[str, Mapping[Labels, Values]]
"""By cluster, then by labels."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """Raw scores of one scorer at consecutive points of a grid."""

    first: int
    """Number of the first point."""
    count: int
    """How many points."""
    results: Results
