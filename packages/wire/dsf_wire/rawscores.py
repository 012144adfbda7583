"""The metric with raw scores that agents export, and its labels."""

import re
from typing import Final

METRIC: Final = "dynamic_score"
CLUSTER_LABEL: Final = "ds_cluster"
SCORE_NAME_LABEL: Final = "ds_score_name"
MAX_LABEL: Final = 256
"""Characters of a label value. Agents cut longer ones, as upstream does; item names are not cut."""


def label_of(result_label: str) -> str:
    """The label that carries one of dsf_wire.dimension.LABELS."""
    return f"ds_{result_label}"


def selector(*score_names: str) -> str:
    """PromQL for the raw scores under one or more score names."""
    if len(score_names) == 1:
        return f"{METRIC}{{{SCORE_NAME_LABEL}={_quoted(score_names[0])}}}"
    pattern = "|".join(map(re.escape, score_names))
    return f"{METRIC}{{{SCORE_NAME_LABEL}=~{_quoted(pattern)}}}"


def _quoted(text: str) -> str:
    """A string of PromQL."""
    # The backslash comes first, or it would escape the other escapes.
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
