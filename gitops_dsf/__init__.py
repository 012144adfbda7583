"""gitops-dsf: scores and placements of an Open Cluster Management fleet, from git."""

from dsf_wire import __version__

__all__ = ["__version__"]
