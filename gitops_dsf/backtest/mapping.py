"""Maps many raw scores at once. The results are those of dsf_wire.scorevalue.map_score, value by value."""

import numpy as np
import numpy.typing as npt

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from dsf_wire.summary import ScoreRange
from gitops_dsf.backtest.history import Values
from gitops_dsf.backtest.track import ABSENT


def map_all(raw: Values, score_range: ScoreRange | None) -> npt.NDArray[np.int8]:
    """Published scores of raw ones; ABSENT for what is not finite."""
    finite = np.isfinite(raw)
    all_finite = finite.all()
    values = raw if all_finite else np.where(finite, raw, 0.0)
    low, high = float(SCORE_MIN), float(SCORE_MAX)
    mapped = values
    if score_range is not None:
        first, last = float(score_range.output_min), float(score_range.output_max)
        with np.errstate(over="ignore", invalid="ignore"):
            mapped = first + (values - score_range.min) * (last - first) / (score_range.max - score_range.min)
        unclear = np.isnan(mapped)
        if unclear.any():
            # inf - inf at the limits of the float range: the raw score itself shows which limit it is.
            mapped = np.where(unclear, np.where(values <= score_range.min, first, last), mapped)
        low, high = max(low, min(first, last)), min(high, max(first, last))
    held = np.floor(np.minimum(np.maximum(mapped, low), high)).astype(np.int8)
    return held if all_finite else np.where(finite, held, np.int8(ABSENT))
