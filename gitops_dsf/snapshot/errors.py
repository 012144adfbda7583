"""What can be wrong with a snapshot as a whole."""

from gitops_dsf.errors import GitopsDsfError


class SnapshotError(GitopsDsfError):
    """A snapshot cannot be read, or says what no hub could hold. The message names file, line and field."""
