"""gitops-dsf: scores and placements of an Open Cluster Management fleet, from git."""

__version__ = "0.1.0"
