"""What stops a preview."""

from gitops_dsf.errors import GitopsDsfError


class PreviewError(GitopsDsfError):
    """Repository and hub data together make no hub that the simulator could read."""
