"""gitops-dsf: scores and placements of an Open Cluster Management fleet, from git."""

from typing import Final

from dsf_wire import __version__

SOURCE: Final = "https://github.com/gitops-dsf/gitops-dsf"
"""Where the source is, with the documents and the issues."""

__all__ = ["SOURCE", "__version__"]
