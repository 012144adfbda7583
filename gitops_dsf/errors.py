"""Exceptions: for I/O and bugs.

Mistakes that users make in their files are Diagnostics, not exceptions.

* GitopsDsfError
  x UsageError        the command line cannot be carried out as written
  x RepositoryError   a repository or output folder cannot be read or written
  x HubError          a hub cannot be read
"""


class GitopsDsfError(Exception):
    """Base of everything that is reported to people without a traceback."""


class UsageError(GitopsDsfError):
    """The command line cannot be carried out as written."""


class RepositoryError(GitopsDsfError):
    """A repository or output folder cannot be read or written."""


class HubError(GitopsDsfError):
    """A hub cannot be read."""
