"""Paths of a repository that the reader reads, and the folder of each kind."""

from typing import Final

SETTINGS_FILE: Final = "gitops-dsf.yaml"
FOLDERS: Final = ("apps", "clusters", "config", "locks", "scorers", "tests")
SUFFIXES: Final = (".yaml", ".yml")
FOLDER_OF_KIND: Final = {
    "ApplicationSet": "apps",
    "DynamicScorer": "scorers",
    "DynamicScoringConfig": "config",
    "FleetRepository": SETTINGS_FILE,
    "Maintenance": "config",
    "ManagedCluster": "clusters",
    "ManagedClusterSet": "clusters",
    "ManagedClusterSetBinding": "apps",
    "MetricSource": "config",
    "Placement": "apps",
    "ScoreTest": "tests",
    "ScoredApplication": "apps",
    "ScoredPlacement": "apps",
    "ScorerLock": "locks",
}
"""The folder of each kind.

Folders have a meaning: code owners review by them, and programs write into locks/.
"""


def is_source(path: str) -> bool:
    """Whether the reader reads a file of this path."""
    return path == SETTINGS_FILE or (
        "/" in path and may_hold_sources(path) and path.endswith(SUFFIXES)
    )


def may_hold_sources(path: str) -> bool:
    """Whether the reader looks into a folder of this path."""
    parts = path.split("/")
    return parts[0] in FOLDERS and not any(part.startswith(".") for part in parts)
