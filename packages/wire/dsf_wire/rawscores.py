"""The metric with raw scores that agents export, and its labels."""

from typing import Final

METRIC: Final = "dynamic_score"
CLUSTER_LABEL: Final = "ds_cluster"
SCORE_NAME_LABEL: Final = "ds_score_name"


def label_of(result_label: str) -> str:
    """The label that carries one of dsf_wire.dimension.LABELS."""
    return f"ds_{result_label}"


def selector(score_name: str) -> str:
    """PromQL for the raw scores under a score name."""
    escaped = score_name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{METRIC}{{{SCORE_NAME_LABEL}="{escaped}"}}'
