"""Exceptions that end a demo early."""

from gitops_dsf.errors import GitopsDsfError


class DemoError(GitopsDsfError):
    """Something that the demo needs is missing or did not happen. The message says what, and where to find
    details.
    """
