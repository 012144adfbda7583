"""Which paths of a repository the reader reads, and which folder belongs to a kind."""

from typing import Final

SETTINGS_FILE: Final = "gitops-dsf.yaml"
FOLDERS: Final = ("apps", "clusters", "config", "locks", "scorers", "tests")
SUFFIXES: Final = (".yaml", ".yml")


def is_source(path: str) -> bool:
    """Whether the reader reads a file of this path."""
    return path == SETTINGS_FILE or (
        "/" in path and may_hold_sources(path) and path.endswith(SUFFIXES)
    )


def may_hold_sources(path: str) -> bool:
    """Whether the reader looks into a folder of this path."""
    parts = path.split("/")
    return parts[0] in FOLDERS and not any(part.startswith(".") for part in parts)


FOLDER_OF_KIND: Final = {
    **dict.fromkeys(
        (
            "ApplicationSet",
            "ManagedClusterSetBinding",
            "Placement",
            "ScoredApplication",
            "ScoredPlacement",
        ),
        "apps",
    ),
    **dict.fromkeys(("ManagedCluster", "ManagedClusterSet"), "clusters"),
    **dict.fromkeys(("DynamicScoringConfig", "Maintenance", "MetricSource"), "config"),
    "DynamicScorer": "scorers",
    "FleetRepository": SETTINGS_FILE,
    "ScoreTest": "tests",
    "ScorerLock": "locks",
}
"""By kind. Folders have a meaning: code owners review by them, and programs write into locks/."""
