"""The names of files and folders that are read."""

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
    "MetricSource": "config",
    "Placement": "apps",
    "ScoreTest": "tests",
    "ScoredApplication": "apps",
    "ScoredPlacement": "apps",
    "ScorerLock": "locks",
}
"""By kind. Folders have a meaning: code owners review by them, and programs write into locks/."""
